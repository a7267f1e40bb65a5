"""Wrong variants of algorithms and laws, one catalogue: claims reject them, and a black box may turn out to be one.

A mutant is a function of an algorithm (of a law where `of` is "law") that returns the wrong variant, or None where it
would change nothing. Its docstring says what is wrong.

base makes them. Wrong are, by file: laws, who takes part; local, the work of a client; averages, what the server makes of it;
memories, what lives on between rounds; neighbour_averages, residual_models and arrivals, the rounds of one paper each.
"""
