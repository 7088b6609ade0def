"""Sphinx configuration. Nothing here, and nothing on the pages, needs the network."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import gallery_tools  # noqa: E402
import notebook_page  # noqa: E402
import option_tables  # noqa: E402
import reference_list  # noqa: E402
from docutils import nodes  # noqa: E402
from sphinx import addnodes  # noqa: E402

import manytruths  # noqa: E402

project = "manytruths"
author = "The manytruths developers"
copyright = author
version = release = manytruths.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb"]

html_theme = "furo"
html_title = f"manytruths {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#6d1fa3", "color-brand-content": "#6d1fa3"},
    "dark_css_variables": {"color-brand-primary": "#e08bd0", "color-brand-content": "#e08bd0"},
}

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    name: name for name in ("ArrayLike", "Masks", "Array", "MaskInput", "Given", "Raters", "Forecast", "Probability")
}
autosummary_generate = False
# a word in a type, such as "raters", is the name of several attributes
suppress_warnings = ["ref.python"]
napoleon_google_docstring = False
napoleon_use_rtype = False
# the members of a class are listed as such
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False

skipped = []
for path, examples in gallery_tools.absent().items():
    skipped += examples
    print(f"{', '.join(examples)} without results: no {path} here; set MANYTRUTHS_DATA to the folder that holds it")
names = "|".join(re.escape(example) for example in skipped)
pattern = rf"[\\/](?!{names})plot_" if skipped else r"[\\/]plot_"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": pattern,
    "image_scrapers": ("gallery_tools.scraper",),
    "within_subsection_order": "gallery_tools.order",
    "capture_repr": ("__repr__",),
    "thumbnail_size": (420, 280),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": False,
    "reset_modules": (),
    "copyfile_regex": r".*\.rst",
}


def tidy(app, what, name, obj, options, lines):
    """|b − c| is an absolute value in docstrings, no substitution; ``window``² ends a literal; *spatial is a shape."""
    if what in ("attribute", "property"):  # napoleon takes what stands before a colon for a type
        lines[:] = as_written.pop((what, name), lines)
    for i, text in enumerate(lines):
        lines[i] = text = text.replace("*spatial", r"\*spatial")
        if not text.startswith("    "):
            text = re.sub(r"\|([^|]+)\|", r"\\|\1\\|", text)
            text = re.sub(r"(?<= )\\(?= )", r"\\\\", text)  # O \ I: one set without another
            lines[i] = re.sub(r"(``[^`]+``)(?=[²³])", r"\1\\ ", text)


as_written = {}


def part(app, what, name, obj, options, lines):
    """What follows the parameters of a function is no parameter: two blank lines say so to napoleon."""
    rows, inside = [], False
    as_written[what, name] = list(lines)
    for i, text in enumerate(lines):
        inside = inside or text.startswith("-----")
        after = lines[i + 1] if i + 1 < len(lines) else ""
        if inside and text and not text[0].isspace() and not lines[i - 1] and not after.startswith(("    ", "---")):
            rows.append("")
            inside = False
        rows.append(text)
    lines[:] = rows


def shorten(app, what, name, obj, options, signature, returned):
    """Statistics that are objects by what they are called with; arrays by their short name."""
    if what == "function" and not inspect.isroutine(obj):
        signature, returned = "(tally: Tally)", "float"
    long = r"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?\w+, \.\.\.\], ~?numpy\.dtype\[~?(?:\w+\.)?(\w+)\]\]"
    texts = (text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, returned))
    return tuple(text and re.sub(long, r"NDArray[\1]", text) for text in texts)


def shorten_fields(app, doctree, name):
    """The same for attributes, whose types autodoc writes by itself."""
    for node in doctree.findall(addnodes.desc_annotation):
        found = re.fullmatch(r"(.*)ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", node.astext())
        if found:
            node.children = [nodes.Text(f"{found[1]}NDArray[{found[2]}]")]


def demo_report(app, problem):
    """The report of the demo, to be linked to."""
    from manytruths.cli import status

    if problem is not None or app.builder.name != "html":
        return
    with tempfile.TemporaryDirectory() as folder:
        if status(["demo", "--out", folder, "--quiet"]):
            raise RuntimeError("the demo failed")
        shutil.copyfile(Path(folder) / "report.html", Path(app.outdir) / "demo-report.html")


def write_options(app):
    option_tables.write_options_page(HERE)
    reference_list.write_references_page(HERE)
    notebook_page.write_notebook_page(HERE)


def setup(app):
    app.connect("builder-inited", write_options)
    app.connect("build-finished", demo_report)
    app.connect("autodoc-process-signature", shorten)
    app.connect("doctree-resolved", shorten_fields)
    app.connect("autodoc-process-docstring", part, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", tidy)
