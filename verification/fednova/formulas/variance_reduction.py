"""FedNova, Section 5 and Algorithm 2 (variance reduction), and the baselines VRL-SGD and SCAFFOLD in closed form."""
from verification.fednova import formulas as f


def _total(values):
    values = list(values)
    return sum(values)


def gradient(H, e, weights, x):
    """sum w_i (H_i x - e_i): zero at the minimiser of the surrogate with weights w."""
    return _total(w * ((h * x).sum(-1) - v) for w, h, v in zip(weights, H, e, strict=True))


# ---- Algorithm 2 ------------------------------------------------------------------------------------------


def algorithm2(H, e, p, eta, rho, taus, x, d):
    """One round of Algorithm 2 at server model x (dim,), stored d (n, dim): (x+, d of line 13, d of Section 5).

    Local gradients g + c_i with c_i = -d_i + sum p_j d_j, heavy ball (35)-(36). Line 13: d_i = (x - y_i)/(eta |a_i|_1).
    Section 5: d_i = G_i a_i/|a_i|_1 with raw gradients g.
    """
    mean = _total(w * v for w, v in zip(p, d, strict=True))
    printed, raw, norms = [], [], []
    for h, v, tau, stored in zip(H, e, taus, d, strict=True):
        y, u, seen = x, 0 * x, []
        for _ in range(tau):
            seen.append((h * y).sum(-1) - v)
            u = rho * u + seen[-1] - stored + mean
            y = y - eta * u
        a = f.a_vector("momentum", tau, rho)
        norms.append(f.norm1(a))
        printed.append((x - y) / (eta * norms[-1]))
        raw.append(_total(c * g for c, g in zip(a, seen, strict=True)) / norms[-1])
    scale = _total(w * s for w, s in zip(p, norms, strict=True))
    return x - eta * scale * _total(w * v for w, v in zip(p, printed, strict=True)), printed, raw


def mean_shrink(h, eta, tau):
    """s = [1 - (1 - eta h)^tau]/(eta h tau): the averaged gradient of tau vanilla steps over the first one."""
    return (1 - (1 - eta * h) ** tau) / (eta * h * tau)


def raw_determinant(h, p, eta, taus):
    """det(I - M) of Algorithm 2 with raw d, scalar clients, vanilla steps: eta (sum p tau) (sum p h) prod s."""
    return _total(w * t for w, t in zip(p, taus, strict=True)) * vrlsgd_determinant(h, p, eta, taus)


# ---- SCAFFOLD ---------------------------------------------------------------------------------------------


def scaffold_round(h, e, p, eta, taus, x, c, ci):
    """(x+, c+, c_i+) of SCAFFOLD, option II, on scalar clients from any state: c_i+ = c_i - c + (x - y_i)/(tau_i eta).

    Local steps y <- y - eta (h y - e - c_i + c) contract to y* = (e + c_i - c)/h: y_i = y* + (1 - eta h)^tau (x - y*).
    """
    local, new = [], []
    for k, v, tau, own in zip(h, e, taus, ci, strict=True):
        rest = (v + own - c) / k
        local.append(rest + (1 - eta * k) ** tau * (x - rest))
        new.append(own - c + (x - local[-1]) / (tau * eta))
    return (_total(w * y for w, y in zip(p, local, strict=True)),
            c + _total(w * (a - b) for w, a, b in zip(p, new, ci, strict=True)), new)


# ---- VRL-SGD ----------------------------------------------------------------------------------------------


def vrlsgd_unit(p, eta, taus, divisors):
    """Homogeneous round map on unit Hessians in the state (x, D_1, ..., D_n): rows of the matrix (derived).

    y_i = x - (1 - z_i)(x - D_i), z_i = (1 - eta)^tau_i; x+ = sum p y; D_i+ = D_i + (x+ - y_i)/(divisor_i eta).
    """
    n = len(p)
    move = [1 - (1 - eta) ** t for t in taus]
    local = [[1 - move[i]] + [move[i] * (j == i) for j in range(n)] for i in range(n)]
    server = [sum(p[i] * local[i][k] for i in range(n)) for k in range(n + 1)]
    rows = [server]
    for i in range(n):
        rows.append([(k == i + 1) + (server[k] - local[i][k]) / (divisors[i] * eta) for k in range(n + 1)])
    return rows


def vrlsgd_determinant(h, v, eta, taus):
    """eta (sum v h) prod s_i: with v = p tau, det(I - M) of VRL-SGD on the states with sum p tau D = 0 (derived)."""
    out = eta * _total(w * k for w, k in zip(v, h, strict=True))
    for k, t in zip(h, taus, strict=True):
        out = out * mean_shrink(k, eta, t)
    return out
