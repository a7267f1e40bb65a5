"""Lemma 6 with a noise term that the searches did not break."""
from fractions import Fraction as Q

import fltheory as ft
from verification.focus import sg, steps
from verification.focus.bugs import theorem1 as bugs
from verification.focus.claims.sg_lemmas import moments, noise_steps
from verification.focus.coded import curvatures
from verification.focus.formulas import stochastic as f
from verification.focus.instances import _REDRAWN, noisy, root, st


def largest(name, h, c, tau, law, sigma=1, share=1, **extra):
    """At a share of the largest step of lem4-corrected."""
    q, N, L = min(law.averaging_weights(len(h))), len(h), max(Q(v) for v in h)
    eta = root(min([q**3 / (64 * L**2 * N**2), *([q**3 / (128 * L**2 * (tau - 1) ** 2)] if tau > 1 else [])]), 9)
    return noisy(name, h, c, eta * Q(share), tau, law, sigma, **extra)


def equal(n, m, tau, rounds, bits):
    """Equal clients at a step 2^-bits, whose exact moments stay short."""
    return noisy(f"{n} equal clients, {m} a round, tau={tau}", [1] * n, [0] * n, Q(1, 2**bits), tau, ft.Uniform(m), 1,
                 rounds=rounds)


def random_rounds(draw, n=None, tau=None, law=None, sigma=None, share=None):
    n = draw(st.integers(2, 3)) if n is None else n
    h, c = ([draw(st.integers(*ends)) for _ in range(n)] for ends in ((1, 4), (-3, 3)))
    law = ft.Bernoulli([draw(st.sampled_from(["1", "1/2", "1/5"])) for _ in range(n)], "redraw") if law is None else law
    return largest("random clients", h, c, draw(st.sampled_from([1, 2, 3, 9])) if tau is None else tau, law,
                   draw(st.sampled_from([0, "1/3", 5])) if sigma is None else sigma,
                   draw(st.sampled_from([1, "1/2", "1/20"])) if share is None else share, x0=draw(st.integers(-3, 3)), rounds=5)


few = [largest("two clients, all, 20 local steps", [1, 1], [0, 0], 20, ft.Full(), rounds=5),
       largest("one of two, 30 local steps", [1, 2], [1, -2], 30, ft.Uniform(1), x0=1, rounds=6),
       largest("two clients, all, no noise", [1, 1], [0, 0], 1, ft.Full(), 0, x0=1, rounds=30),
       largest("one of two, no noise", [1, 1], [0, 0], 1, ft.Uniform(1), 0, x0=1, rounds=30),
       largest("one of two, tau=9, no noise, start at x*", [1, 2], [1, -2], 9, ft.Uniform(1), 0, x0=-1, rounds=60),
       largest("three clients, tau=3, no noise", (1, "3/2", 2), (10, -10, 5), 3, _REDRAWN, 0, x0=1, rounds=5)]
many = [equal(18, 1, 1, 40, 14), equal(64, 1, 1, 24, 18), equal(64, 32, 9, 12, 18), equal(256, 1, 1, 8, 24),
        equal(1000, 1, 1, 4, 28)]
CORNERS = ({"n": 2, "tau": 100, "share": 1}, {"n": 3, "tau": 1, "law": ft.Uniform(1), "share": "1/1000"},
           {"sigma": 0}, {"sigma": 5})
ENDS = {"clients": (2, 1000), "local steps": (1, 100), "noise against drift": (0, 1)}


@ft.claim("lem6-corrected", on=[*few, *many], bound=True,
          needs=[sg.participation, sg.local, noise_steps, steps.several, sg.weights, sg.never_empty],
          rejects=[bugs.moves_by_gradient], ends=ENDS,
          search=ft.Search((ft.Family("two and three clients", random_rounds, CORNERS),), tries=30),
          reading="Total expectation along Algorithm 2's own start, noises of different clients and gradients independent; "
                  "quadratics. Stale noise alone leaves about 2 eta^2 N^4 sigma^2 in B for one of N clients a round, of which this "
                  "bound allows 72.")
def lem6_corrected(i):
    r"""For $N\ge2$ at the steps of Lemma 4 as corrected, from Algorithm 2's own start: $E\,B_r\le(1-\frac
    q3)E\,B_{r-1}+\frac{9\eta^2N^3}qE\|\nabla F(x_r)\|^2
    +24\eta^2\left(\frac{N^2}q+N(\tau-1)^2\right)\sigma^2$.
    """
    seen, slope = moments(i), sum(curvatures(i)) / i.n
    out = []
    for r in range(1, i.rounds):
        stale, gradient, noise = f.lemma6_corrected(i.eta, i.n, i.q, i.tau, seen[r - 1][1], slope**2 * seen[r][0], i.sigma**2)
        out.append(ft.at_most(seen[r][1], ft.Terms(stale=stale, gradient=gradient, noise=noise), f"round {r}"))
    return out
