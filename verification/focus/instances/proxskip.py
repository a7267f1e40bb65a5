"""Instances for ProxSkip/Scaffnew: symbolic rounds, linear clients that stand for any local phase, and listed laws."""
import itertools
from fractions import Fraction as Q

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.scaffnew import Scaffnew
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.modes import Chain
from fltheory.core.laws.weighted import Weighted
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.formulas import proxskip as f
from verification.focus.instances import line, plane
from verification.focus.instances.structure import law_of, subsets


def Late(eta, tau):
    return Scaffnew(eta, tau, update="late")


def symbols(make, n, tau, part, linear=False, law=False):
    """n clients on the line, everything a symbol: curvatures a (0 if linear), b_i, eta, x, and per client u, v.

    law: the probability of every set with members is a symbol too; otherwise every set is tried.
    """
    sets = subsets(n)
    names = ["eta", "x", "mu", *(f"{v}{i}" for v in "abuv" for i in range(1, n + 1)),
             *(f"c{j}" for j in range(len(sets)) if law)]
    k = Field(" ".join(names))
    eta, x, mu, *rest = k.symbols
    a, b, u, v = (list(rest[j * n:(j + 1) * n]) for j in range(4))
    a = [0 * eta] * n if linear else a
    problem = Quadratic.from_linear([[[w]] for w in a], [[w] for w in b])
    chances = rest[4 * n:] if law else ()
    says = "linear clients: b_i stands for any mean gradient of a local phase, eta for eta tau" if linear else \
        "every number of the state and of the problem is a symbol"
    return Instance(f"{part}, N={n}, {'any tau' if linear else f'tau={tau}'}", problem, make(eta, tau), Full(), domain=k, part=part,
                    x=x, mu=mu, a=a, b=b, u=u, v=v, N=n, sets=[(), *sets],
                    law_list=list(zip(chances, sets, strict=False)), says=says)


# ---- SCAFFOLD and Scaffnew --------------------------------------------------------------------------------
def _pair(i):
    return i.but(scaffnew=Scaffnew(i.algorithm.lr, i.tau))


rounds_of_both = [_pair(symbols(Scaffold, n, tau, "one round")) for n, tau in ((1, 2), (2, 1), (2, 3), (3, 2))]
any_local_phase = [_pair(symbols(Scaffold, n, 1, "local phase", linear=True)) for n in (1, 2, 3, 4)]
trajectories_of_both = [Instance(f"trajectory, {name}, tau={tau}", problem, Scaffold("1/20", tau), Full(), part="trajectory",
                                 N=problem.n, x0=x0, scaffnew=Scaffnew("1/20", tau))
                        for name, problem, x0 in (("plane", plane(), [3, -2]), ("line", line([1, 2, 4, 3], [1, -1, 0, 5]), [3]))
                        for tau in (1, 3)]

# ---- shifts moved at once ---------------------------------------------------------------------------------
conserved = [symbols(Scaffnew, n, 1, "conserved", linear=True) for n in (1, 2, 3, 4)] + \
    [symbols(Scaffnew, n, tau, "conserved") for n, tau in ((2, 2), (3, 3))]
conserved = [i.but(fedavg=FedAvg(i.eta, i.tau, averaging="plain")) for i in conserved]
attracted = [symbols(Scaffnew, n, tau, "attracted") for n, tau in ((1, 3), (2, 2), (3, 1))]
gossip = [symbols(Scaffnew, n, tau, "small steps") for n, tau in ((2, 3), (3, 2), (4, 1))]
scaffold_drift = [symbols(Scaffold, n, tau, "SCAFFOLD", law=True) for n, tau in ((2, 1), (2, 3), (3, 1))]
drift = [symbols(Scaffnew, n, tau, "drift", law=True) for n, tau in ((2, 1), (2, 3), (3, 2))]


def iid(sets):
    """Independent rounds, each of these sets of clients 1..N with the same probability."""
    row = (Q(1, len(sets)),) * len(sets)
    return Chain(sets=tuple(tuple(i - 1 for i in S) for S in sets), matrix=(row,) * len(sets))


def _listed(name, problem, law, sets, eta="1/20", tau=3, make=Scaffnew, **extra):
    return Instance(name, problem, make(eta, tau), law, part="law", sets=sets, N=problem.n,
                    grouped=f.components, **extra)


def _families(n, most):
    """Families of at most `most` non-empty sets that together hold all clients."""
    return [F for size in range(1, most + 1) for F in itertools.combinations(subsets(n), size)
            if len(set().union(*map(set, F))) == n]


def _words(sets):
    return ", ".join("{" + ",".join(map(str, S)) + "}" for S in sets)


three, four = line([1, 2, 4], [1, -1, 0]), line([1, 2, 4, 3], [1, -1, 0, 2])
families = [_listed(_words(F), three, iid(F), F) for F in _families(3, 3)]
families += [_listed(_words(F), four, iid(F), F) for F in (((1, 2), (3, 4)), ((1, 2), (2, 3), (4,)), ((1, 2), (2, 3), (3, 4)),
                                                           ((1, 2, 3), (4,)), ((1, 2, 3), (3, 4)))]


def _typed(problem, laws, **options):
    return [_listed(name, problem, law, [S for _, S in law_of(law, problem.n) if S], **options) for name, law in laws.items()]


PARTIAL = {"one uniform client": Uniform(1), "two uniform clients": Uniform(2), "weighted, two of three": Weighted(2, (7, 2, 1)),
           "Bernoulli(.9,.5,.1)": Bernoulli(("9/10", "1/2", "1/10"), "redraw")}
typed = _typed(plane(), {"full": Full(), **PARTIAL}, eta="1/50")

# ---- shifts moved at the next pull ------------------------------------------------------------------------
with_everybody = [symbols(Late, n, tau, "everybody") for n, tau in ((1, 2), (2, 1), (3, 2))] + \
    [symbols(Late, n, 1, "everybody", linear=True) for n in (2, 3, 4)]
with_everybody = [i.but(immediate=Scaffnew(i.eta, i.tau)) for i in with_everybody]
standing = [symbols(Late, n, tau, "standing") for n, tau in ((1, 1), (2, 2), (3, 1))]
growing = [symbols(Late, n, tau, "growing", law=True) for n, tau in ((2, 1), (2, 3), (3, 1))]
late_full = [_listed(f"{name}, full, eta={eta}, tau={tau}", problem, Full(), [tuple(range(1, 4))], eta, tau, Late)
             for name, problem in (("plane", plane()), ("line", three)) for eta, tau in (("1/20", 1), ("1/100", 3))]
late_partial = [_listed(f"{name}, eta={eta}, tau={tau}", plane(), law, [S for _, S in law_of(law, 3) if S], eta, tau, Late)
                for name, law in PARTIAL.items() for eta, tau in (("1/50", 1), ("1/100", 3), ("1/10000", 3))]

# in numbers what the others prove in symbols
illustrate([*families, *late_full, *late_partial, *trajectories_of_both, *typed])
