"""Option II without noise: how far the corrected gradient of a local step is from the mean gradient (Section 3.2)."""
import fltheory as ft
from verification.fedres.formulas import round_maps as f

EVERY = ("every loss with gamma-smooth blocks, N, K, dimension and step sizes, from round 2; the split of the corrected gradient "
         "is an identity of coded rounds with free gradients")


def mismatch():
    """|g_i^(k) - c_i + c - mean_j a_j| <= 2 gamma M with a_i = grad_w L_i(w, theta_i'), primes without index those of this round.

    d = |w_i^[k] - w|, s = |w - w_before|, h = |w_before - w_{i,before}^[h]| and H its largest, t = |theta_i' - theta'_{i,before}|.
    """
    p = ft.Proof("gamma N K", "e near own mean away v V d s h H t M Own")
    gamma, N, K, e, near, own, mean, away, v, V, d, s, h, H, t, M, Own = p(
        "gamma N K e near own mean away v V d s h H t M Own")
    split = p.standard("split", near + own + mean - e, "triangle inequality",
                       "near = |g_i^(k) - a_i|, own = |a_i - c_i|, mean = |mean_j (a_j - c_j)|")
    local = p.given("local step", gamma * d - near, "only w_i has moved: gamma-smooth")
    far = p.standard("distance", s + h - away, "triangle inequality", "away = |w - w_{i,before}^[h]|")
    change = p.given("change of a gradient", gamma * (away + t) - v, "v = |a_i - g_{i,before}^(h)|: gamma-smooth")
    largest = p.given("largest over local steps", H - h)
    one = p.follows("one local step before", gamma * (s + H + t) - v, change, (gamma, far), (gamma, largest))
    total = p.total("all of them", one, {"v": "V"}, K, fixed="s H t", over="local steps")
    variate = p.standard("variate", V - K * own, "triangle inequality", "K (a_i - c_i) = sum_h (a_i - g_{i,before}^(h))")
    one_client = p.follows("one client", gamma * (s + H + t) - own, (1 / K, total), (1 / K, variate))
    most = p.given("largest over clients", M - d - s - H - t)
    each = p.follows("each client", gamma * M - own, one_client, (gamma, most))
    clients = p.total("all clients", each, {"own": "Own"}, N, fixed="M")
    average = p.standard("mean over clients", Own - N * mean, "triangle inequality")
    return p.conclude(p.follows("mismatch", f.mismatch(gamma, M) - e, split, local, one_client, (gamma, most), (1 / N, clients),
                                (1 / N, average)))
