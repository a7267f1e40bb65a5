"""Section 4.1 and Appendix B: what local solvers accumulate, and which objective plain averaging then minimises."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.formulas import solvers as fs
from verification.fednova.instances import SOLVERS, Local, Symbols

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
                                 label="gamma^s", over="s"))
    else:
        legs.append(ft.equal(np.array([start, *step(zero, zero, zero)]), np.array([zero] * 3),
                             "nothing moves before the first gradient"))
    return [*legs, *(ft.equal(coded_vector(i, k), f.prefix(i.solver, k, v), f"all coefficients, k = {k}")
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
              for b in size] for a in size]
    return ft.induction(base=[(stated(zero, one), [[zero for _ in size] for _ in size])],
                        step=[(after, stated(k + 1, z * fs.ratio(i.solver, v)))],
                        label="|a|_2^2: variance after the coded steps")


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
    s = Symbols("eta v x y d u g z q k")
    return ft.Instance(solver, None, ft.FedAvg(s.eta, 1, SOLVERS[solver](s.v)), ft.Full(), domain=s.field, solver=solver,
                       value=s.v, longest=longest, above=False, s=vars(s), says=says)


proximal = ft.illustrate([
    local("proximal"),
    Local("listed gradients", None, ft.FedAvg(Q(1, 10), 4, SOLVERS["proximal"](Q(1, 5))), ft.Full(), x=Q(3),
          gradients=(Q(2), Q(-1, 3), Q(5), Q(1, 7)),
          says="numbers, on which a local step need not be affine to be compared")])


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
