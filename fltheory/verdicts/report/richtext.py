"""Markdown-like statements with LaTeX, as safe HTML.

Everything outside formulas is escaped.  Formulas become MathML through an element tree that is
rebuilt here from a list of allowed names: the converter's own string output puts the content of
``\\text{...}`` into the page unescaped, and would let a statement inject HTML.
"""

import re
import unicodedata
from functools import lru_cache
from html import escape, unescape

_PIECES = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|\$\$(?P<display>.+?)(?<!\\)\$\$"
    # As in Pandoc: no space just inside the dollars, no digit after, so "$5 and $6" stays text.
    r"|(?<!\\)\$(?=[^\s$])(?P<math>(?:\\.|[^$\\])+?)(?<!\s)\$(?!\d)",
    re.DOTALL,
)
_TAGS = frozenset(
    (
        *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle"),
        *("mpadded", "mphantom", "msub", "msup", "msubsup", "munder", "mover", "munderover"),
        *("mtable", "mtr", "mtd", "mmultiscripts", "mprescripts"),
    )
)
_LENGTH = re.compile(r"-?[\d.]+(em|ex|px|pt)?( -?[\d.]+(em|ex|px|pt)?)*")
_PLAIN = re.compile(r"[a-z]+")
_ATTRIBUTES = {**dict.fromkeys(("width", "minsize", "maxsize", "linethickness", "scriptlevel"), _LENGTH),
               **dict.fromkeys(("rowspacing", "columnspacing", "lspace", "rspace"), _LENGTH),
               **dict.fromkeys(("display", "displaystyle", "stretchy", "fence", "form", "accent"), _PLAIN),
               "movablelimits": _PLAIN}
# Browsers no longer honour the mathvariant attribute, so styled letters are named as characters.
_VARIANTS = {"bold": "BOLD", "italic": "ITALIC", "bold-italic": "BOLD ITALIC", "script": "SCRIPT",
             "bold-script": "BOLD SCRIPT", "fraktur": "FRAKTUR", "double-struck": "DOUBLE-STRUCK",
             "sans-serif": "SANS-SERIF", "monospace": "MONOSPACE"}
_UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_LIMITS = frozenset(("min", "max", "inf", "sup", "lim", "liminf", "limsup", "argmin", "argmax"))
# The converter leaves the names of delimiters after \big and its relatives as they are.
_DELIMITERS = {**dict.fromkeys((r"\|", r"\Vert", r"\lVert", r"\rVert"), "‖"),
               **dict.fromkeys((r"\vert", r"\lvert", r"\rvert"), "|"),
               **{r"\langle": "⟨", r"\rangle": "⟩", r"\{": "{", r"\}": "}", r"\lbrace": "{", r"\rbrace": "}"},
               **{r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉"}}
_REWRITES = ((r"{aligned}", r"{split}"), (r"{align}", r"{split}"), (r"{align*}", r"{split}"),
             (r"{gathered}", r"{matrix}"), (r"\tag*", r"\tag"))

# Browsers do not break lines inside a formula: a long one becomes several, each starting with one of these.
_BREAKS = frozenset("=≤≥<>≈≡∼≲≳→⇒⟺⟹⇔:+−±")
_OPEN, _CLOSE, _BARS = frozenset("([{⟨⌊⌈"), frozenset(")]}⟩⌋⌉"), frozenset("|‖∥∣")
_LONG = 24  # letters and signs


class _Unsupported(ValueError):
    """The converter passed something through that it did not understand."""


def split(source) -> list:
    """Pairs (kind, content) with kind "text", "code", "math" or "display", in reading order."""
    pieces, end = [], 0
    for match in _PIECES.finditer(source):
        if match.start() > end:
            pieces.append(("text", source[end : match.start()]))
        kind = str(match.lastgroup)
        pieces.append((kind, match["code"][1:-1] if kind == "code" else match[kind].strip()))
        end = match.end()
    if end < len(source):
        pieces.append(("text", source[end:]))
    return pieces


@lru_cache(maxsize=4096)
def formula(latex, display=False) -> str:
    """MathML for one formula, or its source in ``<code>`` if it cannot be converted faithfully."""
    try:
        from latex2mathml.converter import convert_to_element

        source = latex
        for old, new in _REWRITES:
            source = source.replace(old, new)
        tree = convert_to_element(source, display="block" if display else "inline")
        groups = _groups(tree)
        if len(groups) < 2:
            return _rebuild(tree, latex)
        style = ' displaystyle="true"' if display else ""
        parts = ["".join(map(_rebuild, group)) for group in groups]
        # A space without width between the parts is where a line may end.
        return "\u200b".join(f'<math display="inline"{style}{_said(latex) if not at else ""}><mrow>{part}</mrow></math>'
                             for at, part in enumerate(parts))
    except Exception:
        kind = "tex display" if display else "tex"
        return f'<code class="{kind}">{escape(latex)}</code>'


def _groups(tree) -> list:
    """The parts into which a long formula may be broken: before relations and sums that no bracket encloses, and, where a part
    is still long, after the commas of its outermost brackets."""
    if len(tree) != 1 or _tag(tree[0]) != "mrow" or sum(map(_length, tree)) <= _LONG:
        return []
    groups: list = [[]]
    depth, bars, before = 0, False, ""
    for child in tree[0]:
        base = child[0] if _tag(child) in _UNDER and len(child) else child
        sign = _sign(base)
        if sign in _BREAKS and child is base and before not in ("", ",", ";", *_BREAKS) and not depth and not bars:
            child.set("form", "infix")
            groups.append([])
        depth += (sign in _OPEN) - (sign in _CLOSE)
        bars ^= sign in _BARS and not depth
        groups[-1].append(child)
        before = sign or "x"
    return [part for group in groups for part in _at_commas(group)]


def _at_commas(group) -> list:
    """A long part, broken after the commas that one bracket encloses."""
    if sum(map(_length, group)) <= _LONG:
        return [group]
    parts: list = [[]]
    depth = 0
    for child in group:
        sign = _sign(child)
        depth += (sign in _OPEN) - (sign in _CLOSE)
        parts[-1].append(child)
        if sign == "," and depth == 1:
            parts.append([])
    return [part for part in parts if part]


def _tag(node) -> str:
    return str(node.tag).rsplit("}", 1)[-1]


def _content(node) -> str:
    """The text of a node, as it will be shown."""
    content = unescape(node.text or "")
    return _DELIMITERS.get(content, content) if _tag(node) == "mo" else content


def _sign(node) -> str:
    """The operator that a node is; "" for anything else."""
    return _content(node) if _tag(node) == "mo" else ""


def _length(node) -> int:
    return len(unescape(node.text or "")) + sum(map(_length, node))


def _said(latex) -> str:
    return f' title="{escape(latex)}"'


def _rebuild(node, latex=None) -> str:
    tag, content = _tag(node), _content(node)
    if tag not in _TAGS:
        raise _Unsupported(tag)
    if tag != "mtext" and (
        "\\" in content or content == "&" or (tag == "mi" and content in "{}" and content)
    ):
        raise _Unsupported(content)
    if tag == "mi" and content in "⩽⩾" and content:
        tag = "mo"
    limits = ""
    # The converter sets the limits of min, sup, lim ... as plain indices even in display formulas.
    if tag in _UNDER and len(node) and _takes_limits(node[0]):
        tag = _UNDER[tag]
    elif tag == "mo" and _takes_limits(node):
        limits = ' movablelimits="true"'
    attributes = "".join(_attribute(*pair) for pair in node.attrib.items() if not limits or pair[0] != "movablelimits")
    inner = escape(_styled(content, node.get("mathvariant"))) + "".join(map(_rebuild, node))
    return f"<{tag}{limits}{attributes}{_said(latex) if latex is not None else ''}>{inner}</{tag}>"


def _attribute(name, value) -> str:
    """One attribute as browsers know it, "" for those that they do not need."""
    if name == "mathvariant":
        return ' mathvariant="normal"' if value == "normal" else ""
    if name == "columnalign" and value in ("left", "right", "center"):
        # Browsers align cells by style only.
        return f' style="text-align:{value}"'
    value = "-0.167em" if value == "negativethinmathspace" else value
    return f' {name}="{value}"' if name in _ATTRIBUTES and _ATTRIBUTES[name].fullmatch(value) else ""


def _takes_limits(node) -> bool:
    name = "".join(unescape(node.text or "").split())
    return str(node.tag).endswith("mo") and name in _LIMITS and node.get("movablelimits") != "false"


def _styled(content, variant) -> str:
    family = _VARIANTS.get(variant)
    return "".join(_styled_letter(c, family) for c in content) if family else content


def _styled_letter(letter, family) -> str:
    try:
        name = unicodedata.name(letter)
        name = name.replace("LATIN ", "").replace(" LETTER", "").replace("GREEK ", "")
        return unicodedata.lookup(f"MATHEMATICAL {family} {name}".replace("CAPITAL LETTER", "CAPITAL"))
    except (KeyError, ValueError):
        # Some letters (ℝ, ℒ, ℌ ...) were named before the block existed; compatibility finds them.
        old = {"DOUBLE-STRUCK": "DOUBLE-STRUCK", "SCRIPT": "SCRIPT", "FRAKTUR": "BLACK-LETTER"}.get(family)
        case = "CAPITAL" if letter.isupper() else "SMALL"
        try:
            return unicodedata.lookup(f"{old} {case} {letter.upper()}")
        except KeyError:
            return letter


_GREEK = {name: unicodedata.lookup(f"GREEK SMALL LETTER {name.replace('lambda', 'lamda').upper()}") for name in (
    *("alpha", "beta", "gamma", "delta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "rho", "sigma", "tau"),
    *("phi", "chi", "psi", "omega"))} | {name: unicodedata.lookup(f"GREEK CAPITAL LETTER {name.upper()}")
                                         for name in ("Delta", "Theta", "Phi", "Psi")}
# Outside of formulas short notes write symbols out: eta^2, p_i, tau = 3. Names with hyphens, such as ids, stay as they are.
_FREE = r"(?:(?<![\w\\.-])|(?<=[\s(\[,=/][\w)]-)|(?<=^[\w)]-)|(?<=[\s(\[,=]-))"   # not within a name; a minus may stand before
_NAMED = re.compile(rf"{_FREE}({'|'.join(_GREEK)})(?![A-Za-z0-9]|-[A-Za-z])")
_RAISED = re.compile(r"(?<=[\w)|])\^(?:(-?\d+|[A-Za-zα-ω](?:_\w{1,4})?)(?![\w{])|\(([\wα-ω +-]{1,12})\))")
_INDEXED = re.compile(rf"(?:{_FREE}([A-Za-zΑ-Ωα-ω])|(?<=[|)]))_(?:(\w{{1,4}})|[{{(]([\w+,-]{{1,8}})[)}}])(?!\w|-[A-Za-z]{{2}})")

_SIGNS = (("&lt;=", "≤"), ("&gt;=", "≥"), (" -&gt; ", " → "))    # as they stand in escaped text
_ROOT = re.compile(r"(?<![\w.])sqrt ?(?=[\w(])")


def _symbols(safe) -> str:
    """Symbols that are written out, set as symbols."""
    safe = _NAMED.sub(lambda m: _GREEK[m[1]], safe)
    for written, sign in _SIGNS:
        safe = safe.replace(written, sign)
    safe = _ROOT.sub("√", safe)
    safe = _RAISED.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", safe)
    return _INDEXED.sub(lambda m: f"{m[1] or ''}<sub>{m[2] or m[3]}</sub>", safe)


def symbols(name) -> str:
    """A name as HTML, with the symbols that it writes out and without formulas."""
    return _symbols(escape(name))


def _prose(source) -> str:
    safe = _symbols(escape(source.replace("\\$", "$")))
    safe = re.sub(r"\*\*(\S(?:.*?\S)?)\*\*", r"<strong>\1</strong>", safe, flags=re.DOTALL)
    return re.sub(r"(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])", r"<em>\1</em>", safe)


def inline(source) -> str:
    """One run of text as HTML without paragraphs; display formulas are set inline."""
    return _inlined(str(source or ""))


@lru_cache(maxsize=1 << 16)   # names and labels stand in many rows
def _inlined(source) -> str:
    writers = {"text": _prose, "code": lambda s: f"<code>{escape(s)}</code>"}
    return "".join(writers.get(kind, formula)(content) for kind, content in split(source))


def block(source) -> str:
    """Text with paragraphs, display formulas and simple lists as HTML."""
    out: list = []
    paragraph: list = []

    def flush():
        body = "".join(paragraph).strip()
        if body:
            out.append(f"<p>{body}</p>")
        paragraph.clear()

    for kind, content in split(str(source or "")):
        if kind == "display":
            flush()
            out.append(f'<div class="display">{formula(content, True)}</div>')
        elif kind == "math":
            paragraph.append(formula(content))
        elif kind == "code":
            paragraph.append(f"<code>{escape(content)}</code>")
        else:
            for number, part in enumerate(re.split(r"\n\s*\n|\n(?=\s*[-*] )", content)):
                if number:
                    flush()
                bullet = re.match(r"\s*[-*] ", part) if number or not paragraph else None
                paragraph.append("• " + _prose(part[bullet.end() :]) if bullet else _prose(part))
    flush()
    return "".join(out)
