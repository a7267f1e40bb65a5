"""Wrong variants of FOCUS and its baselines, one module per section; the claims name the ones they reject."""
