"""The study of networks, and comparisons where observations cannot be enumerated: judging policies, resuming, and text."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from counting import Counted
from small_envs import sentence
from sojourn.answers.comparison import observed
from sojourn.answers.comparison.observed import OWN, Cell, Observations, ObservedRun, Variant, ahead, cells
from sojourn.answers.page import write_report
from sojourn.data.files import load_json
from sojourn.data.hints import read_record
from sojourn.report.words import number
from sojourn.worlds.continuous import update_or_wait
from sojourn_paper.observations import BARS, STEPS, Size, findings, headlines, interval, observations

USERS = """
import numpy as np
import sojourn as sj

class Never:
    def __init__(self, spaces: sj.agents.Spaces):
        self.rate = 0.0
    def greedy(self, observations, allowed):
        return np.zeros(len(observations), dtype=np.int64)
    def draw(self, observations, allowed):
        return self.greedy(observations, allowed), np.zeros(len(observations), dtype=bool)
    def learn(self, steps):
        pass
    def state(self):
        return {}
    def restored(self, memory):
        pass
"""
NAMED = """
from sojourn.answers.comparison import observed
print(observed._name(observed.Cell("wear", "users_observer:Never", observed.OWN, 0, 100)))
"""
SMALL = Size(seeds=2, rate_seeds=1, length=0.01)
CALLS: list[Cell] = []


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let policies be followed only briefly."""
    monkeypatch.setattr(observed, "FOLLOWED", 8000)


def made_up(cell: Cell) -> ObservedRun:
    """A made-up run, in which harmonic rates without centring cost a tenth and ignored durations a quarter."""
    CALLS.append(cell)
    best = observed.best_gain(cell.problem)
    lost = 0.25 if cell.variant.ignores_durations else 0.001 * (1 + cell.seed)
    if cell.variant == Variant("Harmonic", 0.0):
        lost = 0.1
    found = best - lost * abs(best)
    return ObservedRun(
        cell.problem, cell.agent, cell.variant.label, cell.seed, cell.steps, found, 1 - lost, found, 1.0
    )


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Observations]:
    """A study of made-up runs."""
    out = tmp_path_factory.mktemp("observations") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observed, "measured", made_up)
        patch.setattr(observed, "_RULE_STEPS", 300)
        observed.best_gain.cache_clear()
        found = observations(out, SMALL, jobs=1, formats=("png",))
    observed.best_gain.cache_clear()
    return out, found


@pytest.mark.usefixtures("briefly")
def test_the_best_policy_has_exactly_the_best_gain() -> None:
    """The best policy is judged at exactly the best gain, and a wait of 0 below it.

    Without any wait the mean age is 1 + E[y^2] / 2, y being lognormal with mean 1 and E[y^2] = e.
    """
    world = update_or_wait.UpdateOrWait()
    best = observed.judged("update-or-wait", lambda seen, _: sj.worlds.optimal(world, (float(seen[0]),)), 0)
    assert best == sj.gain(world)
    found = observed.judged("update-or-wait", lambda seen, _: np.zeros(1), 0)
    assert found == pytest.approx(-1.0 - math.e / 2.0, rel=0.02)


@pytest.mark.usefixtures("briefly")
def test_one_run_is_trained_and_judged() -> None:
    """A run of deep Q in `wear` has the requested number of steps, and a useful policy."""
    run = observed.measured(Cell("wear", "deep_q", OWN, 3, 4000))
    assert (run.steps, run.variant) == (4000, "Exponential, centred")
    assert 0.8 < run.relative_gain < 1.02
    assert run.gain == pytest.approx(observed.best_gain("wear") * run.relative_gain)


def test_who_is_told_no_durations_is_told_that_each_is_one() -> None:
    """An agent that ignores durations learns a rate per step."""
    cell = Cell("wear", "deep_q", Variant(ignores_durations=True), 0, 1000)
    learner = observed.begun(cell)
    learner.train(cell.steps)
    assert learner.totals.duration == 1000.0


def test_a_study_that_was_stopped_goes_on(studied: tuple[Path, Observations], monkeypatch: Any) -> None:
    """Runs with files are not repeated, a missing one is, and the record is the same."""
    out, found = studied
    monkeypatch.setattr(observed, "measured", made_up)
    monkeypatch.setattr(observed, "_RULE_STEPS", 300)
    observed.best_gain.cache_clear()
    file = next(out.joinpath("runs").glob("hold-ppo-*-1-rules-*.json"))
    file.unlink()
    CALLS.clear()
    again = observations(out, SMALL, jobs=1, formats=())
    observed.best_gain.cache_clear()
    assert [(cell.problem, cell.seed) for cell in CALLS] == [("hold", 1)]
    assert again == found
    assert read_record(Observations, load_json(out / "observations.json")) == found
    file.write_text("{}")
    assert "remove it" in sentence(lambda: observations(out, SMALL, jobs=1, formats=()), ValueError)


def test_what_is_said_follows_from_the_record(studied: tuple[Path, Observations]) -> None:
    """The findings follow from the record: means, the cost of ignoring durations, the effect of the harmonic rate, missed bars."""
    _, found = studied
    wear = found.on("wear")[0]
    assert wear.seeds == 2
    assert wear.relative_gain == pytest.approx(0.9985)
    assert wear.low == pytest.approx(0.998)
    assert wear.high == pytest.approx(0.999)
    told = findings(found)
    assert (
        told[0] == "The best agent reaches its bar on 7 of 8 problems; it falls short on fleet (0.9985 of 1)."
    )
    assert "offers by PPO 0.750 instead of 0.999" in told[1]
    assert "wear by deep Q 0.999 with, 0.900 without" in told[2]
    assert len([line for line in headlines(found) if "deep Q" in line[:32]]) == 6
    easy = dataclasses.replace(found.truths[-1], bar=0.99)
    enough = Observations(2, 1, 0.01, (*found.truths[:-1], easy), found.first, found.second, "")
    assert findings(enough)[0] == "The best agent reaches its bar on 8 of 8 problems."


def test_the_page_and_the_readme_show_the_study(studied: tuple[Path, Observations], tmp_path: Path) -> None:
    """The page and the README have every relative gain and every finding, and the figures exist."""
    out, found = studied
    page = html.unescape(write_report([out], tmp_path / "report.html").read_text(encoding="utf-8"))
    text = out.joinpath("README.md").read_text()
    for one in found.first:
        assert f'data-value="{one.relative_gain!r}"' in page
        assert f"| {number(one.relative_gain)} |" in text
    assert all(interval(one) in page and interval(one) in text for one in found.second)
    assert all(finding in page for finding in findings(found))
    assert {path.name for path in out.joinpath("figures").iterdir()} == {"gains.png", "rates.png"}
    assert len(json.loads(out.joinpath("observations.json").read_text())["second"]) == 28


def test_agents_are_compared_on_problems_that_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    """The intervals decide who is ahead; a longer list of agents reuses the runs; the page shows the comparison."""
    monkeypatch.setattr(observed, "measured", made_up)
    CALLS.clear()
    problems = ["wear", "offers_16"]
    compared = cells(problems, ["tile-q"], steps=500, seeds=2)
    observed.compare_observed(compared, tmp_path / "out", jobs=1, formats=())
    assert [(cell.problem, cell.agent, cell.seed, cell.steps) for cell in CALLS] == [
        (problem, "tile_q", seed, 500) for problem in ("wear", "offers-16") for seed in (0, 1)
    ]
    CALLS.clear()
    more = cells(problems, ["tile-q", "deep-q"], steps=500, seeds=2)
    found = observed.compare_observed(more, tmp_path / "out", jobs=1, formats=("png",))
    assert {cell.agent for cell in CALLS} == {"deep_q"}
    assert [one.problem for one in found.truths] == ["wear", "offers-16"]
    assert ahead(found) == [
        f"On {problem} tile Q is ahead with 0.9985 of the best gain; its interval overlaps with that of deep Q."
        for problem in ("wear", "offers-16")
    ]
    assert "Tile Q and deep Q on 2 problems" in (tmp_path / "out" / "README.md").read_text()
    page = html.unescape(
        write_report([tmp_path / "out"], tmp_path / "report.html").read_text(encoding="utf-8")
    )
    assert "Tile Q and deep Q on 2 problems" in page
    assert all(finding in page for finding in ahead(found))
    apart = dataclasses.replace(found.first[0], low=0.2, high=0.3, relative_gain=0.25)
    parted = dataclasses.replace(found, truths=found.truths[:1], first=(apart, found.first[1]))
    assert ahead(parted) == ["On wear deep Q is ahead with 0.9985 of the best gain, clear of all others."]


def test_those_that_fit_are_compared_if_none_is_named() -> None:
    """By default PPO alone takes continuous actions; elsewhere tiles, deep Q and PPO are compared."""
    agents = {
        problem: [cell.agent for cell in cells([problem], seeds=1)]
        for problem in ("wear", "c-mu", "update-or-wait")
    }
    assert agents == {
        "wear": ["tile_q", "deep_q", "ppo"],
        "c-mu": ["tile_q", "deep_q", "ppo"],
        "update-or-wait": ["ppo"],
    }


@pytest.mark.usefixtures("briefly")
def test_a_users_agent_is_compared_by_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    """A user's agent is trained and judged by name; after an edit it gets new runs."""
    module = tmp_path / "users_observer.py"
    module.write_text(USERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    cell = Cell("wear", "users_observer:Never", OWN, 0, 100)
    assert observed.measured(cell).relative_gain < 0.0  # never replacing the machine wears it out
    before = observed._name(cell)
    assert before.startswith("wear-users_observer-Never-")
    again = subprocess.run(
        [sys.executable, "-c", NAMED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert again.stdout.strip() == before
    module.write_text(USERS.replace("zeros", "ones"))
    edited = subprocess.run(
        [sys.executable, "-c", NAMED], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert edited.stdout.strip() not in ("", before)


@pytest.mark.evidence
@pytest.mark.parametrize("problem", BARS)
def test_networks_reach_the_best_gain(problem: str, counted: Counted) -> None:
    """Over five seeds that no setting was chosen on, the mean relative gain is at least the problem's bar.

    No run takes more than three minutes of processor time.
    """
    agent = next(agent for name, agent in STEPS if name == problem)
    runs = [
        observed.measured(Cell(problem, agent, OWN, seed, STEPS[problem, agent])) for seed in range(100, 105)
    ]
    mean = float(np.mean([run.relative_gain for run in runs]))
    counted("continuous problems solved by networks", tried=1, failed=int(mean < BARS[problem]))
    assert mean >= BARS[problem]
    assert max(run.seconds for run in runs) <= 180.0
