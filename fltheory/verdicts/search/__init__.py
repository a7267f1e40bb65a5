"""Random instances of a universal claim: what is drawn, how far, and how a miss is rebuilt."""
