"""The documentation site: `make docs` builds it, runs the notebooks and fails at any warning."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from tools.public_api import PUBLIC, entries_of  # noqa: E402  stands beside the package

project = "autoprog"
author = "The autoprog maintainers"
copyright = "The autoprog maintainers, GPL-3.0-or-later"  # noqa: A001  Sphinx's name
version = release = installed_version("autoprog")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_nb"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "autoprog"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False

myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

autosummary_generate = True
autodoc_typehints = "none"
# Methods that scikit-learn adds, whose docstrings refer to its own site.
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request"}
numpydoc_show_class_members = False


def _write_reference() -> None:
    """A page for each public module, from the list that the test of the public API reads."""
    folder = DOCS / "reference"
    folder.mkdir(exist_ok=True)
    for module in PUBLIC:
        names = "\n".join(f"   {name}" for name in entries_of(module))
        text = (
            f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n   :no-members:\n\n"
            f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated\n\n{names}\n"
        )
        path = folder / f"{module}.rst"
        if not path.exists() or path.read_text() != text:  # an unchanged page is not built again
            path.write_text(text)


_write_reference()
