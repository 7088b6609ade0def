"""The notebook of the examples, executed and put on a page as a notebook shows it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook.ipynb"
SECONDS = 600


def execute(source: Path = NOTEBOOK) -> Any:
    """Run all cells of a notebook in this Python, and return it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    # the kernel imports the package from where this program has it
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    notebook = nbformat.read(source, as_version=4)
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute()
    nbformat.validate(notebook)
    return notebook


def write_notebook_page(folder: Path) -> None:
    """Write ``notebook.md``, and beside it, to be downloaded, the notebook with its outputs."""
    import nbformat

    notebook = execute()
    (folder / "_static").mkdir(exist_ok=True)
    nbformat.write(notebook, folder / "_static" / "notebook.ipynb")
    parts = [part for cell in notebook.cells for part in _cell(cell)]
    parts.append("Download: <a href='_static/notebook.ipynb' download>the executed notebook</a>.")
    (folder / "notebook.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _cell(cell: Any) -> list[str]:
    if cell.cell_type == "markdown":
        return [cell.source]
    return [f"```python\n{cell.source}\n```", *map(_output, cell.outputs)]


def _output(output: Any) -> str:
    """What a notebook shows of an output: a picture, else HTML, else text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    for kind in ("image/png", "image/svg+xml", "text/html"):
        if kind in data:
            shown = data[kind]
            if kind == "image/png":
                shown = f'<img alt="picture" src="data:image/png;base64,{"".join(shown.split())}">'
            return f'````{{raw}} html\n<div class="notebook-output">{shown}</div>\n````'
    return f"```text\n{data['text/plain']}\n```"
