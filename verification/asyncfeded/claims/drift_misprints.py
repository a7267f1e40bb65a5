"""Misprints in the proof of Theorem 1 (A.2), each against its own next line, on coded local steps or in symbols."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded.formulas import drift as f
from verification.asyncfeded.formulas.steps import cap2
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.local_families import concave
from verification.asyncfeded.noise_paths import local, path, skewed
from verification.symbols import Symbols

STEPS = local("two clients, concave, noise", concave([2, 0]), at_cap(3), law=skewed(1))
ONE = Q(1)


def differ(left, right, label):
    """Two exact numbers are different."""
    return ft.at_most(0, abs(left - right), label, strict=True)


def _unrolled():
    """(23b) at k = 3 with the coded E|y_2 - x|^2, and the sums of (23c) that replace it."""
    i, D = STEPS, path(STEPS).drift
    A = {k: 1 + ONE / k for k in (1, 2, 3)}
    B = {k: sum(f.one_step_at_cap(ONE * k, i.eta[k - 1] ** 2, i.L, 0, i.sigma_g2, i.slope2, i.sigma2).values()) for k in A}
    before = sum(f.one_step_at_cap(ONE * 3, i.eta[2] ** 2, i.L, D[2], i.sigma_g2, i.slope2, i.sigma2).values())
    after = B[1] * A[2] * A[3] + B[2] * A[3] + B[3]
    return (ft.equal(before, A[3] * D[2] + B[3], "(23b)"), ft.at_most(D[3], before, "E|y_3 - x|^2 is at most (23b)"),
            ft.at_most(before, after, "(23b) is at most (23c), and not equal to it", strict=True))


ft.finding("misprint-eq23c", kind="misprint", check=_unrolled, reading="The line (23c) begins with = after (23b).",
           survives="(23c) with at most; (23d) onwards and Theorem 1 use no more.")


def _bracket():
    """(18a) and (18b) in one dimension: z = y - x - eta f', noise g - f' = +-1."""
    s, i = Symbols("eta z h"), STEPS
    first = sum(2 * s.z * (s.eta * s.h - s.eta * (s.h + sign)) for sign in (1, -1)) / 2
    printed = sum(2 * s.z * s.eta * (s.h - s.eta * (s.h + sign)) for sign in (1, -1)) / 2
    meant = sum(2 * s.z * s.eta * (s.h - (s.h + sign)) for sign in (1, -1)) / 2
    run, eta = path(i), i.eta[1]
    z = run.y[1] - run.y[0] - eta * run.exact[1]
    coded = run.mean((z * (run.exact[1] - eta * (run.exact[1] + run.noise[1]))).sum(-1))
    return (ft.equal([first, meant], [0 * s.z, 0 * s.z], "(18a), and (18b) without the inner eta, are 0"),
            ft.equal(printed, 2 * s.z * s.eta * s.h * (1 - s.eta), "(18b) as printed"),
            ft.equal(run.dot(z, run.noise[1]), 0, "the second coded step: the cross term is 0"),
            differ(coded, 0, "the printed bracket there is not"))


ft.finding("misprint-eq18b", kind="misprint", check=_bracket,
           reading="(18b) has eta E[grad f - eta g]: the step size, taken out of the bracket, still stands in it before g.",
           survives="(18c), which is 0 for unbiased noise, and everything after it.")


def _square():
    """(19a) and (19b) at the second coded step; in other units only squares agree."""
    i, eta = STEPS, STEPS.eta[1]
    run = path(i)
    y, g = run.y[1] - run.y[0], run.exact[1]
    split = run.square(y) + eta**2 * run.square(g) - 2 * eta * run.dot(y, g)
    length = run.mean(abs(y - eta * g)[:, 0])
    return (ft.equal(run.square(y - eta * g), split, "(19b) is E of the squared norm"),
            differ(length, split, "E of the norm, as (19a) prints, is another number"),
            ft.equal(run.square(3 * y - 3 * eta * g), 9 * split, "lengths three times as long: both sides nine times"),
            ft.equal(run.mean(abs(3 * y - 3 * eta * g)[:, 0]), 3 * length, "the printed left side only three times"))


ft.finding("misprint-eq19a", kind="misprint", check=_square,
           reading="(19a) prints E||y - x - eta grad f|| for R_1, which (17e) defines with a square.",
           survives="(19b), which expands the square.")


def _auxiliary():
    """The cap before (23) with Kt as printed and with its square; Kt = 2 at k = 2."""
    s = Symbols("k L")
    k, L, root = Q(2), ONE, Q(2)
    printed, meant = 1 / (3 * (root + 1) * root * L**2), 1 / (3 * (root**2 + 1) * root**2 * L**2)

    def factor(eta2):
        return f.one_step(2 * k, eta2, L, ONE, 0, 0, 0)["drift"]
    return (ft.equal(1 / (3 * (2 * s.k + 1) * 2 * s.k * s.L**2), cap2(s.k, s.L), "with the square Kt^2 = 2k: (T1)"),
            ft.equal(meant, cap2(k, L), "k = 2, Kt = 2"), differ(printed, cap2(k, L), "as printed it is another cap"),
            ft.at_most(factor(meant), 1 + 1 / k, "at the meant cap the factor is at most 1 + 1/k"),
            ft.at_most(1 + 1 / k, factor(printed), "at the printed one it is larger", strict=True))


ft.finding("misprint-eq23-kt", kind="misprint", check=_auxiliary,
           reading="'Let Kt^2 = 2k and eta^2 <= 1/(3 (Kt + 1) Kt L^2)', Kt for its square.",
           survives="The next words, eta^2 <= 1/(6 (2k + 1) k L^2), and Theorem 1, which states that.")
