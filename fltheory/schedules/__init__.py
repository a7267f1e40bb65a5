"""Schedules: the worst contraction over every participation schedule in which nobody stays away for long."""
