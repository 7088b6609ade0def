"""The tables of the real page in a browser: sorted, filtered, copied, saved."""

from __future__ import annotations

import csv
import io
import math

import pytest
from page_numbers import addresses
from playwright.sync_api import expect

from browser import LAPTOP, PHONE, Opened, opened

pytestmark = pytest.mark.slow


def as_numbers(values: list[str]) -> list[float]:
    return [float(value or "nan") for value in values]


def in_order(values: list[float], *, falling: bool) -> bool:
    """Undefined ones are last, whichever way."""
    known = [value for value in values if not math.isnan(value)]
    defined_first = all(not math.isnan(value) for value in values[: len(known)])
    return defined_first and known == sorted(known, reverse=falling)


@pytest.mark.slow
@pytest.mark.parametrize("title", ["Fleiss' kappa", "Dice", "Relative area difference (empty: 200%)", "Entropy"])
def test_a_column_sorts_by_exact_values(title, home):
    table = home.table("cases")
    head, first = table.head(title), table.lines()
    expect(head).to_have_attribute("aria-sort", "none")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert in_order(as_numbers(table.values(title)), falling=False)
    assert sorted(table.lines()) == sorted(first)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert in_order(as_numbers(table.values(title)), falling=True)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "none")
    assert table.lines() == first


def test_every_column_of_every_table_sorts(home):
    """Numbers by all digits, undefined ones last."""
    checked = 0
    names = home.page.locator("table[data-name]").evaluate_all("all => all.map(one => one.dataset.name)")
    assert len(names) == len(set(names))
    for name in names:
        wrong = home.page.evaluate(
            """name => {
                const table = document.getElementById(`table-${name}`);
                const wrong = [];
                [...table.tHead.rows[0].cells].forEach((head, column) => {
                    head.querySelector("button").click();
                    if (head.getAttribute("aria-sort") !== "ascending") wrong.push(head.textContent);
                    if (!("number" in head.dataset)) return;
                    const cells = [...table.tBodies[0].rows].map((line) => line.cells[column]);
                    const values = cells.filter((cell) => cell.dataset.at).map((cell) => Number(cell.dataset.v));
                    const known = values.findLastIndex((value) => !Number.isNaN(value));
                    const good = values.every((value, i) => i === 0 || i > known || values[i - 1] <= value);
                    if (!good) wrong.push(`${head.textContent}: ${values}`);
                });
                return wrong;
            }""",
            name,
        )
        assert wrong == [], name
        checked += 1
    assert checked > 15


def test_words_sort_as_people_do(home):
    table = home.table("cases")
    table.head("Case").get_by_role("button").click()
    assert table.lines() == [f"p{number:02}" for number in range(1, 13)]


def test_only_one_column_says_that_it_is_sorted(home):
    table = home.table("cases")
    for title in ("Dice", "Entropy"):
        table.head(title).get_by_role("button").click()
    assert table.root.locator('th[aria-sort="ascending"]').count() == 1


def test_sorting_works_by_key(home):
    table = home.table("cases")
    table.head("Dice").get_by_role("button").focus()
    home.page.keyboard.press("Enter")
    assert in_order(as_numbers(table.values("Dice")), falling=False)


def test_lines_are_filtered_by_words_and_counted(home):
    table = home.table("cases")
    box, count = table.tool("filter"), table.tool("count")
    expect(count).to_have_text("12 lines")
    box.fill("p1")
    assert sorted(table.lines()) == ["p10", "p11", "p12"]
    expect(count).to_have_text("3 of 12 lines")
    box.fill("P1 cin3")
    shown = table.lines()
    assert 0 < len(shown) < 3
    expect(count).to_have_text(f"{len(shown)} of 12 lines")
    box.fill("no such words")
    assert table.lines() == []
    expect(count).to_have_text("0 of 12 lines")
    box.fill("")
    expect(count).to_have_text("12 lines")


def test_pictures_follow_the_lines(home):
    table = home.table("cases")
    pictures = home.page.locator(".thumbnails li:not([hidden])")
    names = "all => all.map(one => one.dataset.name)"
    assert pictures.evaluate_all(names) == table.lines()
    table.head("Dice").get_by_role("button").click()
    assert pictures.evaluate_all(names) == table.lines()
    table.tool("filter").fill("p0")
    assert pictures.evaluate_all(names) == table.lines()
    assert len(table.lines()) == 9


def test_how_many_pictures_are_shown_is_said(browser, report):
    """On a phone nine of twelve, until all are asked for."""
    with opened(browser, report.path, viewport=PHONE) as shown:
        table, words = shown.table("cases"), shown.page.locator(".pictured")
        expect(words).to_have_text("9 of 12 pictures shown")
        assert shown.page.locator(".thumbnails li:visible").count() == 9
        table.tool("filter").fill("p0")
        expect(words).to_have_text("")
        table.tool("filter").fill("p1")
        assert len(table.lines()) == shown.page.locator(".thumbnails li:visible").count()
        table.tool("filter").fill("")
        expect(words).to_have_text("9 of 12 pictures shown")
        shown.page.set_viewport_size(LAPTOP)
        expect(words).to_have_text("")
        assert shown.clean()


def test_a_group_is_chosen(home):
    table = home.table("cases")
    groups = table.tool("group").locator("option").all_inner_texts()
    assert groups[0] == "All groups"
    seen = []
    for group in groups[1:]:
        table.tool("group").select_option(group)
        assert set(table.values("Group")) == {group}
        seen += table.lines()
    table.tool("group").select_option("")
    assert sorted(seen) == sorted(table.lines())


def test_a_long_table_shows_all_its_lines_when_asked(home):
    more = home.page.locator("button.more:visible").first
    name = more.get_attribute("data-table")
    lines = home.page.locator(f"#table-{name} tbody tr")
    seen = sum(line.is_visible() for line in lines.all())
    assert 0 < seen < lines.count()
    more.click()
    assert all(line.is_visible() for line in lines.all())
    expect(more).to_have_attribute("aria-expanded", "true")


def rows_of(text: str, comma: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=comma))


def exact_of(home: Opened, name: str) -> list[list[str]]:
    """What the page holds of a table's numbers, line by line: values with their ends."""
    return home.page.locator(f"#table-{name}").evaluate(
        """table => [...table.tBodies[0].rows].filter(line => !line.hidden).map(line =>
            [...line.cells].filter(cell => cell.dataset.at).flatMap(cell =>
                [cell.dataset.v, ...("low" in cell.dataset ? [cell.dataset.low, cell.dataset.high] : [])]))"""
    )


def shown_of(home: Opened, name: str) -> list[list[str]]:
    """The words of a table, head first, without what is said beneath them."""
    return home.page.locator(f"#table-{name}").evaluate(
        """table => [table.tHead.rows[0], ...table.tBodies[0].rows].filter(line => !line.hidden).map(line =>
            [...line.cells].map(cell => {
                const words = cell.cloneNode(true);
                words.querySelector(".below")?.remove();
                return words.textContent.trim().replace(/^(?=[=@])/, "'");
            }))"""
    )


def test_a_table_is_saved_as_it_is_shown_with_all_digits(home, report):
    table = home.table("cases")
    table.head("Dice").get_by_role("button").click()
    table.tool("filter").fill("p1")
    with home.page.expect_download() as download:
        table.tool("csv").click()
    assert download.value.suggested_filename == "cases.csv"
    head, *rows = rows_of(download.value.path().read_text(encoding="utf-8"), ",")
    assert [row[0] for row in rows] == table.lines()
    assert [row[head.index("Dice")] for row in rows] == table.values("Dice")
    for row, exact in zip(rows, exact_of(home, "cases"), strict=True):
        assert [cell for cell in row if cell in exact] == exact
        assert len(row) == len(head)
    written = {float(line["value"]) for lines in addresses(report.folder).values() for line in lines}
    assert {float(row[head.index("Dice")]) for row in rows} <= written


@pytest.mark.slow
def test_every_table_is_saved_exactly_and_copied_as_shown(browser, report):
    with opened(browser, report.path, permissions=["clipboard-read", "clipboard-write"]) as home:
        names = home.page.locator("table[data-name]").evaluate_all("all => all.map(one => one.dataset.name)")
        home.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        for name in names:
            with home.page.expect_download() as download:
                home.table(name).tool("csv").click()
            saved = rows_of(download.value.path().read_text(encoding="utf-8"), ",")
            home.table(name).tool("copy").click()
            expect(home.table(name).tool("copy")).to_have_text("Copied")
            copied = home.page.evaluate("navigator.clipboard.readText()")
            assert [line.split("\t") for line in copied.removesuffix("\n").split("\n")] == shown_of(home, name), name
            assert len({len(row) for row in saved}) == 1, name
            assert len(saved) == len(home.table(name).lines()) + 1, name
            for row, exact in zip(saved[1:], exact_of(home, name), strict=True):
                assert not [value for value in exact if value not in row], (name, row)
        assert home.clean()


def test_copying_works_where_the_clipboard_is_kept_from_files(home):
    home.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('kept')); }")
    home.page.evaluate(
        "() => document.addEventListener('copy', () => { window.copied = document.activeElement.value; })"
    )
    button = home.table("cases").tool("copy")
    button.click()
    expect(button).to_have_text("Copied")
    assert home.page.evaluate("window.copied").splitlines()[1].startswith(home.table("cases").lines()[0])
    assert button.evaluate("button => button === document.activeElement")
    expect(button).to_have_text("Copy")


def test_texts_are_copied_and_saved(browser, report):
    with opened(browser, report.path, permissions=["clipboard-read", "clipboard-write"]) as home:
        home.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        buttons = home.page.locator("button.copy[data-text]")
        assert buttons.count() >= 2
        for button in buttons.all():
            name = button.get_attribute("data-text")
            button.click()
            expect(button).to_have_text("Copied")
            copied = home.page.evaluate("navigator.clipboard.readText()")
            shown = home.page.locator(f"#text-{name} :is(pre, .prose)").inner_text()
            assert copied.split() == shown.split()
            assert len(copied) > 100
            saves = home.page.locator(f'button.save[data-text="{name}"]')
            if saves.count():
                with home.page.expect_download() as download:
                    saves.click()
                assert download.value.suggested_filename == saves.get_attribute("data-file")
                assert download.value.path().read_text(encoding="utf-8") == copied
        assert home.clean()
