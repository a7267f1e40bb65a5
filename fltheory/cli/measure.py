"""Commands that look at this machine: bench."""

from __future__ import annotations

from fltheory.cli.arguments import positive


def add(command):
    """Declare the commands."""
    bench = command("bench", _bench, "measure speed as ratios against a plain Python loop")
    bench.add_argument("--repeats", type=positive, default=20, metavar="N", help="runs per median")


def _bench(args):
    from fltheory.bench import table
    print(table(args.repeats))
    return 0
