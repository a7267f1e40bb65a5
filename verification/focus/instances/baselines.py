"""Instances for FedAU, FedAWE and local SGD: coded counters and rounds in symbols, Table 1 on quadratics, runs."""
from dataclasses import dataclass
from fractions import Fraction as Q

from fltheory.core.algorithms.fedau import FedAu
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.fedawe import FedAwe
from fltheory.core.algorithms.localsgd import LocalSgd
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.laws.memoryless import Bernoulli, Full
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import FLOAT, RATIONAL, Field
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.instances import line, plane
from verification.focus.instances import structure as S
from verification.focus.instances.table1 import LAWS, grid

MC = {"seed": 5, "tail": "1/2"}


def names(letters, n):
    return [f"{v}{i}" for v in letters for i in range(n)]


# ---- FedAU's weights --------------------------------------------------------------------------------------
def _counters(cutoff):
    k = Field("w M s")
    w, M, s = k.symbols
    return Instance(f"counters, cut-off {cutoff}", line([1], [0]), FedAu("1/2", 1, cutoff=cutoff), Full(), domain=k,
                    part="counters", cutoff=cutoff, weight=w, seen=M, waited=s,
                    says="weight, number of intervals and waiting time are symbols")


def _renewal(K):
    k = Field("p")
    return Instance(f"renewal, cut-off {K}", line([1], [0]), FedAu("1/2", 1, cutoff=K), Full(), domain=k, part="renewal",
                    p=k.symbols[0], cutoff=K, says="every p; independent rounds")


def _every_cutoff():
    k = Field("p survived")
    p, survived = k.symbols
    return Instance("every cut-off", line([1], [0]), FedAu("1/2", 1, cutoff=1), Full(), domain=k, part="every", p=p,
                    survived=survived, cutoff=1, says="(1 - p)^K is a free symbol")


def _earlier(n, tau):
    k = Field(" ".join(["eta", "x", *names("hcwMs", n)]))
    eta, x, *rest = k.symbols
    h, c, w, M, s = (rest[j * n:(j + 1) * n] for j in range(5))
    return Instance(f"weights in use, N={n}, tau={tau}", line(h, c), FedAu(eta, tau), Full(), domain=k, part="earlier",
                    x=x, h=h, c=c, weight=w, seen=M, waited=s, sets=[(), *S.subsets(n)],
                    says="everything is a symbol")


@dataclass(frozen=True)
class _Shown(FedAu):
    """FedAU whose model is its weights, for runs that measure them."""

    def model(self, state):
        return state.weight


def _measured(name, law, p, cutoff=None):
    n = len(p)
    problem = Quadratic([[[int(i == j) for j in range(n)] for i in range(n)]] * n, [[0] * n] * n)
    metrics = {f"w{i}": (lambda x, i=i: x[:, i]) for i in range(n)}
    return Instance(name, problem, _Shown("1/2", 1, cutoff=cutoff), law, domain=FLOAT, part="measured", p=p, cutoff=cutoff,
                    simulate=MC | {"rounds": 1500, "replicates": 256, "metrics": metrics})


weights = [_counters(None), _counters(1), _counters(3), *(_renewal(K) for K in (1, 2, 3, 4, 5)), _every_cutoff(),
           _earlier(2, 1), _earlier(3, 1), _earlier(2, 2),
           _measured("measured, Bernoulli", Bernoulli(("1/2", "1/5")), (Q(1, 2), Q(1, 5))),
           _measured("measured, cut-off 3", Bernoulli(("1/2", "1/5")), (Q(1, 2), Q(1, 5)), 3),
           _measured("measured, one uniform client", LAWS["one uniform client"], (Q(1, 3),) * 3)]


# ---- FedAvg = FedAU = MIFA --------------------------------------------------------------------------------
def _everybody(n, tau, averaging="plain"):
    k = Field(" ".join(["eta", "x", "M", *names("hcG", n)]))
    eta, x, M, *rest = k.symbols
    h, c, G = (rest[j * n:(j + 1) * n] for j in range(3))
    return Instance(f"N={n}, tau={tau}, {averaging}", line(h, c), FedAvg(eta, tau, averaging=averaging), Full(), domain=k,
                    fedau=FedAu(eta, tau), mifa=Mifa(eta, tau), x=x, M=M, h=h, c=c, G=G,
                    says="one round from any model, memory and count")


everybody = [_everybody(1, 2), _everybody(2, 1), _everybody(2, 2), _everybody(2, 3), _everybody(3, 1), _everybody(3, 2, "weighted"),
             _everybody(2, 5, "weighted")]


# ---- local SGD --------------------------------------------------------------------------------------------
def _with_sets(instances):
    return [i.but(law_list=S.law_of(i.law, i.problem.n), report=i.algorithm.report) for i in instances]


def _mean_of_all(eta, tau):
    return LocalSgd(eta, tau, report="mean")


localsgd = _with_sets(grid(LocalSgd, "1/20", (1, 3)))
localsgd += [i.but(name=f"{i.name}, mean of all models") for i in _with_sets(grid(_mean_of_all, "1/20", (3,)))]


# ---- FedAU ------------------------------------------------------------------------------------------------
def _frozen(name, problem, law, tau, cutoff, eta="1/30"):
    p = law.inclusion(problem.n)
    used = [1 / v if cutoff is None else (1 - (1 - v) ** cutoff) / v for v in p]
    return Instance(f"{name}, d={problem.d}, tau={tau}, cut-off {cutoff}", problem, FedAu(eta, tau, weights=used), law,
                    kind=name, part="limit", p=p, cutoff=cutoff)


def _counted(name, problem, law, tau, cutoff=None, eta="1/10"):
    limit = _frozen(name, problem, law, tau, cutoff, eta)
    metrics = {f"x{k}": (lambda x, k=k: x[:, k]) for k in range(problem.d)}
    return limit.but(name=f"{limit.name}, counted weights", algorithm=FedAu(eta, tau, cutoff=cutoff), domain=FLOAT, part="counted",
                     frozen=limit.algorithm, simulate=MC | {"rounds": 3000, "replicates": 256, "metrics": metrics})


fedau = [_frozen(name, plane(), law, tau, K) for name, law in LAWS.items() for tau, K in ((1, None), (3, None), (3, 2))]
fedau += [_frozen(name, line((1, 2, 4), (1, -1, 0)), law, 3, None) for name, law in LAWS.items()]
fedau += [_counted("arbitrary", line((1, 2), (1, -1)), Bernoulli(("1/2", "1/5")), 3),
          _counted("arbitrary", line((1, 2), (1, -1)), Bernoulli(("1/2", "1/5")), 3, 2)]


# ---- FedAWE -----------------------------------------------------------------------------------------------
def _awe(name, problem, law, tau, eta, cap, part, domain=RATIONAL, **extra):
    return Instance(f"{name}, tau={tau}, eta={eta}, ages up to {cap}", problem, FedAwe(eta, tau, cap=cap), law,
                    cap=cap, part=part, domain=domain, kind=name, **extra)


def _same(n, tau):
    k = Field(" ".join(["eta", "x", *names("hc", n)]))
    eta, x, *rest = k.symbols
    return Instance(f"everybody, N={n}, tau={tau}", line(rest[:n], rest[n:]), FedAwe(eta, tau), Full(), domain=k,
                    part="same", x=x, h=rest[:n], c=rest[n:],
                    says="one round from any model that everybody holds")


def _alone(p, h, tau, eta, cap):
    return _awe(f"one client, p={p}, h={h}", line([h], [1]), Bernoulli(p), tau, eta, cap, "echo", p=Q(p), h=Q(h))


RARE = Bernoulli((1, "1/10"))
PAIR = line((1, 2), (1, -1))
fedawe = [_same(1, 2), _same(2, 1), _same(2, 3), _same(3, 2),
          *(_awe("full", plane(), Full(), tau, "1/20", 1, "full") for tau in (1, 3)),
          *(_awe("one uniform client", problem, LAWS["one uniform client"], 3, "1/50", 2, "unmixed")
            for problem in (plane(), line((1, 2, 4), (1, -1, 0), name="line"))),
          _awe("weighted, two of three", plane(), LAWS["weighted, two of three"], 3, "1/20", 4, "partial", FLOAT),
          _awe("rare client", PAIR, RARE, 3, "1/50", 60, "partial", FLOAT),
          _awe("pair", PAIR, Bernoulli(("9/10", "4/5"), "redraw"), 3, "1/20", 5, "partial", FLOAT),
          _awe("rare client, first rounds", PAIR, RARE, 3, "1/50", 40, "early", FLOAT, uncut=FedAwe("1/50", 3), x0=[4],
               simulate=MC | {"rounds": 40, "replicates": 20_000}),
          _alone("1/2", 1, 2, "1/5", 12), _alone("1/10", 1, 1, "1/20", 60), _alone("1/10", 1, 3, "1/10", 60),
          _awe("rare client", PAIR, RARE, 3, "1/10", 30, "diverges", p=Q(1, 10), fedavg=FedAvg("1/10", 3)),
          _awe("rarer client", PAIR, Bernoulli((1, "1/20")), 3, "1/20", 60, "diverges", p=Q(1, 20), fedavg=FedAvg("1/20", 3))]
names_seen = [i.name for i in fedawe]
fedawe = [i.but(name=f"{i.name}, d={i.problem.d}") if names_seen.count(i.name) > 1 else i for i in fedawe]

# in numbers what the others prove in symbols
illustrate([*weights])
