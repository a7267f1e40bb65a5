"""Write each paper's slow.csv from a full run: `python -m verification.slow reports/verdicts.jsonl`."""
import sys
from pathlib import Path

from fltheory.verdicts import records
from fltheory.verdicts.deciding import slow

SECONDS = 0.25
# Their words, or sentences of the answers, rest on these.
SPARED = (
    ("cor2-nonzero-alpha", "m=4, tau=16, T=8^6"),
    ("susp-independence", "steps drawn before the gradients, x0=-151/599"),
    ("susp-independence", "steps drawn before the gradients, x0=3"),
    ("thm4-small-step", "1000 equal clients, 1 a round, tau=1"),
)


def main(report):
    instances = [r for r in records.of_file(report) if isinstance(r, records.Instance)]
    for paper in sorted({i.paper for i in instances}):
        slow.write(Path(__file__).parent / paper, [i for i in instances if i.paper == paper], SECONDS, SPARED)


if __name__ == "__main__":
    main(sys.argv[1])
