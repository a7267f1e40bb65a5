"""Operators: what an algorithm as coded does to means and second moments, exactly.

The path of a derivation, one file a step:

    algorithm.round(problem, state, draw)            the coded round (core/algorithms)
        |
    setting       prepare: the law takes the algorithm's steps and noise; what has no meaning is refused
        |
    size          refuses what does not fit, before the listing allocates anything (it asks `probe` for the state's layout)
        |
    probe         runs the round on a basis of the state: one extended map [M | c | G] for a draw
        |
    round_maps    maps of all outcomes of a mode with their probabilities; of many cohorts, maps of `features`
        |
    random_map    the random affine map z -> M z + c + G xi of one mode, and its first and second moments
        |
    reachable     the subspace that the state can reach from init(x0), found modulo primes and verified
        |
    moments       means and second moments over rounds, over all modes of the law
        |
    operator      `Operator`, which answers: fixed point, rates, stationary law, floor, paths, certificates

Its answers stand beside: `points` (fixed points and stationary laws as records), `horizons` (many rounds at once), `spectrum`
(certified and algebraic rates), `forms` (quadratic forms through rounds). `fltheory/derivation.py` chooses between this operator
and the structured one of `fltheory/large`. The optimum that a floor is measured from comes from `core/optima.py`.
"""
