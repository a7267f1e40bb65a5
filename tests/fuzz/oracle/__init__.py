"""An independent second opinion: laws by counting, rounds as in the papers' pseudo-code, moments by Kronecker products.

Nothing here imports fltheory. Floats are numpy's, exact numbers are Fractions in object arrays; the same lines serve both.
"""
