"""The page in a browser: first look, keys, outlines, drawing, undo, what stays after a reload."""

from __future__ import annotations

import numpy as np
import pytest
from pages import NAME, Desk, desk
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.fixture
def flat(browser, flat_page):
    with desk(browser, flat_page) as shown:
        yield shown


@pytest.fixture
def volume(browser, volume_page):
    with desk(browser, volume_page) as shown:
        yield shown


# --- first look


def test_nothing_of_the_raters_is_there_before_the_first_look(flat):
    assert flat.state["letters"] == []
    expect(flat.page.locator("#question")).to_have_text("Is there a lesion at the cross?")
    assert "outline" not in flat.words.casefold()
    flat.press("u", "m", "a", "Enter", "p")
    assert flat.state["step"] == "look", "keys of outlines do nothing yet"


@pytest.mark.parametrize(
    ("key", "answer", "chosen"),
    [("l", "lesion", None), ("n", "no_lesion", "none"), ("x", "not_evaluable", "not_evaluable")],
)
def test_the_first_look_is_one_key(key, answer, chosen, flat):
    flat.look(key)
    assert flat.state["choice"] == chosen
    (call,) = flat.decisions["calls"]
    assert call["path"].endswith("/look")
    assert call["body"]["answer"] == answer
    assert call["body"]["seconds"] >= 0


def test_a_decision_takes_three_keys(flat):
    state = flat.look()
    letter = state["letters"][0]
    flat.press(letter, "Enter")
    after = flat.at("look")
    assert after["statuses"][0] == "done"
    assert after["id"] != state["id"]
    look, decision = flat.decisions["calls"]
    assert look["path"].endswith("/look")
    assert decision["path"] == f"/api/items/{state['id']}/decide"
    assert decision["body"]["choice"] == f"letter:{letter}"


def test_no_lesion_at_first_look_is_confirmed_by_one_key(flat):
    flat.look("n")
    flat.press("Enter")
    flat.at("look")
    assert flat.decisions["calls"][1]["body"]["choice"] == "none"


# --- outlines


@pytest.mark.parametrize(
    ("key", "choice"),
    [("u", "union"), ("i", "intersection"), ("m", "majority"), ("n", "none"), ("x", "not_evaluable")],
)
def test_keys_choose(key, choice, flat):
    flat.look()
    assert flat.press(key)["choice"] in (choice, None)
    button = flat.page.locator(f'[data-name="{choice}"]')
    if flat.state["choice"] is None:
        expect(flat.page.locator(".message")).to_contain_text("tie")
    else:
        expect(button).to_have_attribute("aria-pressed", "true")
    flat.press("Escape")
    assert flat.state["choice"] is None


def test_enter_without_a_choice_saves_nothing(flat):
    flat.look()
    flat.press("Enter")
    expect(flat.page.locator(".message")).to_have_text("Choose an outline first, or draw one.")
    # no answer moves under the pointer when something is said
    said = flat.page.get_by_role("button", name="Union").bounding_box()
    flat.press("u")
    expect(flat.page.locator(".message")).to_have_count(0)
    assert flat.page.get_by_role("button", name="Union").bounding_box() == said
    assert flat.state["statuses"][0] == "open"


def test_a_choice_by_mouse_is_saved_by_enter(flat):
    flat.look()
    flat.page.locator('[data-name="union"]').click()
    assert flat.state["choice"] == "union"
    flat.press("Enter")
    flat.at("look")
    assert flat.decisions["calls"][1]["body"]["choice"] == "union"


def test_a_choice_by_tab_is_saved_by_enter(flat):
    flat.look()
    flat.page.locator('[data-name="union"]').focus()
    flat.press("Enter")
    assert flat.state["choice"] == "union", "first it is chosen"
    flat.press("Enter")
    flat.at("look")


def test_outlines_differ_by_colour_and_by_dash(flat):
    flat.look()
    lines = flat.page.locator(".line-sample line").all()
    assert len(lines) > 1
    for name in ("stroke", "stroke-dasharray"):
        assert len({line.get_attribute(name) for line in lines}) == len(lines)


PAINTED = """(colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const canvas = document.querySelector(".main-pane canvas");
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (Math.abs(data[at] - red) + Math.abs(data[at + 1] - green) + Math.abs(data[at + 2] - blue) < 12) count++;
  }
  return count;
}"""
"""Pixels of the picture that have the colour of an outline."""


def test_outlines_that_coincide_lie_beside_each_other(flat):
    """Two raters drew the same disc, which the third one missed: neither outline hides the other."""
    state = flat.look()
    while len(state["letters"]) < 3 or flat.page.locator(".letters li").count() != 2:
        flat.press("u", "Enter")
        state = flat.look()
    colours = flat.page.locator(".letters line").evaluate_all(
        "lines => lines.map((each) => each.getAttribute('stroke'))"
    )
    both = [flat.page.evaluate(PAINTED, colour) for colour in colours]
    flat.press("2")
    flat.page.wait_for_timeout(100)
    first = flat.page.evaluate(PAINTED, colours[0])
    flat.press("1", "2")
    flat.page.wait_for_timeout(100)
    second = flat.page.evaluate(PAINTED, colours[1])
    assert min(both) > 100
    assert both[0] > 0.95 * first
    assert both[1] > 0.95 * second


def test_outlines_are_switched_off_and_space_shows_the_bare_image(flat):
    letters = flat.look()["letters"]
    picture = flat.page.locator(".main-pane canvas")
    with_all = picture.screenshot()
    assert flat.press("1")["hidden"] == letters[:1]
    assert flat.press("1")["hidden"] == []
    flat.page.keyboard.down("Space")
    assert flat.state["bare"]
    assert picture.screenshot() != with_all
    flat.page.keyboard.up("Space")
    assert not flat.state["bare"]


def test_reason_and_comment_go_with_the_decision(flat):
    flat.look()
    flat.press("r", "/")
    flat.page.keyboard.type("near the hilum <b>")
    flat.press("Escape", "u", "Enter")
    flat.at("look")
    body = flat.decisions["calls"][1]["body"]
    assert body["reason"] == "clear on the image"
    assert body["comment"] == "near the hilum <b>"


def test_who_decided_is_asked_once(flat):
    assert flat.decisions["adjudicator"] == NAME
    flat.page.reload()
    flat.at("look")
    assert flat.decisions["adjudicator"] == NAME


def test_a_comment_survives_a_reload(flat):
    flat.look()
    flat.press("u", "/")
    flat.page.keyboard.type("see the prior")
    flat.press("Escape")
    assert flat.decisions["calls"]
    flat.page.reload()
    assert flat.at("outlines")["choice"] == "union"
    expect(flat.page.get_by_label("Comment")).to_have_value("see the prior")


def test_skipped_disputes_come_back_at_the_end(flat):
    flat.at("look")
    flat.press("s")
    state = flat.wait(
        lambda state: state["statuses"][0] == "skipped" and state["step"] == "look" and state["number"] == 2
    )
    expect(flat.page.locator(".saved")).to_contain_text("Skipped: dispute 1")
    for _ in range(len(state["statuses"]) - 1):
        flat.decide("u")
    assert flat.at("look")["number"] == 1
    flat.press("s")
    flat.at("end")
    expect(flat.page.locator("#question")).to_contain_text("1 dispute was skipped")
    flat.page.get_by_role("button", name="Go back to it").click()
    flat.decide("n")
    flat.at("end")
    expect(flat.page.locator("#question")).to_contain_text("All done")


def test_a_second_adjudicator_is_asked_for(flat):
    flat.look()
    flat.press("q")
    flat.wait(lambda state: state["statuses"][0] == "second")
    expect(flat.page.locator(".saved")).to_contain_text("Left to a second adjudicator: dispute 1")
    assert flat.at("look")["number"] == 2


# --- drawing


def test_a_brush_draws_and_strokes_are_undone(flat):
    flat.look()
    flat.press("p", "0")
    expect(flat.page.locator("#question")).to_have_text("Draw the outline")
    first = flat.drag((20, 20), (40, 20))["drawn"]
    assert first > 0
    second = flat.drag((20, 40), (40, 40))["drawn"]
    assert second > first
    assert flat.press("z")["drawn"] == first
    assert flat.press("y")["drawn"] == second
    flat.press("e")
    assert flat.drag((20, 40), (40, 40))["drawn"] < second
    flat.press("z", "z")
    flat.press("Enter")
    flat.at("look")
    body = flat.decisions["calls"][1]["body"]
    ((value, runs),) = body["runs"]
    assert (body["choice"], value, sum(runs[1::2])) == ("drawn", 1, first)


def test_a_polygon_is_closed_by_enter_and_holds_what_it_encloses(flat):
    flat.look()
    flat.press("p", "g", "0")
    for place in ((10, 10), (30, 10), (30, 30), (10, 30)):
        flat.drag(place)
    assert flat.state["polygon"] == 4
    assert flat.press("Enter")["drawn"] == 400
    assert flat.press("z")["drawn"] == 0


def test_drawing_starts_from_the_chosen_outline(flat):
    letter = flat.look()["letters"][0]
    flat.press(letter, "p")
    assert flat.state["drawn"] > 0
    flat.press("Escape")
    assert flat.state["step"] == "outlines"


def test_what_was_drawn_is_not_dropped_by_one_key(flat):
    flat.look()
    flat.press("p", "0")
    drawn = flat.drag((20, 20), (40, 20))["drawn"]
    flat.press("Escape")
    expect(flat.page.get_by_role("dialog")).to_contain_text("would be lost")
    flat.press("Enter")
    assert (flat.state["step"], flat.state["drawn"]) == ("draw", drawn)
    flat.press("Escape")
    flat.page.get_by_role("button", name="Drop the drawing").click()
    flat.wait(lambda state: state["step"] == "outlines" and state["drawn"] is None)


def test_everything_can_be_drawn_by_keyboard(flat):
    flat.look()
    flat.press("p", ".", "Shift+ArrowRight", "Shift+ArrowRight", ".")
    once = flat.state["drawn"]
    assert once > 0
    assert flat.press("]", "]", ".")["drawn"] > once


def test_another_lesion_is_added(flat):
    state = flat.look()
    flat.press("Shift+P")
    flat.drag((48, 8), (52, 8))
    flat.press("Enter")
    after = flat.at("outlines")
    assert after["id"] == state["id"], "the dispute is still to be settled"
    call = flat.decisions["calls"][-1]
    assert call["path"] == "/api/add"
    assert call["body"]["item"] == state["id"]


def test_strokes_survive_a_reload(browser, flat_page):
    context = browser.new_context()
    first = Desk(context.new_page())
    first.page.goto(flat_page)
    first.page.keyboard.press("Enter")
    first.look()
    first.press("p", "0")
    drawn = first.drag((20, 20), (40, 20))["drawn"]
    first.page.close()
    again = Desk(context.new_page())
    again.page.goto(flat_page)
    assert again.wait(lambda state: state["step"] == "draw")["drawn"] == drawn
    expect(again.page.locator(".message")).to_have_text("What you had drawn is still here.")
    again.press("Escape")
    expect(again.page.get_by_role("dialog")).to_contain_text("would be lost")
    again.press("Enter")
    assert again.state["drawn"] == drawn, "nor do they go by one key"
    context.close()


# --- undo, and finding one's way


def test_the_last_decision_is_undone(flat):
    first = flat.decide("u")
    flat.press("z", "Enter")
    state = flat.wait(lambda state: state["step"] == "outlines")
    assert state["statuses"][0] == "open"
    assert state["id"] != first["id"]
    *_, decision, undo = flat.decisions["calls"]
    assert undo["path"] == "/api/undo"
    assert undo["body"]["of"] == decision["body"]["uuid"]
    assert undo["body"]["reason"] == "Wrong key"
    flat.press("n", "Enter")
    assert flat.at("look")["statuses"][0] == "done"


def test_what_was_drawn_and_written_is_there_again_after_undo(flat):
    flat.look()
    flat.press("p", "0")
    drawn = flat.drag((20, 20), (40, 20))["drawn"]
    flat.page.get_by_label("Comment").fill("see the prior")
    flat.press("Escape", "Enter")
    flat.at("look")
    flat.press("z", "Enter")
    assert flat.at("draw")["drawn"] == drawn
    expect(flat.page.get_by_label("Comment")).to_have_value("see the prior")


def test_a_decision_is_looked_at_again(flat):
    flat.decide("u")
    flat.press("ArrowLeft")
    assert flat.at("done")["choice"] == "union"
    assert flat.press("n")["choice"] == "union", "it cannot be changed without undoing it"
    flat.press("Enter")
    assert flat.at("look")["number"] == 2


def test_the_list_leads_to_any_dispute(flat):
    flat.at("look")
    flat.press("o")
    flat.page.get_by_role("button", name="Dispute 3: open").click()
    assert flat.wait(lambda state: state["step"] == "look" and state["number"] == 3)


def test_progress_is_said(flat):
    left = flat.at("look")["progress"]["left"]
    flat.decide("u")
    expect(flat.page.locator(".saved")).to_contain_text("Saved: dispute 1")
    expect(flat.page.locator(".progress-words")).to_contain_text(f"{left - 1} disputes left")


def test_pauses_of_more_than_a_minute_are_left_out_of_the_time(browser, flat_page):
    context = browser.new_context()
    shown = Desk(context.new_page())
    shown.page.clock.install()
    shown.page.goto(flat_page)
    shown.press("Enter")
    shown.look()
    shown.page.clock.fast_forward(20_000)
    shown.press("w")
    shown.page.clock.fast_forward(90_000)
    shown.press("u")
    shown.page.clock.fast_forward(30_000)
    shown.press("Enter")
    shown.at("look")
    seconds = shown.decisions["calls"][1]["body"]["seconds"]
    context.close()
    assert 50 <= seconds < 60


def test_finishing_locks(flat):
    flat.decide("u")
    flat.page.locator("summary").click()
    flat.page.get_by_role("button", name="Finish and lock …").click()
    flat.page.get_by_label("Name").fill("Dr. Ada")
    flat.page.get_by_role("button", name="Finish and lock", exact=True).click()
    expect(flat.page.locator("#question")).to_have_text("Finished and locked")
    assert flat.decisions["calls"][-1]["body"]["name"] == "Dr. Ada"
    flat.press("z")
    expect(flat.page.get_by_role("dialog")).to_have_count(0)
    expect(flat.page.locator(".message")).to_have_text("The decisions are finished and locked.")


def test_the_next_dispute_is_there_at_once(flat):
    flat.page.wait_for_timeout(300)
    after = [flat.decide("u")["shownAfter"] for _ in range(4)]
    assert np.median(after) < 150, after


# --- seeing


def test_zoom_pan_and_ruler(flat):
    zoom = flat.at("look")["camera"]["zoom"]
    assert flat.press("+")["camera"]["zoom"] > zoom
    before = flat.state["camera"]["centre"]
    assert flat.drag((40, 40), (50, 50))["camera"]["centre"] != before
    flat.press("0", "t")
    assert flat.drag((10, 10), (30, 10))["ruler"]
    assert not flat.press("Escape")["ruler"]


def test_outlines_are_looked_at_closely_and_the_zoom_that_is_chosen_stays(flat):
    first = flat.at("look")["camera"]["zoom"]
    close = flat.look()["camera"]["zoom"]
    assert close > first
    whole = flat.press("0")["camera"]["zoom"]
    assert whole < close
    assert flat.press("0")["camera"]["zoom"] == close, "once more goes back"
    chosen = flat.press("-")["camera"]["zoom"] / close
    flat.press("u", "Enter")
    assert flat.at("look")["camera"]["zoom"] == first, "the lesion's size does not tell at the next first look"
    again = flat.look()["camera"]["zoom"]
    by_itself = flat.press("0", "0")["camera"]["zoom"]
    assert again == pytest.approx(chosen * by_itself), "as much closer, whatever the size of the lesion"
    assert flat.press("0")["camera"]["zoom"] < by_itself
    flat.press("u", "Enter")
    flat.at("look")
    assert flat.look()["camera"]["zoom"] == flat.press("0", "0")["camera"]["zoom"], "the whole image was of one dispute"


def test_the_window_stays_from_dispute_to_dispute(flat):
    flat.at("look")
    flat.press("w")
    assert flat.state["window"]["name"] == "percentile"
    flat.decide("u")
    assert flat.state["window"]["name"] == "percentile"
    flat.drag((40, 40), (48, 44), button="right")
    window = flat.state["window"]
    assert window["name"] is None
    flat.decide("u")
    assert flat.state["window"] == window


def test_slices_and_planes_of_a_volume(volume):
    state = volume.at("look")
    assert state["layout"] == "planes"
    assert volume.page.locator(".pane").count() == 3
    before = state["point"]
    volume.press("ArrowUp")
    changed = [one != other for one, other in zip(before, volume.state["point"], strict=True)]
    assert sum(changed) == 1
    assert volume.press("v")["layout"] == "single"
    volume.press("w")
    assert volume.state["window"]["name"] == "lung"


def test_outlines_are_shown_where_they_are_after_slices_were_turned(volume):
    lesion = volume.at("look")["point"]
    volume.press(*["ArrowUp"] * 20)
    away = volume.state["point"]
    assert away != lesion
    assert volume.look()["point"] == lesion


def test_a_majority_that_marks_nothing_is_called_so(browser, lone_page):
    with desk(browser, lone_page) as shown:
        shown.at("outlines")
        majority = shown.page.locator('[data-name="majority"]')
        expect(majority).to_contain_text("Majority: nothing")
        expect(shown.page.locator('[data-name="union"]')).not_to_contain_text("nothing")
        shown.press("m", "Enter")
        shown.at("end")
        decision = shown.decisions["calls"][-1]["body"]
        assert decision["choice"] == "majority"


def test_series_stand_side_by_side_and_scroll_together(volume):
    volume.at("look")
    assert volume.press("v", "v")["layout"] == "series"
    names = volume.page.locator(".pane-name")
    assert names.all_inner_texts() == ["image", "prior"]
    prior = volume.page.locator(".pane").nth(1)
    before = prior.screenshot()
    volume.press("ArrowDown", "ArrowDown", "ArrowDown")
    assert prior.screenshot() != before


def test_level_and_width_change_by_keys(volume):
    before = volume.at("look")["window"]
    wider = volume.press("Shift+End")["window"]
    assert wider["high"] - wider["low"] > before["high"] - before["low"]
    brighter = volume.press("Shift+PageUp")["window"]
    assert brighter["low"] < wider["low"]


def test_a_tile_is_asked_about_as_a_frame(browser, tile_page):
    with desk(browser, tile_page) as shown:
        expect(shown.page.locator("#question")).to_have_text("Is there anything to mark in the frame?")
        shown.look()
        expect(shown.page.locator('[data-name="none"]')).to_contain_text("Nothing to mark")
        assert "Another lesion" not in shown.words


def test_two_tabs_lose_nothing_of_each_other(browser, flat_page):
    context = browser.new_context()
    tabs = []
    for _ in range(2):
        tab = Desk(context.new_page())
        tab.page.goto(flat_page)
        tab.page.keyboard.press("Enter")
        tab.at("look")
        tabs.append(tab)
    for tab, key in zip(tabs, "un", strict=True):
        tab.page.bring_to_front()
        tab.decide(key)
    # a browser tells one tab a moment later what another has kept
    tabs[0].page.wait_for_function("Object.keys(localStorage).filter(key => key.includes(' call ')).length == 4")
    choices = [call["body"].get("choice") for call in tabs[0].decisions["calls"]]
    assert choices == [None, "union", None, "none"]
    context.close()


def test_a_volume_is_drawn_slice_by_slice(volume):
    volume.look()
    volume.press("p", "0")
    one = volume.drag((28, 22), (34, 22))["drawn"]
    volume.press("ArrowUp")
    assert volume.drag((28, 22), (34, 22))["drawn"] > one


# --- for everybody


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        return float(
            np.dot(
                [0.2126, 0.7152, 0.0722], [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            )
        )

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_have_names_size_and_contrast(scheme, browser, flat_page):
    with desk(browser, flat_page, color_scheme=scheme) as shown:
        shown.look()
        controls = shown.page.locator(
            "button:visible, select:visible, textarea:visible, summary:visible, input:visible"
        )
        for control in controls.all():
            box = control.bounding_box()
            assert min(box["width"], box["height"]) >= 24, control.evaluate("node => node.outerHTML")
            name = control.evaluate(
                "node => (node.ariaLabel ?? '') + node.textContent + [...node.labels ?? []].map(l => l.textContent)"
            )
            assert name.strip(), control.evaluate("node => node.outerHTML")
        for selector in ("#question", ".progress-words", ".field label", ".quiet span", ".panel kbd", ".letter-words"):
            ink, paper = shown.page.locator(selector).first.evaluate(
                """node => {
                    const ink = getComputedStyle(node).color;
                    while (getComputedStyle(node).backgroundColor === 'rgba(0, 0, 0, 0)') node = node.parentElement;
                    return [ink, getComputedStyle(node).backgroundColor];
                }"""
            )
            assert contrast(ink, paper) >= 4.5, (selector, ink, paper)


def test_the_focus_is_seen_and_returns(flat):
    flat.look()
    flat.press("?")
    expect(flat.page.get_by_role("dialog")).to_contain_text("union, intersection, majority")
    flat.press("Escape")
    button = flat.page.locator('[data-name="union"]')
    button.focus()
    flat.press("Tab", "Shift+Tab")
    assert button.evaluate("node => node.matches(':focus-visible') && getComputedStyle(node).outlineWidth") == "3px"


def test_what_is_asked_is_announced(flat):
    news = flat.page.locator("#news")
    expect(news).to_have_attribute("aria-live", "polite")
    expect(news).to_contain_text("Is there a lesion at the cross?")
    flat.look()
    expect(news).to_contain_text("Which outline is right?")


@pytest.mark.parametrize(("width", "height"), [(820, 1180), (1180, 820), (390, 844)])
def test_nothing_is_cut_off_on_small_screens(width, height, browser, flat_page):
    with desk(browser, flat_page, viewport={"width": width, "height": height}, has_touch=True) as shown:
        shown.look()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        save = shown.page.locator('[data-name="save"]')
        save.scroll_into_view_if_needed()
        box = save.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
