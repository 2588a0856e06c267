"""Settings of Sphinx: ``sphinx-build -W -n docs OUT`` makes the site."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))
import generate

project = "ruda"
version = release = importlib.metadata.version("ruda-core")
copyright = "the authors of ruda, Apache-2.0"
extensions = ["myst_parser"]
exclude_patterns = ["_build", "examples"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_title = f"ruda {release}"
html_show_sourcelink = False
html_theme_options = {
    "description": "Write a GPU kernel once in Python and run it on any backend, with one meaning.",
    "fixed_sidebar": True,
    "page_width": "1100px",
    "body_max_width": "none",
}


def setup(app: Sphinx) -> None:
    """Let every build make the generated parts anew."""
    app.connect("source-read", lambda app, page, source: source.__setitem__(0, generate.filled(source[0])))
