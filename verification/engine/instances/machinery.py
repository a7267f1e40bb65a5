"""Small claims that the machinery decides inside a claim about it, each with what a reader decides by hand."""
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction as Q

import fltheory as ft
from fltheory.core.statistics import Interval

TWO = ft.Quadratic([[[1]], [[3]]], [[0], [1]])


def averaging(name="two clients", steps=(1, 10), **more):
    return ft.Instance(name, TWO, ft.FedAvg("1/20", steps), ft.Full(), domain=ft.RATIONAL, **more)


def inner(body, *on, **options):
    """A claim that stands in no ledger."""
    body.__doc__ = body.__doc__ or "A statement inside a statement."
    return ft.Claim("inner", body, on or (averaging(),), **options)


def plain(name, **more):
    return ft.Instance(name, **more)


def measured(value, half, count=4096):
    return Interval(value, half, 0.999, count)


TIES = [plain("1/3 and 1/3", left=Q(1, 3), right=Q(1, 3)), plain("a sum", left=Q(1, 3) + Q(1, 6), right=Q(1, 2))]
BELOW = [plain("1/3 and 1/2", left=Q(1, 3), right=Q(1, 2)), plain("-1 and 0", left=Q(-1), right=Q(0))]
OPTIMUM = [averaging("unequal steps"), averaging("one step each", 1)]


A, B = ft.Field("a b").symbols


# relation -> (the comparison, its status by hand)
RELATIONS = [
    plain("equal fractions", made=lambda: ft.equal(Q(1, 3), Q(2, 6)), status="HOLDS"),
    plain("unequal fractions", made=lambda: ft.equal(Q(1, 3), Q(1, 3) + Q(1, 10**30)), status="FALSIFIED"),
    plain("one entry of three", made=lambda: ft.equal([1, 2, 3], [1, 2, 4]), status="FALSIFIED"),
    plain("floats near", made=lambda: ft.equal(1.0, 1.0 + 1e-12), status="HOLDS"),
    plain("floats apart", made=lambda: ft.equal(1.0, 1.0 + 1e-6), status="FALSIFIED"),
    plain("below", made=lambda: ft.at_most(Q(1), Q(2)), status="HOLDS"),
    plain("above", made=lambda: ft.at_most(Q(2), Q(1)), status="FALSIFIED"),
    plain("a tie", made=lambda: ft.at_most(Q(1), Q(1)), status="HOLDS"),
    plain("a strict tie", made=lambda: ft.at_most(Q(1), Q(1), strict=True), status="FALSIFIED"),
    plain("inside an interval", made=lambda: ft.agrees(measured(1.0, 0.1), 1.05), status="HOLDS"),
    plain("outside an interval", made=lambda: ft.agrees(measured(1.0, 0.1), 1.2), status="FALSIFIED"),
    plain("too few replicates", made=lambda: ft.agrees(measured(1.0, 0.1, 16), 1.2), status="INCONCLUSIVE"),
    plain("coefficients of one sign", made=lambda: ft.nonnegative(A * A + B), status="HOLDS"),
    plain("a negative coefficient", made=lambda: ft.nonnegative(A * A - 2 * A * B + B * B), status="INCONCLUSIVE"),
    plain("both false", made=lambda: ft.equivalent((False, (Q(2), Q(1))), (False, (Q(3), Q(1)))), status="HOLDS"),
    plain("one false", made=lambda: ft.equivalent((True, (Q(1), Q(2))), (False, (Q(3), Q(1)))), status="FALSIFIED"),
]
EVIDENCE = [
    plain("fractions", sides=(Q(1), 2), kind="exact"), plain("a float among them", sides=(Q(1), 2.5), kind="float"),
    plain("symbols", sides=(A, Q(1)), kind="symbolic"),
    plain("a measured mean", sides=(measured(1.0, 0.1), Q(1)), kind="statistical"),
]


def wrong(error):
    """A bug under which the round of FedAvg is another one: it raises, or takes a step too many."""
    def bug(algorithm):
        return ft.FedAvg("1/20", (1, 11)) if error is None else _Broken("1/20", (1, 10))
    bug.__name__ = "one_step_more" if error is None else "broken"
    return bug


class _Broken(ft.FedAvg):
    def round(self, problem, s, draw):
        raise ArithmeticError("a bug that only raises")


def mean_rate(i):
    """The mean round of one and ten steps of 1/20 on curvatures 1 and 3 contracts by (19/20 + (17/20)^10)/2."""
    return ft.equal(i.op.mean_map()[0].reshape(-1), [(Q(19, 20) + Q(17, 20) ** 10) / 2])


def undecided(i):
    """A coefficient of either sign."""
    return ft.nonnegative(A * A - B)


def raises(i):
    """A body that breaks off."""
    raise ArithmeticError("on purpose")


def off(i):
    """The same with a wrong number."""
    return ft.equal(i.op.mean_map()[0].reshape(-1), [Q(1, 2)])


def off_in_floats(i):
    """The same with a wrong number in floats, which accuse nobody."""
    return ft.equal(float(i.op.mean_map()[0][0, 0]), 0.5)


def in_numbers(i):
    """An induction whose start is shown in symbols and whose step in numbers: it proves nothing beyond them."""
    return ft.induction(base=[(A + B, B + A)], step=[(Q(1), Q(1))])


SIDES = ft.Hypothesis("left below right", "left < right", lambda i: (i.left, i.right), strict=True)


def ordered(i):
    """The left number is at most the right one."""
    return ft.at_most(i.left, i.right)


# a claim inside the claim -> the word that a reader of its numbers gives it
WORDS = [
    plain("exact on its instance", claim=lambda: inner(mean_rate, domain="one instance, exact"), word="CERTIFIED"),
    plain("exact, no domain", claim=lambda: inner(mean_rate), word="SUPPORTED"),
    plain("a wrong number", claim=lambda: inner(off, domain="one instance"), word="FALSE"),
    plain("a wrong number in floats", claim=lambda: inner(off_in_floats), word="OPEN"),
    plain("undecided", claim=lambda: inner(undecided), word="OPEN"),
    plain("breaks off", claim=lambda: inner(raises), word="ERROR"),
    plain("outside its hypotheses", claim=lambda: inner(ordered, plain("3 and 2", left=Q(3), right=Q(2)),
                                                        needs=(SIDES,)), word="OPEN"),
    plain("at the border of a strict hypothesis", claim=lambda: inner(ordered, TIES[0], needs=(SIDES,)), word="OPEN"),
    plain("an induction in numbers beside a symbolic start", claim=lambda: inner(in_numbers, domain="this start"),
          word="CERTIFIED"),
    plain("a bound without a search", claim=lambda: inner(ordered, *BELOW, kind="bound", domain="two pairs"), word="OPEN"),
]
ETA, CENTRE, X, POWER = ft.Field("eta c x z").symbols
STEPS = [  # z = (1 - 2 eta)^k: k steps from x change it by (z - 1)(x - c); twice the power keeps the step and not the start
    plain(name, problem=ft.Quadratic([[[2]]], [[CENTRE]]), algorithm=ft.FedAvg(ETA, 1), domain=ft.Field("eta c x z"),
          change=lambda z, k=k: ((k * z - 1) * (X - CENTRE)).reshape(1, 1), status=status)
    for name, k, status in (("the closed form", 1, "HOLDS"), ("twice its power", 2, "FALSIFIED"))
]
UNEVEN = [plain("one and three steps on two clients", problem=ft.Quadratic([[[2]], [[2]]], [[0], [1]]),
                algorithm=ft.FedAvg("1/10", (1, 3)), law=ft.Full())]
ROWS = "id,place,type,kind,expected,evidence,corrected_by,says\n" + "".join(f"{row},,,A.\n" for row in (
    "eq1,eq 1,claim,identity,CERTIFIED", "eq2,eq 2,claim,identity,CERTIFIED", "fig1,Figure 1,figure,,"))
ANSWERS = [plain("three sentences", ledger=ROWS, words={"eq1": "PROVED", "eq2": "SUPPORTED"}, states=("carried", "lost", "lost"),
                 text="# What holds\n\nThe first does. [eq1, fig1]\nSo does the second. [eq2]\nThe rate is 7/8. [eq1]\n")]
PLACES = [plain("this process", place=nullcontext), plain("threads of an executor", place=lambda: ThreadPoolExecutor(2))]
# a bug -> what becomes of it as a mutant of `mean_rate`
BUGS = [
    plain("one step more", bug=wrong(None), status="killed"),
    plain("only raises", bug=wrong("error"), status="survived"),
]
