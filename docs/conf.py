# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration; called by tools/build_docs.sh, warnings are errors."""
import re
from pathlib import Path

root = Path(__file__).resolve().parent.parent
project = "Orthant"
author = "The Orthant developers"
copyright = author
release = re.search(r"project\(orthant VERSION (\S+)", (root / "CMakeLists.txt").read_text())[1]
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "decisions/template.md"]
html_theme = "furo"
html_title = f"Orthant {release}"
html_copy_source = False
html_static_path = ["images", "style"]
html_css_files = ["site.css"]
