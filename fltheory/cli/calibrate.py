"""The command that measures our own statistical checks: calibrate."""

from __future__ import annotations

from fltheory.cli.arguments import check_folder, executor_of, positive, with_executor


def add(command):
    """Declare the command."""
    sub = command("calibrate", _calibrate, "count the false alarms and the power of our own statistical checks")
    sub.add_argument("--repetitions", type=positive, default=1000, metavar="N", help="at least N per check")
    with_executor(sub)
    sub.add_argument("--out", default="verification", metavar="DIR",
                     help="folder for calibration.csv and calibration.json, which `verify` reports")


def _calibrate(args):
    from importlib import import_module
    from pathlib import Path

    from fltheory.core.errors import refuse
    from fltheory.verdicts.folders import activate, beside
    from fltheory.verdicts.records import ENGINE
    if not Path(args.out).is_dir():  # before the work, not after it
        refuse("out", args.out, "is no folder", "Make it, or choose another with --out.")
    check_folder("--out", args.out)

    def show(rows):
        for r in rows:
            print(f"{r['check']:<50} level {r['level']:<7g} {r['alarms']:>5} of {r['repetitions']}  "
                  f"[{r['low']:.2g}, {r['high']:.2g}]  power {r['power']:.3f}", flush=True)

    calibrating = import_module(f"{activate(beside() / ENGINE)}.calibrating")
    rows, provenance = calibrating.calibrate(args.repetitions, executor=executor_of(args), on_rows=show)
    for path in calibrating.save(rows, provenance, args.out):
        print(path)
    return 0
