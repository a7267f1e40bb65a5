"""The exact core: what every result passes through. It imports nothing else of the package and can be read and used alone.

In reading order, each standing on those above it:

    errors       every exception, and the one wording of a refusal
    kinds        names for annotations
    libraries    optional libraries
    numbers      the arithmetics in which one round can be run, their arrays, exact linear algebra
    records      frozen records whose fields say what they accept
    digests      one hash of named parts
    evidence     what was compared, with which numbers, and how strong that is
    relations    the comparisons that a claim returns
    statistics   confidence intervals, moments and tails of samples
    tables       text, HTML and CSV
    problems     what the clients want: losses, gradients, constants that are computed and never declared
    laws         who takes part, with how many local steps and which noise: finite chains of modes, and their draws
    algorithms   the form of a method, its local solvers, and FedAvg as the example of both
    operators    a round on quadratics as a random affine map: fixed points, rates, floors
    optima       minimisers with certificates
"""
