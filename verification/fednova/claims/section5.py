"""Sections 2, 5 and 6: what the text says of the proximal solver, of the server's optimiser and of the number of rounds."""
import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova.claims.averaging import coded_averaging, general
from verification.fednova.claims.solvers import one_norm
from verification.fednova.formulas import constants as fc
from verification.fednova.formulas import solvers as fs
from verification.fednova.instances import SOLVERS, Local, Symbols, free_clients, plane, read


# ---- Section 5: a larger tau_eff for the proximal solver -----------------------------------------------------
def _proximal_nova(taus):
    """FedNova with the proximal solver and tau_eff = sum p_i tau_i on linear losses, alpha = 1/(1 + s)."""
    s = Symbols("eta s", p=len(taus), e=len(taus))
    p, alpha = s.weights(len(taus)), 1 / (1 + s.s)
    problem = ft.Quadratic.from_linear([[[0]]] * len(taus), [[v] for v in s.e], p)
    algorithm = ft.FedNova(s.eta, taus, ft.Proximal(alpha=alpha), tau_eff=f.dot(p, taus))
    return Local(f"tau={taus}", problem, algorithm, ft.Full(), domain=s.field, e=s.e, alpha=alpha,
                 says="linear losses; every p, e_i, eta and alpha in (0, 1]")


@ft.claim("sec5-alleviates-slowdown", on=[_proximal_nova(t) for t in ((1, 3), (2, 2), (1, 4, 6))], covers={"n": "2, 3"},
          rejects=[bugs.normaliser_missing],
          domain="coded rounds on linear losses for tau = (1, 3), (2, 2), (1, 4, 6), every p and every alpha in (0, 1]",
          reading="Slowdown is taubar/tau_eff, as in Section 4.2. 'This can help alleviate the slowdown problem' says nothing of a "
                  "price; A of (8) and the server's part of (101) grow by the same factor, so at a noise-dominated or capped "
                  "step nothing is gained in the bound.")
def alleviates_slowdown(i):
    r"""With the proximal solver and $\tau_{\rm eff}=\sum_ip_i\tau_i$ FedNova's slowdown $\bar\tau/\tau_{\rm eff}$ is
    at most that of
    the default $\sum_ip_i\|a_i\|_1=\sum_ip_i[1-(1-\alpha)^{\tau_i}]/\alpha$,
        strictly where some $\tau_i>1$ and $\alpha>0$; $A$ grows
    by the same factor."""
    default = f.dot(i.p, [f.norm1(f.a_vector("proximal", t, i.alpha)) for t in i.taus])
    larger = f.dot(i.p, i.taus)
    vectors = [f.a_vector("proximal", t, i.alpha) for t in i.taus]
    norms = [f.norm1(a) for a in vectors], [f.norm2(a) for a in vectors], [a[-1] for a in vectors]
    A = [fc.theorem(*norms, i.p, t)[0] for t in (default, larger)]
    gains = [t - f.norm1(a) for t, a in zip(i.taus, vectors, strict=True)]  # sum_k (1 - (1 - alpha)^k) of each client
    return (ft.equal(i.op.mean_map()[1], [larger * i.eta * f.dot(i.p, i.e)], "coded round: tau_eff eta sum p_i e_i"),
            *(ft.nonnegative(v, f"client {k}: tau_i - |a_i|_1") for k, v in enumerate(gains)),
            ft.equal(A[1] * default, A[0] * larger, "A grows by the factor of tau_eff"))


# ---- Section 2: mitigates, but does not eliminate ----------------------------------------------------------
def _weights(name, alpha, taus, weights=None):
    return Local(name, plane() if weights is None else ft.Quadratic([[[1]]] * len(taus), [[k] for k in range(len(taus))], weights),
                 ft.FedAvg("1/10", taus, ft.Proximal(alpha=alpha)), ft.Full(), general=False, alpha=ft.fraction(alpha),
                 says=f"alpha = {alpha}, tau = {taus}")


on_mitigates = [general("proximal", 2).but(general=True, alpha=None),
                *ft.illustrate([_weights("alpha=1/2, plane", "1/2", (1, 3, 8)), _weights("alpha=99/100", "99/100", (1, 2),
                    ["1/2", "1/2"])]),
                _weights("alpha=1", 1, (1, 2), ["1/2", "1/2"])]


@ft.claim("sec2-mitigates", on=on_mitigates, rejects=[bugs.one_step_more, bugs.uniform_weights],
          covers={"tau": "all", "d": "none"},
          needs=[ft.Hypothesis("alpha below 1", r"$\alpha<1$", lambda i: ft.ASSUMED if i.general else (i.alpha, 1), strict=True)],
          domain="two clients, every p, alpha and powers z_i = (1 - alpha)^tau_i: for 0 < alpha < 1 and different "
                 "steps the powers differ",
          reading="'A larger mu mitigates (but does not eliminate) objective inconsistency' (Section 2), of the weights: w = p is "
                  "consistent. At fixed mu and eta to 0 nothing is even mitigated (r3-fixed-mu).")
def mitigates(i):
    r"""For $0<\alpha<1$ and clients with different steps FedProx's weights differ from $p$:
    $w_1p_2-w_2p_1=\frac{p_1p_2}{\alpha\tau_{\rm eff}}[(1-\alpha)^{\tau_2}-(1-\alpha)^{\tau_1}]\ne0$."""
    if i.general:
        tau_eff, w = coded_averaging(i)
        difference = i.p[0] * i.p[1] * (i.z[1] - i.z[0]) / (i.value * tau_eff)
        return one_norm(i), ft.equal(w[0] * i.p[1] - w[1] * i.p[0], difference, "coded weights: the difference of the powers")
    w = read(ft.surrogate_weights(i.algorithm, i.law, i.n, i.problem.weights, domain=i.domain))
    return (ft.at_most(0, max(abs(a - b) for a, b in zip(w, i.p, strict=True)), "coded weights differ from p", strict=True),
            ft.equal(list(w), fs.proximal_averaging(i.alpha, i.p, [(1 - i.alpha) ** t for t in i.taus])[1], "and are eq 7's"))


def _eliminated():
    i = on_mitigates[-1]
    w = read(ft.surrogate_weights(i.algorithm, i.law, i.n, i.problem.weights, domain=i.domain))
    return [ft.equal(list(w), list(i.p), "alpha = 1, tau = (1, 2): the coded weights are p")]


ft.finding("err-mitigates", kind="remark", breaks="sec2-mitigates", check=_eliminated,
           reading="Section 2 says 'does not eliminate', Section 4.2 'In the extreme case when alpha = 1 ... FedProx achieves "
                   "objective consistency'. Both are said of the effect of mu; alpha = eta mu = 1 is mu = 1/eta.",
           survives="Below alpha = 1 the weights differ from p (sec2-mitigates).")


# ---- Section 5: server and hybrid momentum --------------------------------------------------------------------
def _server_momentum(solver, taus):
    s = Symbols("eta beta r x v", p=2, h=2, e=2)
    local = SOLVERS[solver](s.r)
    return Local(f"{'hybrid' if solver == 'momentum' else 'server'} momentum, tau={taus}", free_clients(s, 2),
                 ft.ServerMomentum(s.eta, taus, local, beta=s.beta), ft.Full(), domain=s.field, plain=ft.FedNova(s.eta,
                     taus, local),
                 x=[s.x], v=[s.v], beta=s.beta, says="two scalar clients, every curvature, e_i, p, eta, rho, beta, "
                                                     "model and buffer")


@ft.claim("sec5-server-momentum", on=[_server_momentum(s, t) for s in ("vanilla", "momentum") for t in ((1, 2), (2, 2))],
          rejects=[bugs.one_step_more],
          domain="two scalar clients with steps (1, 2) and (2, 2), vanilla and local momentum, every curvature, e_i, p, eta, rho, "
                 "beta, model and buffer",
          reading="'The aggregated normalized gradient is used to update the server momentum buffer instead of "
                  "directly updating the "
                  "server model' is written out as v <- beta v + (x - x_agg)/eta, x <- x - eta v. The paper proves nothing of it.")
def server_momentum(i):
    r"""FedNova with server momentum, also with local momentum (hybrid): $v^+=\beta v+(x-x_{\rm agg})/\eta$, $x^+=x-\eta v^+$. So
    $x^+=x$ and $v^+=v$ exactly when $v=0$ and $x=x_{\rm agg}$: its fixed points are FedNova's, with the same bias."""
    (M, c), (R, r) = i.op_anywhere.mean_map(), i.but(algorithm=i.plain).op.mean_map()
    x, v = M @ np.array([i.x[0], i.v[0]], dtype=object) + c
    aggregated = R[0, 0] * i.x[0] + r[0]
    return (ft.equal(v, i.beta * i.v[0] + (i.x[0] - aggregated) / i.eta, "the buffer after a coded round"),
            ft.equal(x, i.x[0] - i.eta * v, "the model after a coded round"))


# ---- Section 6 and Appendix I: what needs CIFAR-10 ---------------------------------------------------------------
@ft.claim("sec6-half-rounds",
          reading="Undecided: the sentence is read off Figure 7, training curves of VGG-11 on CIFAR-10 that were not "
                  "run again. The "
                  "substitute on digits (Table 1) compares accuracies after a fixed number of rounds, not rounds to an accuracy.",
          powerless="no instance is checked: the data are not at hand")
def half_rounds(i):
    r"""FedNova needs about half of the total rounds to achieve the same test accuracy as FedAvg."""
    return []


@ft.claim("sec6-hybrid-momentum",
          reading="Undecided: 81.15 +- 0.38 against 77.49 +- 0.25 are printed, Figure 8 shows the curves, and neither "
                  "was run again.",
          powerless="no instance is checked: the data are not at hand")
def hybrid_momentum(i):
    r"""With random epochs hybrid momentum reaches 81.15 percent on CIFAR-10, server momentum alone 77.49 percent."""
    return []
