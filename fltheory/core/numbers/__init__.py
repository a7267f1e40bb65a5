"""Numbers that a round computes with: floats, rationals, symbols, residues, balls; linear algebra over all of them."""
