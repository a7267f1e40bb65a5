"""Option II's control variates (Section 3.2), SCAFFOLD's and FedProx's steps (Appendix E.2): identities for any losses.

Gradients are samples here: clients without curvature, to whose gradients 0 a free symbol is added in every local step.
"""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.mutants.base import altered
from verification import bugs
from verification.fedres import bugs as own
from verification.fedres.instances import figure1, scalar, unequal
from verification.fedres.proofs import variates as proofs
from verification.fedres.symbols import symbols


def flat(n):
    """n clients on the line whose gradients are 0: their samples alone count."""
    return ft.Quadratic.from_linear([[[0]]] * n, [[0]] * n)


def flat_residual(n):
    return scalar([0] * n, [0] * n, [0] * n, [0] * n, [0] * n)


def after(i, algorithm=None, problem=None, slots=(), **state):
    """One coded round on all clients from a state (x and the fields given), with samples by slot (n, d)."""
    algorithm, problem = (v.to(i.domain) for v in (algorithm or i.algorithm, problem or i.problem))
    values = {k: i.domain.array(np.array(v, dtype=object)) for k, v in state.items()}
    start = algorithm.init(problem, values["x"])._replace(**values)
    slots = [i.domain.array(np.array(v, dtype=object)) for v in slots]
    draw = ft.everyone(problem.n, algorithm.steps)._replace(xi=slots.__getitem__ if slots else None)
    new = algorithm.round(problem, start, draw)
    return new if i.domain != ft.RATIONAL else type(new)(*map(ft.linalg.to_fractions, new))


# ---- SCAFFOLD ---------------------------------------------------------------------------------------------
def _scaffold(n, K):
    field, s = symbols("eta x c", ci=(n, 1), g=(K, n, 1))
    algorithm = ft.Scaffold(s.pop("eta"), K)
    return ft.Instance(f"N={n}, K={K}", flat(n), algorithm, domain=field, **s,
                       says="every gradient, w, c and c_i a symbol: any losses, any state")


def _one_step():
    field, s = symbols("eta x c ci G g k")
    return ft.Instance("every K", flat(1), ft.Scaffold(s.pop("eta"), 1), domain=field, **s,
                       says="one more local step of one client after k of them, whose gradients sum to G")


@ft.claim("scaffold-identity", on=[_one_step(), _scaffold(1, 1), _scaffold(1, 3), _scaffold(3, 2)],
          rejects=[bugs.control_wrong_steps], covers={"n": "all", "d": "all", "tau": "all"},
          domain="all losses, states and numbers of local steps by induction on the coded local step; clients do not mix before "
                 "the server's step and coordinates never do; the whole coded round for N = 1, 3 and K = 1, 2, 3")
def scaffold_identity(i):
    r"""SCAFFOLD's control variate $c_i-c+(w-w_i)/(\eta K)$ is the mean $\frac1K\sum_kg_i^{(k)}$ of the local gradients, as in
    Option II of FedResAvg."""
    if "k" not in i.extra:
        new = after(i, x=[i.x], c=[i.c], ci=i.ci, slots=i.g)
        return ft.equal(new.ci, i.g.sum(0) * Q(1, len(i.g)), "the coded variate after the round")
    def local(G, k):
        return i.x - i.eta * (G + k * (i.c - i.ci))
    coded = after(i, x=[local(i.G, i.k)], c=[i.c], ci=[[i.ci]], slots=[[[i.g]]]).x[0]   # one client: the server takes its w_i
    return (ft.induction(base=[(local(0 * i.G, 0 * i.k), i.x)], step=[(coded, local(i.G + i.g, i.k + 1))], over="K",
                         label="w_i = w - eta (sum of gradients + k (c - c_i))"),
            ft.equal(i.ci - i.c + (i.x - local(i.G, i.k)) / (i.eta * i.k), i.G / i.k, "the printed expression at K = k"))


# ---- FedProx ----------------------------------------------------------------------------------------------
def _prox(K):
    field, s = symbols("eta mu x", g=(K, 1, 1))
    return ft.Instance(f"K={K}", flat(1), ft.LocalProx(s["eta"], K, mu=s["mu"]), domain=field, x=s["x"], g=s["g"], mu=s["mu"],
                       scaffold=ft.Scaffold(s["eta"], 1), says="every gradient, eta, mu and w a symbol; one client")


@ft.claim("fedprox-as-scaffold", on=[_prox(2), _prox(4)], rejects=[own.local_prox_missing, own.local_prox_halved],
          covers={"n": "all", "d": "all", "tau": "all"},
          domain="all losses: after one free step the local model is any w_i, and the next coded step is SCAFFOLD's; further "
                 "steps repeat it, carried out for K = 2 and 4; clients and coordinates do not mix")
def fedprox_as_scaffold(i):
    r"""FedProx's step $w_i-\eta(\nabla\ell(w_i)+\mu w_i-\mu\bar w)$ is SCAFFOLD's step $w_i-\eta(\nabla\ell(w_i)-c_i+c)$ with
    $c_i=-\mu w_i$ (renewed in every step) and $c=-\mu\bar w$."""
    w = np.array([i.x])
    for g in i.g:
        w = after(i, i.scaffold, x=w, c=[-i.mu * i.x], ci=[-i.mu * w], slots=[g]).x
    return ft.equal(after(i, x=[i.x], slots=i.g).own[0], w, "K coded FedProx steps = K coded SCAFFOLD steps")


# ---- FedProx with mu = 0 ------------------------------------------------------------------------------------
def _copies(K):
    field, s = symbols("eta", m=(3,))
    return ft.Instance(f"K={K}", ft.Quadratic([[[1]]] * 3, [[v] for v in s["m"]]), ft.LocalProx(s["eta"], K), domain=field, K=K,
                       **s, says="L_i = (w - m_i)^2/2 for three clients, every m_i and eta a symbol")


@ft.claim("fedprox-mu0-similar", on=[_copies(1), _copies(5)], rejects=[own.own_copy_goes_on, own.one_step_more])
def fedprox_mu0_similar(i):
    r"""As printed: with $\mu=0$ FedProx becomes very similar to residual learning, $w_i-\bar w$ being the local model. What it is:
    on $L_i=\frac12(w-m_i)^2$ the copies $w_i$ of converged rounds keep $(1-\eta)^{2K}$ of the loss of the best single model, since
    they start from $\bar w$ in every round. Residual learning reaches 0; how near is similar, the paper does not say."""
    mean = i.m.sum() / 3
    found = after(i, x=[mean], own=after(i, x=[mean]).own)   # the second round from there
    losses = [sum((v - m) ** 2 for v, m in zip(at, i.m, strict=True)) / 6 for at in (found.own[:, 0], [mean] * 3)]
    best = ft.Residual(*([[[1]]] * 3 for _ in "ABC"), i.m[:, None], i.m[:, None])
    reached = best.joint_value([mean], i.m[:, None] - mean) + (i.m * i.m).sum() / 6
    return (ft.equal(found.x, [mean], "the rounds have converged"), ft.equal(reached, 0, "(1) has loss 0, at theta_i = m_i - w"),
            ft.equal(losses[0], (1 - i.eta) ** (2 * i.K) * losses[1], "mean loss of the copies"))


# ---- the mean of the variates -------------------------------------------------------------------------------
def _option_two(n, K):
    field, s = symbols("eta lam alpha x off", t=(n, 1), ci=(n, 1), g=(2 * K, n, 1))
    algorithm = ft.FedResAvg(s["eta"], K, personal_lr=s["lam"], alpha=s["alpha"])
    return ft.Instance(f"N={n}, K={K}", flat_residual(n), algorithm, domain=field,
                       **{k: v for k, v in s.items() if k not in ("eta", "lam")}, K=K,
                       says="every gradient, w, theta_i, c_i, eta, alpha a symbol; c is the mean of the c_i, or off by `off`")


def _listed(name, problem, alpha, K):
    n = problem.n
    return ft.Instance(name, problem, ft.FedResAvg("1/20", K, personal_lr="1/30", alpha=alpha), K=K, alpha=ft.fraction(alpha),
                       x=[ft.fraction(k + 1) for k in range(problem.d)], off=ft.fraction("1/7"), illustrates=True,
                       t=[[k - 1] * problem.personal for k in range(n)], ci=[[ft.fraction(k * k - j) for j in range(problem.d)]
                                                                           for k in range(n)])


def from_state(i, off=0):
    """(state after a coded round, c of before) with c the mean of the c_i plus `off`."""
    ci = np.array(i.ci, dtype=object)
    c = ci.sum(0) * Q(1, len(ci)) + off
    x = [i.x] if np.ndim(i.x) == 0 else i.x
    return after(i, x=x, theta=i.t, c=c, ci=ci, slots=i.extra.get("g", ())), c, np.array(x, dtype=object)


def identity_meaning(i):
    """Coordinates of one coded round on listed clients."""
    if isinstance(i.domain, ft.Field):
        return
    new, c, x = from_state(i)
    n, K = Q(i.problem.n), Q(i.K)
    for j in range(i.problem.d):
        g, ci = K * new.ci[:, j], np.array(i.ci, dtype=object)[:, j]
        m = -i.eta * (g - K * ci + K * c[j])
        sums = {"M": sum(m), "G": sum(g), "Ci": sum(ci), "w": x[j], "w1": new.x[j], "c": c[j], "c1": new.c[j]}
        for one in range(i.problem.n):
            yield sums | {"N": n, "K": K, "eta": ft.fraction(i.eta), "alpha": i.alpha, "m": m[one], "g": g[one], "ci": ci[one]}, {}


@ft.claim("identity-c", on=[_option_two(1, 1), _option_two(2, 2), _option_two(3, 1), _option_two(2, 3),
                            _listed("Figure 1", figure1(), 1, 10), _listed("unequal sizes", unequal(), "5/2", 4),
                            _listed("one client, K=300", scalar([1], [1], [2], [1], [0]), 3, 300)],
          rejects=[own.alpha_dropped, own.mean_not_divided, own.variates_not_averaged, own.mean_is_late],
          proof=proofs.identity_c, meaning=identity_meaning,
          domain="all losses, numbers of clients and local steps, dimensions and server steps alpha, all clients in every round")
def identity_c(i):
    r"""Option II, any losses, all clients in every round, $c=\frac1N\sum_ic_i$ before it: the variates cancel in the server's move,
    $w'-w=-\frac{\alpha\eta}N\sum_{i,k}g_i^{(k)}=-\alpha\eta K\,c'$. If $c$ is off by $e$, the move is off by $-\alpha\eta Ke$."""
    new, _, x = from_state(i)
    moved, _, _ = from_state(i, i.off)
    return (ft.equal(new.x, x - i.alpha * i.eta * i.K * new.c, "w' = w - alpha eta K c'"),
            ft.equal(new.c, np.array(new.ci).sum(0) * Q(1, len(i.ci)), "c' is the mean of the c_i'"),
            *([ft.equal(new.x, x - i.alpha * i.eta * Q(1, len(i.ci)) * i.g[i.K:].sum((0, 1)), "the mean of all gradients"),
               ft.equal(moved.x, new.x - i.alpha * i.eta * i.K * i.off, "c off by e")] if "g" in i.extra else ()))


# ---- what the pseudo-code leaves open ---------------------------------------------------------------------
def _any_state(n):
    field, s = symbols("eta lam alpha x v", a=(n,), b=(n,), c=(n,), t=(n, 1), u=(n,))
    problem = scalar(*(s[k] for k in "abc"), s["u"], [0] * n)
    return ft.Instance("all symbols", problem, ft.FedResAvg(s["eta"], 2, personal_lr=s["lam"], alpha=s["alpha"]), domain=field,
                       **{k: s[k] for k in ("x", "v", "t", "b", "c", "eta", "alpha", "u", "a")})


def _without_c(self, right, problem, s, draw):
    """Clients know no c: the pseudo-code sends w alone."""
    return right(problem, s._replace(c=0 * s.c), draw)


def cv_init():
    """A wrong start of c costs one shift; without c the rounds stand still wherever the theta_i and c_i have settled."""
    i = _option_two(2, 2)
    right, off = from_state(i)[0], from_state(i, i.off)[0]
    j = _any_state(2)
    theta = [[-j.b[k] * j.x / j.c[k]] for k in range(2)]   # argmin of L_i(w, .)
    ci = [[j.a[k] * j.x + j.b[k] * theta[k][0] - j.u[k]] for k in range(2)]
    silent = after(j, altered(j.algorithm, _without_c, "round"), x=[j.x], theta=theta, c=[0 * j.x], ci=ci)
    up, down = ft.Instance("Figure 1", figure1(), ft.FedResAvg("1/100", 2, personal_lr="1/100")).least_traffic
    return (ft.equal(off.x - right.x, [-i.alpha * i.eta * i.K * i.off], "c wrong by e: w is shifted, by -alpha eta K e"),
            ft.equal(off.c, np.array(off.ci).sum(0) * Q(1, 2), "after one round c is the mean of the c_i"),
            ft.equal([silent.x[0], *silent.theta[:, 0]], [j.x, *(t[0] for t in theta)],
                     "clients without c: any w with theta_i = argmin L_i(w, .) and c_i = grad_w L_i is a fixed point"),
            ft.equal((up, down), (2, 2), "vectors a client sends and receives (w and c)"))


ft.finding(
    "note-cv-init", kind="remark", check=cv_init,
    reading="All c_i and c start at 0. Algorithm 4 gives no start and communicates w alone; the clients' step uses c.",
    survives="Every start at which c is the mean of the c_i, zero or warm, gives identity-c in every round.")


def index_of_option_two():
    """A c_i that is the same for all clients cancels: Option II would be Option I."""
    i = _any_state(2)
    drawn = after(i, x=[i.x], theta=i.t, c=[i.v], ci=[[i.v], [i.v]])
    plain = after(i, ft.FedResAvg(i.eta, 2, personal_lr=i.algorithm.personal_lr, alpha=i.alpha, option=1), x=[i.x], theta=i.t,
                  c=[0 * i.v], ci=[[0 * i.v]] * 2)
    at = ft.Instance("unequal", unequal(), ft.FedResAvg("1/20", 3, personal_lr="1/20"))
    drift = ft.FedResAvg("1/20", 3, personal_lr="1/20", option=1)
    best = ft.linalg.to_fractions(unequal().joint_optimum()[0])
    ends = [ft.derive(a, at.problem, ft.Full()).exact().fixed_point().x for a in (at.algorithm, drift)]
    return (ft.equal([*drawn.x, *drawn.theta[:, 0]], [*plain.x, *plain.theta[:, 0]], "c_i equal for all i: a round of Option I"),
            ft.equal(ends[0], best, "with the sum over k: the fixed point is the joint optimum"),
            ft.at_most(0, sum((u - v) ** 2 for u, v in zip(ends[1], best, strict=True)), "Option I's is another one", strict=True))


ft.finding(
    "err-14-option2-index", kind="misprint", check=index_of_option_two,
    reading="The printed mean (1/K) sum_{i=1}^K g_i^(k) runs over i, the client's own index: read to the letter it is no "
            "number of client i, is the same for all clients, and exists only for K <= N.",
    survives="The mean over the local steps, c_i = (1/K) sum_{k=1}^K g_i^(k), as the text and the proof of Lemma 9 use it.")


def naive_order():
    """K=1: both moves at once is gradient descent on F in the blocks; one after the other moves theta_i off the optimum."""
    field, s = symbols("eta lam", a=(2,), b=(2,), c=(2,), h=(1,))
    h = s["h"][0]
    problem = scalar(*(s[k] for k in "abc"), [h, -h], [0, 0])   # the optimum is 0, where grad_w L_1 = -h, grad_w L_2 = h
    i = ft.Instance("all symbols", problem, domain=field)
    ends = {order: after(i, ft.FedResNaive(s["eta"], 1, personal_lr=s["lam"], order=order), x=[0 * h], theta=[[0 * h]] * 2)
            for order in ("sim", "seq")}
    moved = [-s["lam"] * s["eta"] * b * sign * h for b, sign in zip(s["b"], (1, -1), strict=True)]
    return (ft.equal([*ends["sim"].x, *ends["sim"].theta[:, 0]], [0, 0, 0], "both at once: the joint optimum is a fixed point"),
            ft.equal(ends["seq"].theta[:, 0], moved, "w first: theta_i moves by lambda eta B_i' grad_w L_i there"))


ft.finding(
    "note-naive-order", kind="remark", check=naive_order,
    reading="The pseudo-code of FedResNaive updates w_i, then theta_i by the gradient at the new w_i; Section 3: simultaneously.",
    survives="With K = 1 the simultaneous form is unbiased, the printed one only where B_i' grad_w L_i vanishes at the optimum.")
