"""Configuration of the documentation site, which `make docs` builds."""

import re
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
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"version": version}
myst_heading_anchors = 3
# A notebook runs when its code has changed; results are kept in docs/_build.
nb_execution_mode = "cache"
nb_execution_in_temp = True  # what a notebook writes goes where nothing is kept
nb_execution_timeout = 600
nb_execution_raise_on_error = True

# -- Files that the build makes: git does not keep them ------------------------
# The tutorials are the notebooks of the project's folder. Their links lead to docs/ from there, and
# stay within it here.
MADE = {
    HERE / "tutorials" / notebook.name: notebook.read_text("utf-8").replace("](../docs/", "](../")
    for notebook in (HERE.parent / "notebooks").glob("*.ipynb")
} | {HERE / "reference" / "generated" / name: text for name, text in pages().items()}
for path in (*HERE.glob("tutorials/*.ipynb"), *HERE.glob("reference/generated/**/*.*")):
    if path not in MADE:  # of a notebook, command or function that is no more
        path.unlink()
for path, text in MADE.items():
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # others stay built
        path.write_text(text, encoding="utf-8")

# -- The reference of Python ---------------------------------------------------
autodoc_typehints = "none"  # docstrings have the types
autosummary_generate = False  # the pages are there
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False
default_role = "code"  # what stands in single backticks


def setup(app):
    """Let a plural follow a name in backticks, as in `JobView`s; keep links to notebooks within.

    In the files of the project, pages lead to its folder of notebooks.
    """

    def within(_app, _page, source):
        source[0] = source[0].replace("](../../notebooks/", "](../tutorials/")

    def separate(_app, _what, _name, _object, _options, lines):
        lines[:] = [re.sub(r"(?<=\w)`s\b", r"`\\ s", line) for line in lines]

    app.connect("autodoc-process-docstring", separate)
    app.connect("source-read", within)


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
