"""``python -m tests.docstrings`` checks the docstrings of all public names: numpydoc, complete, true to the signature.

A callable has a summary of one line, a Parameters section that names its parameters in order, each with a type and a
description, and a Returns section unless it returns None. A class documents what it is made of in Parameters or
Attributes, or by a string under each field.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from numpydoc.docscrape import NumpyDocString

import manytruths as mt

TODO: set[str] = set()
"""Names that do not comply yet. A name that complies must be taken off the list, and none may be added."""

NOT_CALLABLE = {"VOID"}
SECTIONS = set(NumpyDocString.sections) - {"Signature", "Summary", "Extended Summary", "index"}


def problems(name: str) -> list[str]:
    """What is wrong with the docstring of a public name; nothing where it is fine."""
    thing: Any = getattr(mt, name)
    if name in NOT_CALLABLE:
        return []
    text = inspect.getdoc(thing)
    if not text:
        return ["no docstring"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            doc = NumpyDocString(text)
        except (ValueError, UserWarning) as error:
            return [" ".join(str(error).split())[:200]]
    found = [*_summary(doc), *_headings(text), *_names_of_others(text)]
    found += _class(thing, doc) if inspect.isclass(thing) else _function(thing, doc)
    return found


def _summary(doc: NumpyDocString) -> Iterator[str]:
    summary = doc["Summary"]
    if len(summary) != 1:
        yield "the summary is not one line" if summary else "no summary"
    elif not summary[0].endswith("."):
        yield "the summary does not end with a full stop"


def _headings(text: str) -> Iterator[str]:
    """Headings whose line of dashes goes on as text, which numpydoc takes for part of the section before."""
    for line, below in pairwise(text.splitlines()):
        if line in SECTIONS and not re.fullmatch("-{3,}", below):
            yield f"{line} has no line of dashes of its own beneath it"


def _names_of_others(text: str) -> Iterator[str]:
    """Functions and classes that a docstring points to without a path, and that users cannot find."""
    for name in re.findall(r":(?:func|class):`(\w+)`", text):
        if name not in mt.__all__:
            yield f"points to {name}, which is not public"


def _function(thing: Any, doc: NumpyDocString) -> Iterator[str]:
    signature = inspect.signature(thing)
    yield from _parameters(list(signature.parameters), _described(doc, "Parameters"))
    if signature.return_annotation not in (None, "None") and not (doc["Returns"] or doc["Yields"]):
        yield "no Returns"


def _class(thing: Any, doc: NumpyDocString) -> Iterator[str]:
    """What a class is made of; exceptions are made of a message."""
    if issubclass(thing, BaseException) and "__init__" not in vars(thing):
        return
    own = list(inspect.signature(thing).parameters)
    documented = _described(doc, "Parameters") | _described(doc, "Attributes") | _under_fields(thing)
    yield from _parameters(own, {name: documented[name] for name in own if name in documented})
    unknown = [name for name in _described(doc, "Parameters") if name not in own]
    if unknown:
        yield f"unknown parameters {', '.join(unknown)}"


def _described(doc: NumpyDocString, section: str) -> dict[str, str]:
    """The entries of a section by name, with what is missing from each."""
    entries: dict[str, str] = {}
    for names, kind, lines in doc[section]:
        missing = [what for what, there in (("type", kind.strip()), ("description", lines)) if not there]
        for name in names.split(","):
            entries[name.strip().lstrip("*")] = " and ".join(missing)
    return entries


def _under_fields(thing: Any) -> dict[str, str]:
    """Fields of a class that are followed by a string."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    return {
        node.target.id: ""
        for node, after in pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    }


def _parameters(own: list[str], documented: dict[str, str]) -> Iterator[str]:
    missing, unknown = [n for n in own if n not in documented], [n for n in documented if n not in own]
    if missing:
        yield f"not documented: {', '.join(missing)}"
    if unknown:
        yield f"unknown parameters {', '.join(unknown)}"
    if not missing and not unknown and list(documented) != own:
        yield f"parameters are in the order {', '.join(documented)}, not {', '.join(own)}"
    for name, lacks in documented.items():
        if lacks and name in own:
            yield f"{name} has no {lacks}"


def main() -> int:
    by_name = {name: problems(name) for name in mt.__all__}
    bad = {name: found for name, found in by_name.items() if found}
    for name, found in bad.items():
        if name not in TODO or "--all" in sys.argv:
            print(f"{name}: {'; '.join(found)}")
    for name in sorted(TODO - set(bad)):
        print(
            f"{name}: {'complies' if name in by_name else 'is not public'}; take it off the list in tests/docstrings.py"
        )
    done = len(by_name) - len(bad)
    print(f"{done} of {len(by_name)} public names have a complete docstring")
    return int(set(bad) != TODO)


if __name__ == "__main__":
    sys.exit(main())
