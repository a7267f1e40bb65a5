"""Section 4.1 and Appendix B: what local solvers accumulate, and which objective plain averaging then minimises."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.formulas import solvers as fs
from verification.fednova.instances import SOLVERS

# ---- the coded local step ---------------------------------------------------------------------------------


def coded_step(i):
    """(displacement, buffer, gradient) -> the same after one coded local step, started from a free server model x."""
    algorithm, x = i.algorithm.to(i.domain), i.s["x"]

    def step(moved, buffer, g):
        after, kept = algorithm.solver.step(np.array([x + moved]), np.array([x]), np.array([buffer]), np.array([g]),
                                            algorithm.lr, 1)
        return after[0] - x, kept[0]
    return step, algorithm.solver.start(np.array([x]))[0], algorithm.lr


def coded_vector(i, tau):
    """The coded a_i of tau steps: the displacement when gradient k is the k-th unit vector, over -eta."""
    algorithm = i.algorithm.to(i.domain)
    zero = 0 * i.s["x"]
    y = x = np.array([zero + i.s["x"]] * tau)
    buffer = algorithm.solver.start(x)
    for k in range(tau):
        unit = np.array([zero + (1 if j == k else 0) for j in range(tau)])
        y, buffer = algorithm.solver.step(y, x, buffer, unit, algorithm.lr, 1)
    return list((x - y) / algorithm.lr)


def coefficients(i):
    """Coefficient of gradient s after k coded steps: it enters at step s, is carried on, and gradients superpose."""
    step, start, lr = coded_step(i)
    s, v = i.s, i.value
    zero, one = 0 * v, 0 * v + 1
    power, entered, g = s["z"], s["q"], s["g"]
    # the buffer carries past gradients (momentum) or the step's scale (decay), else nothing
    before = {"decay": entered}.get(i.solver, zero)
    kept = {"decay": lambda z: v * entered * z, "momentum": lambda z: z * g}.get(i.solver, lambda z: zero)

    def stated(z):
        return -lr * fs.coefficient(i.solver, v, z, entered) * g
    at_entry, later = step(zero, before, g), step(stated(power), kept(power), zero)
    next_power = power * fs.ratio(i.solver, v)
    carries = i.solver == "momentum"
    both, first, rest = (step(s["y"] + s["d"], s["u"] + (s["z"] if carries else zero), s["g"] + s["k"]),
                         step(s["y"], s["u"], s["g"]), step(s["d"], s["z"] if carries else s["u"], s["k"]))
    legs = [ft.induction(base=[(at_entry[0], stated(one)), (at_entry[1], kept(one))],
                         step=[(later[0], stated(next_power)), (later[1], kept(next_power))],
                         label="coefficient of one gradient", over="k - s"),
            ft.equal(both[0], first[0] + rest[0], "the coded step is linear: gradients superpose")]
    if i.solver == "decay":  # the scale before step s is gamma^s
        legs.append(ft.induction(base=[(start, one)], step=[(step(zero, entered, zero)[1], v * entered)],
                                 label="gamma^s",
                                 over="s"))
    else:
        legs.append(ft.equal(np.array([start, *step(zero, zero, zero)]), np.array([zero] * 3),
                             "nothing moves before the first gradient"))
    return [*legs, *(ft.equal(coded_vector(i, k), f.prefix(i.solver, k, v),
                              f"all coefficients, k = {k}")
                     for k in range(1, i.longest + 1))]


def one_norm(i):
    """|a|_1 of the coded solver for every number of steps: unit gradients, one coded step at a time."""
    step, start, lr = coded_step(i)
    v, z, k = i.value, i.s["z"], i.s["k"]
    held = {"decay": lambda z: z, "momentum": lambda z: (1 - z) / (1 - v)}.get(i.solver, lambda z: 0 * v)

    def norm(k, z):
        return -lr * fs.norm1(i.solver, v, k, z)
    after, next_power = step(norm(k, z), held(z), 0 * v + 1), z * fs.ratio(i.solver, v)
    one = 0 * v + 1
    return ft.induction(base=[(norm(0 * v, one), 0 * v), (held(one), start)],
                        step=[(after[0], norm(k + 1, next_power)), (after[1], held(next_power))],
                        label="|a|_1 of the coded steps")


def two_norm(i):
    """|a|_2^2 of the coded solver: the variance that unit noise in every gradient leaves, one coded step at a time."""
    step, _, lr = coded_step(i)
    v, z, k = i.value, i.s["z"], i.s["k"]
    zero, one = 0 * v, 0 * v + 1
    if i.solver == "momentum":  # the local state is (displacement, buffer)
        transition, fresh = [step(one, zero, zero), step(zero, one, zero)], step(zero, zero, one)
    else:
        held = z if i.solver == "decay" else zero
        transition, fresh = [step(one, held, zero)[:1]], step(zero, held, one)[:1]

    def stated(k, z):
        square = lr**2 * fs.norm2(i.solver, v, k, z)
        if i.solver != "momentum":
            return [[square]]
        spread = (1 - z**2) / (1 - v**2)
        mixed = -lr * ((1 - z) / (1 - v) - v * spread) / (1 - v)
        return [[square, mixed], [mixed, spread]]
    S, size = stated(k, z), range(len(fresh))
    after = [[sum(transition[c][a] * S[c][e] * transition[e][b] for c in size for e in size) + fresh[a] * fresh[b]
              for b in size]
             for a in size]
    return ft.induction(base=[(stated(zero, one), [[zero for _ in size] for _ in size])],
                        step=[(after, stated(k + 1, z * fs.ratio(i.solver, v)))],
                        label="|a|_2^2: variance after the coded steps")


# ---- the coded server -------------------------------------------------------------------------------------


def coded_averaging(i):
    """(tau_eff, w) of the coded round: on losses <g_i, x> it moves by -eta tau_eff sum_i w_i g_i."""
    if i.taus is None:
        moved = np.diag(-i.eta * np.array(i.s1)) + 0 * i.eta  # client i's displacement on its own coordinate
        pull = list(-ft.server_step(i, [0 * i.eta] * len(i.p), moved, i.eta * np.array(i.s1)[:, None]) / i.eta)
    else:
        pull = list(-i.op.mean_map()[1] / i.eta)
    total = sum(pull)
    return total, [v / total for v in pull]


def linear_losses(n, p):
    """f_i(x) = x_i: the coded round moves coordinate i by -eta tau_eff w_i, noise by v_i |a_i|_2."""
    return ft.Quadratic.from_linear(np.zeros((n, n, n), dtype=object), -np.eye(n, dtype=int).astype(object), p)


def symbols(n, uniform=False, more="", own=False):
    """A field with eta, v, x, k, and per client p_i (summing to 1), s_i, z_i, t_i, r_i (and v_i with `own`)."""
    field = ft.Field(" ".join(["eta v x z k root", *(f"{name}{i}" for name in "sztrv"[:4 + own] for i in range(n)),
                               *([] if uniform else [f"p{i}" for i in range(n - 1)]), more]))
    s = dict(zip(field.names, field.symbols, strict=True))
    one = s["eta"] * 0 + 1
    p = [one / n] * n if uniform else [s[f"p{i}"] for i in range(n - 1)]
    if not uniform:
        p.append(1 - sum(p))
    return field, s, p


def general(solver, n, server=ft.FedAvg, uniform=False, own=False, more="", **extra):
    """Any numbers of local steps: z_i stands for r^tau_i, t_i for tau_i; s1 = |a_i|_1 and s2 = |a_i|_2^2.

    solver None: any solver at all, s_i free. own: every client has its own parameter v_i."""
    field, s, p = symbols(n, uniform, more, own)
    pick = lambda name: [s[f"{name}{i}"] for i in range(n)]  # noqa: E731
    values = pick("v") if own else [s["v"]] * n
    algorithm = server(s["eta"], 1, SOLVERS[solver or "vanilla"](s["v"]))
    z, t, free = pick("z"), pick("t"), pick("s")
    s1 = free if solver is None else [fs.norm1(solver, v, k, w) for v, k, w in zip(values, t, z, strict=True)]
    s2 = None if solver is None else [fs.norm2(solver, v, k, w) for v, k, w in zip(values, t, z, strict=True)]
    return ft.Instance(f"n={n}, general tau" + (", uniform p" if uniform else ""), linear_losses(n, p), algorithm,
                       ft.Full(), domain=field, solver=solver, value=s["v"], values=values, z=z, t=t, r=pick("r"),
                       s1=s1, s2=s2, s=s, taus=None,
                       says="every p, parameter and number of steps" if solver else "every p and every 1-norm", **extra)


# ---- eqs 5-6 ----------------------------------------------------------------------------------------------
def _any_round(n, d=2):
    """Whatever the clients did: changes (n, d) and masses eta |a_i|_1 are free symbols, fed to the coded servers."""
    changes = [f"c{i}{j}" for i in range(n) for j in range(d)]
    base = general(None, n, more=" ".join(changes + [f"x{j}" for j in range(d)]))
    s = base.s
    tau_eff, w = f.plain_averaging(base.p, base.s1)
    change = np.array([[s[f"c{i}{j}"] for j in range(d)] for i in range(n)])
    return base.but(name=f"n={n}, any solvers", rule=ft.GeneralRule(base.eta, 1, tau_eff=tau_eff, w=tuple(w)),
                    change=change, x=[s[f"x{j}"] for j in range(d)], mass=np.array([[base.eta * v] for v in base.s1]),
                    says="any local changes and 1-norms: every solver, loss, noise and number of steps, mixed solvers "
                         "too")


def _coded_round(solver, taus=(2, 3)):
    """A whole coded round on two symbolic quadratics."""
    field = ft.Field("eta v p h0 h1 e0 e1")
    eta, v, p, h0, h1, e0, e1 = field.symbols
    tau_eff, w = f.plain_averaging([p, 1 - p], [f.norm1(f.a_vector(solver, t, v)) for t in taus])
    local_solver = SOLVERS[solver](v)
    return ft.Instance(f"{solver}, tau={taus}", ft.Quadratic.from_linear([[[h0]], [[h1]]], [[e0], [e1]], [p, 1 - p]),
                       ft.FedAvg(eta, taus, local_solver), ft.Full(), domain=field,
                       rule=ft.GeneralRule(eta, taus, local_solver, tau_eff=tau_eff, w=tuple(w)),
                       says="coded rounds of both algorithms on quadratics, every symbol free")


on_eq5_6 = [*(_any_round(n) for n in (2, 3, 4)), *(_coded_round(s) for s in SOLVERS)]


@ft.claim("eq5-6", covers={"tau": "all"},
          on=on_eq5_6, rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.one_step_more, bugs.decayed_step],
          domain="the server step for n = 2, 3, 4, every p, all local changes and 1-norms (so every solver, loss and "
                 "number of steps); the whole coded rounds of all four solvers on two symbolic quadratics, tau = (2, 3)")
def eq5_6(i):
    r"""Plain averaging $x^+=x+\sum_ip_i\Delta_i$ with any local solver is the general rule (4)
    $x^+=x-\tau_{\rm eff}\,\eta\sum_iw_id_i$ with $\tau_{\rm eff}=\sum_ip_i\|a_i\|_1$ and
    $w_i=p_i\|a_i\|_1/\tau_{\rm eff}$."""
    general = i.but(algorithm=i.rule)
    if i.taus is None:
        return ft.equal(ft.server_step(i, i.x, i.change, i.mass), ft.server_step(general, i.x, i.change, i.mass),
                        "coded server steps")
    (M, c), (R, r) = i.op.mean_map(), general.op.mean_map()
    return ft.equal(M, R, "matrix of the coded rounds"), ft.equal(c, r, "offset of the coded rounds")


def whole(solver, taus, server=ft.FedAvg, uniform=False, value=None, more="", noise=1, **extra):
    """The whole coded round on linear losses; p and the solver's parameter are symbols."""
    n = len(taus)
    field, s, p = symbols(n, uniform, more)
    v = s["v"] if value is None else s["v"] * 0 + value
    return ft.Instance(f"{solver}, tau={taus}" + (", uniform p" if uniform else ""), linear_losses(n, p),
                       server(s["eta"], tuple(taus), SOLVERS[solver](v)), ft.Full(), noise=noise, domain=field,
                       solver=solver, value=v, values=[v] * n, t=[v * 0 + t for t in taus], s=s,
                       z=[fs.ratio(solver, v) ** t for t in taus], says="the whole coded round on linear losses",
                       **extra)


on_eq7 = [general("proximal", 2), general("proximal", 3), whole("proximal", (1, 3, 5), noise=0)]


@ft.claim("eq7", covers={"d": "none", "tau": "all"},
          on=on_eq7, rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.one_step_more, bugs.proximal_squared,
                                 bugs.proximal_missing],
          domain="n = 2, 3, every p and alpha, every integer tau_i by induction on the coded step; the whole coded "
                 "round for tau = (1, 3, 5)")
def eq7(i):
    r"""FedProx with $\alpha=\eta\mu$: $\tau_{\rm eff}=\frac1\alpha\sum_ip_i[1-(1-\alpha)^{\tau_i}]$ and
    $w_i=\dfrac{p_i[1-(1-\alpha)^{\tau_i}]}{\sum_jp_j[1-(1-\alpha)^{\tau_j}]}$."""
    (tau_eff, w), (stated, weights) = coded_averaging(i), fs.proximal_averaging(i.value, i.p, i.z)
    legs = ft.equal(tau_eff, stated, "coded tau_eff"), ft.equal(w, weights, "coded weights")
    return (one_norm(i), *legs) if i.taus is None else legs


def listed_run(i):
    """The coded displacement after the listed gradients, one coordinate."""
    algorithm = i.algorithm.to(i.domain)
    y = x = i.domain.array(np.array([i.x]))
    buffer = algorithm.solver.start(x)
    for g in i.gradients:
        y, buffer = algorithm.solver.step(y, x, buffer, i.domain.array(np.array([g])), algorithm.lr, 1)
    return (y - x)[0]


def local(solver, longest=8, says="any number of steps; all coefficients up to 8 steps"):
    """One client's coded solver with its parameter v, step eta and gradients as symbols; z and q are powers."""
    field = ft.Field("eta v x y d u g z q k")
    s = dict(zip(field.names, field.symbols, strict=True))
    return ft.Instance(solver, None, ft.FedAvg(s["eta"], 1, SOLVERS[solver](s["v"])), ft.Full(), domain=field,
                       solver=solver, value=s["v"], longest=longest, above=False, s=s, says=says)


proximal = [local("proximal"),
            ft.Instance("listed gradients", None, ft.FedAvg(Q(1, 10), 4, SOLVERS["proximal"](Q(1, 5))), ft.Full(),
                        value=Q(1, 5), x=Q(3), gradients=(Q(2), Q(-1, 3), Q(5), Q(1, 7)),
                        says="numbers, on which a local step need not be affine to be compared")]

# in numbers what the others prove in symbols
ft.illustrate([*proximal])


@ft.claim("appb-prox", covers={"tau": "all"},
          on=proximal,
          rejects=[bugs.proximal_squared, bugs.proximal_missing, bugs.proximal_repelling, bugs.proximal_not_squared],
          domain="every alpha, eta and gradient sequence; every integer tau by induction on the coded step; all "
                 "coefficients for tau = 1..8")
def appb_prox(i):
    r"""The proximal solver $y\leftarrow y-\eta[g(y)+\mu(y-x)]$ with $\alpha=\eta\mu$ accumulates
    $\Delta_i=-\eta\sum_{k<\tau}a_kg(y_k)$ with $a_k=(1-\alpha)^{\tau-1-k}$."""
    if hasattr(i, "gradients"):
        a = f.a_vector("proximal", len(i.gradients), i.value)
        return ft.equal(listed_run(i), -i.eta * f.dot(a, i.gradients), "displacement")
    return coefficients(i)


decay = [local("decay")]


@ft.claim("appb-decay", covers={"tau": "all"},
          on=decay, rejects=[bugs.early_decay],
          domain="every gamma, eta and gradient sequence; every integer tau by induction on the coded step; all "
                 "coefficients for tau = 1..8")
def appb_decay(i):
    r"""Local step decay $y\leftarrow y-\eta\gamma^kg(y)$ accumulates $\Delta_i=-\eta\sum_{k<\tau}a_kg(y_k)$ with
    $a_k=\gamma^k$."""
    return coefficients(i)


prefixes = [local(s) for s in SOLVERS]


@ft.claim("prefix-coefficients", covers={"tau": "all"},
          on=prefixes, rejects=[bugs.decayed_step, bugs.proximal_squared, bugs.dampened_momentum,
                                                       bugs.nesterov_momentum, bugs.early_decay],
          domain="every parameter, eta and gradient sequence; every k by induction on the coded step, all k up to 8 in "
                 "full; the comparison with a for every k < tau, parameters in (0, 1)")
def prefix_coefficients(i):
    r"""After $k$ local steps $y_k-x=-\eta\sum_{s<k}b^{(k)}_sg(y_s)$ with $b^{(k)}_s=1$ (vanilla), $(1-\alpha)^{k-1-s}$
    (proximal), $\frac{1-\rho^{k-s}}{1-\rho}$ (momentum), $\gamma^s$ (decay). Only for vanilla and decay is
    $b^{(k)}_s=a_s$: for $k<\tau$ and parameters in $(0,1)$ the proximal $b^{(k)}_s$ is larger than $a_s$, that of
    momentum smaller."""
    return *coefficients(i), *_against_a(i)


def _against_a(i):
    """b_s^(k) - a_s for k < tau: the power at tau is that at k times `more` = r^(tau - k)."""
    s, v = i.s, i.value
    power, more = s["z"], s["y"]
    gap = fs.coefficient(i.solver, v, power, s["q"]) - fs.coefficient(i.solver, v, power * more, s["q"])
    if i.solver in ("vanilla", "decay"):
        return [ft.equal(gap, 0 * v, "b = a")]
    # 1 - r^j = (1 - r)(1 + r + ... + r^(j-1)) > 0 for 0 < r < 1: the gap has one sign and does not vanish
    steps = ft.induction(base=[(1 - more**0, 0 * v)], step=[((1 - more * s["u"]) - (1 - more), (1 - s["u"]) * more)],
                         label="1 - r^j grows from 0 by (1 - r) r^j > 0", over="j")
    sign = {"proximal": power * (1 - more), "momentum": -v * power * (1 - more) / (1 - v)}[i.solver]
    return [ft.equal(gap, sign, "b - a: positive for prox, negative for momentum"), steps]


above_one = local("proximal", says="alpha = 1 + v above 1: entries alternate in sign")
norms = [*prefixes, above_one.but(name="proximal, alpha above 1", above=True)]


@ft.claim("appb-norms", covers={"tau": "all", "alpha": "0 to 1"},
          on=norms, rejects=[bugs.decayed_step, bugs.proximal_squared, bugs.dampened_momentum,
                                          bugs.nesterov_momentum, bugs.early_decay],
          domain="every parameter (proximal: 0 <= alpha <= 1) and every integer tau by induction on the coded step, "
                 "first and second moments; alpha above 1: tau = 2..8")
def appb_norms(i):
    r"""$\|a\|_1$ and $\|a\|_2^2$ are: $\tau$ and $\tau$ (vanilla); $\frac{1-(1-\alpha)^\tau}\alpha$ and
    $\frac{1-(1-\alpha)^{2\tau}}{1-(1-\alpha)^2}$ (proximal);
    $\frac1{1-\rho}\left[\tau-\frac{\rho(1-\rho^\tau)}{1-\rho}\right]$ and $\sum_ka_k^2$ (momentum);
    $\frac{1-\gamma^\tau}{1-\gamma}$ and $\frac{1-\gamma^{2\tau}}{1-\gamma^2}$ (decay). The proximal 1-norm needs
    $0\le\alpha\le1$: above 1 the entries alternate in sign and the formula is too small."""
    if not i.above:
        return one_norm(i), two_norm(i)
    legs = []
    for tau in range(2, i.longest + 1):
        a = [v.substitute(v=1 + i.value) + 0 * i.value for v in coded_vector(i, tau)]
        size = [(-1) ** (tau - 1 - k) * v for k, v in enumerate(a)]
        legs += [ft.nonnegative(v, f"entry {k} of {tau}, times (-1)^(tau-1-k)") for k, v in enumerate(size)]
        stated = fs.norm1("proximal", 1 + i.value, tau, (-i.value) ** tau)
        legs.append(ft.nonnegative(sum(size) - stated - 2 * i.value,
                                   f"tau = {tau}: the 1-norm exceeds the formula by at least 2 (alpha - 1)"))
    return legs


def _one_norms(i):
    """|a_i|_1 of every client: free symbols, or the paper's for the instance's solver and steps."""
    return i.s1 if i.taus is None else [fs.norm1(i.solver, i.value, t, z) for t, z in zip(i.t, i.z, strict=True)]


chi2 = [*(general(None, n) for n in (2, 3)), whole("vanilla", (1, 3, 8), noise=0), whole("momentum", (1, 3), noise=0)]


@ft.claim("chi2-identity", covers={"n": "all", "d": "none", "tau": "all"},
          on=chi2, rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.decayed_step,
                                            bugs.nesterov_momentum],
          domain="n = 2, 3 (both sides are quadratic in p, so n = 2 decides every n), every p and 1-norm; weights of "
                 "the coded server")
def chi2_identity(i):
    r"""With the weights of plain averaging $\chi^2_{p\|w}=E_p[s]\,E_p[1/s]-1=\sum_{i<j}p_ip_j(r_{ij}+1/r_{ij}-2)$,
    $s_i=\|a_i\|_1$, $r_{ij}=s_i/s_j$; for FedAvg $s_i=\tau_i$."""
    s = _one_norms(i)
    chi2 = f.chi2(i.p, coded_averaging(i)[1])
    return (ft.equal(chi2, ft.Terms(moments=fs.mean(i.p, s) * fs.mean(i.p, [1 / v for v in s]), one=0 * i.eta - 1),
                     "E[s] E[1/s] - 1"),
            ft.equal(chi2, f.chi2_pairs(i.p, lambda a, b: s[a] / s[b]), "sum over pairs"))


alpha1 = [whole("proximal", (1, 3, 5), noise=0, value=1, more="tau")]


@ft.claim("remark-alpha1", covers={"d": "none", "tau": "all"},
          on=alpha1, rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.proximal_missing],
          domain="every p and every integer tau_i by induction on the coded step; the whole coded round for tau = (1, "
                 "3, 5)")
def remark_alpha1(i):
    r"""At $\alpha=1$ FedProx has $w=p$ and $\tau_{\rm eff}=1$, and the first term of (8) is $E_p[\tau]$ times that of
    FedAvg."""
    step, _, lr = coded_step(i)
    one = 0 * i.eta + 1
    norm = ft.induction(base=[(step(0 * one, 0 * one, one)[0], -lr)], step=[(step(-lr, 0 * one, one)[0], -lr)],
                        label="the coded |a|_1 is 1 after every step")
    tau_eff, w = coded_averaging(i)
    tau, root = i.s["tau"], i.s["root"]
    first = [4 * tau / (scale * root) for scale in (tau_eff, fs.mean(i.p, i.t))]  # eq 8's first term over the gap
    return (norm, ft.equal(tau_eff, one, "coded tau_eff"), ft.equal(w, i.p, "coded weights"),
            ft.equal(first[0], fs.mean(i.p, i.t) * first[1], "first term against that of FedAvg"))


on_remark_decay = [general("decay", 2, own=True), general("decay", 3, own=True), whole("decay", (1, 3, 5), noise=0)]


@ft.claim("remark-decay", covers={"d": "none", "tau": "all"},
          on=on_remark_decay, rejects=[bugs.uniform_weights, bugs.early_decay, bugs.one_step_more],
          domain="n = 2, 3, every p, every gamma_i of its own, every integer tau_i by induction on the coded step; the "
                 "whole coded round with one gamma for tau = (1, 3, 5)")
def remark_decay(i):
    r"""With local step decay plain averaging has $w_i\propto p_i\dfrac{1-\gamma_i^{\tau_i}}{1-\gamma_i}$."""
    weights = ft.equal(coded_averaging(i)[1], fs.decay_weights(i.p, i.values, i.z), "coded weights")
    return (one_norm(i), weights) if i.taus is None else weights


def _reversal(taus):
    base = whole("proximal", taus, noise=0)
    return base.but(name=f"tau={taus}", other=ft.FedAvg(base.eta, tuple(taus), ft.Decay(1 - base.value)))


reversal = [_reversal(t) for t in ((1, 4), (2, 8), (3, 6), (5, 7))]


@ft.claim("remark-decay-reversal", covers={"d": "none"},
          on=reversal, rejects=[bugs.proximal_squared, bugs.one_step_more,
                                                        bugs.proximal_missing],
          domain="every alpha and p; coefficients of the coded steps for tau = 1..8, coded rounds with steps (1, 4), "
                 "(2, 8), (3, 6), (5, 7); the difference for every alpha in (0, 1)")
def remark_decay_reversal(i):
    r"""For $\gamma=1-\alpha$ the decay vector is the proximal one reversed: $\|a\|_1,\|a\|_2,\tau_{\rm eff},w,\chi^2$
    and $A$ coincide, while $a_{-1}$, $B$ and $C$ differ (decay has the smaller last entry, hence the larger $B$ and
    $C$)."""
    decay = i.but(algorithm=i.other)
    prox_vectors, decay_vectors = ([coded_vector(one, t) for t in i.taus] for one in (i, decay))
    legs = [ft.equal(a, list(reversed(b)), f"coded vectors, tau = {len(b)}")
            for a, b in zip(prox_vectors, decay_vectors, strict=True)]
    (tau_eff, w), (tau_decay, w_decay) = coded_averaging(i), coded_averaging(decay)
    legs += [ft.equal(tau_eff, tau_decay, "tau_eff of the coded rounds"),
             ft.equal(w, w_decay, "weights of the coded rounds"),
             ft.equal(f.chi2(i.p, w), f.chi2(i.p, w_decay), "chi-square")]
    for a, b in zip(prox_vectors, decay_vectors, strict=True):
        legs += [ft.equal([f.norm1(a), f.norm2(a)], [f.norm1(b), f.norm2(b)], "both norms, hence A")]
        if len(b) > 1:  # alpha = v/(1 + v) runs through (0, 1)
            gap = (a[-1] - b[-1] - i.value).substitute(v=i.value / (1 + i.value)) + 0 * i.value
            legs.append(ft.nonnegative(gap, "decay's a_{-1} is smaller by at least alpha, so its B and C are larger"))
    return legs


def _plain(name, solver, value, taus, p, says):
    base = whole(solver, taus, noise=0, value=value)
    return base.but(name=name, p=[base.eta * 0 + v for v in p], problem=linear_losses(len(taus), p), exact=True,
                    says=says)


def _w_iff():
    p = [Q(1, 2), Q(1, 3), Q(1, 6)]
    return [*(general(None, n, exact=False) for n in (2, 3)),
            _plain("equal steps", "momentum", Q(1, 2), (3, 3, 3), p, "one 1-norm, so w = p"),
            _plain("unequal steps", "vanilla", None, (1, 2, 3), p, "three 1-norms"),
            _plain("alpha = 1", "proximal", Q(1), (1, 2, 3), p, "unequal steps, one 1-norm: w = p all the same"),
            _plain("alpha = 1/2", "proximal", Q(1, 2), (1, 2, 3), p, "three 1-norms"),
            _plain("an absent client", "vanilla", None, (2, 2, 3), [Q(2, 3), Q(1, 3), Q(0)],
                   "the client with another 1-norm has p_i = 0")]


w_iff = _w_iff()


@ft.claim("remark-w-iff", covers={"n": "all", "d": "none", "tau": "all"},
          on=w_iff, rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.proximal_missing,
                                            bugs.decayed_step],
          domain="n = 2, 3 (quadratic in p, so n = 2 decides every n), every p and 1-norm, weights of the coded "
                 "server; equal steps are neither necessary nor sufficient")
def remark_w_iff(i):
    r"""Plain averaging has $w=p$ exactly when all clients with $p_i>0$ share one $\|a_i\|_1$: $\chi^2_{p\|w}$ is the
    sum over pairs of $p_ip_j(s_i-s_j)^2/(s_is_j)\ge0$ (Cauchy-Schwarz), zero only if $s$ is constant there."""
    _, w = coded_averaging(i)
    s = _one_norms(i)
    mean = fs.mean(i.p, s)
    weights = ft.equal(w, [q * v / mean for q, v in zip(i.p, s, strict=True)], "coded weights")
    if not i.exact:
        squares = fs.chi2_squares(i.p, s)
        excess = [q * (v - mean) / mean for v, q in zip(s, i.p, strict=True)]
        return (weights, ft.equal(f.chi2(i.p, w), squares, "chi-square as a sum of squares"),
                ft.equal([v - q for v, q in zip(w, i.p, strict=True)], excess, "w - p"))
    here = [(_number(q), _number(v)) for q, v in zip(i.p, s, strict=True)]
    norms = [v for q, v in here if q]
    gap, spread = max(abs(_number(a) - q) for a, (q, _) in zip(w, here, strict=True)), max(norms) - min(norms)
    return weights, ft.equivalent((gap > 0, (0, gap)), (spread > 0, (0, spread)),
                                  "w differs from p exactly when 1-norms differ")


def _number(value):
    """A rational constant of a field, or a plain number, as a Fraction."""
    return ft.fraction(str(value)) if hasattr(value, "element") else ft.fraction(value)
