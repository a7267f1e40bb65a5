"""Claims: statements about algorithms, checked against what the algorithm code really does."""
