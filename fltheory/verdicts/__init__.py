"""The room of verdicts: claims and findings of papers, how they are decided, and the reports about them."""
