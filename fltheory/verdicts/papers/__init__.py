"""A paper's folder: its ledger and pages, what it imports, and the journal of its verdicts."""
