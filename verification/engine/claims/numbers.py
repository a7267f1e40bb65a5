"""Exact linear algebra, series, streams, intervals and runs, against computations by hand."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.numbers.residues import rational_reconstruct
from fltheory.core.statistics import Stream2
from fltheory.runs.streams import Stream
from verification.engine.faults import these
from verification.engine.instances import numbers as on
from verification.engine.twins import forms

HERE = "the listed numbers"


def fractions(rows):
    return ft.linalg.to_fractions(np.array(rows, dtype=object))


@ft.claim("semidefinite", on=on.MATRICES, domain=HERE, rejects=these("semidefinite-zero-pivot"))
def semidefinite(i):
    """A symmetric matrix is positive semidefinite exactly if all its principal minors are at least 0."""
    exact = [[Q(v) for v in row] for row in i.M]
    return ft.equal(int(ft.linalg.is_positive_definite(fractions(i.M), strict=False)), int(forms.semidefinite(exact)))


@ft.claim("exact-radius", on=on.RADII, domain=HERE, rejects=these("modulus-of-a-pair-squared", "roots-of-one-polynomial-equal"))
def exact_radius(i):
    """A spectral radius is the root of the polynomial found by hand, and no other root of it."""
    r = ft.linalg.spectral_radius(fractions(i.M))
    low, high = i.between
    return [ft.equal(sum(c * r**k for k, c in enumerate(i.relation) if c), 0), ft.equal(int(low < r < high), 1, "between"),
            ft.equal(int(r == -r) + int(r == 1 - r), 0, "another root")]


@ft.claim("spectra-by-signs", on=on.PARABOLA, domain="one parabola over an interval, and its ends",
          rejects=these("signs-at-the-ends-only", "no-critical-points"))
def spectra_by_signs(i):
    """0 <= h (1 - h) <= 1/4 on [0, 1], attained at 1/2: smaller bounds are refuted, and the strict one too."""
    r = i.h * (1 - i.h)
    held = [int(ft.for_all_spectra(r, 0, 1, b, strict=s).status == "HOLDS")
            for b, s in ((Q(1, 4), False), (Q(1, 4), True), (Q(1, 5), False), (Q(1, 3), True))]
    return [ft.equal(held, [1, 0, 0, 1], "bounds"), ft.equal(ft.supremum(r, 0, 1).value, Q(1, 4), "supremum")]


@ft.claim("residues-back", on=on.RESIDUES, domain="all fractions within the bound of two moduli",
          rejects=these("reconstruct-short-of-the-bound"))
def residues_back(i):
    """Every fraction whose doubled squares lie below the modulus comes back from its residue, and nothing else does."""
    wanted = forms.short_fractions(i.modulus)
    found = {r: rational_reconstruct(r, i.modulus) for r in range(i.modulus)}
    missing = Q(10**6)
    return [ft.equal([missing if found[r] is None else found[r] for r in wanted], list(wanted.values()), "read back"),
            ft.equal(sum(v is not None for v in found.values()), len(wanted), "how many")]


@ft.claim("kernels", on=on.SYSTEMS, domain=HERE, rejects=these("one-becomes-the-entry"))
def kernels(i):
    """The kernel of a singular matrix is the line that one finds by hand, and the identity has ones and zeros."""
    N, _ = ft.linalg.nullspace(fractions(i.M))
    return [ft.equal(N[:, 0] / N[2, 0], i.kernel, "kernel"),
            ft.equal(ft.linalg.identity(2, Q(3)).reshape(-1), [1, 0, 0, 1], "identity")]


@ft.claim("series", covers={"order": "0 to 5"},
       on=on.SERIES, domain="the first six coefficients", rejects=these("series-truncated", "series-folded-wrongly"))
def series(i):
    """The power series of 1/(1 - s - s^2) has the Fibonacci numbers as coefficients."""
    (s,) = ft.Field("s").symbols
    found = (1 / (1 - s - s * s)).series("s", len(i.numbers) - 1)
    return ft.equal(found, i.numbers)


@ft.claim("streams", on=[ft.Instance("three keys")], domain="four listed keys of streams", rejects=these("streams-unequal"))
def streams(i):
    """Streams of one seed and key are one stream, with one sequence of numbers; others are others."""
    made = [Stream(1, "a"), Stream(1, "a"), Stream(1, "b"), Stream(2, "a")]
    first = [Q(float(s.generator().random())) for s in made]
    return [ft.equal([int(made[0] == s) for s in made], [1, 1, 0, 0], "equality"),
            ft.equal([int(first[0] == v) for v in first], [1, 1, 0, 0], "numbers")]


@ft.claim("intervals", on=on.SAMPLES, rejects=these("interval-of-one-replicate"))
def intervals(i):
    """The interval of a mean is Student's, with its quantile in closed form, where the sample is symmetric."""
    mean = sum(i.values) / len(i.values)
    parts = {"mean": np.array([mean]), "m2": np.array([sum((v - mean) ** 2 for v in i.values)]), "m3": np.zeros(1)}
    trace = ft.Trace(rounds=0, replicates=len(i.values), seed=0, device="cpu", tail_rounds=1, metrics={"error": parts}, tail={},
                     final=np.zeros(1), audit=None, audited=0, provenance={})
    found, wanted = trace.interval(0, level=i.level), forms.mean_and_half_width(i.values, i.quantile)
    return [ft.equal(found.value, wanted[0], "mean"), ft.equal(found.half_width, wanted[1], "half width")]


@ft.claim("merged-moments", on=on.PARTS, rejects=these("moments-merge"))
def merged_moments(i):
    """Moments of two parts, merged, are those of the whole sample."""
    whole, merged = [v for part in i.parts for v in part], Stream2.empty(())
    for part in i.parts:
        mean = sum(part) / len(part)
        merged.merge(len(part), mean, sum((v - mean) ** 2 for v in part), sum((v - mean) ** 3 for v in part))
    mean = sum(whole) / len(whole)
    return [ft.equal(float(merged.mean), mean, "mean"), ft.equal(float(merged.m2), sum((v - mean) ** 2 for v in whole), "squares"),
            ft.equal(float(merged.m3), sum((v - mean) ** 3 for v in whole), "cubes")]


@ft.claim("recorded-runs", on=on.RUNS, rejects=these("tail-one-round-more", "final-not-averaged"))
def recorded_runs(i):
    """A run records the squared error of its loop before each round, its mean over the last quarter, and the final model."""
    errors = [float((x - i.best) ** 2) for x in i.path]
    return [ft.equal(i.run.mean(), errors, "every round"),
            ft.equal(i.run.floor().value, (errors[-1] + errors[-2]) / 2, "last quarter"),
            ft.equal(float(i.run.final[0]), float(i.path[-1]), "final model")]


@ft.claim("audited-runs", on=on.AUDITS, rejects=these("audit-blind", "memories-lost-to-the-audit"))
def audited_runs(i):
    """The audit of a run sees whether its rounds are those of the derived operator."""
    return ft.at_most(1e-3, i.run.audit) if i.drifts else ft.at_most(i.run.audit, 1e-12)
