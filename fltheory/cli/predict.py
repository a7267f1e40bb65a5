"""Commands that predict on a user's data: predict."""

from __future__ import annotations

import argparse
import contextlib
import math
import textwrap
from fractions import Fraction
from typing import Any

from fltheory.cli.arguments import check_output, positive
from fltheory.cli.progress import Progress, with_progress
from fltheory.core.errors import BadInput, FLTheoryError, NoMinimiser, refuse, shown
from fltheory.core.kinds import Law
from fltheory.core.tables import plain

METHODS = ("FedAvg", "FedProx", "FedNova", "FedNovaVR", "VRLSGD", "Scaffold", "Focus")
DEFAULT = ("FedAvg", "FedProx", "FedNova", "Scaffold", "Focus")
PERSONAL = {"FedResNaive": ("FedResNaive", {}), "FedResNaive-sim": ("FedResNaive", {"order": "sim"}),
            "FedResSgd": ("FedResSgd", {}), "FedResAvg": ("FedResAvg", {}), "FedResAvg-I": ("FedResAvg", {"option": 1})}
SAFE = 0.5  # fraction of the smallest first crossing that is the default step size


def add(command):
    """Declare the command."""
    sub = command("predict", _predict, "what federated methods would do on a CSV file: where, how fast, how far off")
    sub.add_argument("data", metavar="DATA.csv", help="a CSV file with a header row; # starts a comment line")
    sub.add_argument("--client", required=True, metavar="COLUMN", help="whose row it is")
    sub.add_argument("--target", required=True, metavar="COLUMN", help="what is predicted (ridge regression)")
    sub.add_argument("--features", type=_list, metavar="A,B,..", help="columns to predict from; default all others")
    sub.add_argument("--shared", type=_list, metavar="A,B,..", help="with --local: columns of the shared coefficients; 1: constant")
    sub.add_argument("--local", type=_list, metavar="C,D,..",
                     help="columns of each client's own coefficients (residual learning); may be those of --shared")
    sub.add_argument("--delimiter", type=_delimiter, default=",", metavar="C", help="between cells; tab for a tab")
    sub.add_argument("--bands", type=positive, metavar="K", help="cut a numeric client column into K quantile bands")
    sub.add_argument("--algorithms", type=_list, metavar="A,B,..", help=f"of {', '.join(METHODS)}; default {','.join(DEFAULT)}; "
                     f"with --local of {', '.join(PERSONAL)}; default all")
    sub.add_argument("--lr", type=_number, help="client step size; default half of the smallest first crossing, "
                     "with --local 1/(2 L K)")
    sub.add_argument("--personal-lr", type=_number, help="step size of the clients' own coefficients; default --lr")
    sub.add_argument("--alpha", type=_number, help="server step of FedResAvg; default 1")
    sub.add_argument("--steps", type=_steps, default=5, metavar="K|K1,K2,..", help="local steps; default 5")
    sub.add_argument("--mu", type=_number, default="1", help="proximal weight of FedProx; default 1")
    sub.add_argument("--reg", type=_number, default="1/10", help="ridge weight; default 1/10")
    sub.add_argument("--participation", default="full", metavar="full|uniform:M|bernoulli:P", help="default full")
    sub.add_argument("--noise", type=_number, metavar="S", help="standard deviation of gradient noise; default 0")
    sub.add_argument("--standardise", default="features", metavar="features|all|short|none", help="default features")
    sub.add_argument("--weights", default="rows", metavar="rows|uniform", help="of the clients; default rows (n_i/n)")
    sub.add_argument("--rounds", type=positive, default=200, help="of the runs; default 200")
    sub.add_argument("--replicates", type=positive, default=1000, help="of the runs; default 1000")
    sub.add_argument("--seed", type=int, default=0, help="of the runs; default 0")
    sub.add_argument("--measure", action=argparse.BooleanOptionalAction, default=True, help="also run the methods")
    sub.add_argument("--csv", metavar="OUT", help="write the numbers here")
    sub.add_argument("--html", metavar="OUT", help="write a page here")
    sub.add_argument("--picture", metavar="OUT", help="write a picture here (.png, .pdf or .svg)")
    with_progress(sub)


def _list(text):
    return [part.strip() for part in text.split(",") if part.strip()]


def _delimiter(text):
    return "\t" if text.lower() in ("tab", "\\t") else text


class Typed(Fraction):
    """A number of the command line: messages show it as it was typed."""

    def __new__(cls, text):
        from fltheory.core.numbers.scalars import fraction

        number = super().__new__(cls, fraction(text))
        number.text = text
        return number

    def __repr__(self):
        return self.text


def _number(text):
    try:
        return Typed(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _steps(text):
    try:
        parts = [positive(p) for p in _list(text)]
    except argparse.ArgumentTypeError:
        parts = []
    if not parts:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not an integer >= 1, nor several separated by commas")
    return parts[0] if len(parts) == 1 else tuple(parts)


def _predict(args):
    from fltheory.workbench.comparison import compare
    from fltheory.workbench.comparison.compare import check_rounds
    from fltheory.workbench.table import read_residual, read_ridge

    _check_outputs(args)
    check_rounds(args.rounds)
    for option, value in (("--alpha", args.alpha), ("--personal-lr", args.personal_lr)):
        if value is not None and args.local is None:
            refuse(option, str(value), "is of residual learning, by --shared and --local", "Leave it out, or give them.")
    if (args.local is None) != (args.shared is None) or (args.local is not None and args.features is not None):
        refuse("--local, --shared, --features", [args.local, args.shared, args.features], "columns are given by --features, or by "
               "--shared and --local together", "Residual learning takes the last two.")
    law, make = _law(args.participation), _makers(args)
    with Progress("predict:", args.progress) as progress:
        before = 1 + len(make) * (args.local is None)   # the file, and a scan for stable steps a method

        def say(done, total, now):
            progress.update(done, before + len(make) * (1 + args.measure), now)
        say(0, None, [f"reading {args.data}"])
        if args.local is None:
            problem = read_ridge(args.data, args.client, args.target, args.features, args.reg, args.standardise, args.weights,
                                 bands=args.bands, delimiter=args.delimiter)
        else:
            problem = read_residual(args.data, args.client, args.target, args.shared, args.local, args.reg, args.standardise,
                                    args.weights, args.bands, args.delimiter)
        about = [plain(line) for line in _description(problem, args, make)]
        with progress.aside():
            print(*about, sep="\n", flush=True)
        stable = _stable(make, problem, law, args, say) if args.local is None else False
        lr, why = (args.lr, "given") if args.lr is not None else _step_size(stable or {}, problem, args)
        steps = f"{args.steps} local steps" if isinstance(args.steps, int) else f"local steps {', '.join(map(str, args.steps))}"
        with progress.aside():
            print(f"lr = {float(lr):g} ({why}); {steps}\n", flush=True)
        table = compare({name: build(lr) for name, build in make.items()}, problem, law, args.noise, rounds=args.rounds,
                        replicates=args.replicates, seed=args.seed, measure=args.measure, stable=stable,
                        on_progress=lambda done, total, now: say(before + done, total, now))
    print(plain(table))
    for path, write in ((args.csv, table.to_csv), (args.html, table.to_html), (args.picture, table.plot)):
        if path is not None:
            write(path)
            print(plain(f"written: {path}"))
    return 1 if table.outside else 0


def _check_outputs(args):
    from fltheory.workbench.comparison.table import check_picture

    for option, path in (("--csv", args.csv), ("--html", args.html), ("--picture", args.picture)):
        check_output(option, path)
    if args.picture is not None:
        check_picture(args.picture)


def _makers(args):
    """{name: lr -> algorithm} of the methods asked for."""
    import fltheory as ft

    all_of, out = {m: (m, {}) for m in METHODS} if args.local is None else PERSONAL, {}
    asked = args.algorithms if args.algorithms is not None else DEFAULT if args.local is None else PERSONAL
    for name in asked:
        known = {m.lower(): m for m in all_of}.get(name.lower())
        if known is None:
            refuse("--algorithms", name, f"is none of {', '.join(all_of)}", "Separate several by commas.")
        kind, extra = all_of[known]
        options = {"FedProx": {"mu": args.mu}, "FedResAvg": {"alpha": 1 if args.alpha is None else args.alpha}}
        extra = extra | options.get(kind, {})

        def build(lr, kind=kind, extra=extra):
            options = {} if args.local is None else {"personal_lr": lr if args.personal_lr is None else args.personal_lr}
            return getattr(ft, kind)(lr, args.steps, **options, **extra)
        out[known] = build
    if not out:
        refuse("--algorithms", args.algorithms, "names at least one method", f"Of {', '.join(all_of)}.")
    return out


def _law(text):
    import fltheory as ft
    from fltheory.core.numbers.scalars import fraction

    kind, _, value = text.partition(":")
    if kind == "full" and not value:
        return ft.Full()
    if kind == "uniform":
        with contextlib.suppress(argparse.ArgumentTypeError):
            return ft.Uniform(positive(value))
    if kind == "bernoulli" and value:
        return ft.Bernoulli(fraction(value))
    refuse("--participation", text, "is full, uniform:M or bernoulli:P", "For example uniform:2 or bernoulli:1/2.")


def _stable(make, problem: Any, law: Law, args, say):
    """{name: StableSteps} of the methods that have them. say(done, total, names): that another one begins."""
    import fltheory as ft
    from fltheory.core.operators.setting import prepare
    from fltheory.workbench.comparison import cost

    steps, refusals = {}, []
    for k, (name, build) in enumerate(make.items()):
        say(1 + k, None, [f"stable step sizes of {name}"])
        try:
            algorithm = build(1 / float(problem.constants.L))
            cost.check_scan(algorithm, problem, prepare(algorithm, problem, law, args.noise))
            steps[name] = ft.stable_steps(algorithm, problem, law, args.noise)
        except FLTheoryError as error:  # the table says why
            refusals.append(error)
    if len(refusals) == len(make) and all(isinstance(error, BadInput) for error in refusals):
        raise refusals[0]  # no method is to blame: an option has no meaning here
    return steps


def _step_size(stable, problem: Any, args):
    """A short decimal at most SAFE times the smallest first crossing, and where it comes from."""
    crossings = {name: steps.first for name, steps in stable.items() if steps.first > 0}
    if not crossings:
        longest = args.steps if isinstance(args.steps, int) else max(args.steps)
        unknown = "" if problem.personal else ": no first crossing"
        return _rounded_down(Fraction(1 / (2 * float(_joined(problem).constants.L) * longest))), f"1/(2 L tau){unknown}"
    name = min(crossings, key=crossings.__getitem__)
    why = f"{SAFE:g} of the smallest first crossing {crossings[name]:.4g}, of {name}, in two digits"
    return _rounded_down(Fraction(SAFE * crossings[name])), why


def _rounded_down(value):
    """The largest number of two significant digits that is <= value > 0."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 1)
    return value // unit * unit


def _joined(problem: Any):
    """The clients as quadratics in all their coefficients, shared ones first; a ridge regression is one already."""
    import numpy as np

    from fltheory.core.numbers.scalars import FLOAT
    from fltheory.core.problems.quadratic import Quadratic

    if not problem.personal:
        return problem
    A, B, C, bw, bt = (FLOAT.array(v) for v in (problem.A, problem.B, problem.C, problem.bw, problem.btheta))
    H = np.concatenate([np.concatenate([A, B], 2), np.concatenate([B.swapaxes(1, 2), C], 2)], 1)
    return Quadratic.from_linear(H, np.concatenate([bw, bt], 1), list(problem.weights))


def _description(problem: Any, args, make):
    """Lines about the data: clients, weights, constants, scales."""
    from fltheory.core.numbers.scalars import FLOAT

    def wrapped(text):
        return textwrap.wrap(text, 120, subsequent_indent="  ")

    r, p, c = problem.reading, FLOAT.array(problem.weights), _joined(problem).constants
    yield f"{args.data}: {sum(r.rows)} rows, {problem.n} clients by {r.client}, target {r.target}"
    clients = [f"{label} ({k} rows, p {w:.3g})" for label, k, w in zip(r.labels, r.rows, p, strict=True)]
    yield from wrapped(f"clients: {', '.join(clients[:12])}{', ..' if problem.n > 12 else ''}")
    yield from wrapped(f"{'shared ' if r.local else ''}coefficients ({problem.d}): {', '.join(r.features)}")
    if r.local:
        yield from wrapped(f"local coefficients ({problem.personal} of each client): {', '.join(r.local)}")
    scales = ", ".join(f"{k} ({a:.4g}, {b:.4g})" for k, (a, b) in r.scaling.items())
    yield from wrapped(f"standardised ({r.standardise}) by (shift, scale): {scales}" if scales else "standardised: nothing")
    mu = "~0" if abs(c.mu) <= 1e-12 * c.L else f"{float(c.mu):.4g}"  # what rounding leaves of 0 may be negative
    further = _joint(problem) if r.local else _dissimilarity(problem, p)
    yield from wrapped(f"curvature: L = {float(c.L):.4g}, mu = {mu}; ridge {args.reg}; {further}")
    for note in r.notes:
        yield f"note: {note}"
    if problem.n > 1 and "Focus" in make and len(set(problem.weights)) > 1:
        yield "note: Focus weighs clients equally, whatever p is, so that its limit is not the minimiser of sum p_i f_i"


def _joint(problem: Any):
    """What is shared at the joint optimum."""
    from fltheory.core.numbers.scalars import FLOAT

    try:
        w, _ = problem.joint_optimum()
    except NoMinimiser:
        return "no unique joint optimum"
    return f"joint optimum: shared {', '.join(f'{v:.4g}' for v in FLOAT.array(w))}"


def _dissimilarity(problem: Any, p):
    """kappa^2 for the smallest power of two beta^2 for which it is finite (FedNova, Assumption 3)."""
    from fltheory.core.numbers.scalars import FLOAT
    from fltheory.core.problems.quadratic import Quadratic

    floats = Quadratic.from_linear(FLOAT.array(problem.H), FLOAT.array(problem.b), [float(v) for v in p / p.sum()])
    for power in range(21):
        kappa2 = floats.dissimilarity(p, float(2**power))
        if kappa2 is not None:
            return f"dissimilarity kappa^2 = {max(float(kappa2), 0.0):.4g} at beta^2 = {2**power}"
    return "dissimilarity: kappa^2 is infinite up to beta^2 = 2^20"
