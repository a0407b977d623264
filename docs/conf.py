"""Sphinx: the pages are MyST Markdown, the reference comes from the docstrings of the installed package."""

from importlib import metadata

project = "tensorbuf"
copyright = "tensorbuf developers"
version = release = metadata.version("tensorbuf")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "changes"]
html_theme = "furo"
html_title = f"tensorbuf {release}"

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
# The types in docstrings are words such as "shape", which several classes have as an attribute; none of them is meant.
suppress_warnings = ["ref.python"]
