"""A proof as a chain of facts "expression >= 0" (or = 0) in free symbols, each step of which is checked when it is made.

A step that follows from earlier ones names them with multipliers; the machine checks the identity
expression = sum multiplier * product of facts + remainder, where multipliers and remainder show their sign: all coefficients
are >= 0 in symbols that are >= 0. Squared norms of vectors of any dimension enter through their inner products.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any

from fltheory.core.errors import refuse
from fltheory.core.evidence import HOLDS, INCONCLUSIVE, show
from fltheory.core.numbers.elements import Symbolic, _evaluate
from fltheory.proofs.standard import STANDARD
from fltheory.proofs.symbols import Expression, Symbols
from fltheory.proofs.vectors import Vector, readable, values

GIVEN, DEFINITION, INFORMAL = "hypothesis", "definition", "informal"


@dataclass(frozen=True)
class Fact:
    """expression >= 0, or = 0 where `equality`. open: induction hypotheses that it still rests on."""

    name: str
    expression: Symbolic
    equality: bool = False
    open: frozenset = frozenset()


@dataclass(frozen=True)
class Step:
    """One line of a proof: rule is a hypothesis, a definition, the name of a standard inequality or how it was derived."""

    name: str
    rule: str
    says: str
    status: str
    uses: tuple = ()
    detail: str = ""
    shown: str = ""


@dataclass
class Proof(Symbols):
    """A proof in the making. positive: parameters > 0, which may stand below a fraction line; nonnegative, signed: further
    numbers; vectors: free vectors u, v with the numbers u_v for their inner products; all as names in one string.

    Raises BadInput on names that are no identifiers or occur twice, and on steps that use what this proof does not have.
    """

    positive: str
    nonnegative: str = ""
    signed: str = ""
    vectors: str = ""
    steps: list = field(default_factory=list, init=False)
    facts: dict = field(default_factory=dict, init=False)
    conclusions: tuple = field(default=(), init=False)

    def __post_init__(self):
        self._declare()
        self._sparse, self._brings = {}, {}   # facts read for numbers; {lemma: hypotheses that it brings along}
        self._within, self._counts = {}, {}   # index of a fact, number of terms of a sum

    # ---- what it speaks of --------------------------------------------------------------------------------
    def symbol(self, name: str) -> Symbolic:
        if name not in self._symbols:
            refuse("symbol", name, f"is none of {list(self._symbols)}", "Declare it when the proof is made.")
        return self._symbols[name]

    def __call__(self, names: str) -> Any:
        """The symbols and free vectors of these names, in order; one alone where one is named."""
        objects = [Vector(self, {n: 1}) if n in self._vectors else self.symbol(n) for n in names.split()]
        return objects if len(objects) > 1 else objects[0]

    # ---- what it rests on ---------------------------------------------------------------------------------
    def given(self, name: str, expression: Expression, says: str = "", equality: bool = False,
              within: str | None = None) -> Fact:
        """A hypothesis of the theorem: expression >= 0. within: an index, for what holds only while an induction over it lasts,
        such as end - index - 1 >= 0; no conclusion may rest on it beyond."""
        if within is not None:
            self._within[name] = within
        return self._add(name, expression, GIVEN, says, equality=equality, opened=frozenset({name} if within else ()))

    def define(self, name: str, expression: Expression, says: str = "") -> Fact:
        """What a symbol stands for, or an update of the algorithm: expression = 0, which gives one symbol in terms of others.

        A symbol is defined once and not through itself, so that definitions are no hypotheses."""
        target = self._target(self._read(expression))
        return self._add(name, expression, DEFINITION, says, equality=True, status=HOLDS if target else INCONCLUSIVE,
                         detail="" if target else "it defines no symbol that is not defined yet")

    def standard(self, name: str, expression: Expression, cites: str, says: str = "", equality: bool = False) -> Fact:
        """A standard inequality or identity, written for this case: expression >= 0 (or = 0). cites: a name of
        `standard.STANDARD`."""
        if cites not in STANDARD:
            refuse("cites", cites, f"is none of the standard inequalities {sorted(STANDARD)}",
                   "Prove the step, or state it with `informal`.")
        return self._add(name, expression, cites, says, equality=equality)

    def informal(self, name: str, expression: Expression, says: str) -> Fact:
        """A step that nothing checks: named in the report, it keeps the claim from being PROVED."""
        return self._add(name, expression, INFORMAL, says, status=INCONCLUSIVE)

    def suppose(self, name: str, expression: Expression, says: str = "") -> Fact:
        """An induction hypothesis, which `induct` discharges."""
        fact = self._add(name, expression, "induction hypothesis", says)
        return self._keep(Fact(name, fact.expression, False, frozenset({name})))

    def lemma(self, name: str, other: Proof, which: int = 0, **at: Expression) -> Fact:
        """The conclusion of another proof, its symbols replaced (default: the same name here).

        Its hypotheses and definitions must be facts here, word for word, but for those of objects that this proof does not name
        (they are the other's own, and told); its positive and non-negative symbols must show their sign.
        """
        strange = sorted(set(at) - set(other.field.names))
        if strange:
            refuse("lemma", strange, f"are none of the symbols {list(other.field.names)} of the other proof", "Correct the names.")
        meanings = {n: self._read(at[n]) if n in at else self._symbols.get(n) for n in other.field.names}
        target = other.conclusions[which]
        missing = sorted(n for n in other._used(target.expression) if meanings[n] is None)
        if missing:
            refuse("lemma", missing, f"stand in {name!r} and have no meaning here", "Give them as name=expression.")
        have = {(f.expression, f.equality) for f in self.facts.values() if not f.open}
        ancestors = other.ancestors(target.name)
        needed = [other.facts[s.name] for s in other.steps
                  if s.rule in (GIVEN, DEFINITION) and s.name in ancestors & set(other.facts) and s.name not in other._within]
        shared = [f for f in needed if all(meanings[n] is not None for n in other._used(f.expression))]
        unmet = [f.name for f in shared if (self._from(f, meanings), f.equality) not in have
                 and not (not f.equality and self.sign(self._from(f, meanings)))]
        signed = set().union(*(other._used(f.expression) for f in [target, *shared])) - other._signless
        unmet += [f"sign of {n}" for n in sorted(signed) if not self.sign(meanings[n], strict=n in other._positive)]
        cited = set().union(*(other._used(other.facts[s.name].expression) for s in other.steps
                              if s.rule in STANDARD and s.name in ancestors)) & set(at)
        unmet += [f"{n}, which a cited inequality speaks of" for n in sorted(cited) if meanings[n] not in self.field.symbols]
        aside = {f.name for f in needed if f not in shared}
        hypotheses = {s.name: s for s in other.steps if s.rule == GIVEN and s.name in aside}
        self._brings[name] = hypotheses | {h: s for at in other._brings if at in ancestors for h, s in other._brings[at].items()}
        brought = [replace(s, name=f"{name}: {h}") for h, s in self._brings[name].items()]   # hypotheses on what is not named here
        self.steps += brought
        for factor in other._cleared:   # a lemma that does not hold here is INCONCLUSIVE, whatever it divides by
            if all(meanings[n] is not None for n in other._used(factor)):
                self._clear(self._in(factor, meanings))
        used = tuple(f.name for f in self.facts.values() if not f.open
                     and (f.expression, f.equality) in {(self._from(g, meanings), g.equality) for g in shared})
        return self._add(name, self._from(target, meanings), "lemma",
                         f"{target.name}; it supposes: {', '.join(self._brings[name]) or 'no more'}",
                         (*used, *(s.name for s in brought)), INCONCLUSIVE if unmet else other.status,
                         f"not among the facts here: {', '.join(unmet)}" if unmet else "", target.equality)

    def _from(self, fact, meanings):
        """The expression of another proof's fact in the symbols of this one."""
        return self._in(fact.expression, meanings)

    def _in(self, expression, meanings):
        values = [self._read(0) if v is None else v for v in meanings.values()]
        top, bottom = (_evaluate(part, values) for part in expression.terms())
        return self._read(top) / self._read(bottom)

    # ---- what follows ------------------------------------------------------------------------------------
    def square(self, name: str, what: Vector | Expression, says: str = "") -> Fact:
        """|vector|^2 >= 0, or the square of a number."""
        return self._add(name, what.square if isinstance(what, Vector) else self._read(what) ** 2, "a square", says)

    def follows(self, name: str, expression: Expression, *products: Fact | tuple, says: str = "",
                equality: bool = False) -> Fact:
        """expression >= 0 (or = 0), as a sum of products of facts and multipliers plus what shows its sign itself.

        products: a fact, or a tuple of facts and of multipliers, each >= 0 by its coefficients (any without pole, by equalities).
        """
        total, uses, faults = self._read(0), list[Fact](), list[str]()
        for product in products:
            total = total + self._product(product, uses, faults)
        rest = self._read(expression) - total
        if equality and any(not f.equality for f in uses):
            faults.append("an equality rests on an inequality")
        if rest != 0 and (equality or not self.sign(rest)):
            faults.append(f"the remainder {show(rest)} does not show its sign")
        return self._derived(name, expression, "follows", says, uses, faults, equality)

    def cancel(self, name: str, expression: Expression, whole: Fact, factor: Fact, least: Expression,
               says: str = "") -> Fact:
        """expression >= 0, since factor * expression >= 0 and factor >= least > 0. whole, factor: facts, the second one
        `factor - least >= 0`; least: a number > 0 or a product of positive symbols."""
        least, faults = self._read(least), []
        if not self.sign(least) or least == 0 or self._used(least) - self._positive:
            faults.append(f"{show(least)} is not seen to be positive")
        elif not factor.open:
            self._clear(factor.expression + least)
        if whole.expression != (factor.expression + least) * self._read(expression):
            faults.append("the product is another one")
        return self._derived(name, expression, "division by a positive factor", says, [whole, factor], faults)

    def expect(self, name: str, fact: Fact, becomes: dict, fixed: str = "", says: str = "") -> Fact:
        """The expectation of a fact that is affine in random numbers. becomes: {random symbol: symbol of its expectation}; every
        other symbol is a parameter > 0 or listed as fixed."""
        faults = self._affine(fact, set(becomes), fixed.split()) + self._renamed(becomes)
        moved = fact.expression.substitute(**{k: self._named(v) for k, v in becomes.items()})
        return self._derived(name, moved, "expectation", says, [fact], faults, fact.equality)

    def total(self, name: str, fact: Fact, becomes: dict, count: str | Expression, fixed: str = "", says: str = "",
              over: str = "clients") -> Fact:
        """The sum over clients, local steps or rounds (`over`) of a fact that is affine in numbers of each. becomes: {symbol:
        symbol of the sum}; count: their number, or in a weighted sum the sum of the weights >= 0, which multiplies what is common.
        """
        faults = self._affine(fact, set(becomes), fixed.split()) + self._renamed(becomes)
        common = fact.expression.substitute(**dict.fromkeys(becomes, self._read(0)))
        if not self.sign(self._named(count)) or (self._named(count) == 0 and common != 0):
            faults.append(f"{count} is not seen to be a number of terms")
        for target in becomes.values():
            if self._counts.setdefault(target, self._named(count)) != self._named(count):
                faults.append(f"{target} is another sum, of {show(self._counts[target])} terms")
        moved = fact.expression.substitute(**{k: self._named(v) for k, v in becomes.items()})
        return self._derived(name, moved + (self._named(count) - 1) * common, f"sum over {over}", says, [fact], faults,
                             fact.equality)

    def induct(self, name: str, hypothesis: Fact, step: Fact, start: dict, advance: dict, end: dict, says: str = "",
               keeps: dict | None = None) -> Fact:
        """The hypothesis at its end values. start, advance, end: {symbol: value at the first, next and last index}, with the same
        symbols; the hypothesis at the start shows its sign, and `step` is the hypothesis advanced.

        Values keep the sign declared of their symbol. An index, which advances by 1, may end anywhere; another symbol ends as a new
        symbol. keeps: {symbol: product of facts and multipliers} for next values that do not show their sign. Facts `within` an
        index are discharged where it ends above them.
        """
        at = [{k: self._named(v) for k, v in values.items()} for values in (start, advance, end)]
        faults, uses = [], [step, hypothesis]
        if not set(start) == set(advance) == set(end) or not start:
            refuse("induction", [sorted(v) for v in (start, advance, end)], "start, advance and end speak of the same symbols",
                   "Leave out of all three what does not change.")
        used = set().union(*(self._used(f.expression) for f in self.facts.values()))
        for k in start:
            index = at[1][k] - self.symbol(k) == 1
            if not index and (not isinstance(end[k], str) or end[k] in used):
                faults.append(f"{k} ends at {end[k]}, which is no new symbol")
            product = self._product(keeps[k], uses, faults) if keeps and k in keeps else None
            signed = (k in self._signless or v[k] == product or self.sign(v[k], strict=k in self._positive) for v in at)
            if not all(signed):
                faults.append(f"a value of {k} does not show the sign that {k} has")
        if not self.sign(hypothesis.expression.substitute(**at[0])):
            faults.append("the start does not show its sign")
        if step.expression != hypothesis.expression.substitute(**at[1]):
            faults.append("the step proves another statement than the next one")
        inside = {f.name for f in self.facts.values() if f.name in self._within and (k := self._within[f.name]) in end
                  and f.expression == at[2][k] - self.symbol(k) - 1}
        others = step.open - {hypothesis.name} - inside
        return self._derived(name, hypothesis.expression.substitute(**at[2]), "induction",
                             says or "from " + ", ".join(f"{k} = {v}" for k, v in start.items()), uses, faults, opened=others)

    def conclude(self, *facts: Fact) -> Proof:
        """What was to be shown. Raises BadInput where an induction hypothesis was never discharged or a step is of no use."""
        self._mine(facts)
        for fact in facts:
            if fact.open:
                refuse("conclusion", fact.name, f"still rests on {sorted(fact.open)}", "Discharge it with `induct`.")
        used = set().union(*(self.ancestors(f.name) for f in facts))
        idle = [s.name for s in self.steps if s.name not in used]
        if idle:
            refuse("proof", idle, "are steps that the conclusion does not need", "Take them out.")
        self.conclusions = tuple(facts)
        return self

    # ---- what was shown -----------------------------------------------------------------------------------
    @property
    def status(self) -> str:
        """HOLDS where something is concluded and every step is checked or cited."""
        return HOLDS if self.conclusions and all(s.status == HOLDS for s in self.steps) else INCONCLUSIVE

    def ancestors(self, name: str) -> set:
        """The names of all steps that one rests on, its own included."""
        uses, reached, waiting = {s.name: s.uses for s in self.steps}, set(), [name]
        while waiting:
            now = waiting.pop()
            if now not in reached:
                reached.add(now)
                waiting += uses[now]
        return reached

    def tested(self, numbers: dict, points: dict | tuple = ()) -> list:
        """[(step, value, equality)] of the facts whose symbols all have a value: numbers {symbol: number}, points {free vector:
        coordinates}. Facts >= 0 that come out negative are wrong, whatever their steps say."""
        numbers = {**numbers, **values({k: v for k, v in dict(points).items() if k in self._vectors})}
        out = []
        for fact in self.facts.values():
            if fact.open:
                continue
            used, top, bottom = self._sparse.get(fact.name) or self._in_terms(fact)
            if used <= numbers.keys() and (below := _value(bottom, numbers)) != 0:
                out.append((fact, _value(top, numbers) / below))
        return out

    def _in_terms(self, fact):
        """(symbols, numerator, denominator) of a fact, terms as (coefficient, names with their powers); kept for the next round."""
        parts = [[(c, self._at(powers, repeated=True)) for powers, c in part] for part in fact.expression.terms()]
        self._sparse[fact.name] = ({n for part in parts for _, names in part for n in names}, *parts)
        return self._sparse[fact.name]

    # ---- how it is checked --------------------------------------------------------------------------------

    def _named(self, value):
        return self.symbol(value) if isinstance(value, str) else self._read(value)

    def _renamed(self, becomes):
        """Faults of a map to symbols of means or sums: they are different symbols, and signless where what they stand for is."""
        values = list(becomes.values())
        if len(set(map(str, values))) < len(values) or any(not isinstance(v, str) for v in values):
            return [f"{values} are not different symbols"]
        return [f"{v} has a sign, which {k} does not have" for k, v in becomes.items()
                if self._symbols.get(k) is not None and k in self._signless and v not in self._signless]

    def _product(self, product, uses, faults):
        parts = product if isinstance(product, tuple) else (product,)
        facts = [p for p in parts if isinstance(p, Fact)]
        if not facts:
            refuse("product", product, "holds no fact of this proof", "Multiply facts that were returned by its steps.")
        uses += facts
        factor = self._read(1)
        for p in parts:
            factor = factor * (p.expression if isinstance(p, Fact) else self._read(p))
        multipliers = [p for p in parts if not isinstance(p, Fact)]
        if not any(f.equality for f in facts) and not all(self.sign(m) for m in multipliers):
            faults.append(f"a multiplier of {facts[0].name!r} does not show its sign")
        elif not all(self._below(self._read(m).terms()[1]) for m in multipliers):   # 0 times a pole is no 0
            faults.append(f"a multiplier of {facts[0].name!r} may have a pole")
        return factor

    def _affine(self, fact, random, fixed):
        top, bottom = fact.expression.terms()
        faults = []
        if random & {n for powers, _ in bottom for n in self._at(powers)}:
            faults.append("a random number stands below the fraction line")
        for powers, _ in top:
            degree = sum(k for n, k in zip(self.field.names, powers, strict=True) if n in random)
            if degree > 1:
                faults.append("it is not linear in what is averaged")
                break
        other = self._used(fact.expression) - random - self._positive - set(fixed)
        if other:
            faults.append(f"{sorted(other)} are neither averaged nor fixed")
        if fact.open:
            faults.append("an induction hypothesis is averaged")
        return faults

    def _derived(self, name, expression, rule, says, uses, faults, equality=False, opened=None):
        self._mine(uses)
        opened = frozenset().union(*(f.open for f in uses)) if opened is None else frozenset(opened)
        return self._add(name, expression, rule, says, tuple(dict.fromkeys(f.name for f in uses)),
                         INCONCLUSIVE if faults else HOLDS, "; ".join(faults), equality, opened)

    def _add(self, name, expression, rule, says, uses=(), status=HOLDS, detail="", equality=False, opened=frozenset()):
        if not isinstance(name, str) or not name.strip() or name in self.facts:
            refuse("step", name, "has a name of its own", "Name every step differently.")
        expression = self._read(expression)
        if not self._below(expression.terms()[1]):
            refuse("step", name, "divides by what may be 0 or negative", "Divide by products of positive symbols, or use `cancel`.")
        text = f"{readable(show(expression), self._vectors)} {'=' if equality else '>='} 0"
        self.steps.append(Step(name, rule, says, status, uses, detail, text))
        return self._keep(Fact(name, expression, equality, opened))

    def _mine(self, facts):
        for f in facts:
            if f is not self.facts.get(f.name):
                refuse("fact", f.name, "holds no fact of this proof", "Use facts that were returned by its steps.")

    def _keep(self, fact):
        self.facts[fact.name] = fact
        return fact


def _value(terms, numbers):
    return sum((prod((numbers[n] for n in names), start=c) for c, names in terms), Fraction(0))
