"""Reports made from the records of a run: a terminal summary, a Markdown page and HTML pages.

The three writers lay out the same typed records (`fltheory.verdicts.records`, one for each line of ``verdicts.jsonl``) and
never decide anything themselves.
"""
