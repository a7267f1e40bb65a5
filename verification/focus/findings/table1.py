"""Findings about Table 1 and the remark after Theorem 1: what a cross means, and which rates are compared."""
from fractions import Fraction as Q

from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import at_most, equal, limit
from verification.focus.claims.proxskip import _best, _rows, _scaled, _sum, coded
from verification.focus.formulas import lemmas, matrices
from verification.focus.formulas import proxskip as f
from verification.focus.instances import proxskip as I
from verification.focus.instances import stability as reference


def _small_steps(i):
    """SCAFFOLD as eta -> 0 under any law: participants forget k_i = eta tau (c_i - grad f_i(x*)), the model follows F."""
    zero = [0 * i.x] * i.N
    (at, variates, gradients), (_, exact, _) = _scaled(i, i.x, i.u), _scaled(i, i.x, zero)
    p, q = matrices.participation(i.law_list, i.N)
    w, mass = f.slow_weights_scaffold(p, q), _sum(q)

    def slow(x, k):
        return x + _sum(a * v for a, v in zip(w, k, strict=True))
    nobody = 1 - _sum(c for c, _ in i.law_list)
    kept, moved, out = nobody * slow(i.x, i.u), nobody * i.x, []
    for chance, S in i.law_list:
        x, k = f.small_step_round_scaffold(i.x, i.u, S)
        new = _scaffold(at, S, variates, gradients)
        out += [equal(limit(new[0], "eta"), x, f"server at eta = 0, S={S}"),
                equal(limit(new[1], "eta"), k, f"variates at eta = 0: forgotten by S={S}")]
        kept, moved = kept + chance * slow(x, k), moved + chance * slow(*_scaffold(at, S, exact, gradients))
    return (*out, equal(kept, slow(i.x, i.u), "slow direction keeps its mean at eta = 0"),
            equal(limit((moved - i.x) / i.eta, "eta"), -i.tau * mass * _sum(i.a) / i.N * i.x, "and moves by the Hessian of F"))


def _scaffold(i, S, variates, gradients):
    """(x, k) after a coded round with c_i = variates and c their mean."""
    new = coded(i, i.algorithm, S, i.x, c=_sum(variates) / i.N, ci=variates)
    return new.x[0], [i.eta * i.tau * (v - g) for v, g in zip(_rows(new.ci), gradients, strict=True)]


def _cross():
    out = [c for i in I.scaffold_drift for c in _small_steps(i)]
    for i in I.scaffold_drift[:2]:
        at, variates, gradients = _scaled(i, 0 * i.x, [0 * i.x] * i.N)
        for S in i.sets:
            new = coded(at, i.algorithm, S, 0 * i.x, c=0 * i.x, ci=variates)
            out += [equal(new.x[0], 0, f"x* stands still, S={S}, N={i.N}"),
                    equal(_rows(new.ci), gradients, f"with c_i = grad f_i(x*), S={S}")]
    for i in _method("SCAFFOLD"):
        out += [equal(i.op.fixed_point().x, _best(i), f"{i.name}: stops at x*"),
                equal(i.op.floor(_best(i)), 0, f"{i.name}: stationary error"),
                at_most(Bounds(*_square(i)), 1, f"{i.name}: mean-square rate", strict=True)]
    return out


def _method(name):
    return [i for i in reference.reference if i.name.startswith(name)]


def _square(i):
    return i.op.certify(width=1e-5).mean_square


finding("table1-scaffold-cross", kind="remark", check=_cross,
        says="SCAFFOLD's cross in the column 'exact' stands for 'no proof': on quadratics it converges linearly to x* under "
             "arbitrary participation, for every law of independent rounds in which each client appears and small steps.",
        reading="The cross with its footnote (no proof; empirically it may be possible). Constant step, exact gradients; rounds "
                "independent, any dependence between clients; as eta -> 0 the other directions have factors 1 - p_i.",
        survives="As printed: the footnote claims no more than that no proof is known.")


SCENARIOS = ("full", "one uniform client", "Bernoulli(.9,.5,.1)")
FASTER = (("full", "SCAFFOLD", "FOCUS"), ("one uniform client", "SCAFFOLD", "FOCUS"), ("one uniform client", "MIFA", "FOCUS"),
          ("Bernoulli(.9,.5,.1)", "FOCUS", "SCAFFOLD"))


def _needed(factor, error):
    """Smallest R with factor^R <= error."""
    R, value = 0, Q(1)
    while value > error:
        R, value = R + 1, value * factor
    return R


def _rates():
    k = Field("eta N gap eps")
    eta, N, gap, eps = k.symbols
    general = lemmas.nonconvex(eta, N) * gap / eps  # (25): the mean of |grad F|^2 is at most eps after these rounds
    linear = lemmas.pl_rate(Q(1, 100), Q(1, 2), 4)  # (24), eta = .01, beta = 1/2, N = 4
    out = [equal(general.substitute(eps=eps / 10**6), 10**6 * general, "(25), general: 10^6 times as many for eps/10^6"),
           at_most(_needed(linear, Q(1, 10**8)), 4 * _needed(linear, Q(1, 100)), "(24), PL: at eps = .01, at most 4 times")]
    rates = {(i.name.partition(", ")[2], m): _square(i) for m in ("FOCUS", "SCAFFOLD", "MIFA") for i in _method(m)}
    out += [at_most(rates[law, first][1], rates[law, then][0], f"{law}: {first} contracts faster than {then}", strict=True)
            for law, first, then in FASTER]
    out += [at_most(rates[law, m][1], 1, f"{law}: {m} is linear, O(log 1/eps)", strict=True)
            for law in SCENARIOS for m in ("FOCUS", "SCAFFOLD", "MIFA")]
    noisy = _method("FOCUS")[0].but(noise=1)
    return [*out, at_most(Q(1, 100), noisy.op.floor(_best(noisy)), "FOCUS, sigma = 1: the error stays above 1/100")]


finding("table1-rates-mixed", kind="remark", check=_rates,
        says="'Fastest in all scenarios' compares attributed bounds of different classes: FOCUS's second log(1/eps) is under PL "
             "with exact gradients, the others' entries are for general or stochastic functions. On its own general class FOCUS "
             "has O(1/eps), as printed for SCAFFOLD; on one strongly convex quadratic, at equal step and exact gradients, all "
             "three methods are linear, and SCAFFOLD contracts faster than FOCUS per round under full and uniform participation.",
        reading="The remark after Theorem 1 orders 1/eps^2 > 1/eps >> log 1/eps over the rows of Table 1. Reference instance, "
                "eta = .05, tau = 4; mean-square rate per round, MIFA around its own limit.",
        survives="Among the printed bounds FOCUS's is the only O(log 1/eps) under arbitrary participation; SCAFFOLD sends twice as "
                 "much per round, and under Bernoulli(.9,.5,.1) FOCUS is the faster one.")
