"""Findings about Theorem 1."""
import fltheory as ft

ft.finding(
    "e1", kind="counterexample", breaks="thm1-explicit-as-printed", at=("prox-alpha1", "prox-alpha1, T to infinity"),
    step="eq (69) replaces the prefix coefficients b_s^(k) by a_s, which is wrong for the proximal solver",
    script="witnesses/e1.py",
    reading="alpha = 1 (mu = 1/eta) is inside the theorem's hypotheses: a_i >= 0, and the paper discusses it.",
    survives="With B', C' built from prefix coefficients (thm1-explicit-corrected) the same instance satisfies the "
             "bound. On this instance the printed floor also fails for alpha below 1, down to .975 (e1-threshold); "
             "what is missing is O(1/T) for fixed clients and steps.")
