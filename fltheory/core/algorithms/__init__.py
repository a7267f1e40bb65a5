"""Algorithms, each written once, as in its paper: hyper-parameters and one pure `round`."""
