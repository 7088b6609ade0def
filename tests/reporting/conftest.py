"""A browser, and the report of a simulated study, made once for all tests that look at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from report_studies import simulated_report

from browser import Opened, chromium, opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def report(tmp_path_factory: Any) -> Any:
    """Of twelve cases, five raters and three algorithms."""
    return simulated_report(tmp_path_factory.mktemp("simulated"))


@pytest.fixture
def home(browser: Any, report: Any) -> Iterator[Opened]:
    """Its page as it opens; nothing may have been said or asked for when a test is done."""
    with opened(browser, report.path) as shown:
        yield shown
        assert shown.clean()
