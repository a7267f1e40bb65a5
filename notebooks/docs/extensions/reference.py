"""The reference, made from signatures and docstrings: no signature is copied by hand.

Docstrings are read as the verdict report reads statements, not as reStructuredText: |x|^2, x* and c_i are what they say.
"""
from __future__ import annotations

import inspect
import re
from importlib import import_module

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

import fltheory
from fltheory.verdicts.report.richtext import inline, split

NAMED = re.compile(r"(?:(?:ft|fltheory)\.)?(\w+)(?:\.(\w+))?(?:\(.*\))?", re.DOTALL)


def names_below(prefixes) -> list[str]:
    """Public names of the modules at or below these, in the order of the package's table."""
    return [name for module, names in fltheory._PUBLIC.items() for name in names
            if any(f"{module}.".startswith(f"{prefix}.") for prefix in prefixes)]


def signature(thing) -> str:
    """The signature as text, without annotations."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    return str(found.replace(parameters=bare, return_annotation=found.empty)).replace("<factory>", "...")


def members(cls) -> list[tuple]:
    """(name, thing, kind) of the methods and properties with docstrings that a class or its bases in fltheory define."""
    found = {}
    for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("fltheory.")]):
        for name, thing in vars(base).items():
            if not name.startswith("_"):
                found[name] = thing
    out = []
    for name, thing in found.items():
        function = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
        if inspect.isfunction(function) and function.__doc__:
            out.append((name, getattr(cls, name), "method"))
        elif getattr(thing, "__doc__", None) and (isinstance(thing, property) or type(thing).__name__ == "cached_property"):
            out.append((name, thing, "property"))
    return out


def inherited(cls) -> set[str]:
    """What every algorithm, law or problem has: described once, at the base class."""
    from fltheory.core.algorithms.base import Algorithm
    from fltheory.core.laws.base import Law
    from fltheory.core.problems.base import Problem
    return {name for base in (Algorithm, Law, Problem) if issubclass(cls, base) and cls is not base for name in dir(base)}


def paragraphs(text) -> list:
    """A docstring as nodes: paragraphs and lists; code stays code, formulas and symbols become MathML."""
    out = []
    for part in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text):
        said = nodes.paragraph()
        for kind, content in split(part.strip()):
            if kind == "code":
                said += nodes.literal(content, content)
            else:
                mark = {"math": "$", "display": "$$"}.get(kind, "")
                said += nodes.raw("", inline(f"{mark}{content}{mark}"), format="html")
        out.append(said)
    return out


class Said(SphinxDirective):
    """The docstring of module:name or module:name.member. What is no public name is also reached by its short one, which is
    where the listings of sources link back to."""

    required_arguments = 1

    def run(self):
        module, _, name = self.arguments[0].partition(":")
        thing = import_module(f"fltheory.{module}")
        for part in filter(None, name.split(".")):
            thing = inspect.getattr_static(thing, part)
        known = name.partition(".")[0] in (*fltheory.__all__, "")
        anchor = [] if known else [nodes.raw("", f'<span id="fltheory.{name}"></span>', format="html")]
        return [*anchor, *paragraphs(inspect.getdoc(thing) or "")]


class Public(SphinxDirective):
    """Every public name of the modules below those given; :also: further classes, as module:name."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"also": directives.unchanged}  # noqa: RUF012

    def run(self):
        self.env.note_dependency(__file__)
        places = [(fltheory._WHERE[name], name) for name in names_below(self.arguments[0].split())]
        also = [tuple(place.split(":")) for place in self.options.get("also", "").split()]
        lines = []
        for module, name in places + also:
            lines += self.entry(module, name, f"fltheory.{module}" if (module, name) in also else "fltheory")
        return self.parse_text_to_nodes("\n".join(lines))

    def entry(self, module, name, home):
        self.env.note_dependency(import_module(f"fltheory.{module}").__file__)
        if name in fltheory._MODULES:
            return [f"````{{py:module}} {home}.{name}", "", f"```{{said}} {module}:", "```", "````"]
        thing = getattr(import_module(f"fltheory.{module}"), name)
        if not callable(thing):
            return [f"`````{{py:data}} {name}", f":module: {home}", "", f"`{thing!r}`, of `fltheory.{module}`.", "`````"]
        kind = "exception" if isinstance(thing, type) and issubclass(thing, BaseException) else \
            "class" if isinstance(thing, type) else "function"
        call = "" if kind == "exception" else signature(thing)
        lines = [f"`````{{py:{kind}}} {name}{call}", f":module: {home}", "", f"````{{said}} {module}:{name}", "````", ""]
        if kind == "class":
            known = inherited(thing)
            for member, what, form in members(thing):
                if member not in known:
                    shown = signature(what) if form == "method" else ""
                    lines += [f"````{{py:{form}}} {name}.{member}{shown}", f":module: {home}", "",
                              f"```{{said}} {module}:{name}.{member}", "```", "````", ""]
        return [*lines, "`````", ""]


class LinkNames(SphinxTransform):
    """`ft.name`, `ft.name(...)` and the bare public `name` in code type become links to the reference."""

    default_priority = 400

    def apply(self):
        for node in list(self.document.findall(nodes.literal)):
            found = NAMED.fullmatch(node.astext())
            if found is None or found[1] not in fltheory.__all__ or isinstance(node.parent, nodes.reference):
                continue
            link = addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=f"fltheory.{found[1]}",
                                         refdoc=self.env.docname, refwarn=True, refexplicit=True)
            node.replace_self(link)
            link += node


def setup(app):
    app.add_directive("said", Said)
    app.add_directive("public", Public)
    app.add_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
