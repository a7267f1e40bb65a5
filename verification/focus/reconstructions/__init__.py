"""Figures 4, 8 and 9 rebuilt: tables and pictures; the data and methods are those of instances/figures.py."""
