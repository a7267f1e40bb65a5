"""Option II: the control variates cancel in the server's move, for any number of clients and local steps."""
import fltheory as ft


def identity_c():
    """w' = w - alpha eta K c' where c is the mean of the c_i before the round. One coordinate, so every dimension."""
    p = ft.Proof("N K eta alpha", "", "w w1 c c1 m g ci M G Ci")
    N, K, eta, alpha, w, w1, c, c1, m, g, ci, M, G, Ci = p("N K eta alpha w w1 c c1 m g ci M G Ci")
    local = p.define("local steps", m + eta * (g - K * ci + K * c), "m = w_i - w after K steps, g = sum_k g_i^(k)")
    total = p.total("all clients", local, {"m": "M", "g": "G", "ci": "Ci"}, N, fixed="c")
    mean = p.given("c is the mean", N * c - Ci, "before the round", equality=True)
    server = p.define("server step", w1 - w - alpha / N * M)
    new = p.define("new mean", N * K * c1 - G, "c_i' = g/K")
    gradients = p.follows("the c_i cancel", w1 - w + alpha * eta / N * G, server, (alpha / N, total), (-alpha * eta * K / N, mean),
                          says="w' - w = -(alpha eta/N) sum_{i,k} g_i^(k), as in Lemma 8", equality=True)
    return p.conclude(p.follows("identity", w1 - w + alpha * eta * K * c1, gradients, (alpha * eta / N, new), equality=True))
