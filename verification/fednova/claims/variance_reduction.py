"""Algorithm 2 (momentum and variance reduction) and the baselines SCAFFOLD and VRL-SGD."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.formulas import variance_reduction as v
from verification.fednova.instances import Local, Symbols, free_clients, plane, read, scalar


def coded_round(i, state):
    """The state after one coded round of all clients."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    return algorithm.round(problem, state, ft.everyone(problem.n, np.array(i.taus)))


def state_at(i, x, **leaves):
    """A state with server model x (d,); other leaves as given, else what `init` makes."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, i.domain.array(ft.declare(x)))
    return state._replace(**{k: i.domain.array(np.array(value, dtype=object)) for k, value in leaves.items()})


def gradients(i, x):
    """grad F_i(x) (n, d) of the declared quadratics."""
    return np.stack([(H * x).sum(-1) - b for H, b in zip(i.problem.H, i.problem.b, strict=True)])


def stays(i, **leaves):
    """Every leaf of the state at the symbol x with these memories is unchanged by one coded round."""
    before = state_at(i, i.x, **leaves)
    after = coded_round(i, before)
    return [ft.equal(read(getattr(after, k)).reshape(-1), read(getattr(before, k)).reshape(-1),
                     f"{k} after a coded round")
            for k in before._fields]


def whole_map(i):
    """(M, c) of the mean coded round on the whole state space."""
    return i.op_anywhere.mean_map()


def radius(i):
    """Rational enclosure of the mean rate on the reachable subspace: exact characteristic polynomial."""
    return ft.linalg.charpoly_radius(i.op.mean_map()[0])


# ---- Algorithm 2 ------------------------------------------------------------------------------------------


def _before_and_after(i):
    """States around one coded round: from free memories, from zero memories, or after the declared rounds."""
    if i.part != "exact":
        before = state_at(i, i.x, **({"d": i.memory} if i.stored else {}))
        return before, coded_round(i, before)
    before, after = None, state_at(i, i.x0)
    for _ in range(i.rounds):
        before, after = after, coded_round(i, after)
    return before, after


def printed(lr, taus, rho):
    return ft.FedNovaVR(lr, taus, ft.Vanilla() if rho is None else ft.Momentum(rho), variant="printed")


def symbolic(make, n, d, taus, momentum=False, stationary=None, part="state", **extra):
    """Quadratics with every number a symbol; m (n, d) are symbols for the clients' memories.

    stationary: weights v_i (a function of p) for which e_n is chosen such that sum v_i (H_i x - e_i) = 0 at the symbol
    x."""
    s = Symbols("eta rho", p=n, x=d, h=n * d * d, e=n * d, m=n * d)
    problem = free_clients(s, n, d)
    if stationary is not None:
        w, pulls = stationary(s.weights(n), taus), (problem.H * np.array(s.x)).sum(-1)
        last = pulls[-1] + f.dot(w[:-1], pulls[:-1] - problem.b[:-1]) / w[-1]
        problem = ft.Quadratic.from_linear(problem.H, [*problem.b[:-1], last], s.weights(n))
    more = ", momentum" if momentum else ""
    return Local(f"n={n}, d={d}, tau={taus}{more} ({part})", problem, make(s.eta, taus, s.rho if momentum else None),
                 ft.Full(), domain=s.field, rho=s.rho if momentum else 0, x=s.x, u=s.rho, part=part,
                 memory=np.array(s.m, dtype=object).reshape(n, d),
                 says="every entry of H_i, e_i, p, the model and eta a symbol" + (", rho too" if momentum else ""), **extra)


def exact(name, make, problem, taus, eta, rho=None, says="", **extra):
    rho = None if rho is None else ft.fraction(rho)
    return Local(name, problem, make(ft.fraction(eta), tuple(taus), rho), ft.Full(), rho=rho or Fraction(0), part="exact",
                 says=says, **extra)


def listed():
    """Erratum E6: three clients in the plane."""
    return ft.Quadratic([[[1, 0], [0, "1/2"]], [["3/10", 0], [0, 1]], [["3/5", "1/5"], ["1/5", "4/5"]]],
                        [[1, 0], [0, 2], [-1, -1]], ["1/2", "3/10", "1/5"])


# ---- Algorithm 2 ------------------------------------------------------------------------------------------
on_line13 = [symbolic(printed, 2, 1, (1, 2), momentum=True, part="first round, nothing stored", stored=False),
          symbolic(printed, 2, 1, (1, 2), momentum=True, part="any later round", stored=True),
          exact("listed, second round", printed, listed(), (2, 5, 12), "1/20", x0=[1, 1], rounds=2,
                says="the stored d_i are what the first round leaves")]


def repaired(lr, taus, rho):
    return ft.FedNovaVR(lr, taus, ft.Vanilla() if rho is None else ft.Momentum(rho))


def by_p(p, taus):
    return p


raw = [symbolic(repaired, 2, 2, (1, 2), stationary=by_p), symbolic(repaired, 2, 1, (2, 3), True, stationary=by_p),
       symbolic(repaired, 3, 1, (1, 2, 3), stationary=by_p),
       symbolic(repaired, 2, 1, (1, 2), part="unique"), symbolic(repaired, 2, 1, (2, 3), part="unique"),
       symbolic(repaired, 3, 1, (1, 1, 2), part="unique"),
       exact("listed", repaired, listed(), (2, 5, 12), "1/20"),
       exact("plane", repaired, plane(), (1, 3, 4), "1/10"),
       exact("plane, momentum", repaired, plane(), (1, 3, 4), "1/20", "1/2")]


@ft.claim("alg2-line13-as-printed", on=on_line13,
          finding="e6", at=("listed, second round",), script="witnesses/e6.py",
          step="line 13 takes d_i from the model difference, which was made with gradients that contain c_i",
          reading="G_i holds the stochastic gradients g_i at the local iterates, as everywhere in the paper; Section "
                  "5 defines d_i by raw gradients and subtracts the d_i of the last round, so d_i must not contain "
                  "c_i. Full participation, d_i = 0 before the first round.",
          survives="In the first round, where nothing is stored; and the server step, because the weighted "
                   "corrections sum to zero. With c_i subtracted again (alg2-raw-fixed-point) the true minimiser is "
                   "fixed. The printed form still converges on the listed instance, alternating, with a bias of the "
                   "order of eta. If d_i is meant to stack the corrected gradients, line 13 fits the text, and what "
                   "is off is the text.")
def line13(i):
    r"""Line 13: $d_i=(x^{(t,0)}-x_i^{(t,\tau_i)})/(\eta\|a_i\|_1)$ is the normalised raw gradient $G_ia_i/\|a_i\|_1$
    from which Section 5 builds the corrections $c_i=-d_i+\sum_jp_jd_j$."""
    before, after = _before_and_after(i)
    rho = i.rho if i.part != "exact" else ft.fraction(i.rho)
    _, _, raw = v.algorithm2(i.problem.H, i.problem.b, i.p, i.eta, rho, i.taus, read(before.x), read(before.d))
    return ft.equal(read(after.d).reshape(-1), np.array(raw).reshape(-1), "stored d_i against raw normalised gradients")


def _shrinks_are_positive(i):
    """s_i > 0 for 0 < eta h < 2, that is eta h = 2/(1 + u) with u > 0: every power of u has a coefficient >= 0."""
    return [ft.nonnegative(v.mean_shrink(2 / (1 + i.u), 1, t), f"tau = {t}: s > 0") for t in sorted(set(i.taus))]


def _step_below_two(i):
    return (i.eta * ft.fraction(i.constants.L), 2) if i.part == "exact" else ft.ASSUMED


@ft.claim("alg2-raw-fixed-point", on=raw, rejects=[bugs.corrections_kept],
          needs=[ft.Hypothesis("step", r"$\eta L<2$ (only for uniqueness)", _step_below_two, strict=True)],
          domain="fixed point: every quadratic, p and eta, n = 2 in the plane with steps (1,2), n = 2 with momentum "
                 "(any rho) and steps (2,3), n = 3 with steps (1,2,3); every integer tau by induction on a coded step "
                 "without gradient. Uniqueness: scalar clients with 0 < eta h_i < 2, n = 2 with steps (1,2) and (2,3), "
                 "n = 3 with steps (1,1,2); in the plane exactly on three instances")
def alg2_raw(i):
    r"""With raw $d_i$ the state $x=x^\star$, $d_i=\nabla F_i(x^\star)$ is fixed for every $\eta$ and solver. For
    vanilla steps and $H_i\succ0$, $0<\eta L<2$, it is the only one: for scalar clients
    $\det(I-M)=\eta\sum_jp_j\tau_j\cdot\sum_jp_jh_j\cdot\prod_i\frac{1-(1-\eta h_i)^{\tau_i}}{\eta h_i\tau_i}>0$."""
    if i.part == "unique":
        M, _ = whole_map(i)
        h = [H[0][0] for H in i.problem.H]
        return (ft.equal(ft.linalg.determinant(ft.linalg.identity(len(M), M) - M),
                         v.raw_determinant(h, i.p, i.eta, i.taus),
                         "det(I - M) of the coded round"), *_shrinks_are_positive(i))
    if i.part == "exact":
        M, c = whole_map(i)
        z = read(ft.linalg.solve(ft.linalg.identity(len(M), M) - M,
                                 c))          # raises if the fixed point is not unique
        d = i.problem.d
        return (ft.equal(v.gradient(i.problem.H, i.problem.b, i.p, z[:d]), [0] * d,
                         "the only fixed point is the minimiser of F"),
                ft.equal(z[d:], gradients(i, z[:d]).reshape(-1), "and d_i are its gradients"))
    solver, lr = i.algorithm.to(i.domain).solver, i.domain.scalar(i.eta)
    y = np.array([i.x], dtype=object)
    after, _ = solver.step(y, y, solver.start(y), 0 * y, lr, 1)
    return (*stays(i, d=gradients(i, np.array(i.x))),
            ft.induction(base=[(y - y, 0 * y)], step=[(after - y, 0 * y)],
                         label="a corrected gradient of zero moves no local step"))


flip = [exact("listed, printed", printed, listed(), (2, 5, 12), "1/20", biased=True,
              root=("-9725/10000", "-9715/10000"),
              rate=("9715/10000", "9725/10000"), bias=("405/10000", "415/10000")),
        exact("listed, raw", repaired, listed(), (2, 5, 12), "1/20", biased=False, rate=("8445/10000", "8455/10000"))]


@ft.claim("alg2-printed-flip", on=flip, rejects=[bugs.one_step_more, bugs.hidden_proximal],
          domain="the listed instance: three clients in the plane, steps (2,5,12), eta = 1/20, no momentum, full "
                 "participation, exact gradients")
def alg2_flip(i):
    r"""On the listed instance the printed form has a real eigenvalue in $(-0.9725,-0.9715)$, its rate, and a bias
    $\|\tilde x-x^\star\|$ between 0.0405 and 0.0415; the raw form has rate 0.845 and no bias."""
    M = read(i.op.mean_map()[0])
    low, high = radius(i)
    x = read(i.op.fixed_point().x)
    H, b = (f.dot(i.p, parts) for parts in (i.problem.H, i.problem.b))
    gap = x - read(ft.linalg.solve(H, b))
    legs = [ft.at_most(ft.fraction(i.rate[0]), low, "rate"), ft.at_most(high, ft.fraction(i.rate[1]), "rate")]
    if not i.biased:
        return *legs, ft.equal(gap, 0 * gap, "bias")
    ends = [ft.fraction(ft.linalg.determinant(M - ft.fraction(r) * ft.linalg.identity(len(M), M))) for r in i.root]
    square = (gap * gap).sum()
    return (*legs, ft.at_most(ends[0] * ends[1], 0, "the characteristic polynomial changes sign in between",
                              strict=True),
            ft.at_most(ft.fraction(i.bias[0]) ** 2, square, "bias squared"),
            ft.at_most(square, ft.fraction(i.bias[1]) ** 2, "bias squared"))


# ---- baselines --------------------------------------------------------------------------------------------
stable = ft.Hypothesis("stable", "the rate on the reachable subspace is below 1", strict=True,
                       sides=lambda i: (radius(i)[1], 1) if i.part == "exact" else ft.ASSUMED)


def scaffold(lr, taus, rho):
    return ft.Scaffold(lr, taus)


# ---- baselines --------------------------------------------------------------------------------------------
control = [symbolic(scaffold, 2, 2, (1, 2), stationary=by_p), symbolic(scaffold, 3, 1, (1, 2, 3), stationary=by_p),
           symbolic(scaffold, 2, 1, (3, 5), stationary=by_p),
           symbolic(scaffold, 2, 1, (1, 2), part="one round"), symbolic(scaffold, 2, 1, (3, 5), part="one round"),
           symbolic(scaffold, 3, 1, (1, 2, 3), part="one round"),
           exact("plane", scaffold, plane(), (1, 3, 8), "1/20"),
           exact("listed", scaffold, listed(), (2, 5, 12), "1/20"),
           exact("unit Hessians", scaffold, scalar([1, 1, 1], [0, 1, 5], ["1/2", "3/10", "1/5"]), (1, 4, 9), "1/10")]


@ft.claim("sec1-vr-scaffold", on=control, rejects=[bugs.control_unweighted, bugs.control_wrong_steps], needs=[stable],
          domain="every quadratic, p and eta, full participation, exact gradients: n = 2 in the plane with steps (1,2), "
                 "n = 2 with steps (3,5), n = 3 with steps (1,2,3); one round from every state: scalar clients, n = 2 with "
                 "steps (1,2) and (3,5), n = 3 with steps (1,2,3); the limit itself exactly on three instances")
def vr_scaffold(i):
    r"""SCAFFOLD (option II) with each client's own $\tau_i$ has the fixed point $x=x^\star$, $c_i=\nabla F_i(x^\star)$,
    $c=0$ on deterministic quadratics with full participation, whatever the $\tau_i$: the inconsistency is eliminated.
    From any state a round leaves $c_i^+=c_i-c+(x-x_i^{(\tau_i)})/(\tau_i\eta)$ and $c^+=c+\sum_ip_i(c_i^+-c_i)$."""
    if i.part == "one round":
        after = coded_round(i, state_at(i, i.x, c=[i.u], ci=i.memory))
        h, e, ci = ([v[0] for v in values] for values in (i.problem.H[:, 0], i.problem.b, i.memory))
        x, c, new = v.scaffold_round(h, e, i.p, i.eta, i.taus, i.x[0], i.u, ci)
        return (ft.equal(read(after.ci).reshape(-1), new, "client variates after a coded round"),
                ft.equal(read(after.c), [c], "server variate"), ft.equal(read(after.x), [x], "server model"))
    if i.part == "exact":
        x = read(i.op.fixed_point().x)
        return ft.equal(v.gradient(i.problem.H, i.problem.b, i.p, x), 0 * x,
                        "the coded limit from zero variates minimises F")
    return stays(i, ci=gradients(i, np.array(i.x)))


def vrlsgd(lr, taus, rho):
    return ft.VRLSGD(lr, taus)


def by_steps(p, taus):
    return [w * t for w, t in zip(p, taus, strict=True)]


def _exact_or_no_reduction():
    """Three unit Hessians, unequal p and steps: SCAFFOLD's limit is x*, VRL-SGD's is FedAvg's surrogate minimiser."""
    i = next(i for i in control if i.name == "unit Hessians")
    own = i.but(algorithm=vrlsgd(i.eta, i.taus, None))
    exact, biased = (read(k.op.fixed_point().x) for k in (i, own))
    H, e, p = i.problem.H, i.problem.b, i.p
    return [ft.equal(v.gradient(H, e, p, exact), 0 * exact, "SCAFFOLD's coded limit minimises F: eliminated"),
            ft.equal(v.gradient(H, e, by_steps(p, i.taus), biased), 0 * biased,
                     "VRL-SGD's coded limit has weights p_i tau_i: not reduced"),
            ft.at_most(exact, biased, "the two limits differ", strict=True),
            ft.at_most(radius(i)[1], 1, "SCAFFOLD converges", strict=True),
            ft.at_most(radius(own)[1], 1, "VRL-SGD converges", strict=True)]


ft.finding("e11", kind="remark", breaks="sec1-vr-scaffold", check=_exact_or_no_reduction,
           reading="The paper does not define SCAFFOLD and VRL-SGD for unequal steps; each client's own tau_i is used. "
                   "Deterministic quadratics, full participation.",
           survives="As an informal remark about other versions (a common divisor, partial participation, FedProx at "
                    "fixed alpha < 1).")
own_steps = [symbolic(vrlsgd, 2, 1, (1, 2), part="conserved"), symbolic(vrlsgd, 2, 2, (2, 3), part="conserved"),
             symbolic(vrlsgd, 3, 1, (1, 2, 3), part="conserved"), symbolic(vrlsgd, 2, 2, (1, 2), stationary=by_steps),
             symbolic(vrlsgd, 3, 1, (1, 2, 3), stationary=by_steps), symbolic(vrlsgd, 2, 1, (2, 3), part="unique"),
             symbolic(vrlsgd, 3, 1, (1, 1, 2), part="unique"),
             exact("plane", vrlsgd, plane(), (1, 3, 8), "1/50"), exact("listed", vrlsgd, listed(), (2, 5, 12), "1/20"),
             exact("unit Hessians, equal weights", vrlsgd, scalar([1, 1, 1], [0, 1, 5]), (1, 4, 9), "1/10"),
             exact("too large a step", vrlsgd, plane(), (1, 3, 8), "3/2")]

# in numbers what the others prove in symbols
ft.illustrate([*control, *own_steps, *raw])


@ft.claim("sec1-vr-vrlsgd", on=own_steps, rejects=[bugs.mean_divisor], needs=[stable],
          domain="every p and eta, full participation, exact gradients. Conserved quantity: every state and quadratic, "
                 "n = 2 with steps (1,2) and in the plane (2,3), n = 3 with steps (1,2,3). Fixed point: every "
                 "quadratic, n = 2 in the plane with steps (1,2), n = 3 with steps (1,2,3). Uniqueness: scalar clients "
                 "with 0 < eta h_i < 2, n = 2 with steps (2,3), n = 3 with steps (1,1,2). The limit itself exactly on "
                 "three instances")
def vr_vrlsgd(i):
    r"""VRL-SGD with own steps conserves $\sum_ip_i\tau_iD_i=0$; its fixed points have $D_i=\nabla F_i(x)$, so whenever
    it is stable it converges to the minimiser of $\sum_ip_i\tau_iF_i$: FedAvg's surrogate, no reduction at all, for
    every $\eta$."""
    w = by_steps(i.p, i.taus)
    if i.part == "exact":
        x = read(i.op.fixed_point().x)
        return ft.equal(v.gradient(i.problem.H, i.problem.b, w, x), 0 * x,
                        "the coded limit minimises the surrogate with weights p_i tau_i")
    if i.part == "conserved":
        before = state_at(i, i.x, D=i.memory)
        after = coded_round(i, before)
        total = [f.dot(w, s.D) for s in (before, after)]
        return ft.equal(total[1], total[0], "sum p_i tau_i D_i over a coded round")
    if i.part == "unique":  # scalar clients: D_n eliminated through the conserved quantity
        M, n = whole_map(i)[0], len(w)
        reduced = M[:n, :n] - M[:n, n:] * np.array([[0 * i.eta, *(a / w[-1] for a in w[:-1])]])
        h = [H[0][0] for H in i.problem.H]
        return (ft.equal(ft.linalg.determinant(ft.linalg.identity(n, M) - reduced),
                         v.vrlsgd_determinant(h, w, i.eta, i.taus),
                         "det(I - M) on the states with sum p_i tau_i D_i = 0"), *_shrinks_are_positive(i))
    return stays(i, D=gradients(i, np.array(i.x)))


def mean_steps(lr, taus, rho):
    return ft.VRLSGD(lr, taus, divisor="mean")


mean_divisor = [exact("listed: diverges", mean_steps, scalar([1, 1, 1], [0, 1, 5], ["9/10", "1/20", "1/20"]),
                      (1, 1, 40), "1/200",
                      rate=("1477/1000", "1479/1000")),
                exact("equal weights: converges", mean_steps, scalar([1, 1, 1], [0, 1, 5]), (1, 2, 4), "1/20",
                      rate=("918/1000", "919/1000"))]


@ft.claim("vrlsgd-mean-steps", on=mean_divisor, rejects=[bugs.own_divisor, bugs.one_step_more],
          domain="the listed instance, unit Hessians, fixed steps, full participation; every e_i")
def vrlsgd_mean(i):
    r"""VRL-SGD with the mean number of steps in the denominator can diverge: unit Hessians, $p=(.9,.05,.05)$,
    $\tau=(1,1,40)$, $\eta=0.005$ has spectral radius 1.478; with equal weights and steps (1,2,4) it converges."""
    mean = ft.fraction(sum(i.taus)) / len(i.taus)
    low, high = radius(i)
    M, _ = whole_map(i)
    stated = np.array(v.vrlsgd_unit(i.p, i.eta, i.taus, [mean] * len(i.taus)), dtype=object)
    return (ft.equal(read(M).reshape(-1), stated.reshape(-1), "coded round"),
            ft.at_most(ft.fraction(i.rate[0]), low, "spectral radius"),
            ft.at_most(high, ft.fraction(i.rate[1]), "spectral radius"))


def _scaffold_change(i):
    """(change of client 0 in one coded SCAFFOLD round, its raw gradients, its corrected ones) from the state's memories."""
    before = state_at(i, i.x, c=i.c, ci=i.memory)
    point, raw, corrected = np.array(i.x), [], []
    for _ in range(i.taus[0]):
        raw.append((i.problem.H[0] * point).sum(-1) - i.problem.b[0])
        corrected.append(raw[-1] - np.array(i.memory)[0] + np.array(i.c))
        point = point - i.eta * corrected[-1]
    return coded_round(i, before), point - np.array(i.x), raw, corrected


def _alone():
    """One client of weight 1 with any memories: what the server keeps is the client's change."""
    s = Symbols("eta h e x c m")
    problem = ft.Quadratic.from_linear([[[s.h]]], [[s.e]])
    return Local("SCAFFOLD, one client with any memories", problem, ft.Scaffold(s.eta, (3,)), ft.Full(), domain=s.field, x=[s.x],
                 c=[s.c], memory=[[s.m]], says="curvature, e, model, memories and eta are symbols; three steps")


def _at_its_minimiser():
    s = Symbols("eta h x c m")
    problem = ft.Quadratic([[[s.h]]], [[s.x]])
    return Local("the same, one step from the client's own minimiser", problem, ft.Scaffold(s.eta, (1,)), ft.Full(), domain=s.field,
                 x=[s.x], c=[s.c], memory=[[s.m]], says="the raw gradient vanishes")


@ft.claim("susp-vr-subsumed", on=[_alone(), _at_its_minimiser()], powerless="one round's local steps from given "
                                                                            "memories: the bugs of SCAFFOLD change "
                                                                            "how memories are kept",
          domain="SCAFFOLD with one client, every quadratic on the line, every memory and eta; three local steps, and one from the "
                 "client's own minimiser",
          reading="Section 4 names 'gradient tracking' among the local solvers of its framework and does not say over which "
                  "columns G_i ranges. Both readings are decided: G_i of the corrected gradients g_i - c_i + c, and "
                  "G_i of the gradients g_i of "
                  "the round, as defined below (4). The theorems' proofs need E d_i = h_i, the second reading.")
def vr_subsumed(i):
    r"""A round of SCAFFOLD fits $\Delta_i=-\eta G_ia_i$ with $a_i=(1,\dots,1)$ if $G_i$ holds the corrected gradients
    $g_i-c_i+c$. If $G_i$ holds the gradients $g_i$ of the round, it fits with no $a_i$: where $g_i=0$ the change is
    $\eta(c_i-c)$."""
    after, change, raw, corrected = _scaffold_change(i)
    moved = read(after.x).reshape(-1) - np.array(i.x)
    legs = [ft.equal(moved, -i.eta * sum(corrected), "coded change = -eta times the sum of corrected gradients"),
            ft.equal(change, moved, "the run beside it")]
    if len(raw) == 1:
        legs += [ft.equal(raw[0], [0 * i.eta], "the only gradient of the round is 0"),
                 ft.equal(moved, i.eta * (np.array(i.memory)[0] - np.array(i.c)), "and the change is not: eta (c_i - c)")]
    return legs
