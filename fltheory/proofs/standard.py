"""Standard inequalities that a proof may cite by name: what is cited, where it stands. Each use is tested on coded rounds."""

NESTEROV = "Nesterov, Lectures on Convex Optimization, 2018"

STANDARD = {
    "triangle inequality": ("the norm of a sum is at most the sum of the norms", ""),
    "Cauchy-Schwarz": ("|v_1 + ... + v_n|^2 <= n (|v_1|^2 + ... + |v_n|^2), and |<u, v>| <= |u| |v|", ""),
    "Jensen": ("|sum w_i v_i|^2 <= sum w_i |v_i|^2 for weights w_i >= 0 that sum to 1, and |E V|^2 <= E|V|^2", ""),
    "mean as nearest point": ("sum w_i |v_i - c|^2 is smallest at the mean c = sum w_i v_i", ""),
    "descent lemma": ("f(y) <= f(x) + <grad f(x), y - x> + L/2 |y - x|^2 for a gradient with Lipschitz constant L",
                      f"{NESTEROV}, Lemma 1.2.3"),
    "gradient below the gap": ("|grad f(x)|^2 <= 2L (f(x) - inf f) for a gradient with Lipschitz constant L",
                               f"{NESTEROV}, (2.1.10), from the descent lemma at y = x - grad f(x)/L"),
    "strong convexity": ("f(y) >= f(x) + <grad f(x), y - x> + mu/2 |y - x|^2", f"{NESTEROV}, Definition 2.1.3"),
    "strong convexity implies PL": ("|grad f(x)|^2 >= 2 mu (f(x) - inf f)", f"{NESTEROV}, (2.1.24)"),
    "variance of a sum": ("E|V|^2 = |E V|^2 + E|V - E V|^2, where the cross terms of independent or martingale "
                          "differences vanish", ""),
    "tower property": ("the expectation of a conditional expectation is the expectation", ""),
}
