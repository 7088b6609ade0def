"""The page of all options, made from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from cyclopts import App
from cyclopts.argument import Argument

from manytruths.cli.app import app

HEAD = """# Options

`manytruths COMMAND --help` prints the same tables. `--debug` shows the traceback of an error. Options of a study can
also be written in a `study.toml` ({doc}`getting-started`), with underscores instead of dashes.
"""


def options_page() -> str:
    """The page as Markdown."""
    sections: dict[tuple[str, ...], list[tuple[str, App]]] = {}
    for name, command in _commands(app):
        sections.setdefault(tuple(_tables(command)), []).append((name, command))
    return "\n".join([HEAD, *(line for rows, commands in sections.items() for line in (*_head(commands), *rows))])


def _commands(parent: App, before: str = "") -> Iterator[tuple[str, App]]:
    for name in parent:
        if name.startswith("-"):
            continue
        command = parent[name]
        if command.default_command is None:
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _head(commands: list[tuple[str, App]]) -> Iterator[str]:
    """The heading, and what each command is for; commands with the same options stand together."""
    yield f"\n## {', '.join(name for name, _ in commands)}\n"
    for _, command in commands:
        text = command.help.partition("Parameters\n")[0]
        yield from (f"{_escape(paragraph)}\n" for paragraph in text.split("\n\n") if paragraph.strip())


def _tables(command: App) -> Iterator[str]:
    panels: dict[Any, list[Argument]] = {}
    for argument in command.assemble_argument_collection(parse_docstring=True):
        if argument.names and argument.names != ("*",):
            panels.setdefault(argument.parameter.group[0], []).append(argument)
    for group, arguments in sorted(panels.items(), key=lambda panel: panel[0].sort_key):
        yield f"\n| {group.name} | default | |\n|---|---|---|"
        yield from map(_row, arguments)


def _row(argument: Argument) -> str:
    default = argument.field_info.default
    shown = "" if default in (None, "") or isinstance(default, type) else f"`{default}`"
    shown = {"--jobs": "number of cores"}.get(argument.names[0], shown)
    if isinstance(default, bool):
        shown = "on" if default else "off"
    names = ", ".join(f"`{name}`" for name in argument.names)
    choices = [choice for part in (argument.hint, *get_args(argument.hint)) for choice in _choices(part)]
    more = f" One of {', '.join(f'`{choice}`' for choice in choices)}." if len(choices) > 1 else ""
    return f"| {names} | {shown} | {_escape(argument.parameter.help or '')}{more} |"


def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("*", r"\*").replace("<", r"\<")


def write_options_page(folder: Path) -> None:
    """Write ``options.md``; an unchanged page is left alone, so that it is not built again."""
    path, text = folder / "options.md", options_page()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    print(options_page())
