"""Section 4.1: the general rule's tau_eff and weights for every solver."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims.solvers import coded_step, coded_vector, one_norm
from verification.fednova.formulas import solvers as fs
from verification.fednova.instances import SOLVERS

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
    return ft.fraction(value if isinstance(value, int | Q) else str(value))
