"""Classifiers to text and back, so that one fitted here can be applied elsewhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

VERSION = 1
Fitted = TypeVar("Fitted")


def to_text(kind: str, fitted: DataclassInstance) -> str:
    """JSON that says what it is."""
    import msgspec

    held = {"manytruths": kind, "version": VERSION, **asdict(fitted)}
    return msgspec.json.format(msgspec.json.encode(held), indent=2).decode()


def from_text(kind: str, text: str, wanted: type[Fitted]) -> Fitted:
    """What :func:`to_text` wrote; InputError where it did not."""
    import msgspec

    try:
        held: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InputError(f"a {kind} is read from the text of to_json(); this is no JSON: {error}") from error
    found = held.get("manytruths") if isinstance(held, dict) else None
    if found != kind:
        raise InputError(f"a {kind} is read from the text of to_json(); got {found or type(held).__name__}")
    if held.get("version") != VERSION:
        raise InputError(f"this {kind} has version {held.get('version')}; read it with the manytruths that wrote it")
    try:
        return msgspec.convert(held, wanted)
    except msgspec.ValidationError as error:
        raise InputError(f"this {kind} is damaged: {error}") from error
