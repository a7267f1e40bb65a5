"""Pictures drawn from the committed tables when the site is built, and verdicts read from the ledgers."""
from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from fltheory.verdicts.report.richtext import inline
from fltheory.verdicts.report.words import CLAIM_WORDS

ROOT = Path(__file__).parents[3]


def ledgers(env) -> dict[str, list[dict]]:
    """The rows of each paper's ledger, by slug."""
    out = {}
    env.note_dependency(__file__)
    for path in sorted((ROOT / "verification").glob("*/ledger.csv")):
        env.note_dependency(str(path))
        with open(path, newline="", encoding="utf-8") as handle:
            out[path.parent.name] = list(csv.DictReader(handle))
    return out


def title(slug) -> str:
    """The paper's title, or its folder's name."""
    import tomllib
    about = ROOT / "verification" / slug / "paper.toml"
    return tomllib.loads(about.read_text(encoding="utf-8")).get("title", slug) if about.is_file() else f"verification/{slug}"


class Picture(SphinxDirective):
    """A figure of a paper, drawn from its committed table: `paper/name`. Its caption is text, which phones can wrap."""

    required_arguments = 1

    def run(self):
        from fltheory.pictures import save
        from fltheory.verdicts.report.figures import figures_of, from_csv
        slug, name = self.arguments[0].split("/")
        folder = ROOT / "verification" / slug
        table = folder / "data" / f"{name}.csv"
        figure = (figures_of(folder) | figures_of(folder, experiments=True))[name]
        self.env.note_dependency(str(table))
        target = Path(self.env.doctreedir) / "pictures" / f"{slug}-{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        save(figure.draw(from_csv(table)), target, "png")
        here = Path(self.env.doc2path(self.env.docname)).parent
        plain = figure.caption.replace("$", "").replace("\\", "")
        image = nodes.image(uri=os.path.relpath(target, here), alt=plain)
        said = nodes.caption("", "", *self.parse_inline(f"{figure.caption} Drawn from `{table.relative_to(ROOT)}`.")[0])
        return [nodes.figure("", image, said, classes=["drawn"])]


class Counts(SphinxDirective):
    """A table: how many claims of each paper have which word, as its ledger says."""

    def run(self):
        rows = {slug: Counter(r["expected"] for r in rows if r["type"] == "claim") for slug, rows in ledgers(self.env).items()}
        words = [w for w in CLAIM_WORDS if any(c[w] for c in rows.values())]
        lines = [f"| paper | {' | '.join(words)} |", f"|---|{'---:|' * len(words)}"]
        lines += [f"| {slug} | {' | '.join(str(c[w] or '') for w in words)} |" for slug, c in rows.items()]
        return self.parse_text_to_nodes("\n".join(lines))


class Witnesses(SphinxDirective):
    """The findings that have a stand-alone script, paper by paper, with the script."""

    def run(self):
        here = Path(self.env.doc2path(self.env.docname)).parent
        out = []
        for slug, rows in ledgers(self.env).items():
            found = [(r, ROOT / "verification" / slug / "witnesses" / f"{r['id']}.py") for r in rows if r["type"] == "finding"]
            items = [nodes.list_item("", nodes.paragraph(
                "", "", nodes.strong("", r["place"]), nodes.raw("", f": {inline(r['says'])} ", format="html"),
                *self.parse_inline(f"{{download}}`{path.name} <{os.path.relpath(path, here)}>`")[0]))
                     for r, path in found if path.is_file()]
            if items:
                name = f"{title(slug)} ({slug})"
                out.append(nodes.section("", nodes.title(name, name), nodes.bullet_list("", *items), ids=[f"witnesses-{slug}"]))
        return out


def setup(app):
    for name, made in (("picture", Picture), ("counts", Counts), ("witnesses", Witnesses)):
        app.add_directive(name, made)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
