"""Appendix C, (138): is the relaxed bound of FedProx an upper bound?"""
from fractions import Fraction

import fltheory as ft
from verification.fednova.formulas import constants as fc
from verification.fednova.formulas import solvers as fs


def long_client(m, short=10):
    """m clients with p_i = 1/m: m - 1 of them make `short` steps, one makes short m^2; alpha = 1/(short m); no noise, kappa = 0,
    Delta = 1.

    root = sqrt(m taubar T) is a free large number; T = root^2/(m taubar)."""
    total = short * (m - 1) + short * m * m
    root = Fraction(10**4 * short**2 * m**4)
    return ft.Instance(f"m={m}, one long client" + ("" if short == 10 else f", {short} steps"), m=m, short=short,
                       alpha=Fraction(1, short * m), taubar=Fraction(total, m), root=root, T=root**2 / total,
                       says=f"{short} steps at all clients but one, which makes {short} m^2")


def least_start(i):
    """A lower bound of the exact first term 4 Delta taubar/(tau_eff root) at Delta = 1: the long client's |a|_1 is at most
    1/alpha."""
    power = (1 - i.alpha) ** i.short
    tau_eff = ((i.m - 1) * fs.norm1("proximal", i.alpha, i.short, power) + 1 / i.alpha) / i.m
    return 4 * i.taubar / (tau_eff * i.root)


CAP = [ft.Hypothesis("alpha at most 1", r"$\alpha\le1$", lambda i: (i.alpha, 1)),
       ft.Hypothesis("many local steps", r"$\tau_i\ge10$ for every client, for $\tau_i\gg1$", lambda i: (10, i.short)),
       ft.Hypothesis("step cap (101)", r"$(2\eta L/\alpha)^2\cdot3\le1$ with $\eta=m/\sqrt{m\bar\tau T}$, $L=1$, for "
                                       r"every $|a_i|_1$",
                     lambda i: (3 * (2 * i.m / i.root / i.alpha) ** 2, 1))]


@ft.claim("eq138-as-printed", on=[long_client(4), long_client(64), long_client(1000), long_client(64, 1000)],
          needs=CAP, finding="err-eq138",
          reading="'The error upper bound of FedProx can be rewritten as' (138), with constants that depend on no number of the "
                  "setting: ten times those of (97) at L = Delta = 1, sigma = kappa = 0 and equal weights. The proof "
                  "puts 1/alpha for "
                  "tau_eff, of which it is an upper bound where a lower one is needed.",
          survives="With equal steps taubar/tau_eff <= 1 + alpha tau, so that (138) is an upper bound up to constants "
                   "(eq138-equal-steps); its minimum stands where stated (eq138-141).")
def eq138_as_printed(i):
    r"""The bound (97) of FedProx is at most 10 times $4$ times (138),
    $\frac{\alpha\bar\tau}{\sqrt{m\bar\tau T}}+\frac1{\sqrt{m\bar\tau T}}+\frac m{\alpha^2\bar\tau T}$, whatever the numbers of
    steps $\tau_i\gg1$."""
    terms = fc.eq138(i.alpha, i.root, i.m, i.taubar, i.T)
    return ft.at_most(least_start(i), ft.Terms(**{k: 40 * v for k, v in terms.items()}), "(97), its first term from below")


def _grows():
    """The ratio of the exact first term to 4 times (138) grows with m, whatever the number of steps: no constants repair it."""
    field = ft.Field("more K")
    m, K = 2 + field.symbols[0], 10 * field.symbols[1]   # m >= 2 clients, K > 0
    taubar, alpha, root = K * (m * m + m - 1) / m, 1 / (K * m), 10**4 * K * K * m**4
    most = ((m - 1) * K + 1 / alpha) / m   # Bernoulli: (1 - (1 - alpha)^K)/alpha <= K
    printed = 4 * sum(fc.eq138(alpha, root, m, taubar, root * root / (m * taubar)).values())
    legs = [ft.nonnegative(4 * taubar / (most * root) - m / 5 * printed,
                           "for every m >= 2 and every number of steps 10 K: at least m/5 times, as |a_i|_1 <= 10 K")]
    for m, low in ((64, 15), (1000, 240), (4000, 900)):
        i = long_client(m)
        printed = 4 * sum(fc.eq138(i.alpha, i.root, i.m, i.taubar, i.T).values())
        legs.append(ft.at_most(ft.fraction(low), least_start(i) / printed, f"m = {m}: at least {low} times"))
    return legs


ft.finding("err-eq138", kind="counterexample", breaks="eq138-as-printed",
           at=("m=64, one long client", "m=1000, one long client", "m=64, one long client, 1000 steps"),
           check=_grows, script="witnesses/err_eq138.py",
           step="(134)-(137) replace tau_eff by 1/alpha; tau_eff <= 1/alpha makes taubar/tau_eff too small",
           reading="Numbers of steps are arbitrary, as in Theorem 1. tau_i >> 1 is met as well as one likes: with 10 K and 10 K "
                   "m^2 steps and alpha = 1/(10 K m) the factor is about m/4 for every K. All constants hidden in O(.) may be ten "
                   "times those of the proof, and the growth with m excludes all others.",
           survives="For equal steps (138) is an upper bound up to constants (eq138-equal-steps).")


def _equal():
    field = ft.Field("s tau z")
    s, tau, z = field.symbols
    return ft.Instance("every alpha and tau", domain=field, s=s, tau=tau, z=z, says="alpha = 1/(1 + s); z = (1 - alpha)^tau")


@ft.claim("eq138-equal-steps", on=[_equal()], covers={"tau": "all"},
          domain="every alpha in (0, 1] and every integer tau, by induction on tau; that tau_eff is the coded one is eq7")
def eq138_equal_steps(i):
    r"""With equal steps $\tau/\tau_{\rm eff}=\frac{\alpha\tau}{1-(1-\alpha)^\tau}\le1+\alpha\tau$, so the first term of (97) is at
    most $4\Delta\frac{1+\alpha\tau}{\sqrt{m\tau T}}$: the first two terms of (138) up to constants."""
    alpha = 1 / (1 + i.s)
    # (1 - alpha)^tau (1 + alpha tau) <= 1: true for tau = 0, and a step multiplies it by less than 1
    step = (1 - alpha) * (1 + alpha * (i.tau + 1))
    left = i.tau * alpha / (1 - i.z)
    rest = alpha * alpha * (i.tau + 1)
    return (ft.equal(1 + alpha * i.tau, ft.Terms(step=step, rest=rest), "a step: (1 - alpha)(1 + alpha (tau + 1)) and a rest"),
            ft.nonnegative(rest, "the rest, so that a step does not pass 1 + alpha tau"),
            ft.equal((1 + alpha * i.tau - left) * (1 - i.z), 1 - i.z * (1 + alpha * i.tau),
                     "so 1 + alpha tau exceeds alpha tau/(1 - z) by (1 - z (1 + alpha tau))/(1 - z)"))
