"""Questions asked of an operator or of a round, a file each: which steps are stable, what a surrogate's weights are."""
