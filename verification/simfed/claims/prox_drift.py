"""Appendix A, Lemmas 1 and 2: how far local models of FedProx move within a round."""
from fractions import Fraction as Q

import fltheory as ft
from verification.simfed import bugs
from verification.simfed import runs_prox as runs
from verification.simfed.formulas import prox as f
from verification.simfed.instances import star
from verification.simfed.proofs import prox_drift as proofs
from verification.simfed.runs_prox import local_models, run_of

NEEDS = [runs.pull, runs.bounded]
BUGS = [bugs.one_step_more, bugs.proximal_repelling]
ENDS = {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "step over its cap": (0, 1)}
BENT = ft.PiecewiseQuadratic([[1, "1/2"], ["-1/3", 1], [0, 2]], [[0], [1], ["1/2"]], [1, -2, 0], ["1/3", "1/2", "1/6"])

PLANE = ft.Quadratic([[[1, "1/2"], ["1/2", 1]], [[1, 0], [0, "1/5"]]], [[1, 0], [0, 2]])


def slopes(g, weights=None):
    """Clients with the constant gradients -g_i."""
    return ft.PiecewiseQuadratic([[0, 0]] * len(g), [[0]] * len(g), g, weights)


apart = run_of("opposite constant gradients", slopes([1, -1]), 5, 0, "1/10")
leaves = run_of("star with 300 leaves, one of them against all", slopes([1, -1, *[1] * 299], star(301).weights), 1, 0, "1/10")
on = [apart, leaves,
      run_of("one heavy client", slopes([1, -1, -1], ["9/10", "1/20", "1/20"]), 2, 0, "1/10"),
      run_of("pulled back", slopes([1, -1, 2]), 4, "3/2", "1/4"),
      run_of("pulled back at once, alpha gamma = 1", BENT, 3, 10, "1/10", 1),
      run_of("not convex, noise", BENT, 3, "1/2", "1/4", 1, 2, slots=[(0, 0), (0, 2)]),
      run_of("quadratics in the plane", PLANE, 6, 1, "1/4", 3, 1),
      run_of("300 local steps", slopes([1, -1]), 300, 0, "1/10")]


def drawn(draw, **at):
    return runs.drawn(draw, lambda problem, alpha: 1 / max(alpha, 1), convex=draw(runs.hypothesis.strategies.booleans()), **at)


CORNERS = ({"n": 300, "E": 1}, {"n": 1, "E": 300, "noise": False, "alpha": Q(0)}, {"alpha": Q(10), "share": Q(1)},
           {"alpha": Q(0)})
SEARCH = ft.Search((ft.Family("piecewise quadratics", drawn, CORNERS),), tries=16)


FREE = 60   # local steps up to which every gradient is left free


def farthest(i):
    """The largest distance over all gradients of norm at most 1, of a client alone in its round."""
    found = ft.adversarial(i.algorithm, 1, [{0: i.E}])
    return (found.compared(f.reach(i.gamma, i.alpha, i.E), "largest distance after E steps, in units of G"),
            ft.at_most(found.value**2, f.drift(i.gamma, i.E, 1), "its square"))


@ft.claim("lema1", on=on, needs=NEEDS, rejects=[*BUGS, bugs.proximal_missing], proof=proofs.own, meaning=runs.drifts_of, ends=ENDS,
          search=SEARCH, domain=proofs.DOMAIN + "; that it is attained, by the coded rounds of the listed settings")
def lema1(i):
    r"""For $\alpha\gamma\le1$ every local model has $E\|w_{t,k}^i-\bar w_{t,0}\|^2\le\gamma^2k^2G^2\le\gamma^2E^2G^2$. Over all
    gradients of norm at most $G$ the largest distance is $\gamma G\sum_{j<k}(1-\alpha\gamma)^j$, attained, so that
    $\gamma^2k^2G^2$ is attained at $\alpha=0$."""
    run, local = local_models(i)
    return (*(farthest(i) if i.E <= FREE else ()),
            *(ft.at_most(max(run.square(w - start[:, None])), f.drift(i.gamma, k, i.G2), f"k = {k}") for k, w, _, start in local))


@ft.claim("lema2", on=on, needs=NEEDS, rejects=BUGS, proof=proofs.deviation, meaning=runs.drifts_of, ends=ENDS, search=SEARCH,
          domain=proofs.DOMAIN)
def lema2(i):
    r"""For $\alpha\gamma\le1$ every client has $E\|\bar w_{t,k}-w_{t,k}^i\|^2\le4\gamma^2k^2G^2\le4\gamma^2E^2G^2$. A light client
    against all others comes as close to it as one likes."""
    run, local = local_models(i)
    return [ft.at_most(max(run.square(w - mean[:, None])), f.deviation(i.gamma, k, i.G2), f"k = {k}") for k, w, mean, _ in local]


@ft.claim("lema2-avg", on=on, needs=NEEDS, rejects=[*BUGS, bugs.uniform_weights], proof=proofs.everybody, meaning=runs.drifts_of,
          ends=ENDS, search=SEARCH, domain=proofs.DOMAIN)
def lema2_avg(i):
    r"""For $\alpha\gamma\le1$: $\sum_ip_iE\|\bar w_{t,k}-w_{t,k}^i\|^2\le\gamma^2k^2G^2$, a quarter of Lemma 2's bound on one
    client; attained at $\alpha=0$ by two clients with opposite gradients."""
    run, local = local_models(i)
    return [ft.at_most(sum(run.square(w - mean[:, None]) * i.p), f.drift(i.gamma, k, i.G2), f"k = {k}") for k, w, mean, _ in local]
