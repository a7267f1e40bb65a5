"""The other leg of every claim: counting, plain loops and closed forms, with nothing but the standard library."""
