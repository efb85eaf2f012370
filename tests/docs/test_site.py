"""What the site builder adds to the pages."""

from __future__ import annotations

import doctest
import json
import re
import tomllib
from pathlib import Path

import pytest

from site_builder import DOCS, loaded
from sojourn.answers.comparison.plan import Settings, compared
from sojourn.models.problems import PROBLEMS

DATA = json.loads((DOCS / "data" / "comparison.json").read_text())


@pytest.mark.parametrize(
    "name", ["hooks", "house", "measured", "pictures", "published", "rendering", "summarise"]
)
def test_the_examples_of_the_builder_run(name: str) -> None:
    """The doctests of the site builder pass."""
    assert doctest.testmod(loaded(name)).failed == 0


COMPARED = set(compared(Settings()))


def test_the_tables_have_all_agents_on_all_problems() -> None:
    """The comparison's tables have all agents on all problems."""
    assert {found["name"] for found in DATA["problems"]} <= set(PROBLEMS)
    for found in DATA["problems"]:
        assert {row["agent"] for row in found["agents"]} == COMPARED
    hooks = loaded("hooks")
    for made in (hooks.gains_table(), hooks.followed_table(), hooks.earnings_table()):
        rows = made.splitlines()
        assert len(rows) == 2 + len(COMPARED)
        assert {row.count("|") for row in rows} == {4 + len(DATA["problems"])}
    assert len(hooks.options_table().splitlines()) == 2 + len(COMPARED) - 1  # the planner has none
    assert {row.count("|") for row in hooks.options_table().splitlines()} == {2 + len(DATA["problems"])}
    assert {row.count("|") for row in hooks.planner_table().splitlines()} == {6}


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        ("policy", ("relative_gain", "relative_low", "relative_high")),
        ("followed", ("followed", "followed_low", "followed_high")),
    ],
)
def test_intervals_decide_which_agents_are_behind(measure: str, names: tuple[str, str, str]) -> None:
    """An agent is behind if its interval ends below the best one's; then it is not bold."""
    hooks = loaded("hooks")
    mean, low, high = names
    for cells in hooks.ranked(DATA["problems"], measure):
        for cell, found in zip(cells, DATA["problems"], strict=True):
            best = max(row[mean] for row in found["agents"])
            lows = [row[low] for row in found["agents"] if row[mean] == best]
            own = next(row for row in found["agents"] if row["agent"] == cell.agent)
            assert cell.behind == (own[high] < lows[0])
    made = hooks.table(DATA["problems"], measure)
    counts = [int(row.split("|")[-2]) for row in made.splitlines()[2:]]
    assert counts == sorted(counts)
    assert made.count("**") == 2 * (len(COMPARED) * len(DATA["problems"]) - sum(counts))


def test_the_advice_is_what_the_table_says() -> None:
    """The counts in the page's text match the data, for every agent and in order."""
    text = (DOCS / "choosing.md").read_text()
    told = [(agent, int(count)) for agent, count in re.findall(r"`(\w+)`\s+on\s+(\d+)", text)]
    rows = loaded("hooks").ranked(DATA["problems"])
    assert told == [(cells[0].agent, sum(cell.behind for cell in cells)) for cells in rows]
    settings = DATA["settings"]
    assert f"{settings['steps']:,} steps" in text
    assert f"--seeds {settings['seeds']} --tuning-seeds {settings['tuning_seeds']}" in text


def test_what_the_page_says_of_harmonic_rates_is_so() -> None:
    """The page says that the harmonic rate keeps the optimum exactly where the audit does."""
    kept = {
        found["name"]: row["keeps_optimum"]
        for found in DATA["problems"]
        for row in found["estimators"]
        if row["estimator"] == "Harmonic"
    }
    assert {name for name, keeps in kept.items() if not keeps} == {"long-shot", "long-return"}


def test_summarising_a_summary_changes_nothing() -> None:
    """Summarising the committed data again changes nothing but the curves."""
    summarised = loaded("summarise").summarised
    whole = {
        **DATA,
        "problems": [
            {**found, "audit": {**found, "estimators": found["estimators"]}, "curves": [1, 2, 3]}
            for found in DATA["problems"]
        ],
    }
    assert summarised(whole) == DATA


def test_the_figures_of_the_comparison_can_be_read() -> None:
    """The figures have the size drawn from the committed data, and their smallest text is ten pixels on a page of 700."""
    for name, sheet in loaded("summarise").sheets().items():
        drawn = (DOCS / "figures" / f"{name}.svg").read_text()
        width = float(re.search(r'width="([\d.]+)pt"', drawn)[1])  # type: ignore[index]
        assert width == pytest.approx(72.0 * sheet.size[0])
        assert 8.0 * 700.0 / width > 10.0


def test_the_market_study_on_the_page_is_the_one_that_was_measured() -> None:
    """The page's mean win ratios match the recorded signs, segment by segment."""
    measured = tomllib.loads((Path(__file__).parents[1] / "paper" / "measured_bitcoin.toml").read_text())
    text = (DOCS / "reproduce.md").read_text()
    for words, agent in (
        ("SMART", "smart"),
        ("Relaxed-SMART", "relaxed_smart"),
        ("the rate fixed at 0", "fixed_rate"),
    ):
        shown = re.search(rf"^\| against {words} \| ([\d.]+) \| ([\d.]+) \|$", text, flags=re.MULTILINE)
        assert shown is not None
        for number, durations in zip(shown.groups(), ("random", "scaled"), strict=True):
            cells = [signs.count("+") / len(signs) for signs in measured[durations][agent].values()]
            assert float(number) == round(sum(cells) / len(cells), 2)
    ahead = [
        signs.count("+") > signs.count("-")
        for agent in ("smart", "relaxed_smart")
        for signs in measured["scaled"][agent].values()
    ]
    assert f"ahead in {sum(ahead)} of {len(ahead)} settings" in " ".join(text.split())


def test_every_decision_is_listed_with_what_was_decided() -> None:
    """The list of decisions has a line for each page, and each line ends in a sentence."""
    lines = loaded("hooks").decision_list().splitlines()
    assert len(lines) == len(list((DOCS / "decisions").glob("0*.md"))) > 4
    assert all(re.fullmatch(r"- \[[^]]+\]\(\d{4}-[a-z-]+\.md\): .{20,}\.", line) for line in lines)


def test_docstrings_become_lists_and_dialogues() -> None:
    """A block of names and meanings becomes a list, a doctest is fenced, and the rest is unchanged."""
    as_markdown = loaded("rendering").as_markdown
    plain = "A claim.\n\none    the first,\n       which goes on\ntwo    the second\n\n>>> 1 + 1\n2\n\nSource: a book."
    assert as_markdown(plain) == (
        "A claim.\n\n- `one`: the first, which goes on\n- `two`: the second\n\n```pycon\n>>> 1 + 1\n2\n```\n\n**Source:** a book."
    )


def test_every_count_of_the_evidence_stands_on_the_page_of_promises() -> None:
    """The page of promises shows every count of `make evidence` exactly once."""
    asked = re.findall("<!-- counted: (.+?) -->", (DOCS / "promises.md").read_text())
    assert len(asked) == len(set(asked))
    assert set(json.loads((DOCS / "data" / "evidence.json").read_text())) <= set(asked)
    hooks = loaded("hooks")
    made = hooks.on_page_markdown("| <!-- counted: nothing of the kind --> |")
    assert made == "| nothing of the kind: not counted yet |"
