"""Methods whose server acts at arrivals, the law of those arrivals, and runs of events."""
