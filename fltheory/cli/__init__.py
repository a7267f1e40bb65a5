"""Command line. Exit 0 as expected, 1 something differs, 2 bad input, 3 inconclusive under --strict,
or lost with a worker process.

One module per group of commands, each with `add(command)`; heavy imports happen inside the commands.
"""

from __future__ import annotations

import argparse
import sys

from fltheory import __version__
from fltheory.cli import calibrate, certify, decide, draw, measure, new, predict
from fltheory.cli.progress import logged

GROUPS = (decide, draw, measure, predict, new, calibrate, certify)


def main(argv=None) -> int:
    """Run one command; returns the exit code. Bad input is printed as value, rule and remedy, never as a traceback."""
    args = parser().parse_args(argv)
    from fltheory.core.errors import FLTheoryError, shortened
    try:
        with logged(args.verbose):
            return args.run(args)
    except FLTheoryError as error:
        print(f"fltheory: error: {shortened(error, 2000)}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader (head, less) closed early
        sys.stderr.close()
        return 0
    except (OSError, UnicodeError) as error:  # a path that cannot be used, text that this terminal cannot show
        print(f"fltheory: error: {shortened(error, 2000)}: a file or folder cannot be used. Check its name and permissions.",
              file=sys.stderr)
        return 2
    except (SystemExit, GeneratorExit) as error:  # arguments are parsed above, so this is the code of a paper
        print(f"fltheory: error: {type(error).__name__}: a file of the paper asked the process to leave. Remove that call.",
              file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fltheory: interrupted; finished verdicts are kept, continue with --resume", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(prog="fltheory",
                                  description="Decides whether the theorems of federated optimisation are true.")
    top.add_argument("--version", action="version", version=f"fltheory {__version__}")
    top.add_argument("-v", "--verbose", action="count", default=0, help="say on stderr what is being done (twice: in detail)")
    commands = top.add_subparsers(required=True, metavar="command")

    def command(name, run, says):
        sub = commands.add_parser(name, help=says, description=says)
        sub.set_defaults(run=run)
        sub.add_argument("-v", "--verbose", action="count", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        return sub

    for group in GROUPS:
        group.add(command)
    return top


__all__ = ["main", "parser"]
