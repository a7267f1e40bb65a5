"""Formulas as MathML, by the writer of the verdict report: no script, no network."""
from docutils import nodes

from fltheory.verdicts.report.richtext import formula


def _inline(self, node):
    self.body.append(formula(node.astext()))
    raise nodes.SkipNode


def _display(self, node):
    self.body.append(f'<div class="display">{formula(node.astext(), True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
