"""The table of rounds that `identify` is measured on: correct ones, one fault each, and two at once.

Each faulty row says which words its first or second explanation must hold (alternatives between bars); a row with two faults
has words for both. The words are part of the table: they are what a reader would look for, not what the detectors happen to say.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

import fltheory as ft
from tests.blackbox.table.averages import FedAvg, FedNova, ServerMomentum
from tests.blackbox.table.controls import VRLSGD, Mifa, Scaffold

LR = "1/10"
# n, d, weights (None: unequal), local steps, participation, arithmetic
SETTINGS = {
    "A": {"n": 3, "d": 2, "weights": None, "steps": (2, 3, 5), "partial": False, "dtype": torch.float64},
    "B": {"n": 3, "d": 2, "weights": None, "steps": (2, 3, 5), "partial": True, "dtype": torch.float64},
    "C": {"n": 4, "d": 3, "weights": ["1/4"] * 4, "steps": (4, 2, 3, 6), "partial": True, "dtype": torch.float32},
    "D": {"n": 3, "d": 2, "weights": ["1/6", "1/2", "1/3"], "steps": 4, "partial": True, "dtype": torch.float32},
    "E": {"n": 3, "d": 1, "weights": ["1/6", "1/2", "1/3"], "steps": 3, "partial": False, "dtype": torch.float64},
    "F": {"n": 4, "d": 2, "weights": ["1/4"] * 4, "steps": 3, "partial": True, "dtype": torch.float64},
}


def plain(steps):
    return {"lr": LR, "steps": steps}


# kind -> (code, its options, the algorithm it says it is)
KINDS = {
    "FedAvg": (FedAvg, {}, lambda s: ft.FedAvg(LR, s)),
    "FedAvg, alike": (FedAvg, {"averaging": "alike"}, lambda s: ft.FedAvg(LR, s, averaging="plain")),
    "FedAvg, unbiased": (FedAvg, {"averaging": "unbiased"}, lambda s: ft.FedAvg(LR, s, averaging="unbiased")),
    "FedAvg, mixed precision": (FedAvg, {"inside": torch.float32}, lambda s: ft.FedAvg(LR, s)),
    "FedAvg, single weights": (FedAvg, {"single_weights": True}, lambda s: ft.FedAvg(LR, s)),
    "FedNova, single weights": (FedNova, {"single_weights": True}, lambda s: ft.FedNova(LR, s)),
    "SCAFFOLD II, single weights": (Scaffold, {"single_weights": True}, lambda s: ft.Scaffold(LR, s)),
    "FedProx": (FedAvg, {"mu": 0.5}, lambda s: ft.FedProx(LR, s, mu="1/2")),
    "FedAvg, momentum": (FedAvg, {"momentum": 0.5}, lambda s: ft.FedAvg(LR, s, ft.Momentum("1/2"))),
    "FedAvg, decay": (FedAvg, {"gamma": 0.75}, lambda s: ft.FedAvg(LR, s, ft.Decay("3/4"))),
    "FedNova": (FedNova, {}, lambda s: ft.FedNova(LR, s)),
    "FedNova, momentum": (FedNova, {"momentum": 0.5}, lambda s: ft.FedNova(LR, s, ft.Momentum("1/2"))),
    "FedNova, proximal": (FedNova, {"mu": 0.5}, lambda s: ft.FedNova(LR, s, ft.Proximal(mu="1/2"))),
    "FedNova, mixed precision": (FedNova, {"inside": torch.float32}, lambda s: ft.FedNova(LR, s)),
    "server momentum": (ServerMomentum, {}, lambda s: ft.ServerMomentum(LR, s, beta="1/2")),
    "SCAFFOLD II": (Scaffold, {}, lambda s: ft.Scaffold(LR, s)),
    "SCAFFOLD I": (Scaffold, {"option": 1}, lambda s: ft.Scaffold(LR, s, option=1)),
    "SCAFFOLD II, alike": (Scaffold, {"averaging": "alike"}, lambda s: ft.Scaffold(LR, s)),
    "SCAFFOLD I, alike": (Scaffold, {"averaging": "alike", "option": 1}, lambda s: ft.Scaffold(LR, s, option=1)),
    "MIFA": (Mifa, {}, lambda s: ft.Mifa(LR, s)),
    "VRL-SGD": (VRLSGD, {}, lambda s: ft.VRLSGD(LR, s)),
    "VRL-SGD, mean": (VRLSGD, {"divisor": "mean"}, lambda s: ft.VRLSGD(LR, s, divisor="mean")),
}
REMEMBER = ("server", "SCAFFOLD", "MIFA", "VRL")
MEMORIES = {"optimiser kept", "lr decays over rounds"}


@dataclass(frozen=True)
class Row:
    """kind, setting: keys of the two tables above; bugs: switches of the code; words: one entry per fault, () if correct."""

    kind: str
    setting: str
    bugs: tuple = ()
    words: tuple = ()

    @property
    def name(self):
        return " / ".join([self.kind, self.setting, *(["+".join(self.bugs)] if self.bugs else [])])

    def identified(self):
        """What `identify` says of the row, called as a user would call it."""
        given = SETTINGS[self.setting]
        kind, options, claim = KINDS[self.kind]
        code = kind(0.1, given["steps"], self.bugs, dtype=given["dtype"], **options)
        more = {"reset": code.reset} if self.kind.startswith(REMEMBER) or MEMORIES & set(self.bugs) else {}

        def whole(x, clients):
            return code.round(x, clients)

        def part(x, clients, cohort):
            return code.round(x, clients, cohort)
        return ft.identify(part if given["partial"] else whole, given["n"], given["d"], claim(given["steps"]),
                           weights=given["weights"], **more)


def rows(kind, settings, bug=None, words=None):
    """One row per setting (a string of letters)."""
    bugs = () if bug is None else tuple(bug.split("+"))
    words = () if words is None else (words,) if isinstance(words, str) else tuple(words)
    return [Row(kind, s, bugs, words) for s in settings]


CORRECT = [r for kind, settings in {
    "FedAvg": "ABCDEF", "FedAvg, alike": "ABDE", "FedAvg, unbiased": "BCDF", "FedAvg, mixed precision": "ABF",
    "FedAvg, single weights": "ABE", "FedNova, single weights": "AB", "SCAFFOLD II, single weights": "AB", "FedProx": "ABCD",
    "FedAvg, momentum": "ABCD", "FedAvg, decay": "ABCE", "FedNova": "ABCF", "FedNova, momentum": "ABC",
    "FedNova, proximal": "ABC", "FedNova, mixed precision": "AB", "server momentum": "DEF", "SCAFFOLD II": "ABCDEF",
    "SCAFFOLD I": "ABCDF", "SCAFFOLD II, alike": "ABD", "SCAFFOLD I, alike": "ABE", "MIFA": "ABCDE", "VRL-SGD": "ABCF",
    "VRL-SGD, mean": "ABC"}.items() for r in rows(kind, settings)]

STEPS = {   # of local work
    "one step more": ("too many", {"FedAvg": "BD", "FedProx": "C", "FedNova": "A", "SCAFFOLD II": "B", "MIFA": "D",
                                   "server momentum": "E"}),
    "one step less": ("too few", {"FedAvg": "C", "FedProx": "E", "VRL-SGD": "A", "SCAFFOLD I": "F"}),
    "one step only": ("makes 1 local step|too few", {"FedAvg": "AD", "FedProx": "B"}),
    "no half": ("MSELoss", {"FedAvg": "BF", "FedProx": "A", "SCAFFOLD I": "E", "SCAFFOLD II": "A"}),
    "lr doubled": ("the step size is 2 times", {"FedAvg": "D", "FedAvg, momentum": "A", "FedNova": "B", "MIFA": "E"}),
    "summed loss": ("a sum over rows", {"FedAvg": "AB", "FedNova": "B"}),
    "prox missing": ("proximal term is missing", {"FedProx": "AD", "FedNova, proximal": "B"}),
    "prox doubled": ("proximal coefficient", {"FedProx": "BCE"}),
    "prox wrong sign": ("wrong sign", {"FedProx": "ACF"}),
    "prox after step": ("after the gradient step", {"FedProx": "ABE"}),
    "hidden prox": ("hidden proximal term", {"FedAvg": "ACE"}),
    "prox not squared": ("not squared", {"FedProx": "ABF"}),
    "hidden momentum": ("hidden local momentum", {"FedAvg": "ABC"}),
    "momentum missing": ("momentum is missing", {"FedAvg, momentum": "AC", "FedNova, momentum": "B"}),
    "nesterov": ("Nesterov", {"FedAvg, momentum": "BD", "FedNova, momentum": "A"}),
    "weight decay": ("weight decay", {"FedAvg": "AB", "FedProx": "A", "FedAvg, momentum": "E"}),
    "hidden decay": ("decays by the factor 0.8", {"FedAvg": "ACF"}),
    "decay missing": ("decay is missing", {"FedAvg, decay": "ABC"}),
    "gradients add up": ("momentum rho = 1|never set to zero", {"FedAvg": "ABD"}),
    "optimiser kept": ("kept between rounds", {"FedAvg, momentum": "ABE"}),
    "lr decays over rounds": ("after every round", {"FedAvg": "AB", "FedNova": "A"}),
    "adam": ("Adam", {"FedAvg": "AC", "FedProx": "B", "SCAFFOLD II": "A"}),
    "adamw": ("Adam", {"FedAvg": "ABE"}),
    "adagrad": ("Adagrad", {"FedAvg": "ABC"}),
    "rmsprop": ("RMSprop", {"FedAvg": "ABE"}),
    "sign": ("sign", {"FedAvg": "ABF"}),
    "normalised": ("normalised", {"FedAvg": "ABF"}),
    "clip norm": ("clipped to norm 0.5", {"FedAvg": "ABF"}),
    "clip value": ("coordinate of every gradient is clipped to 0.5", {"FedAvg": "ABF"}),
    "nothing": ("does nothing", {"FedAvg": "AC", "FedNova": "B", "server momentum": "E"}),
}
SERVERS = {   # of the average
    "alike": ("p_i are dropped", {"FedAvg": "AB", "FedProx": "D", "FedNova": "A", "MIFA": "B", "VRL-SGD": "A"}),
    "by size": ("p_i / p_S", {"FedAvg, alike": "AB", "FedAvg, unbiased": "B"}),
    "server lr 2": ("averaged change 2 times|server_lr is 2|multiplied by 2",
                    {"FedAvg": "AC", "FedProx": "B", "SCAFFOLD II": "A"}),
    "wrong sign at the server": ("wrong sign", {"FedAvg": "ADE", "FedAvg, momentum": "B"}),
    "first twice": ("first participant's change is added twice", {"FedAvg": "AB", "FedProx": "A", "FedAvg, momentum": "D"}),
    "summed+models summed": ("models sum to 3", {"FedAvg": "A", "FedProx": "A", "FedAvg, momentum": "E"}),
    "not renormalised": ("not renormalised", {"FedAvg": "BD", "FedProx": "B"}),
    "over all": ("number of all clients", {"FedAvg": "B", "FedAvg, alike": "B", "FedProx": "F"}),
    "n/|S|": ("n/|S|", {"FedAvg": "B", "FedProx": "C"}),
    "cohort ignored": ("outside the cohort", {"FedAvg": "BC", "FedNova": "B", "SCAFFOLD II": "B"}),
    "last left out": ("left out of the average", {"FedAvg": "A", "FedProx": "E", "FedNova": "A"}),
    "swapped": ("weights of clients 0 and 2 are swapped", {"FedAvg": "A", "FedProx": "A", "FedAvg, momentum": "E"}),
    "in turn": ("one after the other", {"FedAvg": "ABD", "FedNova": "A"}),
    "one object": ("one after the other", {"FedAvg": "ACE"}),
    "last model alone": ("only the last participant's model", {"FedAvg": "AD", "FedProx": "B"}),
    "noise": ("although every gradient vanishes|in a problem without gradients", {"FedAvg": "ABE"}),
    "not normalised": ("the code is FedAvg|p_i / p_S", {"FedNova": "AB", "FedNova, momentum": "A"}),
    "steps counted": ("normaliser counts local steps", {"FedNova, momentum": "AB", "FedNova, proximal": "A"}),
    "plain tau": ("plain mean of the |a_i|", {"FedNova": "AB", "FedNova, momentum": "A"}),
    "tau cancels": ("tau_eff cancels", {"FedNova": "ABC", "FedNova, momentum": "A", "FedNova, proximal": "B"}),
    "tau missing": ("tau_eff is missing", {"FedNova": "AB", "FedNova, momentum": "A"}),
    "prox ignored": ("ignores the proximal term", {"FedNova, proximal": "ABC"}),
    "buffer reset": ("momentum is missing", {"server momentum": "DEF"}),
    "dampened": ("dampened", {"server momentum": "DEF"}),
    "server nesterov": ("Nesterov", {"server momentum": "DEF"}),
    "server adam": ("adaptive", {"server momentum": "DEF"}),
}
SERVERS["n/|S|"][1]["FedNova"] = "B"
VARIATES = {   # of memories; some change nothing that is seen while everybody takes part, and have partial rows only
    "never applied": ("this is FedAvg", {"SCAFFOLD II": "ABD", "SCAFFOLD I": "A", "VRL-SGD": "A"}),
    "wrong sign": ("wrong sign", {"SCAFFOLD II": "AC", "SCAFFOLD I": "B", "VRL-SGD": "A"}),
    "no c": ("-c_i alone", {"SCAFFOLD II": "AB", "SCAFFOLD I": "E"}),
    "no ci": ("c alone", {"SCAFFOLD II": "AB", "SCAFFOLD I": "F"}),
    "longer divisor": ("one local step too many (steps + 1)", {"SCAFFOLD II": "ABD"}),
    "divisor 1": ("divided by 1 step", {"SCAFFOLD II": "ABF"}),
    "no lr": ("not divided by the step size", {"SCAFFOLD II": "ABE", "VRL-SGD": "A"}),
    "update sign": ("y_i - x where it has x - y_i", {"SCAFFOLD II": "ABE"}),
    "c kept": ("c is not subtracted", {"SCAFFOLD II": "BDF"}),
    "c added": ("c is added", {"SCAFFOLD II": "BDF"}),
    "other option": ("option I", {"SCAFFOLD II": "AB", "SCAFFOLD I": "A"}),
    "at the end": ("gradient at the local model", {"SCAFFOLD I": "ABE"}),
    "c alike": ("plain mean", {"SCAFFOLD II": "AD", "SCAFFOLD I": "B"}),
    "model alike": ("the model is averaged with equal weights", {"SCAFFOLD II": "AB", "SCAFFOLD I": "D"}),
    "model not renormalised": ("not renormalised", {"SCAFFOLD II": "BD", "SCAFFOLD I": "B"}),
    "c over participants": ("over the participants|participants instead of all", {"SCAFFOLD II": "BF", "SCAFFOLD I": "B"}),
    "c summed": ("without averaging", {"SCAFFOLD II": "AB", "SCAFFOLD I": "A"}),
    "c frozen": ("c is never updated", {"SCAFFOLD II": "AC", "SCAFFOLD I": "B"}),
    "sent whole": ("where the server adds the change", {"SCAFFOLD II": "AB", "SCAFFOLD I": "E"}),
    "from c": ("c_i_new - c instead", {"SCAFFOLD II": "BD", "SCAFFOLD I": "B"}),
    "never stored": ("stays 0", {"SCAFFOLD II": "ABD", "SCAFFOLD I": "B", "VRL-SGD": "A"}),
    "early": ("moves after each client", {"SCAFFOLD II": "AB", "SCAFFOLD I": "A"}),
    "start not 0": ("do not start at 0", {"SCAFFOLD II": "AB", "SCAFFOLD I": "E"}),
    "forgets": ("stays 0|not stored", {"MIFA": "BCD"}),
    "only participants": ("no memory acts|this is FedAvg", {"MIFA": "BCD"}),
    "ascent": ("wrong sign", {"MIFA": "ABD"}),
}
SINGLE = [r for table in (STEPS, SERVERS, VARIATES) for bug, (words, where) in table.items()
          for kind, settings in where.items() for r in rows(kind, settings, bug, words)]
SINGLE += [r for s in "BCF" for r in rows("VRL-SGD, mean", s, "never stored", "stays 0")]

ALIKE, MORE, HALF = "p_i are dropped", "too many", "MSELoss"
DOUBLE = [
    *rows("FedAvg", "AB", "alike+one step more", (ALIKE, MORE)),
    *rows("FedProx", "A", "alike+one step more", (ALIKE, MORE)),
    *rows("FedNova", "A", "alike+one step more", (ALIKE, MORE)),
    *rows("FedAvg", "BD", "alike+no half", (ALIKE, HALF)),
    *rows("FedAvg", "A", "no half+one step more", (HALF, MORE)),
    *rows("FedAvg", "A", "hidden momentum+alike", ("hidden local momentum", ALIKE)),
    *rows("FedProx", "A", "prox missing+first twice", ("proximal term is missing", "added twice")),
    *rows("FedProx", "B", "prox missing+not renormalised", ("proximal term is missing", "not renormalised")),
    *rows("FedAvg", "A", "weight decay+alike", ("weight decay", ALIKE)),
    *rows("FedAvg", "B", "lr decays over rounds+alike", ("after every round", ALIKE)),
    *rows("FedAvg", "A", "clip norm+alike", ("clipped to norm 0.5", ALIKE)),
    *rows("FedAvg", "B", "clip norm+one step more", ("clipped to norm 0.5", MORE)),
    *rows("FedAvg", "B", "n/|S|+one step more", ("n/|S|", MORE)),
    *rows("FedNova", "B", "n/|S|+no half", ("n/|S|", HALF)),
    *rows("FedNova", "A", "not normalised+no half", ("FedAvg|p_i / p_S", HALF)),
    *rows("FedNova", "A", "tau cancels+one step more", ("tau_eff cancels", MORE)),
    *rows("SCAFFOLD II", "AB", "c alike+longer divisor", ("plain mean", "steps + 1")),
    *rows("SCAFFOLD II", "A", "c alike+wrong sign", ("plain mean", "wrong sign")),
    *rows("SCAFFOLD II", "B", "never applied+one step more", ("this is FedAvg", MORE)),
    *rows("SCAFFOLD II", "A", "no lr+one step more", ("not divided by the step size", MORE)),
    *rows("SCAFFOLD II", "A", "model alike+no lr", ("equal weights", "not divided by the step size")),
    *rows("SCAFFOLD II", "A", "never stored+no half", ("stays 0", HALF)),
    *rows("SCAFFOLD II, alike", "AB", "no c", "-c_i alone"),           # plain averaging is a variant, what it hides is a fault
    *rows("SCAFFOLD II, alike", "AB", "no lr", "not divided by the step size"),
    *rows("SCAFFOLD II, alike", "AB", "longer divisor", "steps + 1"),
    *rows("SCAFFOLD II, alike", "A", "update sign", "y_i - x where it has x - y_i"),
    *rows("server momentum", "E", "dampened+alike", ("dampened", ALIKE)),
    *rows("server momentum", "D", "buffer reset+one step more", ("momentum is missing", MORE)),
    *rows("MIFA", "A", "ascent+one step more", ("wrong sign", MORE)),
    *rows("VRL-SGD", "A", "wrong sign+no half", ("wrong sign", HALF)),
    *rows("FedAvg", "B", "weight decay+alike", ("weight decay 0.1", ALIKE)),   # from here on written after the detectors
    *rows("FedAvg", "B", "one step more+last left out", (MORE, "left out of the average")),
    *rows("FedAvg", "B", "lr doubled+wrong sign at the server", ("the step size is 2 times", "wrong sign")),
    *rows("FedAvg", "B", "hidden momentum+wrong sign at the server", ("hidden local momentum", "wrong sign")),
    *rows("SCAFFOLD II", "B", "lr doubled+c alike", ("the step size is 2 times", "plain mean")),
]
FAULTY = [*SINGLE, *DOUBLE]
