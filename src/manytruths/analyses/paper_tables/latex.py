"""Tables as LaTeX: one file a table, with the rules of booktabs."""

from __future__ import annotations

from pathlib import Path

from ...io.writing import write_text
from .formats import Tabled
from .wide import PaperTable

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "–": "--", "−": "$-$", "±": r"$\pm$", "×": r"$\times$",
    "σ": r"$\sigma$", "ρ": r"$\rho$", "κ": r"$\kappa$", "α": r"$\alpha$", "≤": r"$\leq$", "≥": r"$\geq$", "²": r"$^2$",
    "³": r"$^3$", "P̄": r"$\bar{P}$", "\n": " ", "\r": " ", "\t": " ",
}  # fmt: skip
WIDE = 7
"""Tables with more columns are set in smaller type."""


def write_latex(folder: Path, command: Tabled) -> list[Path]:
    """Write every table for a paper to a file of its own."""
    paths = []
    for table in command.papers:
        paths.append(folder / f"{table.name}.tex")
        write_text(paths[-1], latex_table(table, f"{command.command}-{table.name}"))
    return paths


def latex_table(table: PaperTable, label: str) -> str:
    """A table as LaTeX that needs booktabs.

    >>> from .wide import Entry
    >>> one = PaperTable("d", "Dice & more", ("Rater", "Dice"), ((Entry("a_b"), Entry(0.5, kind="number")),))
    >>> print(latex_table(one, "d"))  # doctest: +NORMALIZE_WHITESPACE
    % \\usepackage{booktabs}
    \\begin{table}[htbp]
      \\centering
      \\caption{Dice \\& more}
      \\label{tab:d}
      \\begin{tabular}{lr}
        \\toprule
        Rater & Dice \\\\
        \\midrule
        a\\_b & 0.500 \\\\
        \\bottomrule
      \\end{tabular}
    \\end{table}
    """
    sides = "".join("r" if table.is_number(k) else "l" for k in range(len(table.columns)))
    texts = [table.heads(), *([entry.text for entry in row] for row in table.rows)]
    lines = [" & ".join(map(escape_latex, cells)) + r" \\" for cells in texts]
    small = [r"  \footnotesize"] if len(table.columns) > WIDE else []
    note = [rf"  \par\smallskip\footnotesize {escape_latex(table.note)}"] if table.note else []
    parts = [
        r"% \usepackage{booktabs}", r"\begin{table}[htbp]", r"  \centering", *small,
        rf"  \caption{{{escape_latex(table.title)}}}", rf"  \label{{tab:{label}}}", rf"  \begin{{tabular}}{{{sides}}}",
        r"    \toprule", f"    {lines[0]}", r"    \midrule", *(f"    {line}" for line in lines[1:]),
        r"    \bottomrule", r"  \end{tabular}", *note, r"\end{table}",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    r"""A text in which no sign has a meaning to LaTeX.

    >>> escape_latex("5% of A_1"), escape_latex("−0.1 (−0.2 to 0.0)")
    ('5\\% of A\\_1', '$-$0.1 ($-$0.2 to 0.0)')
    """
    text = text.replace("P̄", "\x00")
    escaped = "".join(_SIGNS["P̄"] if sign == "\x00" else _SIGNS.get(sign, sign) for sign in text)
    # at the start of a line a bracket would be an option of the line end before it
    return "{[}" + escaped[1:] if escaped.startswith("[") else "{*}" + escaped[1:] if escaped[:1] == "*" else escaped
