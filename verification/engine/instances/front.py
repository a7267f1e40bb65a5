"""What users put before the front door, right and wrong."""
import math
from fractions import Fraction as Q

import fltheory as ft
from fltheory.verdicts.records import Claim
from verification.engine.instances.rounds import X0, C, H, P, quadratic
from verification.engine.twins import rounds, rounds_of_others

FEDAVG = ft.FedAvg("1/10", 3)
CODES = [
    ft.Instance("right", code=lambda: rounds_of_others.fedavg(0.1, 3), against=FEDAVG, law=None, verdict="matches"),
    ft.Instance("weights dropped", code=lambda: rounds_of_others.fedavg(0.1, 3, weighted=False), against=FEDAVG, law=None,
                verdict="differs"),
    ft.Instance("one step more", code=lambda: rounds_of_others.fedavg(0.1, 4), against=FEDAVG, law=None, verdict="differs"),
]
DRAWS = [
    ft.Instance("two of three", code=lambda: rounds_of_others.sampled(0.1, 3, 0.0, 5), against=FEDAVG, law=ft.Uniform(2),
                verdict="matches"),
    ft.Instance("the first more often", code=lambda: rounds_of_others.sampled(0.1, 3, 0.3, 5), against=FEDAVG,
                law=ft.Uniform(2), verdict="differs"),
]


def scaffold_in_torch(lr, steps, kept=True):
    """(local_train, aggregate) of SCAFFOLD, option II, as research code has it: variates in dicts, a classification loss. kept:
    whether clients keep their variates."""
    import torch

    def local_train(model, client):
        (X, y), = client.loader
        c, own = client.server.get("c", 0), client.memory.get("c", 0)
        start = model.weight.detach().clone()
        for _ in range(steps):
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(X), y.long()).backward()
            with torch.no_grad():
                model.weight -= lr * (model.weight.grad + c - own)
        new = own - c + (start - model.weight.detach()) / (steps * lr)
        if kept:
            client.memory["c"] = new
        return model.weight.detach(), new - own

    def aggregate(model, updates, clients):
        total = sum(client.weight for client in clients)
        server = clients[0].server
        server["c"] = server.get("c", 0) + sum(client.weight * change for client, (_, change) in zip(clients, updates, strict=True))
        return sum(client.weight / total * weight for client, (weight, _) in zip(clients, updates, strict=True)).reshape(-1)
    return local_train, aggregate


ADAPTED = [
    ft.Instance("SCAFFOLD in two functions", code=lambda: ft.adapters.functions(*scaffold_in_torch(0.1, 2)),
                verdict="matches"),
    ft.Instance("variates never stored", verdict="differs",
                code=lambda: ft.adapters.functions(*scaffold_in_torch(0.1, 2, kept=False))),
]
PLAIN = [ft.Instance("plain steps against decaying ones", against=ft.FedAvg("1/10", 3, ft.Decay("1/2")), kind="plain")]
TURNED = [ft.Instance("turned by 3/10", code=lambda: rounds_of_others.turned(0.1, 3, math.cos(0.3), math.sin(0.3)),
                      percent=f"{200 * math.sin(0.15):.2g}")]   # turned by a, v is 2 sin(a/2) |v| from v
CLIPPED = [ft.Instance("clipped to 0.123456", clip=0.123456)]


class Squared(ft.FedAvg):
    """Not affine, although it says so."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=new.x + new.x * new.x)


class Forgetful(ft.Scaffold):
    """Absent clients lose what they remember."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        here = draw.present[..., None]
        return new._replace(ci=new.ci * here) if isinstance(draw.who, slice) else new


RULES = [  # method -> rules and what they say of it
    ft.Instance("FedAvg", algorithm=ft.FedAvg("1/10"), says={
        "affine": "passed", "reads_well": "passed", "masks_are_cohorts": "passed", "absent_clients_remember": "does not apply"}),
    ft.Instance("SCAFFOLD", algorithm=ft.Scaffold("1/10"), says={"affine": "passed", "absent_clients_remember": "passed"}),
    ft.Instance("a square", algorithm=Squared("1/10"), says={"affine": "failed", "keeps_the_structure": "passed"}),
    ft.Instance("forgetful", algorithm=Forgetful("1/10"), says={"absent_clients_remember": "failed", "affine": "passed"}),
]
# ---- predictions ------------------------------------------------------------------------------------------
PATH = rounds.fedavg(H, C, P, Q(1, 10), (1, 2, 3), [(0, 1, 2)] * 20, X0)
PREDICTED = [  # what is predicted beside what is run; agrees only where both are one
    ft.Instance("the same step", quadratic(), ft.FedAvg("1/10", (1, 2, 3)), ft.Full(), said=ft.FedAvg("1/10", (1, 2, 3)), agrees=1),
    ft.Instance("another step", quadratic(), ft.FedAvg("1/10", (1, 2, 3)), ft.Full(), said=ft.FedAvg("1/20", (1, 2, 3)), agrees=0),
]
TWO = ft.Quadratic([[[1]], [[3]]], [[0], [1]])
POINT = rounds.fedavg((1., 3.), (0., 1.), (.5, .5), .05, (1, 10), [(0, 1)] * 400, 0.)[-1]
TABLES = [ft.Instance("two clients", TWO, ft.FedAvg("1/20", (1, 10)), ft.Full(), distance=f"{abs(POINT - 0.75):.4g}")]
LIMITS = [ft.Instance("three values, one-sided at 9/10", values=(9.0, 10.0, 11.0), level=0.9,
                      quantile=0.8 * math.sqrt(2 / (1 - 0.8 ** 2)))]
ENDS = [ft.Instance("three errors that halve", first=(9.0, 10.0, 11.0), factor=0.5, quantile=0.95 * math.sqrt(2 / (1 - 0.95**2)))]
STATUSES = [ft.Instance(status, status=status, skipped=skipped) for status, skipped in (
    ("OUT_OF_SCOPE", 1), ("SKIPPED", 1), ("INCONCLUSIVE", 0), ("FALSIFIED", 0), ("HOLDS", 0))]
RARE = [ft.Instance(f"{n} values, {p}", n=n, p=p) for n, p in ((20, 0.1), (5, 0.3), (40, 0.01))]

# ---- reports ----------------------------------------------------------------------------------------------
RECORD = Claim(id="some-claim", paper="some-paper", place="eq 1", kind="identity", says="A.", statement="A statement.",
               word="FALSE", expected="PROVED", as_expected=False, evidence="exact", scope="1 instances").to_json()
RECORDS = [ft.Instance("a verdict that was not expected", record=RECORD)]
NAMES = [ft.Instance(name, given=name, cls=cls) for name, cls in (("my_slow_method", "MySlowMethod"), ("OwnSgd", "OwnSgd"))]
