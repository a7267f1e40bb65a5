"""Operators of problems whose matrices are too large to list: the mean round as a function, clients one at a time.

`presence` gives E of a round without listing cohorts, `conserved` what no round changes, `krylov` fixed points and rates from
products alone, `arrow` the maps of all clients where they meet at the server only, `seconds` second moments on these maps,
`winding` the count of eigenvalues outside a circle, `structured` the object that `derive` returns.
"""
