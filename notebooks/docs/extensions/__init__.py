"""What this site adds to sphinx: formulas without scripts, the reference from docstrings, the gallery from tables."""
