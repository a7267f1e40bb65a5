"""Pencil proof that one gradient step on a block of coordinates takes at least t (1 - t mu/2) |g|^2 off a quadratic."""
import fltheory as ft
from verification.fedres.formulas import descent as f

DOMAIN = ("every number of clients, every dimension and K; the proof is of one gradient step on a block, of which every round is "
          "made (Step 1: K on each theta_i, with F seen as its L_i/N; Step 2: one on w). A round that keeps F has met zero "
          "gradients alone, so for strictly convex F only the optimum keeps it, and a quadratic form that falls in every direction "
          "contracts")


def block_step():
    """V, V1: the quadratic before and after; g its gradient in the block, q = g'Hg with the block H of its Hessian."""
    p = ft.Proof("t mu", "q", "V V1", "g")
    t, mu, q, V, V1, g = p("t mu q V V1 g")
    step = p.define("one step", V1 - V + t * g.square - t**2 / 2 * q, "V is quadratic")
    curved = p.given("curvature of the block", mu * g.square - q)
    cap = p.given("step", 2 - t * mu)
    gain = p.follows("decrease", V - V1 - f.decrease(t, mu, g.square), (-1, step), (t**2 / 2, curved))
    return p.conclude(gain, p.follows("descent", V - V1, gain, (t / 2 * g.square, cap)))
