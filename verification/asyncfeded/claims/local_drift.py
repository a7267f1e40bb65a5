"""Theorem 1 (9), Lemmas 1 and 2 of Appendix A.1, and the proof of A.2: how far the local model moves within a round."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import local_bugs as bugs
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.formulas import drift as f
from verification.asyncfeded.formulas.steps import cap2
from verification.asyncfeded.griewank import Griewank
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.local_families import (
    CORNERS,
    ENDS,
    clients,
    concave,
    covariance,
    drawn,
    linear,
    one_step_of,
    places,
    steps_of,
)
from verification.asyncfeded.noise_paths import ByState, local, path, skewed
from verification.asyncfeded.proofs import drift as proofs
from verification.symbols import Symbols

H_STAR = "H*: noise has mean zero given everything earlier in the round and before, the client, x_t and x_{t-tau}. " \
         "Assumption 2 is used as E|g_i - grad f_i|^2 <= sigma_l^2 given the past, which the printed bound of every draw implies."
ALONE, PAIR = concave([0]), concave([2, 0])
FLAT = clients([[0, 0]], [[0]], [0])
BENT = clients([[-1, 1, -1], [-1, Q(-1, 2), -1], [-1, Q(1, 2), -1]], [[0, 1], [Q(1, 2), 1], [-1, 2]], [1, -2, Q(1, 2)])
HUBER = clients([[0, 1, 0], [0, Q(1, 4), 0]], [[-1, 1], [-2, 2]], [0, 1], L=100)
PLANE = ft.Quadratic([[[1, "1/2"], ["1/2", 0]]] * 2, [[0, 1], [2, 0]])
on = [local("noise alone, f = 0", FLAT, at_cap(5), law=skewed(1), L=1),
      local("concave, noise alone", ALONE, at_cap(6), law=skewed(1)),
      local("concave, no noise, clients that agree", concave([1]), at_cap(12)),
      local("concave, no noise, at the minimum of F", concave([1, -1]), at_cap(12)),
      local("concave pair, noise, L = 100", concave([2, 0], 100), at_cap(6, 100), law=skewed(30)),
      local("skewed noise, L = 1/100", concave([2, 0], Q(1, 100)), at_cap(6, Q(1, 100)), law=skewed(Q(1, 100), 10)),
      local("kinks, noise by the state", BENT, at_cap(6), Q(-1, 4), ByState(skewed(1), skewed(1, 3)), who=1),
      local("noise that dies down at 0", clients([[-1, -1]] * 2, [[0]] * 2, [1, -1], calm=[0, 0]), at_cap(5), Q(1, 2), skewed(1)),
      local("Huber losses, L = 100", HUBER, at_cap(5, 100), 1, skewed(40, 2), who=1),
      local("in the plane", PLANE, at_cap(5, Q(5, 4)), [1, 2], skewed(1, 2, ("3/5", "4/5")), who=1, L=Q(5, 4)),
      local("tilted Griewank functions in the plane", Griewank([[1, 0], [-1, 0]]), at_cap(6, Q(2001, 2000)), [Q(1, 2), 2],
            skewed(1, 2, ("3/5", "4/5"))).but(domain=ft.Balls(128)),
      local("300 clients", concave([1, -1] * 150), at_cap(3), law=skewed(1), who=299),
      local("300 steps, some with noise", PAIR, at_cap(300, digits=4), law=skewed(1), loud=[0, 299]),
      local("a hundredth of the steps", PAIR, at_cap(5, share=Q(1, 100)), law=skewed(1)),
      local("steps (7/30, 1/8), one mini-batch for both, f = 0", FLAT, [Q(7, 30), Q(1, 8)], law=paths.OneBatch(skewed(1)), L=1),
      local("concave, 18 steps, one mini-batch for all", ALONE, at_cap(18), law=paths.OneBatch(skewed(1)))]
SEARCH = ft.Search((ft.Family("piecewise quadratics", drawn, CORNERS),), tries=30)
WRONG = [bugs.first_step_throughout, bugs.gradients_kept, bugs.one_batch]
KINDS = {"on": on, "needs": paths.NEEDS, "ends": ENDS, "search": SEARCH, "reading": H_STAR}


# ---- eqs. (2) to (4) -------------------------------------------------------------------------------------------------------
@ft.claim("eq4-delta-sum", on=on[4:12], rejects=[bugs.schedule_shifted, bugs.one_step_less, bugs.gradients_kept, bugs.one_batch],
          proof=proofs.sent, domain="every dimension, loss, noise and schedule; every K")
def eq4_delta_sum(i):
    r"""What client $i$ uploads is $\Delta_i=x^i_{t-\tau,K}-x_{t-\tau}=-\sum_{k=1}^K\eta_{i,k}\,g_i(x^i_{t-\tau,k-1})$: each of its
    stochastic gradients, drawn where the local model then is, with the step size of that step."""
    run, own = path(i), paths.right(i)
    total = sum(-e * (g + n) for e, g, n in zip(i.eta, own.exact, own.noise, strict=True))
    return ft.equal(run.delta, total, "the coded update"), ft.equal(own.y[-1] - own.y[0], total, "the last local model")


# ---- A.2, one step ----------------------------------------------------------------------------------------------------------
@ft.claim("thm1-eq22-recursion", rejects=WRONG, proof=proofs.recursion, meaning=one_step_of,
          domain=proofs.CLASS + "; gradients of clients at most sigma_g from grad F; every step size and every q > 0",
          **KINDS | {"needs": paths.NEEDS[:-1], "ends": {v: ends for v, ends in ENDS.items() if v != "step over its cap"}})
def thm1_eq22_recursion(i):
    r"""Under Assumptions 1 to 3 and H*, for every $q=\tilde K^2>0$, with $D_k=E\|x^i_{t-\tau,k}-x_{t-\tau}\|^2$: $D_k\le
    \big[1+\tfrac1q+3(q+1)\eta_{i,k}^2L^2\big]D_{k-1}+3(q+1)\eta_{i,k}^2(\sigma_g^2+E\|\nabla F(x_{t-\tau})\|^2)
    +\eta_{i,k}^2\sigma_l^2$ (22)."""
    D = path(i).drift
    return [ft.at_most(D[k], ft.Terms(**f.one_step(i.number(q), i.eta[k - 1] ** 2, i.L, D[k - 1], i.sigma_g2, i.slope2, i.sigma2)),
                       f"k = {k}, q = {q}") for k in places(i.K) for q in (Q(2 * k), Q(1), Q(1, 10))]


def on_symbols(formula, names, **more):
    s = Symbols(names)
    return [ft.Instance("all symbols", formula=formula, domain=s.field, s=s, says=f"{names}: symbols > 0", **more)]


four = bugs.wrong("four_vectors", "Lemma 1 with a factor 4 for three vectors.", f.one_step,
                  lambda q, *at: {k: v * Q(4, 3) if k[0] in "hg" else v for k, v in f.one_step(q, *at).items()})
no_half = bugs.wrong("other_number", "The auxiliary square is k, not 2k.", f.one_step, lambda q, *at: f.one_step(q / 2, *at))


@ft.claim("thm1-eq22-factor", on=on_symbols(f.one_step, "k L u D sg2 F2 sigma2"), rejects=[four, no_half], proof=proofs.factor,
          covers={"n": "all", "d": "all", "tau": "all"}, domain="every k >= 1, L and eta_k within (T1); u is what (T1) leaves free")
def thm1_eq22_factor(i):
    r"""With $\tilde K^2=2k$ and $\eta_{i,k}^2\le\frac1{6k(2k+1)L^2}$, each term of (22) is at most that of (23b): the factor
    $1+\frac1{2k}+3(2k+1)\eta_{i,k}^2L^2$ at most $1+\frac1k$, the heterogeneity at most
    $\frac1{2kL^2}(\sigma_g^2+E\|\nabla F(x_{t-\tau})\|^2)$."""
    s = i.s
    rest = s.D, s.sg2, s.F2, s.sigma2
    eta2 = cap2(s.k, s.L) - s.u
    out = [ft.nonnegative(f.one_step_at_cap(s.k, eta2, s.L, *rest)[name] - v, name)
           for name, v in i.formula(2 * s.k, eta2, s.L, *rest).items()]
    for k in map(Q, (1, 2, 100)):
        at = k, cap2(k, Q(3)), Q(3), Q(1), Q(2), Q(5), Q(1)
        printed = f.one_step_at_cap(*at)
        out += [ft.at_most(v, printed[name], f"{name}, k = {k}, L = 3, at the cap")
                for name, v in i.formula(2 * k, *at[1:]).items()]
    return out


def summed(name, formula, term, terms):
    s = Symbols("k")
    return ft.Instance(name, formula=formula, domain=s.field, s=s, term=term, first=terms)


five = bugs.wrong("other_second_sum", "k (k + 3)/(4 (k + 2)^2) for the second sum.", f.second_sum,
                  lambda k: k * (k + 3) / (4 * (k + 2) ** 2))
late = bugs.wrong("first_sum_from_two", "The first sum without j = 1.", f.first_sum, lambda k: k / (k + 1) - Q(1, 2))


@ft.claim("thm1-sums", on=[summed("first sum", f.first_sum, lambda j: 1 / (j * (j + 1)), Q(1, 2)),
                           summed("second sum", f.second_sum, lambda j: 1 / (j * (j + 1) * (j + 2)), Q(1, 6))],
          rejects=[five, late], domain="every k >= 1, by induction", covers={"n": "none", "d": "none", "tau": "all"})
def thm1_sums(i):
    r"""$\sum_{j=1}^k\frac1{j(j+1)}=\frac k{k+1}$ and $\sum_{j=1}^k\frac1{j(j+1)(j+2)}=\frac{k(k+3)}{4(k+1)(k+2)}$, the two sums
    of (23d) to (23g)."""
    k = i.s.k
    return ft.induction([(i.formula(Q(1)), i.first)], [(i.formula(k) + i.term(k + 1), i.formula(k + 1))], over="k")


too_small = bugs.wrong("one_less", "k/24 for (k + 1)/24.", f.noise23h, lambda k: k / 24)


@ft.claim("thm1-eq23g", on=on_symbols(f.noise23h, "k"), rejects=[too_small], proof=proofs.noise23,
          domain="every k > 0, L and sigma_l", covers={"n": "none", "d": "none", "tau": "all"})
def thm1_eq23g(i):
    r"""The noise coefficient of (23g), $\frac{k+1}6\sum_{j\le k}\frac1{j(j+1)(j+2)}=\frac{k^2+3k}{24(k+2)}$, is at most the
    $\frac{k+1}{24}$ of (23h)."""
    k = i.s.k
    return (ft.equal((k + 1) / 6 * f.second_sum(k), f.noise23g(k), "(23f) to (23g)"), ft.nonnegative(i.formula(k) - f.noise23g(k)),
            *(ft.at_most(f.noise23g(n), i.formula(n), f"k = {n}") for n in map(Q, (1, 2, 1000))))


# ---- Theorem 1 ---------------------------------------------------------------------------------------------------------------
@ft.claim("thm1", rejects=WRONG, proof=proofs.theorem1, meaning=steps_of, domain=proofs.DOMAIN, **KINDS)
def thm1(i):
    r"""Under Assumptions 1 to 3, H* and $\eta_{i,k}^2\le\frac1{6(2k+1)kL^2}$ for every local step (T1):
    $E\|x^i_{t-\tau,k}-x_{t-\tau}\|^2\le\frac k{2L^2}\big(\sigma_g^2+E\|\nabla F(x_{t-\tau})\|^2\big)
    +\frac{k+1}{24L^2}\sigma_l^2$ for $k=1,\dots,K$. On quadratics the left side is that of the exact mean and covariance."""
    D, line = path(i).drift, linear(i.stated.problem, i.who)
    out = [ft.at_most(D[k], ft.Terms(**f.theorem1(k, i.L, i.sigma_g2, i.slope2, i.sigma2)), f"k = {k}") for k in places(i.K)]
    if line and isinstance(i.noise_law, paths.Points) and i.loud is None and i.K <= 20:
        out.append(ft.equal(D, f.moments(*line, i.base, i.eta, covariance(i)), "mean and covariance of every local model"))
    return out
