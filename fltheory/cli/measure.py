"""Commands that look at this machine: bench, doctor."""

from __future__ import annotations

from fltheory.cli.arguments import positive
from fltheory.core.errors import refuse

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
    if args.peers:
        from fltheory.cli.peers import peers, table
        if args.json:
            import json
            print(json.dumps(peers(args.repeats)))
            return 0
        print(table(args.repeats))
        return 0
    from fltheory.cli import deciding
    from fltheory.workbench import bench
    sections = bench.SECTIONS | {"verify": lambda repeats: deciding.lines()}
    print(bench.table(args.repeats, {name: sections[name] for name in PARTS if name in (args.only or PARTS)}))
    return 0


def _doctor(args):
    import json

    from fltheory.doctor import diagnose, text
    found = diagnose()
    print(json.dumps(found, indent=1) if args.json else text(found))
    return 0 if found["ok"] else 1
