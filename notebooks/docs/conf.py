"""The documentation site: `make docs` builds it into reports/docs, with every warning an error and no network."""
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

import fltheory  # noqa: E402  (of this checkout)

project = "fltheory"
release = version = fltheory.__version__
copyright = "the authors of fltheory, MIT licence"

extensions = ["myst_nb", "sphinx.ext.viewcode",
              *(f"extensions.{name}" for name in ("formulas", "reference", "gallery", "notebooks"))]
exclude_patterns = ["extensions"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"                 # notebooks are shown with their committed outputs; the tests run them again
nb_merge_streams = True

nitpicky = True
add_module_names = False
viewcode_line_numbers = True
python_display_short_literal_types = True

html_theme = "furo"
html_title = f"fltheory {version}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "friendly", "monokai"
