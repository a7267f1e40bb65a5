"""Worst cases of an algorithm over whole function classes: its own `round` run on Gram coefficients, one semidefinite programme."""
