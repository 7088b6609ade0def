"""A table of a result: a CSV file, a pandas DataFrame, a few lines in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import InputError
from ..io import write_csv

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 8
"""Rows of a table that a notebook shows."""


class DataTable(ABC):
    """Rows under a header, called as their file is."""

    name: str

    @property
    @abstractmethod
    def header(self) -> Sequence[str]:
        """The columns of the file."""

    @abstractmethod
    def records(self) -> Iterable[Sequence[object]]:
        """The cells of every row, in the order of the header."""

    @abstractmethod
    def __len__(self) -> int: ...

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One column for each column of the file; undefined numbers are NaN.
        """
        try:
            import pandas as pd
        except ImportError:
            raise InputError('to_frame needs pandas; install it with pip install "manytruths[tables]"') from None
        return pd.DataFrame([list(record) for record in self.records()], columns=list(self.header))

    def write(self, folder: Path) -> Path:
        """Write the CSV file, whole or not at all."""
        path = folder / f"{self.name}.csv"
        write_csv(path, self.records(), self.header)
        return path

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self)} rows of {', '.join(self.header)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in record) + "</tr>"
            for record in islice(self.records(), SHOWN)
        )
        rest = len(self) - SHOWN
        more = f"<p>and {rest} more rows</p>" if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class PlainTable(DataTable):
    """A table with columns of its own.

    Parameters
    ----------
    name : str
        Name of the file without its ending.
    header : sequence of str
        The columns.
    rows : iterable of sequences
        The cells of every row.
    """

    def __init__(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.name = name
        self._header = tuple(header)
        self._rows = [tuple(row) for row in rows]

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    def records(self) -> list[tuple[object, ...]]:
        return self._rows

    def __len__(self) -> int:
        return len(self._rows)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else escape(str(value))
