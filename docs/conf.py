"""Configuration of the documentation site, which `make docs` builds."""

import sys
from pathlib import Path

import workloadkit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the modules of this site

from site_reference import pages  # noqa: E402

project = "workloadkit"
author = "The workloadkit contributors"
copyright = "the workloadkit contributors"  # noqa: A001
version = release = workloadkit.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "site_mathml",
]
exclude_patterns = ["_build", "reference/generated/*.md"]
nitpicky = True
smartquotes = False  # quotes in text are often those of a value
# Objects in notebooks have forms that no page can show, next to one that it can.
suppress_warnings = ["mystnb.unknown_mime_type"]

# -- Pages in MyST, and notebooks ---------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# A notebook runs when its code has changed; results are kept in docs/_build.
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_raise_on_error = True

# The tutorials are the notebooks of the project's folder, which git keeps once. Their links lead to
# docs/ from there, and stay within it here.
for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
    text = notebook.read_text(encoding="utf-8").replace("](../docs/", "](../")
    (HERE / "tutorials" / notebook.name).write_text(text, encoding="utf-8")

# -- The reference -------------------------------------------------------------
for name, text in pages().items():
    page = HERE / "reference" / "generated" / name
    page.parent.mkdir(parents=True, exist_ok=True)
    if not page.exists() or page.read_text(encoding="utf-8") != text:  # unchanged pages stay built
        page.write_text(text, encoding="utf-8")
autodoc_typehints = "none"  # docstrings have the types
autosummary_generate = False  # the pages are there
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
default_role = "code"  # what stands in single backticks

# -- The pages' looks ----------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "workloadkit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Hundreds of pages, which are in no list but that of their package: all others would list them.
html_sidebars = {"reference/generated/api/**": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "workloadkit"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
