"""Commands that look at this machine: bench, doctor."""

from __future__ import annotations

import json

from fltheory.cli.arguments import positive
from fltheory.core.errors import refuse
from fltheory.verdicts.records import ENGINE

PARTS = ("rounds", "replicates", "clock", "maps", "large", "certificates", "pepit", "verify")   # of bench


def add(command):
    """Declare the commands."""
    bench = command("bench", _bench, "measure speed as ratios against stated baselines (some minutes)")
    bench.add_argument("--repeats", type=positive, default=20, metavar="N", help="runs per median of single rounds")
    bench.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=f"some parts: {', '.join(PARTS)}")
    bench.add_argument("--peers", action="store_true", help="one round of FedAvg here and in the frameworks that are installed")
    bench.add_argument("--json", action="store_true", help="with --peers: [[what, seconds or null], ...]")

    doctor = command("doctor", _doctor, "what this machine has, and what will be skipped; exit 1 if not ready")
    doctor.add_argument("--json", action="store_true", help="as one JSON object")


def _bench(args):
    if args.json and not args.peers:
        refuse("--json", "without --peers", "the table of this package is text", "Add --peers.")
    if args.peers and args.only:
        refuse("--only", " ".join(args.only), "names parts of the table of this package", "Leave out --peers.")
    from importlib import import_module

    from fltheory.verdicts.folders import activate, beside
    bench = f"{activate(beside() / ENGINE)}.bench"
    if args.peers:
        peers = import_module(f"{bench}.peers")
        print(json.dumps(peers.peers(args.repeats)) if args.json else peers.table(args.repeats))
        return 0
    bench = import_module(bench)
    print(bench.table(args.repeats, {name: bench.SECTIONS[name] for name in PARTS if name in (args.only or PARTS)}))
    return 0


def _doctor(args):
    from fltheory.doctor import diagnose, text
    state = diagnose()
    print(json.dumps(state, indent=1) if args.json else text(state))
    return 0 if state["ok"] else 1
