"""Floors, gradients, certificates, thresholds and local rates of derived operators, against closed forms."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.operators import spectrum
from fltheory.core.problems.plain import Rows
from verification.engine.faults import these
from verification.engine.instances import operators as on
from verification.engine.instances.rounds import C, H, P
from verification.engine.twins import chains, forms, laws, rounds, signs

HERE = "the listed instances, in rationals"


@ft.claim("noise-floor", on=on.FLOORS, domain=HERE,
          rejects=these("noise-total-per-coordinate", "run-noise-per-coordinate"))
def noise_floor(i):
    """Noise of E|xi|^2 = sigma^2 in two dimensions leaves the floor of its closed form: derived, and in a run."""
    return [ft.equal(i.op.floor(), i.floor, "derived"), ft.agrees(i.run.interval(-1), i.floor, "in a run")]


@ft.claim("noise-floor-in-floats", on=[*on.FLOORS, *on.AWAY], rejects=these("stationary-second-sign"))
def noise_floor_in_floats(i):
    """The same floors, and those of clients that come and go, are found in floats."""
    return ft.equal(float(i.but(domain=ft.FLOAT).op.floor()), float(i.floor))


@ft.claim("noise-under-memory", on=on.AWAY, domain=HERE, rejects=these("noise-in-every-mode"))
def noise_under_memory(i):
    """A noisy client that comes and goes in a correlated way has the floor that Cramer's rule gives."""
    return ft.equal(i.op.floor(), i.floor)


@ft.claim("weights-under-memory", on=on.WEIGHTS, domain=HERE, rejects=these("mode-weights-dropped"))
def weights_under_memory(i):
    """Surrogate weights under Markov participation average the four sets with their chances in the long run."""
    return ft.equal(ft.surrogate_weights(i.algorithm, i.law, 2, weights=i.p), i.weights)


@ft.claim("mean-gradients", on=on.GRADIENTS, domain=HERE, rejects=these("cross-term-halved", "cross-term-added"))
def mean_gradients(i):
    """Mean squared gradients of a surrogate objective with linear terms: over two rounds from 3, and in the long run."""
    cohorts = laws.bernoulli((Q(1, 2), Q(1, 3), Q(3, 4)))
    slope, base = sum(w * h for w, h in zip(i.w, H, strict=True)), sum(w * h * c for w, h, c in zip(i.w, H, C, strict=True))

    def after(x, members):
        return rounds.fedavg(H, C, P, Q(1, 10), (1, 2, 3), [members], x)[-1]
    two = [sum(q * (slope * x - base) ** 2 for q, x in seen) for seen in (
        [(Q(1), Q(3))], [(q, after(Q(3), s)) for q, s in cohorts])]
    maps = [(q, after(Q(1), s) - after(Q(0), s), after(Q(0), s)) for q, s in cohorts]
    target = i.problem.surrogate(i.w)
    return [ft.equal(i.op.mean_gradient_square(target, 2, i.x0), sum(two) / 2, "two rounds"),
            ft.equal(i.op.mean_gradient_square(target, None, i.x0), forms.stationary_square(maps, slope, base), "long run")]


@ft.claim("structured-operators", on=on.LARGE,
          rejects=these("shares-sum-to-the-cohort", "skipped-rounds-vanish", "own-variance-halved", "noise-without-shares"))
def structured_operators(i):
    """Operators without lists of cohorts have the fixed point, rates and floor that every cohort, written out, gives."""
    op = ft.derive(i.algorithm, i.problem, i.law, noise=i.noise, method="structured")
    lr, steps, p = Q(1, 10), (1, 2, 3), i.weights
    rows = [(q, *(rounds.fedavg(H, C, p, lr, steps, [s], Q(x))[-1] for x in (1, 0)),
             forms.local_variance(H, p, s, lr, steps, i.sigma)) for q, s in i.cohorts]
    best = sum(w * h * c for w, h, c in zip(p, H, C, strict=True)) / sum(w * h for w, h in zip(p, H, strict=True))
    point, rate, square, floor = map(float, forms.from_cohorts(rows, best))
    return [ft.equal(float(op.fixed_point().x[0]), point, "fixed point"), ft.equal(op.rate(), abs(rate), "rate"),
            ft.equal(op.mean_square_rate(), square, "mean-square rate"), ft.equal(op.floor(), floor, "floor")]


@ft.claim("lying-floats", on=on.STABLE[:1], domain="one client, curvature 2", rejects=these("mean-for-mean-square"))
def lying_floats(i):
    """Floats whose rate is 8 % too high mislead no certificate: the enclosure holds (1 - 1/10 2)^2, or there is none."""
    exact, lying = i.op.exact().moments, i.but(algorithm=ft.FedAvg("83/1000", 1)).op.in_domain(ft.FLOAT).moments
    try:
        low, high = spectrum.mean_square(exact, lying, 1e-2, (Q(4, 5), Q(4, 5)))
    except ft.CertificateFailed:
        return ft.equal(0, 0, "refused")
    return [ft.at_most(low, Q(16, 25), "below"), ft.at_most(Q(16, 25), high, "above")]


@ft.claim("sharp-certificates", on=[i.but(lr=lr, name=f"lr = {lr}") for i in on.STABLE[:1] for lr in ("1/10", "1/2", "1", "6/5")],
          domain="one client, curvature 2", rejects=these("radius-from-smallest-root"))
def sharp_certificates(i):
    """Certified enclosures hold both rates, also where they are 0 and 1; beside a second, faster coordinate too."""
    both = ft.Quadratic([[[2, 0], [0, Q(3, 2)]]], [[0, 0]])
    rate, out = 1 - 2 * Q(i.lr), []
    for problem in (i.problem, both):
        wanted = max(abs(rate), abs(1 - Q(3, 2) * Q(i.lr))) if problem is both else abs(rate)
        try:
            sure = i.but(algorithm=ft.FedAvg(i.lr, 1), problem=problem).op.certify()
        except ft.CertificateFailed:
            out.append(ft.equal(0, 0, "refused"))
            continue
        for (low, high), value in ((sure.mean, wanted), (sure.mean_square, wanted ** 2)):
            out += [ft.at_most(low, value), ft.at_most(value, high), ft.at_most(high - low, Q(1, 50) * value)]
    return out


@ft.claim("stable-steps", on=on.STABLE, rejects=these("stable-in-mean-only"))
def stable_steps(i):
    """The scan for stable steps ends at the closed form: 2/h for one client, 2p/((2 - p) h) for FOCUS with a client that
    is there with probability p."""
    return ft.equal(ft.stable_steps(i.algorithm, i.problem, i.law).first, i.first)


@ft.claim("local-rates", on=on.SMOOTH, rejects=these("conserved-in-the-rate"))
def local_rates(i):
    """Newton on a logistic round finds the minimiser that bisection finds, and the rate is the derivative there."""
    found = ft.linearise(i.algorithm, i.problem, i.law)
    return [ft.equal(float(found.x[0]), i.point[0], "point"), ft.equal(found.rate, abs(i.point[1]), "rate")]


# ---- problems and minimisers ------------------------------------------------------------------------------
@ft.claim("ridge-conventions", on=on.RIDGES, domain="two clients with hand-written rows",
          rejects=these("ridge-sum-reg", "ridge-half-sum"))
def ridge_conventions(i):
    """Curvature, linear term and constant of ridge clients in each convention are those of their rows, entry by entry."""
    made = ft.Ridge([A for A, _ in on.ROWS], [y for _, y in on.ROWS], i.reg, convention=i.convention)
    return [ft.equal(part[k], wanted[j], f"client {k}") for k, wanted in enumerate(i.clients)
            for j, part in enumerate((made.H.reshape(2, -1), made.b, made.offset)) for wanted in [[_flat(w) for w in wanted]]]


def _flat(value):
    return [v for row in value for v in row] if isinstance(value, list) and isinstance(value[0], list) else value


@ft.claim("mini-batches", on=on.RIDGES, domain="all pairs of rows of two clients with hand-written rows",
          rejects=these("batch-ridge-divided"))
def mini_batches(i):
    """The gradients of all mini-batches of two rows average to the full gradient, in each convention of ridge clients."""
    made = ft.Ridge([A for A, _ in on.ROWS], [y for _, y in on.ROWS], i.reg, convention=i.convention).to(ft.RATIONAL)
    y, out = ft.RATIONAL.array(np.array([[Q(1, 2), -3], [2, Q(1, 3)]])), []
    for k, (curvature, b, _) in enumerate(i.clients):
        m = len(on.ROWS[k][0])
        seen = [made.grad(y, Rows(np.full((2, 2), (r, s)) % np.array([[3], [2]])))[k] for r in range(m) for s in range(m)]
        point = [Q(1, 2), Q(-3)] if k == 0 else [Q(2), Q(1, 3)]
        full = [sum(curvature[r][c] * point[c] for c in range(2)) - b[r] for r in range(2)]
        out.append(ft.equal(sum(seen) / len(seen), full, f"client {k}"))
    return out


@ft.claim("softmax-values", on=on.LOSSES, rejects=these("softmax-maximum"))
def softmax_values(i):
    """The softmax loss is the logarithm of the sum of exponentials less the label's score, by the definition."""
    A, labels = on.SCORES
    problem = ft.Logistic([A], [labels], 0.2, classes=3).to(ft.FLOAT)
    return ft.equal(float(problem.value(ft.FLOAT.array(i.x))), forms.softmax(A, labels, 3, 0.2, i.x))


@ft.claim("surrogate-optimum", on=on.SURROGATES, domain="three clients in one dimension",
          rejects=these("surrogate-weights-ignored"))
def surrogate_optimum(i):
    """The minimiser of a surrogate objective is sum w h c / sum w h, and that of the objective itself with p; a convex
    programme finds the same to five digits."""
    def at(w):
        return sum(v * h * c for v, h, c in zip(w, H, C, strict=True)) / sum(v * h for v, h in zip(w, H, strict=True))
    near = float(ft.second_route(i.problem)[0][0])
    return [ft.equal(ft.surrogate_optimum(i.problem, i.w).x, [at(i.w)], "surrogate"),
            ft.equal(ft.optimum(i.problem).x, [at(P)], "objective"),
            ft.at_most(Q(abs(near - float(at(P)))), Q(1, 10**5), "second route")]


@ft.claim("gap-of-floats", on=on.GAPS, domain="the listed floats, at their exact values", rejects=these("gap-too-small"))
def gap_of_floats(i):
    """The gap that a float minimiser's certificate promises is at least F(x) - F*, exactly, for the floats as they are."""
    found = ft.optimum(ft.Quadratic.from_linear([[[v]] for v in i.h], [[v] for v in i.b]))
    h, b = (sum(Q(v) for v in values) / 2 for values in (i.h, i.b))
    return ft.at_most(forms.gap(h, b, float(found.x[0])), Q(found.certificate["gap"]))


@ft.claim("chains-at-rest", on=on.CHAINS, domain=HERE, rejects=these("chain-backwards", "cycle-noise-of-the-next"))
def chains_at_rest(i):
    """Participation drawn by a chain that is not reversible, or in turn, with noise: mean and mean square in the long run."""
    mean, square = chains.at_rest(i.kinds, i.chain)
    return [ft.equal(i.op.fixed_point().x, [mean], "mean"), ft.equal(i.op.floor(reference=[0]), square, "mean square")]


@ft.claim("chains-in-rounds", on=on.STARTED, domain=HERE + ", five rounds, and the mean after 64 to 200",
          rejects=these("turns-backwards", "pushes-of-a-power-lost", "rounds-after-the-last-period-lost"))
def chains_in_rounds(i):
    """From a given start of the chain, mean and mean square of every one of the first five rounds, and the mean after many."""
    seen = [(mean[0], second[0, 0]) for mean, second in i.op.trajectory(5, i.x0)]
    wanted = [chains.after(i.kinds, i.chain, i.start, Q(3), t) for t in range(5)]
    many = (64, 65, 80, 200)
    return [ft.equal([v for pair in seen for v in pair], [v for pair in wanted for v in pair], "five rounds"),
            ft.equal([i.op.after(i.x0, t)[0] for t in many], [chains.after(i.kinds, i.chain, i.start, Q(3), t)[0] for t in many],
                     "the mean after many")]


@ft.claim("equal-clients", on=on.EQUAL, domain=HERE + ", three rounds; one client at both sides of its limit",
          rejects=these("deviations-with-replacement", "spread-gains-the-mean"))
def equal_clients(i):
    """E x^2 of equal clients from a handful of moments is that of all sequences of cohorts; FOCUS with one client that is
    there with probability p contracts in mean square exactly below 2p/((2 - p) h)."""
    seen = rounds.expected(lambda cohorts: rounds.focus([2] * i.n, [1] * i.n, Q(1, 9), i.tau, cohorts, Q(3)),
                           rounds.sequences(i.cohorts, 3))
    made = ft.exchangeable(i.algorithm, i.problem, i.law)
    alone = [ft.exchangeable(ft.Focus(share * Q(2, 5) / 2, 1), ft.Quadratic([[[2]]], [[0]]), ft.Bernoulli("1/3")).certify()
             for share in (Q(99, 100), Q(101, 100))]
    return [ft.equal([made.error(i.x0, r, [0]) for r in range(4)], [square for _, square in seen]),
            ft.at_most(alone[0].mean_square[1], 1, "below the limit", strict=True),
            ft.at_most(1, alone[1].mean_square[0], "above it", strict=True)]


SIGNS = [ft.Instance("FedAvg, three clients, two local steps", method=ft.FedAvg("1/5", 2), n=3, rounds=[{0: 2, 1: 2, 2: 2}],
                     twin=signs.fedavg),
         ft.Instance("SCAFFOLD, client 0 alone in round 2", method=ft.Scaffold("1/5", 2), n=3, rounds=[{0: 2, 1: 2, 2: 2}, {0: 2}],
                     twin=signs.scaffold_alone)]


@ft.claim("adversarial-signs", on=SIGNS, domain="two methods, three clients",
          rejects=these("signs-cancel", "last-round-kept"))
def adversarial_signs(i):
    """The largest drift over bounded gradients is the largest over all signs, and its gradients attain it."""
    found = ft.adversarial(i.method, i.n, i.rounds)
    return ft.equal([found.value, found.reached], [i.twin(i.n, i.method.steps, Q(1, 5))] * 2)
