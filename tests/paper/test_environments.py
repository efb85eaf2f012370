"""The study of environments that nobody here wrote: its environments, its runs, what it says, and what is left out."""

from __future__ import annotations

import dataclasses
import html
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_envs import sentence
from sojourn.data.files import load_json
from sojourn.data.hints import read_record
from sojourn.report import blocks
from sojourn.report.html import page_of
from sojourn_paper import environments as study
from sojourn_paper.environments import Cell, EnvironmentRun, Environments

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about

CALLS: list[Cell] = []


def made_up(cell: Cell) -> EnvironmentRun:
    """A made-up run: the last policy earns less than the one that was kept, but for one run of tiles."""
    CALLS.append(cell)
    kept = -0.001 * (1 + cell.seed)
    last = kept + 0.1 if (cell.agent, cell.seed) == ("tile_q", 1) else 2.0 * kept
    sides = kept - 1e-4, kept + 1e-4, last, last - 1e-4, last + 1e-4
    return EnvironmentRun(*cell, kept, *sides, 500, "", -0.1, 1.0)


def test_how_environments_of_others_are_changed() -> None:
    """A fall costs 1 and all else nothing; a repeated action's reward and duration are those of its frames."""
    plain, repeated = study.made("cart-pole"), study.made("cart-pole-repeated")
    for env in (plain, repeated):
        env.reset(seed=3)
    lengths = np.random.default_rng([3, 2])
    for _ in range(3):
        frames = int(lengths.integers(2, 9))
        done = 0
        for _ in range(frames):
            done += 1
            seen, reward, terminated, _, _ = plain.step(1)
            assert reward == (-1.0 if terminated else 0.0)
            if terminated:
                break
        again = repeated.step(1)
        assert np.array_equal(again[0], seen)
        assert (again[1], again[2], again[4]["duration"]) == (reward, terminated, float(done))
        if terminated:
            break
    assert terminated


def test_a_run_measures_both_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a short run the last and the best policy are followed in the same episodes, for their frames."""
    monkeypatch.setattr(study, "FOLLOWED", 300.0)
    for agent in ("tile_q", "tile_q" + study.IGNORING):
        run = study.measured(Cell("cart-pole-repeated", agent, 1, 600))
        assert (run.place, run.agent, run.seed, run.steps) == ("cart-pole-repeated", agent, 1, 600)
        assert run.kept_steps == 600  # there is no other yet, so both are the same
        assert -1.0 < run.kept == run.last < 0.0


def test_the_study_is_resumed_and_says_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with files are not repeated; means, the worst seeds and the findings follow from the runs, in all texts."""
    monkeypatch.setattr(study, "measured", made_up)
    monkeypatch.setattr(study, "missing", lambda name: f"{name} is left out." if name == "ant" else "")
    names, out = ["cart-pole", "cart-pole-repeated", "ant"], tmp_path / "out"
    found = study.environments(out, names, seeds=2, length=0.01, jobs=1, formats=("png",))
    next(out.joinpath("runs").glob("cart-pole-ppo-1000-1-*.json")).unlink()
    CALLS.clear()
    assert study.environments(out, names, seeds=2, length=0.01, jobs=1, formats=()) == found
    assert [Cell("cart-pole", "ppo", 1, 1000)] == CALLS
    assert read_record(Environments, load_json(out / "summary.json")) == found
    first = found.results[0]
    assert (first.place, first.agent, first.seeds, first.steps) == ("cart-pole", "deep_q", 2, 1000)
    assert [first.kept, first.kept_worst] == pytest.approx([-0.0015, -0.002])
    assert [first.last, first.last_worst] == pytest.approx([-0.003, -0.004])
    told = study.findings(found)
    assert told[0].startswith(
        "In 16 of 18 runs the policy that was kept earns more than the last one beyond noise; "
    )
    assert told[0].endswith(
        "it earns less in tile q in cart-pole, seed 1, tile q in cart-pole-repeated, seed 1."
    )
    assert "cart-pole-repeated by ppo -0.0015 with, -0.0015 without" in told[2]
    assert told[3] == "ant is left out."
    fine = dataclasses.replace(found, runs=tuple(run for run in found.runs if not study.worse(run)))
    assert "and less in none." in study.findings(fine)[0]
    section = study.section(out, load_json(out / "summary.json"), blocks.Budget())
    page, text = html.unescape(page_of([section])), (out / "README.md").read_text()
    for each in told:
        assert each in page
        assert " ".join(each.split()) in " ".join(text.split())
    assert len(study.headlines(found)) == len(found.results) + 1 + len(told)
    assert [file.name for file in out.joinpath("figures").iterdir()] == ["environments.png"]
    next(out.joinpath("runs").iterdir()).write_text("{}")
    assert "remove it" in sentence(lambda: study.environments(out, names, 2, 0.01, 1, formats=()), ValueError)


def test_what_is_not_installed_is_left_out_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that cannot be made has no runs, and one sentence says why; an unknown one is refused."""

    def made(name: str) -> Any:
        raise ImportError("No module named 'mujoco'. Some more.")

    assert study.cells(["cart-pole"], 1, 0.5)[0] == Cell("cart-pole", "deep_q", 0, 50_000)
    assert "there is no environment 'cartpole'" in sentence(
        lambda: study.cells(["cartpole"], 1, 1.0), ValueError
    )
    monkeypatch.setattr(study, "made", made)
    assert study.cells(["ant"], 1, 1.0) == []
    assert study.missing("ant") == "ant is left out, as Ant-v5 cannot be made: No module named 'mujoco'."


def test_stable_baselines_is_beside_ours_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its algorithms get the same environment and steps, and their policy is judged in the same way."""

    class Model:
        def __init__(self, kind: str, env: Any, **options: Any) -> None:
            self.env, self.options, self.kind, self.steps = env, options, kind, 0

        def learn(self, total_timesteps: int) -> None:
            self.steps = total_timesteps

        def predict(self, seen: Any, deterministic: bool) -> tuple[Any, None]:
            assert self.steps == 40
            assert deterministic
            return int(seen[2] > 0.0), None

    monkeypatch.setattr(study, "FOLLOWED", 300.0)
    monkeypatch.setitem(sys.modules, "stable_baselines3", types.SimpleNamespace(PPO=Model))
    assert [agent for agent in study.agents_for("cart-pole") if "sb3" in agent] == ["sb3-ppo", "sb3-dqn"]
    run = study.measured(Cell("cart-pole", "sb3-ppo", 0, 40))
    assert -0.1 < run.last == run.kept < 0.0
    assert run.rate is None
