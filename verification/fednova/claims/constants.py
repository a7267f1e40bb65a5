"""Section 4.2 and Appendix C: the constants of Theorem 1, Corollaries 1 and 2, Fig 4 and Table 1."""
import csv
from fractions import Fraction
from pathlib import Path

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import families
from verification.fednova import formulas as f
from verification.fednova.claims.averaging import coded_averaging, general, whole
from verification.fednova.claims.solvers import coded_vector, one_norm, two_norm
from verification.fednova.formulas import constants as fc
from verification.fednova.formulas import solvers as fs

# ---- A, B, C of the coded rounds --------------------------------------------------------------------------


def coded_norms(i):
    """(|a_i|_1, |a_i|_2^2, a_{i,-1}) per client: closed forms (proved by induction beside), or from the coded steps."""
    if i.taus is None:
        return i.s1, i.s2, [0 * i.eta + 1] * len(i.p)
    vectors = [coded_vector(i, t) for t in i.algorithm.steps]
    return [f.norm1(a) for a in vectors], [f.norm2(a) for a in vectors], [a[-1] for a in vectors]


def coded_constants(i):
    """(tau_eff, A, B, [C_i]) with the coded accumulation vectors, weights and tau_eff in eqs 93-95."""
    tau_eff, w = coded_averaging(i)
    return tau_eff, *fc.theorem(*coded_norms(i), w, tau_eff)


def coded_noise(i):
    """A as what it measures: m times the variance of one coded round under unit noise, over eta^2 tau_eff."""
    mean, second = list(i.op.trajectory(2, [0] * len(i.p)))[1]
    return len(i.p) * (np.trace(second) - (mean * mean).sum()) / (i.eta**2 * coded_averaging(i)[0])


def same_constants(i, stated):
    """The coded (tau_eff, A, B, C_i) equal the stated ones."""
    names = ("tau_eff", "A", "B", "C, every client")
    legs = [ft.equal(a, b, f"coded {n}") for n, a, b in zip(names, coded_constants(i), stated, strict=True)]
    if i.taus is not None:
        return [*legs, ft.equal(coded_noise(i), stated[1], "A from the noise of the coded round")]
    s, more = i.z[0], i.z[1]
    return [*legs, one_norm(i), two_norm(i),
            ft.nonnegative((1 + s + more) * (s + more) - (1 + s) * s, "|a|_1 (|a|_1 - 1) grows: C belongs to tau_max")]


fedavg = [general("vanilla", 2), general("vanilla", 3), whole("vanilla", (1, 3, 8)),
          whole("vanilla", (2, 3, 7), uniform=True),
          whole("vanilla", (4, 4, 4))]


@ft.claim("eq121-125", covers={"d": "none", "tau": "all"},
          on=fedavg,
          rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.one_step_more, bugs.decayed_step,
                   bugs.hidden_proximal],
          domain="n = 2, 3, every p, every integer tau_i by induction on the coded step; whole coded rounds with noise "
                 "for three step counts")
def eq121_125(i):
    r"""FedAvg has $\tau_{\rm eff}=E_p[\tau]$, $A=\frac{m\sum_ip_i^2\tau_i}{E_p[\tau]}$,
    $B=E_p[\tau]-1+\frac{\mathrm{var}_p[\tau]}{E_p[\tau]}$ and $C=\tau_{\max}(\tau_{\max}-1)$; $A=1$ for uniform $p$.
    """
    uniform = [0 * i.eta + Fraction(1, len(i.p))] * len(i.p)
    return *same_constants(i, fc.fedavg(i.p, i.t)), ft.equal(fc.fedavg(uniform, i.t)[1], 0 * i.eta + 1,
                                                             "A = 1 for uniform p")


fednova = [general("vanilla", 2, ft.FedNova), general("vanilla", 3, ft.FedNova),
           general("vanilla", 3, ft.FedNova, uniform=True),
           whole("vanilla", (1, 3, 8), ft.FedNova), whole("vanilla", (2, 3, 7), ft.FedNova, uniform=True)]


@ft.claim("fednova-constants", covers={"d": "none", "tau": "all"},
          on=fednova,
          rejects=[bugs.normaliser_missing, bugs.one_step_more, bugs.decayed_step, bugs.hidden_proximal],
          domain="n = 2, 3, every p, every integer tau_i by induction on the coded step; whole coded rounds with noise "
                 "for two step counts")
def fednova_constants(i):
    r"""Vanilla FedNova with its default $\tau_{\rm eff}$ has $A=m\,E_p[\tau]\sum_ip_i^2/\tau_i$, $B=E_p[\tau]-1$ and
    $C=\tau_{\max}(\tau_{\max}-1)$. For uniform $p$ its $A=1+\chi^2_{p\|w}$ with FedAvg's $w$, where FedAvg has $A=1$.
    """
    stated = fc.fednova(i.p, i.t)
    uniform = [0 * i.eta + Fraction(1, len(i.p))] * len(i.p)
    chi2 = f.chi2(uniform, f.plain_averaging(uniform, i.t)[1])
    return *same_constants(i, stated), ft.equal(fc.fednova(uniform, i.t)[1], 1 + chi2,
                                                "uniform p: A = 1 + chi-square of FedAvg")


fedprox = [general("proximal", 2), general("proximal", 3), whole("proximal", (1, 4))]


@ft.claim("eq127-132", covers={"d": "none", "tau": "all"},
          on=fedprox,
          rejects=[bugs.uniform_weights, bugs.server_step_two, bugs.one_step_more, bugs.proximal_squared,
                   bugs.proximal_missing],
          domain="n = 2, 3, every p and alpha, every integer tau_i by induction on the coded step; a whole coded round "
                 "with noise")
def eq127_132(i):
    r"""FedProx has
    $A=\frac{m\alpha}{\sum_ip_i(1-(1-\alpha)^{\tau_i})}\sum_ip_i^2\frac{1-(1-\alpha)^{2\tau_i}}{1-(1-\alpha)^2}$,
    $B=\sum_iw_i\left[\frac{1-(1-\alpha)^{2\tau_i}}{1-(1-\alpha)^2}-1\right]$ and $C=s_{\max}(s_{\max}-1)$ with
    $s_{\max}=\frac{1-(1-\alpha)^{\tau_{\max}}}\alpha$; as $\alpha\to0$ they become those of FedAvg."""
    tau_eff, _ = fs.proximal_averaging(i.value, i.p, i.z)
    A, B, C = fc.fedprox(i.value, i.p, i.z)
    legs = same_constants(i, (tau_eff, A, B, C))
    at_zero = [ft.limit(_jets(i, v), "v") for v in (tau_eff, A, B, *C)]
    first, *rest, last = fc.fedavg(i.p, i.t)
    return *legs, ft.equal(at_zero, [first, *rest, *last], "limits as alpha tends to 0")


def _jets(i, expression):
    """(1 - alpha)^tau_i = 1 - tau_i alpha + r_i alpha^2 with r_i finite as alpha tends to 0 (binomial theorem)."""
    if i.taus is not None:
        return expression
    jets = {f"z{k}": 1 - t * i.value + i.value**2 * r for k, (t, r) in enumerate(zip(i.t, i.r, strict=True))}
    return expression.substitute(**jets)


_symbols = "L sigma2 kappa2 gap gamma h W"
corollary1 = [general("vanilla", 2, uniform=True, more=_symbols), general("vanilla", 3, uniform=True, more=_symbols),
              whole("vanilla", (1, 3, 8), uniform=True, more=_symbols),
              whole("vanilla", (1, 1, 1), uniform=True, more=_symbols)]


@ft.claim("cor1-substitution", covers={"d": "none", "tau": "all"},
          on=corollary1, rejects=[bugs.server_step_two, bugs.one_step_more, bugs.hidden_proximal],
          domain="n = 2, 3, uniform p, every integer tau_i by induction on the coded step, every L, sigma, kappa, gap "
                 "and T; the whole coded round for tau = (1, 3, 8) and (1, 1, 1)")
def cor1_substitution(i):
    r"""The right side of Corollary 1 is that of Theorem 1. FedAvg with $p_i=1/m$ and $\eta=\sqrt{m/(\bar\tau T)}$:
    (8) is $O\left(\frac{1+\sigma^2}{\sqrt{m\bar\tau
    T}}\right) +O\left(\frac{m\sigma^2(\bar\tau-1+\mathrm{var}[\tau]/\bar\tau)}{\bar\tau T}\right)
    +O\left(\frac{m\kappa^2\tau_{\max}(\tau_{\max}-1)}{\bar\tau T}\right)$; with $\tau_i=1$ it is $O(1/\sqrt{mT})$."""
    L, sigma2, kappa2, gap, root = (i.s[k] for k in ("L", "sigma2", "kappa2", "gap", "root"))
    m, tau = len(i.p), sum(i.t) / len(i.p)
    tau_eff, A, B, C = coded_constants(i)  # the last client is the longest
    eq97 = f.thm1(m / root, L, sigma2, kappa2, gap, tau_eff, root**2 / (m * tau), A, B, C[-1], m)
    eq8 = fc.eq8(root, L, sigma2, kappa2, gap, tau_eff, tau, m, A, B, C[-1])
    stated = fc.corollary1(root, L, sigma2, kappa2, gap, i.t, i.t[-1])
    legs = [ft.equal(list(eq97.values()), list(eq8.values()), "eq 97 at the prescribed eta is eq 8"),
            ft.equal(sum(eq8.values()), ft.Terms(**stated), "eq 8 with the coded constants is Corollary 1")]
    if i.taus is None:
        return *legs, one_norm(i), two_norm(i)
    if set(i.taus) == {1}:
        legs.append(ft.equal(sum(eq8.values()), 4 * (gap + L * sigma2) / root,
                             "one local step: only 1/sqrt(mT) is left"))
    return legs


# ---- linear speed-up --------------------------------------------------------------------------------------


def _dominant_client():
    """Equal steps, one client of weight 1 - (m - 1) e: A = m sum p_i^2 tends to m."""
    field = ft.Field("e tau root L sigma2")
    e, tau, root, L, sigma2 = field.symbols
    legs = []
    for m in (2, 4, 8):
        A = fc.fedavg([1 - (m - 1) * e] + [e] * (m - 1), [tau] * m)[1]
        noise = fc.eq8(root, L, sigma2, 0 * e, 0 * e, tau, tau, m, A, 0 * e, 0 * e)["noise"]
        legs += [ft.equal(ft.limit(A, "e"), m + 0 * e, f"m = {m}: A tends to m"),
                 ft.equal(ft.limit(noise, "e"), 4 * L * sigma2 * m / root,
                          f"m = {m}: m times fewer rounds leave m times the noise term")]
    return legs


ft.finding("err-speedup", kind="missing-hypothesis", breaks="remark-linear-speedup", at=("one dominant client",),
           check=_dominant_client,
           step="the second term of (8) is A sigma^2/sqrt(m taubar T), and A may grow with m",
           reading="A is computed from the clients' weights; root stands for sqrt(m taubar T), which m times more "
                   "clients and m times fewer rounds leave alone.",
           survives="remark-linear-speedup with bounded A, for instance uniform p, where A = 1.")


relative_variance = [general("proximal", 2, uniform=True), general("proximal", 3, uniform=True),
                     whole("proximal", (1, 4), uniform=True)]


@ft.claim("fig4-relative-variance", covers={"d": "none", "tau": "all"},
          on=relative_variance,
          rejects=[bugs.server_step_two, bugs.one_step_more, bugs.proximal_squared, bugs.proximal_missing],
          domain="n = 2, 3, uniform p, every alpha in [0, 1], every integer tau_i by induction on the coded step; a "
                 "whole coded round with noise")
def fig4_relative_variance(i):
    r"""For uniform $p$ the $A$ of FedProx is
    $\frac{\sum_i[1-(1-\alpha)^{2\tau_i}]}{(2-\alpha)\sum_i[1-(1-\alpha)^{\tau_i}]}$: $1$ at $\alpha=0$, above
    $\frac1{2-\alpha}$ by at most $\frac{(1-\alpha)^{\tau_{\min}}}{2-\alpha}$ (so about $\frac1{2-\alpha}$ once
    $\alpha\tau\gg1$), and $1$ again at $\alpha=1$."""
    stated = fc.relative_variance(i.value, i.z)
    legs = [ft.equal(coded_constants(i)[1], stated, "coded A"), ft.equal(ft.limit(_jets(i, stated), "v"), 0 * i.eta + 1,
                                                                         "alpha = 0")]
    if i.taus is not None:
        return *legs, ft.equal(coded_noise(i), stated, "A from the noise of the coded round"), \
            ft.equal(stated.substitute(v=0 * i.eta + 1) + 0 * i.eta, 0 * i.eta + 1, "alpha = 1")
    excess = (2 - i.value) * stated - 1
    # z_0 = c/(1 + c) the largest power and z_j = z_0 d/(1 + d) the others, all in [0, 1)
    largest = i.z[0] / (1 + i.z[0])
    others = {f"z{k}": largest * z / (1 + z) for k, z in enumerate(i.z) if k}
    excess = excess.substitute(z0=largest, **others)
    powers = {f"z{k}": 0 * i.eta for k in range(len(i.z))}
    return (*legs, one_norm(i), two_norm(i), ft.nonnegative(excess, "above 1/(2 - alpha)"),
            ft.nonnegative(largest - excess, "by at most the largest power over 2 - alpha"),
            ft.equal(stated.substitute(**powers), 1 / (2 - i.value), "alpha tau large"),
            ft.equal(stated.substitute(v=0 * i.eta + 1, **powers) + 0 * i.eta, 0 * i.eta + 1, "alpha = 1"))


# ---- Table 1 and Fig 4 ------------------------------------------------------------------------------------
TABLE1 = Path(__file__).parents[1] / "data" / "table1_printed.csv"


def printed_table():
    """{(epochs, optimiser): (FedAvg, FedNova)} of the printed accuracies in exact percent; None where not defined."""
    with open(TABLE1, newline="", encoding="utf-8") as file:
        return {(r["epochs"], r["optimiser"]): tuple(ft.fraction(r[k]) if r[k] else None for k in ("fedavg", "fednova"))
                for r in csv.DictReader(file)}


table1 = ft.Instance("Table 1 as printed", table=printed_table(), says="accuracies of VGG-11 on CIFAR-10, percent")


ROUNDED = ft.Variable("distance of an entry from the printed one over 0.005",
                      lambda i: [200 * (v - w) for k, pair in i.table.items() for v, w in zip(pair, printed_table()[k], strict=True)
                                 if v is not None])


def unrounded(draw, share=None):
    """Tables whose entries round to the printed ones; share: of 0.005, for all of them."""
    end, low, high = families.st.just, *(Fraction(v, 200) for v in (-1, 1))
    error = families.st.fractions(low, high, max_denominator=2000) if share is None else end(high * share)
    table = {k: tuple(None if v is None else v + draw(error) for v in pair) for k, pair in table1.table.items()}
    return table1.but(name="unrounded table", table=table, says="every entry moved by up to 0.005")


@ft.claim("table1-stated-gains", on=[table1], rejects=[bugs.columns_swapped, bugs.vanilla_and_momentum_swapped],
          search=ft.Search((ft.Family("unrounded tables", unrounded, ({"share": -1}, {"share": 1})),), tries=40),
          ends={ROUNDED: (-1, 1)},
          reading="'About 10' is read as within one point of 10, '3 to 7' as between 2.5 and 7.5 (to the nearest "
                  "point), a tie as equal to the printed precision. The search runs over all tables that are printed "
                  "like this one.")
def table1_stated_gains(i):
    r"""In Table 1 FedNova gains about 10 points with the proximal solver, local momentum is worth 3 to 7 points under
    either rule, and variance reduction ties under both rules."""
    entry, epochs = i.table, ("2", "2-5")
    prox = [entry[e, "proximal"][1] - entry[e, "proximal"][0] for e in epochs]
    momentum = [entry[e, "momentum"][k] - entry[e, "vanilla"][k] for e in epochs for k in (0, 1)]
    tie = entry["2-5", "variance reduction"]
    half = Fraction(1, 2)
    return (*(ft.at_most(abs(v - 10), 1, "prox gains about 10") for v in prox),
            *(ft.at_most(abs(v - 5), 2 + half, "local momentum is worth 3 to 7") for v in momentum),
            ft.at_most(abs(tie[1] - tie[0]), Fraction(1, 100), "variance reduction ties"))


fig4 = [ft.Instance("variance 20", spread=ft.fraction(20), says="N(20, 20) read with 20 as the variance"),
        ft.Instance("standard deviation 20", spread=ft.fraction(400),
                    says="N(20, 20) read with 20 as the standard deviation: a draw is at most 0 with probability 0.159")]


@ft.claim("susp-fig4-clipping", on=fig4,
          needs=[ft.Hypothesis("20 is the variance", r"the second parameter of $\mathcal N(20,20)$ is the variance",
                               lambda i: (i.spread, 20))],
          reading="Not decided: the paper does not say whether 20 is the variance or the standard deviation, nor "
                  "whether draws are clipped. With variance 20 thirty rounded draws are all positive except with "
                  "probability below 0.002; with standard deviation 20 each is at most 0 with probability 0.159, so "
                  "thirty are positive only with probability 0.006.")
def susp_fig4_clipping(i):
    r"""Thirty step counts drawn from $\mathcal N(20,20)$ and rounded are all positive without clipping, read as: except
    with probability $1/500$."""
    return ft.at_most(30 * fc.gaussian_tail(20, i.spread, Fraction(1, 2)), ft.Terms(allowed=Fraction(1, 500)),
                      "some draw rounds to 0 or less")
