"""The report in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsing
import report_samples as samples
from sojourn.answers.page import write_report

pytestmark = browsing.NEEDED
SUCCESS = "figure:has(figcaption:has-text('Runs that end with action B'))"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory, small_studies: Path) -> Path:
    """A page with every kind of section, and names that look like markup."""
    root = tmp_path_factory.mktemp("browser")
    folder = root / "all"
    samples.solution(folder / "solution")
    samples.audit(folder / "audit")
    samples.comparison(folder / "comparison")
    samples.sweep(folder / "sweep", name=samples.NASTY, label=samples.NASTY)
    samples.verdict(folder / "verdict")
    return write_report([small_studies, folder], root / "report.html", title=samples.NASTY, claims=True)


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Any]:
    """The page at desktop width; any error in it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page, wrong = watched(context, page_file)
    yield page
    context.close()
    assert wrong == []


def watched(context: Any, file: Path) -> tuple[Any, list[str]]:
    """Open the page, and collect everything it should not do: errors, warnings, dialogs, requests."""
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: wrong.append(request.url) if request.url != file.as_uri() else None)
    # The empty icon is inline.
    page.goto(file.as_uri())
    wrong[:] = [one for one in wrong if one != "data:,"]
    return page, wrong


def ticks(figure: Any) -> list[str]:
    found: list[str] = figure.locator(".xtick").all_text_contents()
    return found


def drag(page: Any, figure: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over a part of a chart, given as fractions of its width and height."""
    plot = figure.locator("svg.plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    at = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in (start, end)]
    page.mouse.move(*at[0])
    page.mouse.down()
    page.mouse.move(*at[1], steps=5)
    page.mouse.up()


def test_every_chart_is_drawn(opened: Any) -> None:
    """Each figure has marks for its data, and its text lies within the drawing."""
    figures = opened.locator("figure.chart")
    assert figures.count() > 25
    for figure in figures.all():
        marks = figure.locator("svg.plot .series > *, svg.plot .cell").count()
        assert marks > 0, figure.locator("figcaption").text_content()
    outside = opened.evaluate(
        """() => [...document.querySelectorAll("svg.plot")].flatMap((plot) => {
            const frame = plot.getBoundingClientRect();
            return [...plot.querySelectorAll("text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
            }).map((text) => text.textContent);
        })"""
    )
    assert outside == []


def test_every_part_opens_with_a_sentence_and_its_picture(opened: Any) -> None:
    """Below its title each part has one sentence, then a chart; headings, tables and details follow."""
    script = """parts => parts.map(part => [
        part.querySelector('.lead').textContent.split('. ').length,
        part.querySelector('h2').nextElementSibling.className,
        [...part.children].findIndex(child => child.matches('figure, .charts')),
        [...part.children].findIndex(child => child.matches('.lead')),
    ])"""
    found = opened.locator("section").evaluate_all(script)
    assert len(found) == 8
    for sentences, first, picture, lead in found:
        assert (sentences, first, picture) == (1, "lead", lead + 1)


def test_labels_of_an_axis_do_not_overlap(opened: Any) -> None:
    """No two labels of a horizontal axis touch, at desktop or phone width."""
    count = """() => [...document.querySelectorAll("svg.plot")].map((plot) => {
        const boxes = [...plot.querySelectorAll(".xtick")].map((text) => text.getBoundingClientRect());
        boxes.sort((a, b) => a.left - b.left);
        return boxes.filter((box, i) => i && box.left < boxes[i - 1].right).length;
    }).reduce((a, b) => a + b, 0)"""
    assert opened.evaluate(count) == 0
    opened.set_viewport_size(browsing.PHONE)
    opened.wait_for_function("document.querySelector('svg.plot').viewBox.baseVal.width < 390")
    assert opened.evaluate(count) == 0


def test_pointing_at_a_chart_tells_its_numbers(opened: Any) -> None:
    """The tooltip has a row for each series, with the value of the nearest point, and disappears with the pointer."""
    figure = opened.locator(SUCCESS)
    plot, tip = figure.locator("svg.plot"), figure.locator(".tip")
    assert not tip.is_visible()
    box = plot.bounding_box()
    plot.hover(position={"x": box["width"] - 15, "y": box["height"] / 2})
    assert tip.is_visible()
    assert tip.locator(".at").text_content() == "v: 1e-5"
    names = figure.locator(".legend button span").all_text_contents()
    assert tip.locator(".row span").all_text_contents() == names
    shown = tip.locator(".row b").all_text_contents()[names.index("Harmonic R-Learning")]
    series = opened.evaluate(
        "(figure) => JSON.parse(figure.querySelector('script').textContent).series.find((s) => s.name === 'Harmonic R-Learning').y[0]",
        figure.element_handle(),
    )
    assert float(shown.split()[0]) == pytest.approx(series, rel=1e-3)
    opened.mouse.move(5, 5)
    assert not tip.is_visible()
    plot.focus()
    opened.keyboard.press("ArrowLeft")
    assert tip.locator(".at").text_content() == "v: 1e-5"  # the axis is reversed: from the right end
    opened.keyboard.press("Escape")
    assert not tip.is_visible()


def test_a_drag_zooms_and_reset_shows_all(opened: Any) -> None:
    """A drag zooms in; the button or a double click resets; keys can zoom too."""
    figure = opened.locator(SUCCESS)
    reset = figure.get_by_role("button", name="Show all")
    whole = ticks(figure)
    assert reset.is_disabled()
    drag(opened, figure, (0.4, 0.5), (0.55, 0.51))
    near = ticks(figure)
    assert near != whole
    assert reset.is_enabled()
    reset.click()
    assert ticks(figure) == whole
    drag(opened, figure, (0.4, 0.2), (0.55, 0.7))
    assert ticks(figure) == near
    figure.locator("svg.plot").dblclick(position={"x": 300, "y": 100})
    assert ticks(figure) == whole
    figure.get_by_role("button", name="Zoom in").press("Enter")
    assert ticks(figure) != whole
    figure.get_by_role("button", name="Zoom out").press("Enter")
    assert ticks(figure) == whole


def test_a_name_in_the_legend_hides_its_series(opened: Any) -> None:
    """A legend entry is a toggle button that hides and shows its series."""
    figure = opened.locator(SUCCESS)
    series = figure.locator("svg.plot .series[data-name='SMART']")
    button = figure.locator(".legend").get_by_role("button", name="SMART", exact=True)
    assert (series.count(), button.get_attribute("aria-pressed")) == (1, "true")
    button.click()
    assert (series.count(), button.get_attribute("aria-pressed")) == (0, "false")
    button.press("Enter")
    assert (series.count(), button.get_attribute("aria-pressed")) == (1, "true")


def test_a_choice_redraws_all_that_are_linked(opened: Any) -> None:
    """Choosing another log-scale in one map updates all of them."""
    maps = opened.locator("figure:has(svg.plot .cell.fine)")
    assert maps.count() == 5
    colours = "(figure) => [...figure.querySelectorAll('.cell')].map((cell) => cell.getAttribute('fill'))"
    before = [opened.evaluate(colours, one.element_handle()) for one in maps.all()]
    last = maps.nth(0).locator("option").count() - 1
    maps.nth(0).locator("select").select_option(str(last))
    assert {one.locator("select").input_value() for one in maps.all()} == {str(last)}
    after = [opened.evaluate(colours, one.element_handle()) for one in maps.all()]
    assert sum(one != other for one, other in zip(before, after, strict=True)) > 1


def test_a_click_sorts_a_table(opened: Any) -> None:
    """Numbers are sorted numerically, text alphabetically, ascending and then descending; empty cells stay last."""
    holder = opened.locator(".table:has(.caption:text('The agents on long-shot'))").first
    column = holder.locator("tbody td:nth-child(21)")
    header = holder.get_by_role("button", name="regret")
    for direction, wanted in (("ascending", sorted), ("descending", lambda x: sorted(x, reverse=True))):
        header.click()
        values = [float(value.replace(",", "")) for value in column.all_text_contents()]
        assert values == wanted(values)
        assert len(set(values)) == 4
        assert holder.locator("th:nth-child(21)").get_attribute("aria-sort") == direction
    holder.get_by_role("button", name="steps to 99 %").click()
    holder.get_by_role("button", name="steps to 99 %").click()
    assert holder.locator("tbody td:nth-child(16)").all_text_contents()[0] == "120"
    holder.get_by_role("button", name="agent").click()
    names = holder.locator("tbody td:nth-child(1)").all_text_contents()
    assert names == sorted(names)


def test_a_long_table_can_be_searched(opened: Any) -> None:
    """Only rows with all the words remain, and their number is shown."""
    holder = opened.locator(".table:has(.caption:text('Means over the seeds of each cell'))")
    rows = holder.locator("tbody tr:visible")
    count = rows.count()
    holder.get_by_role("searchbox").fill("harmonic 0.001")
    assert 0 < rows.count() < count
    assert all("Harmonic" in text for text in rows.all_text_contents())
    assert holder.locator(".search .hint").text_content() == f"{rows.count()} of {count} rows"


def test_dark_and_light(browser: Any, page_file: Path) -> None:
    """The page follows the system's colour scheme, its button toggles it, and text is readable in both."""
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.body).color"

    def lightness(colour: str) -> float:
        return sum(map(int, colour[4:-1].split(", "))) / 765

    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page, wrong = watched(context, page_file)
        seen = []
        for _ in range(2):
            seen.append(lightness(page.evaluate(ground)) > 0.5)
            assert abs(lightness(page.evaluate(ground)) - lightness(page.evaluate(ink))) > 0.6
            page.locator("#theme").click()
        assert seen == [scheme == "light", scheme != "light"]
        context.close()
        assert wrong == []


def test_nothing_overflows_on_a_phone(browser: Any, page_file: Path) -> None:
    """At 390 points the page is no wider than the screen, and a tap shows a chart's numbers."""
    context = browser.new_context(viewport=browsing.PHONE, has_touch=True, is_mobile=True)
    page, wrong = watched(context, page_file)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert page.evaluate("innerWidth") == 390
    figure = page.locator(SUCCESS)
    figure.locator("svg.plot").tap(position={"x": 200, "y": 120})
    tip = figure.locator(".tip")
    assert tip.is_visible()
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    context.close()
    assert wrong == []


def test_on_paper_there_are_no_buttons(opened: Any) -> None:
    """In print the page is light, long tables are complete, and interactive controls are gone."""
    opened.locator("#theme").click()  # dark on the screen
    opened.emulate_media(media="print")
    for gone in ("#theme", ".zoom button", ".search input", "nav"):
        assert opened.locator(gone).count() > 0
        assert not any(one.is_visible() for one in opened.locator(gone).all()), gone
    assert opened.locator(".legend button").first.is_visible()
    assert all(one.is_visible() for one in opened.locator("th button").all())  # the columns keep their names
    assert opened.evaluate(
        "[...document.querySelectorAll('.scroll')].every((e) => e.scrollHeight <= e.clientHeight + 1)"
    )
    ink = opened.evaluate("getComputedStyle(document.body).color")
    assert max(map(int, ink[4:-1].split(", "))) < 100
    opened.set_viewport_size(
        {"width": 718, "height": 1000}
    )  # A4; anything wider would make the browser shrink the page
    assert opened.evaluate("document.scrollingElement.scrollWidth") <= 718


def test_names_that_look_like_markup_do_nothing(opened: Any) -> None:
    """A title, a sweep's name and an agent's label are shown literally."""
    assert opened.title() == samples.NASTY
    assert opened.locator("h1").text_content() == samples.NASTY
    assert opened.locator("img").count() == 0
    assert opened.locator("script:not([type])").count() == 1
    figure = opened.locator("figure:has(figcaption:has-text('Earned by log scale'))")
    button = figure.locator(".legend").get_by_role("button", name=samples.NASTY)
    assert button.count() == 1
    figure.locator("svg.plot").hover(position={"x": 200, "y": 100})
    assert samples.NASTY in figure.locator(".tip .row span").all_text_contents()


def test_without_javascript_words_and_tables_are_there(browser: Any, page_file: Path) -> None:
    """With scripts disabled the page still has its text and tables, and says why there are no charts."""
    context = browser.new_context(java_script_enabled=False)
    page, wrong = watched(context, page_file)
    assert page.locator("tbody tr").count() > 50
    assert page.get_by_text("Charts need JavaScript.").first.is_visible()
    assert not page.locator("#theme").is_visible()
    context.close()
    assert wrong == []
