"""Section 5 and Appendix F: FedNova's rule, its consistency, Theorem 3."""
from fractions import Fraction
from functools import lru_cache

import numpy as np

import fltheory as ft
from fltheory.core.scalars import is_rational
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.claims.quadratics import unit_change, unit_run
from verification.fednova.formulas import theorem3 as g
from verification.fednova.instances import theorem3 as I


# ---- Section 5: the rule and its consistency --------------------------------------------------------------
@ft.claim("eq12-rescale", covers={"tau": "all"},
          on=I.rule, rejects=[bugs.normaliser_missing, bugs.hidden_proximal, bugs.one_step_more],
          domain="n = 2, 3, 4 clients, every p, server model, changes and eta; every integer tau_i by induction on the "
                 "coded normaliser")
def eq12_rescale(i):
    r"""Vanilla FedNova is $x^+=x+\left(\sum_jp_j\tau_j\right)\sum_ip_i\Delta_i/\tau_i$: each change of FedAvg rescaled
    by $(\sum_jp_j\tau_j)/\tau_i$. With equal $\tau_i$ it is FedAvg."""
    if not i.general:
        return _rescaled_maps(i)
    change = np.array([[c] for c in i.changes])

    def coded(instance, taus):
        return ft.server_step(instance, [i.x], change, np.array([[i.eta * t] for t in taus]))[0]
    return (ft.local_mass(i, lambda k: i.eta * k, i.k, "coded normaliser is eta tau"),
            ft.equal(coded(i, i.t), g.rescaled(i.x, i.p, i.t, i.changes), "coded server step"),
            ft.equal(coded(i, [i.same] * len(i.t)), coded(i.plain, i.t), "equal steps: the coded FedAvg server step"))


def _rescaled_maps(i):
    """FedNova's coded round map against FedAvg rounds in which client i alone carries the weight."""
    M, c = i.op.mean_map()
    eye, maps = np.eye(i.problem.d, dtype=int), []
    for own in i.own:
        slope, push = own.op.mean_map()
        maps.append(np.concatenate([slope - eye, push[:, None]], axis=1))
    total = sum(q * t for q, t in zip(i.p, i.taus, strict=True))
    stated = total * sum(q / t * change for q, t, change in zip(i.p, i.taus, maps, strict=True))
    return ft.equal(np.concatenate([M - eye, c[:, None]], axis=1), stated, "round map - identity")


@ft.claim("fednova-consistency", covers={"tau": "(2, 3), all for unit Hessians"},
          on=I.consistency,
          rejects=[bugs.normaliser_missing, bugs.normaliser_counts_steps, bugs.normaliser_of_public_code],
          domain="unit Hessians: n = 2, 3, every p and e_i, every integer tau_i by induction on the coded local step; "
                 "two clients in the plane with every non-commuting H_i, e_i and p, steps (2, 3), all four solvers and "
                 "momentum with a proximal term: the coded round is x - eta tau_eff grad F(x) + O(eta^2)")
def fednova_consistency(i):
    r"""FedNova has $w=p$, so $\chi^2_{p\|w}=0$, and its fixed point tends to the minimiser of $F$ as $\eta\to0$."""
    weights = list(ft.surrogate_weights(i.algorithm, i.law, i.problem.n, i.problem.weights, domain=i.domain))
    same = ft.equal(weights, list(i.p), "coded small-step weights are p"), ft.equal(f.chi2(i.p, weights), 0,
                                                                                    "chi^2 = 0")
    if i.general:
        point = g.fednova_limit(i.p, i.e, i.z, i.t)
        mass = np.array([[i.eta * t] for t in i.t])
        jets = [1 - t * i.eta + i.eta * i.eta * r for t, r in zip(i.t, i.r, strict=True)]
        best = sum((q * e[0] for q, e in zip(i.p[1:], i.e[1:], strict=True)), i.p[0] * i.e[0][0])
        return (*same, unit_run(i, [i.y]), ft.local_mass(i, lambda k: i.eta * k, i.k),
                ft.equal(ft.server_step(i, point, unit_change(i, point)(np.array(i.z)), mass), point,
                         "coded server step fixes the stated point"),
                ft.equal(ft.limit(g.fednova_limit(i.p, i.e, jets, i.t), "eta"), [best],
                         "its limit is the minimiser of F"))
    M, c = i.op.mean_map()
    x = np.array(i.x)
    first = [v.series("eta", 1) for v in (M * x).sum(-1) + c - x]
    norms = [f.norm1(f.a_vector(i.solver, t, i.value)) for t in i.taus]
    tau_eff, _ = f.plain_averaging(i.p, norms)
    gradient = i.problem.to(i.domain).gradient(x)
    return (*same, ft.equal([o[0] for o in first], [0 * v for v in x], "nothing at order 0"),
            ft.equal([o[1] for o in first], -tau_eff * gradient,
                     "order eta: -tau_eff grad F, zero at the minimiser only"))


# ---- Theorem 3 --------------------------------------------------------------------------------------------
def left_side(i, weighted=False, smallest=False):
    """(1/T) sum E|grad F|^2 of the coded rounds, tau_eff-weighted or the smallest round; infinite T: one period of the
    orbit."""
    if hasattr(i, "left_side"):
        return i.left_side()  # one kind of round, so weights do not matter
    weight = {taus: tau_eff for _, taus, tau_eff in I.rounds_of(i)}
    squares = list(I.gradient_squares(i))
    if smallest:
        return min((v for v, _ in squares), key=float)
    q = [i.domain.scalar(weight[taus]) if weighted else 1 for _, taus in squares]
    total = sum(w * v for w, (v, _) in zip(q, squares, strict=True)) / sum(q)
    return ft.fraction(total) if is_rational(total) else total


@lru_cache(4)  # every hypothesis and term of one claim asks for it
def parts(i, weighted, prefixes):
    """Everything on the right-hand side, and the cap of beta^2 under (152) in every round."""
    rounds, p = I.rounds_of(i), [ft.fraction(v) for v in i.problem.weights]
    prefixes = prefixes and i.solver == "proximal"
    constants = [g.constants(i.solver, i.value, taus, p, tau_eff, prefixes) for _, taus, tau_eff in rounds]
    A, B, C = g.averages(constants, [c * (tau_eff if weighted else 1) for c, _, tau_eff in rounds])
    L, longest = ft.fraction(i.constants.L), max(f.norm1(f.a_vector(i.solver, t, i.value)) for _, taus, _ in rounds
                                                 for t in taus)
    largest = max(c[2] for c in constants)
    cap = (f.beta2_under_corrected_cap(i.eta, L, largest) if prefixes and largest
           else f.beta2_under_cap(i.eta, L, longest))
    beta2 = i.beta2 if "beta2" in i.extra else 1 + i.share * (cap - 1)
    kappa2 = i.kappa2 if "kappa2" in i.extra else i.problem.dissimilarity(p, beta2)
    mean = sum(c * tau_eff for c, _, tau_eff in rounds) / Fraction(sum(c for c, _, _ in rounds))
    return {"A": A, "B": B, "C": C, "L": L, "cap": cap, "beta2": beta2, "kappa2": kappa2, "tau_eff": mean,
            "sigma2": ft.fraction(i.noise) ** 2,
            "m": i.extra.get("m", i.problem.n), "p": p}


def right_side(i, weighted=False, prefixes=False):
    v = parts(i, weighted, prefixes)
    start = 0 if i.rounds is None else I.gap(i)
    return ft.Terms(**g.thm3(i.eta, v["L"], v["sigma2"], v["kappa2"], start, v["tau_eff"], i.rounds, v["A"], v["B"],
                             v["C"], v["m"]))


def _needs(prefixes, constant=False, solvers=False):
    def of(*names):
        return lambda i: tuple(parts(i, False, prefixes)[n] if isinstance(n, str) else n for n in names)

    def entries(i):
        return 0, min(min(f.a_vector(i.solver, t, i.value)) for _, taus in i.blocks for t in taus)

    def spread(i):
        return max(t for _, _, t in I.rounds_of(i)), min(t for _, _, t in I.rounds_of(i))
    drift = r"4\eta^2L^2C'\le\frac1{2\beta^2+1}" if prefixes else r"\eta L\max_i\|a_i\|_1\sqrt{2\beta^2+1}\le\frac12"
    needs = [ft.Hypothesis("non-negative a", r"$a_{i,k}(t)\ge0$", entries),
             ft.Hypothesis("beta^2", r"$\beta^2\ge1$", of(1, "beta2")),
             ft.Hypothesis("step cap (152), drift", f"${drift}$ in every round, squared", of("beta2", "cap")),
             ft.Hypothesis("step cap (152), server", r"$2\eta L\tau_{\rm eff}^{(t)}\le1$ in every round",
                           lambda i: (2 * i.eta * ft.fraction(i.constants.L) * max(t for _, _, t in I.rounds_of(i)),
                                      1)),
             ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", of(0, "kappa2")),
             ft.Hypothesis("bounded below", r"$F_{\inf}>-\infty$", lambda i: (0, I.gap(i)))]
    if constant:
        needs.append(ft.Hypothesis("constant tau_eff", r"$\max_t\tau_{\rm eff}^{(t)}\le\min_t\tau_{\rm eff}^{(t)}$",
                                   spread))
    if solvers:
        needs.append(ft.Hypothesis("solver", r"vanilla, momentum or step decay: prefix coefficients at most $a$",
                                   lambda i: (int(i.solver == "proximal" and i.value != 0), 0)))
    return needs


_REJECTS = [bugs.normaliser_missing, bugs.normaliser_counts_steps]


@ft.claim("thm3-as-printed", on=[*I.constant, I.prox_alpha1, I.prox_alpha1_finite, I.e4, *I.e4_constant, I.too_large],
          needs=_needs(False),
          bound=True, finding="e4",
          reading="The explicit form (147) with the constants of its proof, plain averages over rounds, rule (12) with "
                  "its round-wise tau_eff as recommended, and the smallest round on the left. Infinite T, where the "
                  "value of tau_eff in the first term plays no part.",
          survives="With constant tau_eff, as the proof in Appendix F assumes without saying so, and vanilla, step "
                   "decay or momentum solvers.")
def thm3_as_printed(i):
    r"""For any $\tau_i(t)$ and $a_i(t)\ge0$, under (152) in every round, FedNova with rule (12) obeys
    $$\min_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta\tau_{\rm eff}T}+\frac{4\eta
    L\sigma^2\widetilde A}m
    +6\eta^2L^2\sigma^2\widetilde B+12\eta^2L^2\kappa^2\widetilde C$$
    with plain averages $\widetilde A,\widetilde B,\widetilde C$ over the rounds of $A,B,C$ at $w=p$."""
    return ft.at_most(left_side(i, smallest=True), right_side(i))


def _schedule(draw, constant):
    """A random schedule: blocks, solver with its parameter, share of the largest step, tau_eff."""
    st, n = families.st, draw(families.st.integers(2, 3))
    blocks = tuple((1, tuple(draw(st.integers(1, 4)) for _ in range(n))) for _ in range(draw(st.integers(1, 3))))
    solver = draw(st.sampled_from(["vanilla", "momentum", "decay"] + ([] if constant else ["proximal"])))
    value = None if solver == "vanilla" else ft.fraction(draw(st.sampled_from(
        ["0", "1/2", "4/5"] if solver == "momentum" else ["1/2", "9/10", "1"])))
    tau_eff = ft.fraction(draw(st.sampled_from(["1/2", "1", "5/2"]))) if constant else None
    p = [draw(st.integers(1, 5)) for _ in range(n)]
    return blocks, solver, value, tau_eff, [Fraction(v, sum(p))
                                            for v in p], ft.fraction(draw(st.sampled_from(["1/16", "1/8", "1/4"])))


def _step(share, L, solver, value, blocks):
    return share / (L * max(f.norm1(f.a_vector(solver, t, value)) for _, taus in blocks for t in taus))


def quadratics(constant):
    def build(draw):
        st = families.st
        blocks, solver, value, tau_eff, p, share = _schedule(draw, constant)
        H = [[[draw(st.integers(1, 4))]] for _ in p]
        b = [[draw(st.integers(-3, 3))] for _ in p]
        problem = ft.Quadratic.from_linear(H, b, p)
        eta, rounds, x0 = _step(share, max(h[0][0] for h in H), solver, value,
                                blocks), draw(st.sampled_from([3, 6, None])), [draw(st.integers(-3, 3))]
        sigma = 0 if rounds is None else draw(st.sampled_from([0, 1]))
        return I.schedule("random quadratic", problem, blocks, eta, solver, value, sigma, rounds, x0, tau_eff,
                          share=ft.fraction(draw(st.sampled_from(["1/10", "1/2", "1"]))),
                          says=f"H={H}, b={b}, p={p}, {blocks}, {solver} {value}, eta={eta}, tau_eff={tau_eff}, "
                               f"T={rounds}, x0={x0}")
    return build


def _start(problem, x0):
    """F(x0) - F_inf of a smooth problem, rounded upwards by 1e-6: a larger gap only weakens the bound."""
    at = float(problem.to(ft.FLOAT).value(np.array(x0, dtype=float)))
    return max(ft.fraction(at) - ft.fraction(float(ft.optimum(problem).value)), Fraction(0)) + Fraction(1, 10**6)


def hubers(constant):
    """Sums of Huber losses on the line, run in exact rationals."""
    def build(draw):
        st = families.st
        blocks, solver, value, tau_eff, p, share = _schedule(draw, constant)
        U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 2)))] for _ in p]
        offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
        problem = ft.HuberLoss(U, offsets, 1, 1, Fraction(1, 4), p)
        # data gradients are at most sum |u|, so kappa^2 = sum p_i (sum |u|)^2 is admissible with every beta^2 >= 1
        kappa2 = sum(q * sum(abs(r[0]) for r in u) ** 2 for q, u in zip(p, U, strict=True))
        eta, rounds, x0 = _step(share, ft.fraction(problem.constants.L), solver, value,
                                blocks), draw(st.sampled_from([2, 4])), [draw(st.integers(-4, 4))]
        start = _start(problem, x0)
        return I.schedule("random Huber", problem, blocks, eta, solver, value, 0, rounds, x0, tau_eff, beta2=1,
                          kappa2=kappa2, units=False,
                          gap=start,
                          says=f"U={U}, offsets={offsets}, p={p}, {blocks}, {solver} {value}, tau_eff={tau_eff}, "
                               f"T={rounds}, x0={x0}")
    return build


@ft.claim("thm3-restricted", on=[*I.constant, *I.e4_constant, I.e4, I.prox_alpha1, I.too_large],
          needs=_needs(False, constant=True, solvers=True),
          bound=True, rejects=_REJECTS,
          search=ft.Search((ft.Family("periodic quadratic", quadratics(True)),
                            ft.Family("periodic Huber", hubers(True))),
                           tries=100))
def thm3_restricted(i):
    r"""With constant $\tau_{\rm eff}$, vanilla, step decay or momentum solvers, steps and $a_i(t)$ decided before the
    gradients of the round are drawn, under (152) in every round,
    $$\frac1T\sum_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta\tau_{\rm eff}T}+\frac{4\eta
    L\sigma^2\widetilde A}m
    +6\eta^2L^2\sigma^2\widetilde B+12\eta^2L^2\kappa^2\widetilde C.$$
    """
    return ft.at_most(left_side(i), right_side(i))


@ft.claim("thm3-corrected", on=[*I.varying, *I.constant, I.e4, I.prox_alpha1, I.prox_alpha1_finite, I.too_large],
          needs=_needs(True), bound=True,
          rejects=_REJECTS,
          search=ft.Search((ft.Family("periodic quadratic", quadratics(False)),
                            ft.Family("periodic Huber", hubers(False))),
                           tries=100))
def thm3_corrected(i):
    r"""With steps, $a_i(t)$ and $\tau_{\rm eff}^{(t)}$ decided before the gradients of the round are drawn,
    $S=\sum_{t<T}\tau_{\rm eff}^{(t)}$, and $B',C'$ from the prefix coefficients for the proximal solver:
    $$\frac1S\sum_{t<T}\tau_{\rm eff}^{(t)}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta S}
    +\frac{4\eta L\sigma^2\overline A}m+6\eta^2L^2\sigma^2\overline B+12\eta^2L^2\kappa^2\overline C$$
    with $\tau_{\rm eff}^{(t)}$-weighted averages $\overline A,\overline B,\overline C$."""
    return ft.at_most(left_side(i, weighted=True), right_side(i, weighted=True, prefixes=True))


# ---- the headline rate (eta is prescribed as a pure number, so the rate lives in fixed units: no dimensional test)
def _ratio(i):
    return i.mean_steps / parts(i, False, False)["tau_eff"]


def _large(i):
    v = parts(i, False, False)
    terms = g.headline(i.root, I.gap(i), v["L"], v["sigma2"], i.R, i.A0, v["m"])
    return g.remainder(i.root, v["m"], v["L"], v["sigma2"], v["kappa2"], v["B"], v["C"]), sum(terms.values())


_headline_needs = [*_needs(False, constant=True, solvers=True),
                   ft.Hypothesis("bounded tau/tau_eff", r"$\tilde\tau/\tau_{\rm eff}\le R$",
                                 lambda i: (_ratio(i), i.R)),
                   ft.Hypothesis("bounded A", r"$\widetilde A\le A_0$", lambda i: (parts(i, False, False)["A"], i.A0)),
                   ft.Hypothesis("large T", r"the last two terms of (149) are at most "
                                         r"$(4R\Delta+4L\sigma^2A_0)/\sqrt{m\tilde\tau T}$", _large)]


def headline_quadratics(draw):
    st = families.st
    taus = tuple(draw(st.integers(1, 2)) for _ in range(2))
    xi, x0 = [draw(st.integers(-1, 1)) for _ in range(2)], [draw(st.integers(-4, 4))]
    sigma, k = draw(st.sampled_from([0, 1])), draw(st.integers(6, 10))
    return I.headline("random unit quadratic", I.scalar([1, 1], xi), ((1, taus),), k, 1, 2, sigma, x0,
                      says=f"xi={xi}, tau={taus}, sigma={sigma}, k={k}, x0={x0}")


def headline_hubers(draw):
    """Two Huber losses on the line at the prescribed step, in exact rationals."""
    st = families.st
    taus, offsets = tuple(draw(st.integers(1, 2)) for _ in range(2)), [[draw(st.integers(-2, 2))] for _ in range(2)]
    problem, k, x0 = ft.HuberLoss([[[1]], [[1]]], offsets, 1, 1,
                                  Fraction(1, 4)), draw(st.integers(8, 10)), [draw(st.integers(-6, 6))]
    start = _start(problem, x0)
    made = I.headline("random Huber", problem, ((1, taus),), k, 1, 2, 0, x0,
                      says=f"offsets={offsets}, tau={taus}, k={k}, x0={x0}")
    return made.but(kappa2=Fraction(1), gap=start, units=False, domain=ft.FLOAT)


@ft.claim("thm3-headline", on=[*I.headlines, I.slow_server, I.one_dominant], needs=_headline_needs,
          rejects=[bugs.normaliser_missing],
          search=ft.Search((ft.Family("unit quadratic", headline_quadratics), ft.Family("Huber", headline_hubers)),
                           tries=40))
def thm3_headline(i):
    r"""With $\eta=\sqrt{m/(\tilde\tau T)}$, while $\tilde\tau/\tau_{\rm eff}\le R$, $\widetilde A\le A_0$ and $T$ is so
    large that the last two terms of (149) are no larger than the others: $\frac1T\sum_{t<T}E\|\nabla
    F\|^2\le\dfrac{2(4R\Delta+4L\sigma^2A_0)}{\sqrt{m\tilde\tau T}}$, a rate $O(1/\sqrt{m\tilde\tau T})$."""
    v = parts(i, False, False)
    return ft.at_most(left_side(i), ft.Terms(**g.headline(i.root, I.gap(i), v["L"], v["sigma2"], i.R, i.A0,
                                                          v["m"])).scaled(2))
