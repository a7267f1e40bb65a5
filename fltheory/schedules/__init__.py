"""Schedules: the worst contraction over every participation schedule in which nobody stays away for long.

windows: the classes of schedules and their automata; rounds: the exact map of a round for every set of clients; walks: lower
bounds by periodic schedules; lyapunov_nodes: certified upper bounds; worst: both together; steps: the limits of the step size.
"""
