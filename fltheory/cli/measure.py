"""Commands that look at this machine: bench, doctor."""

from __future__ import annotations

from fltheory.cli.arguments import positive


def add(command):
    """Declare the commands."""
    bench = command("bench", _bench, "measure speed as ratios against a plain Python loop")
    bench.add_argument("--repeats", type=positive, default=20, metavar="N", help="runs per median")

    bench.add_argument("--peers", action="store_true", help="one round of FedAvg here and in the frameworks that are installed")
    bench.add_argument("--json", action="store_true", help="with --peers: [[what, seconds or null], ...]")

    doctor = command("doctor", _doctor, "what this machine has, and what will be skipped; exit 1 if not ready")
    doctor.add_argument("--json", action="store_true", help="as one JSON object")


def _bench(args):
    if args.peers:
        from fltheory.cli.peers import peers, table
        if args.json:
            import json
            print(json.dumps(peers(args.repeats)))
            return 0
    else:
        from fltheory.workbench.bench import table
    print(table(args.repeats))
    return 0


def _doctor(args):
    import json

    from fltheory.doctor import diagnose, text
    found = diagnose()
    print(json.dumps(found, indent=1) if args.json else text(found))
    return 0 if found["ok"] else 1
