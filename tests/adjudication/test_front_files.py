"""The files of the page: every word is there, and modules can be joined to one script."""

from __future__ import annotations

import json
import re
from collections import Counter

from manytruths.adjudication.page import FRONT, WORDS
from manytruths.adjudication.session import REASONS

SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FRONT.glob("*.js"))}
WHOLE = "\n".join(SOURCES.values())
KEYS = json.loads(WORDS.read_text(encoding="utf-8"))
PLURALS = (".one", ".other")


def stem(key: str) -> str:
    """A key without its plural."""
    return next((key.removesuffix(end) for end in PLURALS if key.endswith(end)), key)


def test_every_word_that_is_said_is_there():
    said = set(re.findall(r'\bsay\(\s*"([\w.]+)"', WHOLE)) | set(re.findall(r'\? "([a-z]+\.\w+)" :', WHOLE))
    assert len(said) > 100
    assert said - {stem(key) for key in KEYS} == set()


def test_no_word_is_left_over():
    made = re.findall(r"\bsay\(\s*`([\w.]+\.)\$\{", WHOLE)
    started = (*made, "keys.", "rule.kind.", "choose.", "reason.")
    assert [key for key in KEYS if f'"{stem(key)}"' not in WHOLE and not key.startswith(started)] == []


def test_plurals_have_both_forms_and_the_number():
    for key in KEYS:
        if key.endswith(".one"):
            assert f"{stem(key)}.other" in KEYS
            assert set(re.findall(r"\{\w+\}", KEYS[key])) == set(re.findall(r"\{\w+\}", KEYS[f"{stem(key)}.other"]))


def test_reasons_that_come_with_the_program_have_words():
    assert {f"reason.{reason}" for reason in REASONS} <= set(KEYS)


def test_modules_share_no_name():
    """They become one script without imports."""
    named = re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", WHOLE, re.MULTILINE)
    named += [
        name.strip()
        for group in re.findall(r"^(?:export )?const \[([\w, ]+)\]", WHOLE, re.MULTILINE)
        for name in group.split(",")
    ]
    assert [name for name, times in Counter(named).items() if times > 1] == []


def test_names_are_set_as_text():
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", WHOLE) == []


def test_letters_of_raters_are_no_keys_of_commands():
    from manytruths.adjudication.plan import LETTERS

    sheet = SOURCES["keys.js"]
    for name in ("ALWAYS_KEYS", "outlines"):
        part = sheet[sheet.index(f"{name}: {{" if name == "outlines" else f"{name} = {{") :].split("}", 1)[0]
        keys = set(re.findall(r"^\s+([a-z]): \[", part, re.MULTILINE))
        assert keys
        assert keys & set(LETTERS.lower()) == set()
