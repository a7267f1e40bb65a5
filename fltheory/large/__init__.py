"""Operators of problems whose matrices are too large to list: the mean round as a function, clients one at a time.

In reading order:

- `single_clients` runs every client alone, all in one batch; `star` reads the maps of all clients off such rounds, where clients
  meet at the server only.
- `mean_round` gives E of a round without listing cohorts; `first_moments` solves for its fixed point and its rate.
- `second_moments` carries E zz' on the star form, with what `cohort_covariance` says of who takes part; `eigenvalue_count` counts
  the eigenvalues of the mean round outside a circle.
- `equal_clients` asks `exchangeable` for the exact moments of clients that are all the same: `orbits` says what a round does to
  them, `orbit_moments` makes the maps of moments from that.
- `after_average` covers rounds whose participants read the new server model: their mean alone.
- `structured` is the operator that `derive` returns; `krylov` solves by products alone, `conserved` has what no round changes,
  `accuracy` says how each number was checked.
- `ridge_rows` is a problem of that size: ridge regression without its Hessians.

Moments of a random affine round are written four times, because they are four theorems:

| moments | what they answer | of which rounds | in |
|---|---|---|---|
| `core.operators.moments.Moments` | E z and E zz' of the whole state, mode by mode | listed outcomes or features | any numbers |
| `second_moments.SecondMoments` | E zz' of the whole state, its rate bounded | star form, 2,500 coordinates | floats |
| `orbit_moments.OrbitMoments` | E zz' averaged over clients, whatever their number | equal clients, equal chances | rationals |
| `workbench.comparison.fourth_moments` | moments up to order four: variances of squared errors | few coordinates | floats |
"""
