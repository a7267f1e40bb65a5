"""The room of those who work on a method: comparisons, predictions, conformance rules, test assertions, measurements."""
