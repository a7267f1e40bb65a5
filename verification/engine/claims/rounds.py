"""Derived operators and runs of methods that no paper here exercises, against plain loops."""
import fltheory as ft
from verification.engine.faults import these
from verification.engine.instances import rounds as on

COVERED = "the listed problems and rounds, in rationals"


def paths(i):
    """Mean and mean square of the server model before every round: the operator's, and the loop's."""
    wanted = i.twin()
    found = list(i.op.trajectory(i.rounds + 1, i.x0))
    return [ft.equal([m[0] for m, _ in found], [m for m, _ in wanted], "mean"),
            ft.equal([s[0, 0] for _, s in found], [s for _, s in wanted], "mean square")]


@ft.claim("loop-memories", on=on.MEMORIES, domain=COVERED, rejects=these("server-momentum-dampened", "focus-starts-tracking"))
def loop_memories(i):
    """The operator of a method with memories, from a model that is not 0, moves as its loop does."""
    return paths(i)


@ft.claim("loop-solvers", on=on.SOLVERS, domain=COVERED,
          rejects=these("pull-times-the-step", "decay-a-step-early", "mass-without-its-anchor"))
def loop_solvers(i):
    """Averages and normalised averages with each kind of local step move as their loops do."""
    return paths(i)


@ft.claim("loop-neighbours", on=on.NEIGHBOURS, domain=COVERED, rejects=these("neighbours-not-heard"))
def loop_neighbours(i):
    """Neighbour averaging moves as its loop does, on graphs with equal and with unequal edges."""
    return paths(i)


@ft.claim("loop-residual", on=on.RESIDUALS, domain=COVERED,
          rejects=these("fedresavg-own-variate", "residual-cross-term", "residual-linear-term"))
def loop_residual(i):
    """FedResAvg on clients with personal parameters moves as its loop does."""
    return paths(i)


@ft.claim("loop-coins", on=on.COINS, domain=COVERED, rejects=these("proxskip-shift-unscaled", "coin-other-side"))
def loop_coins(i):
    """ProxSkip has the mean and the mean square of its loop over all sixteen sequences of four coins."""
    return paths(i)


@ft.claim("loop-averages", on=on.AVERAGES, domain=COVERED, rejects=these("replay-starts-late"))
def loop_averages(i):
    """FedAvg has the moments of its loop over all sequences of cohorts: laws with a period, and each rule for empty rounds."""
    return paths(i)


@ft.claim("loop-warm", on=on.WARM, domain=COVERED, rejects=these("feature-sure-parts"))
def loop_warm(i):
    """Seventy cohorts handled by the moments of their features: mean and mean square over all of them, from a start that
    is not 0, and a fixed point at the optimum."""
    return [*paths(i), ft.equal(i.op.fixed_point().x, [i.optimum], "fixed point")]


@ft.claim("loop-noise", on=on.NOISY, domain=COVERED, rejects=these("scaffold-one-reuses-a-sample"))
def loop_noise(i):
    """Additive noise enters every moment as it does one unit at a time in a loop; option I has a sample of its own."""
    return paths(i)


@ft.claim("loop-noise-opens", on=on.OPENED, domain=COVERED, rejects=these("noise-not-probed"))
def loop_noise_opens(i):
    """Where only noise tells clients apart, the reachable states grow by what it opens, and the moments are the loop's."""
    return [*paths(i), ft.equal(i.but(noise=0).op.reachable, i.quiet, "reachable without noise"),
            ft.at_most(i.quiet, i.op.reachable, "reachable with noise", strict=True)]


@ft.claim("loop-runs", on=on.RUNS,
          rejects=these("async-gamma-inverted", "adaptive-forgets", "lags-go-on", "early-arrivals-count-more", "runs-of-one-step"))
def loop_runs(i):
    """A run of a method that has no operator ends where its loop ends, after each number of rounds."""
    wanted = i.twin()
    return [ft.equal(float(i.but(simulate={"rounds": t}).run.final[0]), wanted[t], f"after {t} rounds")
            for t in (1, i.rounds // 2, i.rounds)]


@ft.claim("loop-drawn-runs", on=on.DRAWN,
          rejects=these("sums-of-other-replicates", "memories-of-other-clients", "collapsed-noise-squared", "normals-of-one-sign"))
def loop_drawn_runs(i):
    """Runs that draw cohorts and noise, client by client or one Gaussian for all local steps, have after each round the mean and
    the mean square of their loop over all cohorts and units of noise."""
    wanted = i.twin()
    return [ft.agrees(i.run.interval(t, what, 0.9999), wanted[t][what], f"{what} after {t}")
            for t in (1, 2) for what in ("mean", "square")]
