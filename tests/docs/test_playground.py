"""The playground: its numbers are the library's, and it works with pointer and keyboard."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsing
import sojourn as sj

pytestmark = browsing.NEEDED
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAIRS = {"none": ((0, 0), (0, 1), (1, 0), (1, 1)), "with": ((0, 0), (1, 1)), "against": ((0, 1), (1, 0))}
Action = dict[str, Any]


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """The playground alone, with its strict security policy; any error in it fails the test."""
    page, wrong = browser.new_page(viewport=browsing.DESKTOP), []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((DOCS / "playground.html").as_uri())
    yield page
    assert wrong == []


def model(actions: list[Action]) -> sj.SMDP:
    """The two actions as a model, from the page's parameters."""
    rows = []
    for place, one in enumerate(actions):
        rewards = [one["reward"] - one["spread"], one["reward"] + one["spread"]]
        times = [one["time"] * (1 + sign * one["timeSpread"] / 100) for sign in (-1, 1)]
        chance = 1.0 / len(PAIRS[one["link"]])
        law = sj.laws.Outcomes([(chance, rewards[i], times[j]) for i, j in PAIRS[one["link"]]])
        rows.append((0, place, 0, 1.0, law))
    return sj.models.from_transitions(rows)


def random_action(rng: random.Random) -> Action:
    return {
        "reward": rng.randrange(33) / 2,
        "spread": rng.randrange(17) / 2,
        "time": rng.randrange(2, 25) / 4,
        "timeSpread": rng.randrange(0, 95, 5),
        "link": rng.choice(list(PAIRS)),
    }


def test_the_playgrounds_numbers_are_the_audits(page: Any) -> None:
    """Each estimate's limit, and the action that it leads to, match `audit`, in all scenes and for random parameters."""
    rng = random.Random(7)
    scenes = [scene["actions"] for scene in page.evaluate("Playground.SCENES").values()]
    settled = set()
    for actions in scenes + [[random_action(rng), random_action(rng)] for _ in range(30)]:
        gains = [one["reward"] / one["time"] for one in actions]
        if abs(gains[0] - gains[1]) < 1e-6:
            continue  # either counts as the best
        found, judged = (
            sj.audit(model(actions)),
            page.evaluate("actions => Playground.judge(actions)", actions),
        )
        assert set(judged) == {"Cumulative", "MeanOfRates", "Harmonic", "WeightedHarmonic", "Fixed"}
        for name, one in judged.items():
            limit = found[name]
            assert one["rate"] == pytest.approx(limit.rate, rel=1e-9, abs=1e-12), (name, actions)
            gain = None if one["settled"] is None else pytest.approx(gains[one["settled"]])
            assert limit.settled_gain == gain, (name, actions)
            settled.add((name, one["settled"] == one["first"], one["settled"] is None))
    assert {("Cumulative", True, False)} == {case for case in settled if case[0] == "Cumulative"}
    assert {case[1:] for case in settled} == {
        (True, False),
        (False, False),
        (False, True),
    }  # right, wrong, in circles


def test_each_scene_shows_what_it_says(page: Any) -> None:
    """Each scene's initial estimate is wrong as announced; in the last scene all estimates are right."""
    wrong = {}
    for name, scene in page.evaluate("Playground.SCENES").items():
        judged = page.evaluate("actions => Playground.judge(actions)", scene["actions"])
        wrong[name] = sorted(which for which, one in judged.items() if one["settled"] != one["first"])
        assert scene["shown"] in (wrong[name] or judged)
    assert wrong == {
        "Rewards vary": ["Fixed", "Harmonic"],
        "Times vary": ["MeanOfRates"],
        "Sometimes nothing": ["Harmonic", "MeanOfRates", "WeightedHarmonic"],
        "Paid by the hour": [],
    }


def test_a_finger_moves_the_nearer_point_and_not_the_page(browser: Any) -> None:
    """Two neighbouring points can both be dragged, and dragging down does not scroll."""
    context = browser.new_context(viewport=browsing.PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto((DOCS / "playground.html").as_uri())
    move = "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }"
    for name, value in (("A-reward", 10), ("A-time", 3), ("B-reward", 10), ("B-time", 3.5)):
        page.locator(f"#play-{name}").evaluate(move, value)
    box = page.locator(".handle.of-0").bounding_box()
    across, down = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = context.new_cdp_session(page)
    for kind, lower in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchEnd", None)):
        points = [] if lower is None else [{"x": across, "y": down + lower}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert float(page.locator("#play-A-reward").input_value()) < 4.0
    assert float(page.locator("#play-B-reward").input_value()) == 10.0
    assert page.evaluate("scrollY") == 0
    context.close()


def test_the_playground_works_with_keys_and_a_pointer(page: Any) -> None:
    """Arrow keys move a slider, and a dragged point moves its sliders; text and picture follow."""
    page.get_by_role("button", name="Rewards vary").click()
    sentence = page.locator(".sentence")
    assert "= 3.2; B:" in sentence.text_content().replace("\xa0", " ")  # 5 - 1.8 * 1 is left of A
    assert "= 4.8. So it ends with B" in sentence.text_content().replace("\xa0", " ")  # and 12 - 1.8 * 4 of B
    slider = page.get_by_label("± reward").first
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    assert "an hour costs 5." in sentence.text_content()  # no spread, no difference
    handle = page.locator(".handle.of-1")
    box = handle.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 40, middle[1] - 30, steps=4)
    page.mouse.up()
    assert float(page.locator("#play-B-time").input_value()) < 4.0
    assert float(page.locator("#play-B-reward").input_value()) > 12.0
    assert handle.bounding_box()["x"] < box["x"]
    page.get_by_text("Time does not count").click()
    assert "an hour costs nothing" in sentence.text_content()
