"""The exact core: problems, participation laws, algorithms, derived operators, schedules, optima and batched runs.

It imports none of the rooms that stand on it (verdicts, blackbox, workbench) and can be read and used alone.
"""
