"""Footnote 2: the penalty of (5) against deviations from the mean, for any number of clients."""
import fltheory as ft


def footnote2():
    """(lambda/(2N)) sum |theta_i|^2 = (lambda/(2N)) sum |theta_i - mean|^2 + lambda/2 |mean|^2."""
    p = ft.Proof("N", "lam D SD ST", "SM", "t m")
    N, lam, D, SD, ST, SM, t, m = p("N lam D SD ST SM t m")
    own = p.define("deviation", D - (t - m).square, "t = theta_i, m the mean of them")
    total = p.total("all clients", own, {"D": "SD", "t_t": "ST", "m_t": "SM"}, N, fixed="m_m")
    mean = p.given("mean", SM - N * m.square, "sum_i <theta_i, m> = N |m|^2", equality=True)
    return p.conclude(p.follows("footnote 2", lam / (2 * N) * ST - lam / (2 * N) * SD - lam / 2 * m.square,
                                (-lam / (2 * N), total), (lam / N, mean), equality=True))
