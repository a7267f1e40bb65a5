"""Lemma 3 and (94) to (96): exact forms for every state, coded rounds at single states."""
from dataclasses import replace
from fractions import Fraction as Q

import fltheory as ft
from verification.focus import over, steps
from verification.focus.bugs import structure as wrong
from verification.focus.bugs import theorem1 as bugs
from verification.focus.crowd import one_round
from verification.focus.formulas import lemmas as f
from verification.focus.instances import line, st
from verification.focus.one_round import Numbers, within
from verification.focus.proofs import drift, meaning
from verification.focus.proofs import lemmas as proofs

third = ft.Hypothesis("local steps", r"$\eta\le1/(3L(\tau-1))$", lambda i: (3 * i.L * (i.tau - 1) * i.eta, 1), cap=1)


def _lemma3(i):
    s = one_round(i)
    contraction, drop, spread = f.lemma3(i.eta, i.n, i.L, i.mu)
    if drop < 0:  # for eta > 1/(2NL) the term stands on the right, so that no side is negative
        return within(i, s.A1, server=contraction * s.A, gap=-drop * s.gap, consensus=spread * s.B)
    return within(i, s.A1 + drop * s.gap, server=contraction * s.A, consensus=spread * s.B)


lemma3 = steps.at_largest("lem3", steps.CONVEX[:-1], (1, 3), (1, "1/20"))
lemma3_broken = steps.make("one of two, eta=40, literal start at x*", line((1, 1), (1, -1)), ft.Uniform(1), 1, 40,
                           state=([0], [[1], [-1]]))
lemma3_empty = steps.make("rare clients, empty rounds, eta=10", line((1, 1), (0, 0)), ft.Bernoulli(("1/1000", "1/1000")), 1, 10,
                          state=([0], [[1], [1]]))


@ft.claim("lem3", covers={"d": "all", "tau": "none"}, on=[lemma3_broken, lemma3_empty, *lemma3[:4]],
          needs=[steps.convex, steps.participation, third], rejects=steps.BUGS, finding="e11", instead="lem3-corrected",
          reading="tau = 1, so the printed step condition is empty; the literal start at x_0 = x*, no empty "
                  "round, and row 0 of the consensus error vanishes, so both readings of it agree.",
          survives="With eta at most 1/mu, which the condition implies for tau >= 2 (lem3-corrected); harmless for Theorem 1.",
                at=("one of two, eta=40, literal start at x*", "rare clients, empty rounds, eta=10"), script="witnesses/e11.py",
                step="the proof bounds min{1/mu, 1/(3L(tau-1))} by its second part, which is infinite at tau = 1")
def lem3(i):
    r"""As printed, for $\eta\le1/(3L(\tau-1))$: $EA_{r+1}\le(1-\eta\mu N/2)A_r-2\eta N(1-2\eta NL)(F(x_r)-F^\star)
    +\frac{8\eta L^2N}\mu B_r$ with $A=\|x-x^\star\|^2$, $B=\sum_i\|x-z_i\|^2$.
    """
    return _lemma3(i)


below_mu = ft.Hypothesis("step", r"$\eta\le1/\mu$", lambda i: (i.eta * i.mu, 1), cap=1)
lemma3_far = [steps.make("N=2, full, eta=1/mu, tau=1", line((1, 1), (1, -1)), ft.Full(), 1, 1)]


def lemma3_over(i):
    contraction, drop, consensus = f.lemma3(i.eta, i.n, i.L, i.mu)
    return over.certified(i, lambda s: s.square(s.next - s.star) + (s.F(s.x) - s.F(s.star)) * drop, "consensus",
                          server=(contraction, lambda s: s.square(s.x - s.star)), consensus=(consensus, over.B))


@ft.claim("lem3-corrected", on=[*lemma3, *lemma3_far, *steps.crowds("lem3")], bound=True,
          needs=[steps.convex, steps.participation, third, below_mu],
          over=over.settings("lem3", over.CONVEX), certify=lemma3_over, proof=lambda: [proofs.lemma3(), drift.drift(3)],
          meaning=meaning.before_and_runs,
          domain=proofs.EVERY,
          rejects=[bugs.slow_server, wrong.tracking_reset], search=steps.searched("lem3", (1, 6), ("1/4", "1"), many=True),
          ends=steps.CONVEX_ENDS | steps.CROWDED)
def lem3_corrected(i):
    r"""For $\eta\le\min\{1/\mu,1/(3L(\tau-1))\}$ and every state: $EA_{r+1}+2\eta N(1-2\eta NL)(F(x_r)-F^\star)\le
    (1-\eta\mu N/2)A_r+\frac{8\eta L^2N}\mu B_r$.
    """
    return _lemma3(i)


half_root = ft.Hypothesis("local steps", r"$\eta\le1/(2L\sqrt{\tau-1})$, squared",
                          lambda i: (4 * i.L ** 2 * (i.tau - 1) * i.eta**2, 1), cap=2)


def summed_changes(i):
    """sum_k |y_k|^2 over the first tau - 1 changes of each client, and its pull distance squared."""
    s = Numbers(i)
    inside = s.changes()[:-1]
    sums = [sum((ft.fraction((v[k] * v[k]).sum()) for v in inside), ft.fraction(0)) for k in range(i.n)]
    return sums, [ft.fraction(((s.x - z) ** 2).sum()) for z in s.z]


def _eq94(i, *factors):
    return [ft.at_most(left, ft.Terms(pull=factor(i.L, i.tau) * distance), f"client {k}, {factor.__name__}")
            for k, (left, distance) in enumerate(zip(*summed_changes(i), strict=True), 1) for factor in factors or (f.eq94,)]


def eq94_over(i):
    def summed(s):
        g, each = s.before.g, i.algorithm.to(ft.RATIONAL)
        runs = [replace(each, steps=t).round(s.problem, s.before, ft.everyone(1, t)) for t in range(1, i.tau)]
        return sum((s.square((run.g - g)[0]) for run in runs[1:]), s.square((runs[0].g - g)[0]))
    return over.certified(i, summed, "pull", pull=(f.eq94(i.L, i.tau), over.B))


ALONE = "a client's local run reads its own gradients alone, so one client stands for any number"


def pulled(name, problem, tau, eta, x, z):
    """All clients pull the model x while their stored gradients belong to the points z."""
    return steps.make(name, problem, ft.Full(), tau, eta, state=([x], [[v] for v in z]))


convex_pulls = [pulled("h=(2,1,1/3), tau=5, largest step", line((2, 1, Q(1, 3)), (0, 1, 3)), 5, "1/8", 2, (0, -1, 5)),
                pulled("one client, tau=101, largest step", line((1,), (0,)), 101, "1/20", 1, [0]),
                pulled("no pull distance, tau=5, largest step", line((1,), (3,)), 5, "1/4", 2, [2]),
                pulled("small curvatures, tau=17", line((Q(1, 50), 1), (0, 2)), 17, "1/8", -1, (3, 1))]
huber_states = [steps.huber("Huber, N=2, tau=3", [[1, 2], [1]], [[0, 3], [-1]], Q(1), "1/4", ft.Uniform(1), 3, "eq123", 1, Q(4),
                            [Q(-2), Q(1, 2)]),
                steps.huber("Huber, N=3, tau=2", [[1], [-1, 1], [2]], [[2], [0, 1], [-3]], Q(1, 2), "1/4", ft.Full(), 2,
                            "eq123", 1, Q(-1), [Q(3)] * 3)]


def convex_changes(draw, n=None, root=None, share=None, least=None):
    """Random convex quadratic clients at steps up to 1/(2L sqrt(tau-1)), which is rational where tau - 1 is a square; least: the
    curvature of the first client, where the others have 1."""
    n, root = n or draw(st.integers(1, 3)), root or draw(st.integers(1, 5))
    h = [draw(st.sampled_from([Q(1, 20), Q(1, 3), Q(1), Q(2), Q(4)])) for _ in range(n)]
    h = h if least is None else [least] + [Q(1)] * n
    n = len(h)
    eta = (share or draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10)]))) / (2 * max(h) * root)
    points = [draw(st.integers(-5, 5)) for _ in range(2 * n + 1)]
    return pulled("random convex clients", line(h, points[n + 1 :]), root**2 + 1, eta, points[0], points[1 : n + 1])


@ft.claim("eq94", on=[*convex_pulls, *huber_states], needs=[steps.convex, steps.smooth, half_root], bound=True,
          rejects=[bugs.moves_by_gradient], covers={"n": "all"}, domain=ALONE, certify=eq94_over,
          over=over.settings("eq94", over.CONVEX, sizes=((1, 2), (1, 5), (1, 10))),
          search=ft.Search((ft.Family("convex clients", convex_changes,
                                      ({"n": 20, "root": 1}, {"root": 10, "share": 1}, {"share": steps.TINY},
                                       {"least": Q(1, 1000)})),
                            ft.Family("Huber clients", steps.hubers("eq123"))), tries=80),
          ends={"clients": (1, 20), "local steps": (2, 101), "step over its cap": (steps.TINY, 1),
                "condition number": (1, 1000)},
          reading="Where it is printed: in the proof of Lemma 3, whose clients are strongly convex.")
def eq94(i):
    r"""As printed, for strongly convex clients and $\eta\le1/(2L\sqrt{\tau-1})$: $\sum_{k=r\tau+2}^{(r+1)\tau}\|y_{k,i}\|^2
    \le4(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2$ for a participant. (Gradient steps on a convex function do not lengthen
    its gradient, so that 1 in place of 4 would do.)
    """
    return _eq94(i, f.eq94, f.eq94_convex)


eq94_broken = pulled("f=-x^2/2, tau=100, eta=.05025", line((-1,), (0,)), 100, "201/4000", 1, [0])
inside = [pulled("h=(2,-1,1), tau=5", line((2, -1, 1), (0, 1, 3)), 5, "1/16", 2, (0, -1, 5)),
          pulled("concave, tau=2", line((-1,), (0,)), 2, "1/2", 1, [0]),
          pulled("concave, tau=4", line((-3,), (1,)), 4, "1/18", -2, [4]),
          pulled("plane", line((4, 1), (0, 0)), 3, "1/16", 2, (1, 0)),
          pulled("no pull distance", line((1,), (3,)), 3, "1/4", 2, [2])]


@ft.claim("eq94-without-convexity", on=[eq94_broken, *inside], needs=[steps.smooth, half_root],
          rejects=[bugs.moves_by_gradient], finding="e12", instead="eq94-corrected",
          reading="(94) from Lipschitz gradients alone, as its proof derives it, and as (95) and (101) reuse it for Lemma 4 and "
                  "for the parts of Theorem 1 without convexity; |Hessian| <= L, f = -x^2/2 has L = 1.",
          survives="(94) where it is printed, inside Lemma 3 for strongly convex clients (eq94); and without convexity with eta "
                   "at most 1/(2L(tau-1)), which is assumed wherever (94) is reused: no statement of the paper falls by this.",
                at=("f=-x^2/2, tau=100, eta=.05025",), script="witnesses/e12.py",
                step="the sum over tau - 1 changes needs eta L (tau - 1) bounded, not eta L sqrt(tau - 1)")
def eq94_without_convexity(i):
    r"""(94) for clients with Lipschitz gradients, $\eta\le1/(2L\sqrt{\tau-1})$: $\sum_{k=r\tau+2}^{(r+1)\tau}\|y_{k,i}\|^2\le
    4(\tau-1)L^2\|x_{r\tau+1,i}-x_{r\tau,i}\|^2$ for a participant.
    """
    return _eq94(i)


def small_changes(draw, n=None, tau=None, share=None, sign=None):
    """Random quadratic clients, concave ones among them, far from their stored points; sign: of all curvatures."""
    n, tau = n or draw(st.integers(1, 3)), tau or draw(st.sampled_from([1, 2, 3, 6, 15]))
    h = [draw(st.integers(-4, 4)) for _ in range(n)] if sign is None else [sign] * n
    if 0 in h:
        return None
    eta = Q(1, 2 * max(map(abs, h)) * max(tau - 1, 1)) * (share or draw(st.sampled_from([Q(1), Q(1, 3)])))
    points = [draw(st.integers(-5, 5)) for _ in range(2 * n + 1)]
    return pulled("random clients", line(h, points[n + 1 :]), tau, eta, points[0], points[1 : n + 1])


@ft.claim("eq94-corrected", on=[*inside, *huber_states], needs=[steps.smooth, steps.half], bound=True,
          rejects=[bugs.moves_by_gradient], covers={"n": "all"}, domain=ALONE, certify=eq94_over,
          over=over.settings("half", over.SMOOTH, sizes=((1, 2), (1, 3), (1, 5), (1, 10))), meaning=meaning.local_runs,
          proof=lambda: [proofs.eq94(), drift.drift_half()],
          search=ft.Search((ft.Family("concave and convex clients", small_changes,
                                      ({"n": 20, "tau": 2, "sign": 1}, {"n": 1, "tau": 101, "share": 1, "sign": -1},
                                       {"tau": 2, "share": steps.TINY, "sign": 1})),
                            ft.Family("Huber clients", steps.hubers("eq123"))), tries=80),
          ends={"clients": (1, 20), "local steps": (1, 101), "step over its cap": (steps.TINY, 1), "curvature": (-1, 1)})
def eq94_corrected(i):
    r"""The same bound for $\eta\le1/(2L(\tau-1))$, concave clients included."""
    return _eq94(i)


def _ass2_one_sided():
    """f = -h x^2/2 meets the printed upper bound with L = 1 for every h > 0; its gradient is h-Lipschitz."""
    h, points = Q(50), [Q(v) for v in (-3, 0, 1, 7)]
    upper = [-h * y * y / 2 - (-h * x * x / 2 - h * x * (y - x) + (y - x) ** 2 / 2) for x in points for y in points]
    steepest = max(abs(-h * x + h * y) / abs(x - y) for x in points for y in points if x != y)
    i = pulled("f=-25 x^2", line((-50,), (0,)), 3, "1/4", 1, [0])
    left, distance = (v[0] for v in summed_changes(i))
    return (ft.at_most(max(upper), Q(0),
                       "printed Assumption 2 with L = 1: f(y) - f(x) - <grad f(x), y-x> - |y-x|^2/2, largest"),
            ft.at_most(Q(1), steepest, "but the gradient has Lipschitz constant 50", strict=True),
            ft.at_most(f.eq94(Q(1), 3) * distance, left, "and (94) with L = 1, eta = 1/4, tau = 3 fails", strict=True))


ft.finding("ass2-one-sided", kind="gap", breaks="eq94-corrected", check=_ass2_one_sided,
           step="Assumption 2 is the quadratic upper bound only, the proofs use |grad f(x) - grad f(y)| <= L|x - y|",
           reading="f = -25 x^2 and L = 1.",
           survives="Lipschitz gradients, the hypothesis of every claim here; convex clients.")

mismatch = steps.at_largest("eq96", steps.CONVEX + steps.CONCAVE, (1, 2, 5))


def mismatch_of(s, i):
    """sum_i grad f_i(x) - sum_i grad f_i(z_i) after the round, squared."""
    return s.square(s.grad(s.x) * i.n - s.after.y)


def eq95_over(i):
    stale, drift = f.eq95(i.eta, i.n, i.L, i.tau)
    return over.certified(i, lambda s: mismatch_of(s, i), "drift",
                          stale=(stale, lambda s: over.B(s) * (1 - i.law.inclusion(i.n)[0])),
                          drift=(drift, lambda s: over.B(s) * i.law.inclusion(i.n)[0]))


def eq96_over(i):
    return over.certified(i, lambda s: mismatch_of(s, i), "consensus", consensus=(f.eq96(i.n, i.L), over.B))


@ft.claim("eq95", on=mismatch, needs=[steps.smooth, steps.participation, third], bound=True,
          over=over.settings("eq96", over.SMOOTH, sizes=over.SEVERAL_STEPS), certify=eq95_over, proof=proofs.eq95,
          meaning=meaning.rounds, domain=proofs.EVERY,
          rejects=[wrong.tracking_reset, bugs.moves_by_gradient], search=steps.searched("eq96", (-3, 5), ("0", "1/4")),
          ends=steps.CONCAVE_ENDS)
def eq95(i):
    r"""For $\eta\le1/(3L(\tau-1))$, concave clients included: $E\|\sum_i\nabla f_i(x_r)-\sum_i\nabla f_i(z_i^{(r+1)})\|^2\le
    2L^2N\sum_i(1-p_i)\|x_r-z_i\|^2+8\eta^2(\tau-1)^2L^4N\sum_ip_i\|x_r-z_i\|^2$.
    """
    s = one_round(i)
    stale, drift = f.eq95(i.eta, i.n, i.L, i.tau)
    return within(i, s.mismatch, stale=stale * s.absent, drift=drift * s.present)


@ft.claim("eq96", on=mismatch, needs=[steps.smooth, steps.participation, third], bound=True, rejects=[wrong.tracking_reset],
          over=over.settings("eq96", over.SMOOTH), certify=eq96_over, proof=proofs.eq96, meaning=meaning.rounds,
          domain=proofs.EVERY,
          search=steps.searched("eq96", (-3, 5), ("0", "1/4")),
          ends=steps.CONCAVE_ENDS)
def eq96(i):
    r"""For $\eta\le1/(3L(\tau-1))$: the same mismatch is at most $3L^2NB_r$."""
    s = one_round(i)
    return within(i, s.mismatch, consensus=f.eq96(i.n, i.L) * s.B)
