"""Policies that keep limits, in files, in environments and along a frontier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import sojourn as sj
from sojourn.exact import SolvedPolicy, at_least, at_most, frontier
from sojourn.learner.policy import LearnedPolicy


def line() -> sj.SMDP:
    """A line with room for three calls, which may turn calls away; a call inside costs, a lost one more."""
    rows: list[Any] = []
    for n in range(4):
        for turned, name in ((0, "accept"), (1, "reject")):
            lost = int(turned or n == 3)
            after = n if lost else n + 1
            up, down = 2.0, 3.0 if n else 0.0
            total = up + down
            rows.append((f"{n} calls", name, f"{after} calls", up / total, 4.0 * (1 - lost) - n / total, 1.0 / total,
                         {"calls": up / total, "lost": lost * up / total}))  # fmt: skip
            if n:
                rows.append((f"{n} calls", name, f"{n - 1} calls", down / total, -n / total, 1.0 / total,
                             {"calls": up / total, "lost": lost * up / total}))  # fmt: skip
    return sj.models.from_transitions(rows)


def test_a_frontier_is_concave_with_the_prices_as_slopes() -> None:
    """The gain rises with the bound and bends down; each price times the calls per unit time is the slope beside it."""
    model = line()
    grid = np.linspace(0.15, 0.45, 13)
    found = frontier(model, at_least("lost", 0.0, per="calls"), grid)
    gains, slopes = np.array(found.gains), np.diff(found.gains) / np.diff(grid)
    assert (slopes <= 1e-9).all()
    assert (np.diff(slopes) <= 1e-6).all()
    assert slopes.min() < -0.1
    for solution, bound in zip(found.solutions, grid.tolist(), strict=True):
        assert solution is not None
        assert sj.evaluate(model, solution.policy).per("lost", "calls") >= bound - 1e-9
    step, at = 1e-5, 0.37
    near = frontier(model, at_least("lost", 0.0, per="calls"), [at - step, at, at + step])
    assert near.solutions[1] is not None
    calls = sj.evaluate(model, near.solutions[1].policy).per("calls")
    slope = (near.gains[2] - near.gains[0]) / (2.0 * step)
    assert slope == pytest.approx(-near.prices[1] * calls, rel=1e-3)
    assert found.table().height == 13
    assert found.table()["gain"].to_list() == gains.tolist()


def test_bounds_that_nobody_keeps_are_nan_and_named() -> None:
    """A frontier goes on over bounds that cannot be kept; the chart leaves them out."""
    found = frontier(line(), at_most("lost", 0.0, per="calls"), [0.0, 0.5])
    assert found.solutions[0] is None
    assert np.isnan(found.gains[0])
    assert np.isnan(found.prices[0])
    assert "the least that can be had is" in found.findings[0]
    ax = Figure().subplots()
    sj.plot.frontier(found, ax)
    assert np.asarray(ax.get_lines()[-1].get_xdata()).tolist() == [0.5]
    with pytest.raises(ValueError, match="no policy keeps any of the bounds"):
        sj.plot.frontier(frontier(line(), at_most("lost", 0.0, per="calls"), [0.0]), ax)


def limited() -> sj.exact.Solution:
    return sj.solve(line(), limits=[at_least("lost", 0.37, per="calls")])


def test_a_policy_that_draws_goes_through_files(tmp_path: Path) -> None:
    """Written as JSON and loaded, it has the same probabilities, draws with them, and repeats itself with its seed."""
    found = limited()
    names: list[Any] = list(found.model.labels)
    drawn = [name for name in names if len(found.policy[name]) > 1]
    assert len(drawn) == 1
    found.write_policy(tmp_path / "policy.json")
    policy = sj.load_policy(tmp_path / "policy.json", seed=3)
    assert isinstance(policy, SolvedPolicy)
    for state, name in enumerate(names):
        assert policy.chances(name) == policy.chances(state) == found.policy[name]
    acts = [policy.act(drawn[0]) for _ in range(20_000)]
    chance = found.policy[drawn[0]]["reject"]
    assert np.mean(acts) == pytest.approx(chance, abs=4.0 * (chance * (1.0 - chance) / 20_000) ** 0.5)
    again = sj.load_policy(tmp_path / "policy.json", seed=3)
    assert [again.act(drawn[0]) for _ in range(50)] == acts[:50]
    assert {policy.act(drawn[0], action_mask=[0, 1]) for _ in range(9)} == {1}
    found.write_policy(tmp_path / "policy.csv")
    assert (
        (tmp_path / "policy.csv").read_text().startswith("state,state_name,action,action_name,probability\n")
    )
    policy.write(tmp_path / "same.json")
    assert (tmp_path / "same.json").read_text() == (tmp_path / "policy.json").read_text()


def test_a_sure_policy_goes_through_files_too(tmp_path: Path) -> None:
    """Without limits there is one action in each state; labels that are tuples are found by their texts."""
    model = sj.models.from_dict(
        {(0, 1): {"go": {"reward": 2, "duration": 1, "next": (1, 1)}}, (1, 1): {"go": {"reward": 3, "duration": 1, "next": (0, 1)}}}
    )  # fmt: skip
    sj.solve(model).write_policy(tmp_path / "policy.json")
    policy = sj.load_policy(tmp_path / "policy.json")
    assert policy.act((1, 1)) == policy.act(np.array([1, 1])) == policy.act(1) == 0
    assert not policy.known((2, 2))
    with pytest.raises(ValueError, match=r"has no state \(2, 2\)"):
        policy.act((2, 2))
    with pytest.raises(ValueError, match="an action for each step and state"):
        sj.solve(model, steps=3).write_policy(tmp_path / "policy.json")


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"taken": [[0]]},
        {"taken": [[9]] * 4},
        {"chances": [[0.5]] * 4},
        {"chances": [[-1.0]] * 4},
        {"states": 3},
    ],
)
def test_a_file_that_was_edited_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """Parts that do not fit together are one sentence with the file's name."""
    limited().write_policy(tmp_path / "policy.json")
    data = json.loads((tmp_path / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps({**data, **change}))
    with pytest.raises(ValueError, match=r"policy\.json is not a policy that sojourn wrote"):
        sj.load_policy(tmp_path / "policy.json")


def test_what_is_no_policy_gets_a_sentence(tmp_path: Path) -> None:
    """A function, a name, and the table that is written for people; and a file's name in place of axes."""
    found = limited()
    for wrong in (str, "reject"):
        with pytest.raises(TypeError, match="give a dictionary from states to actions"):
            sj.evaluate(found.model, wrong)  # type: ignore[arg-type]
    found.write_policy(tmp_path / "policy.csv")
    with pytest.raises(
        ValueError, match=r"policy.csv is a table for people; write the policy as a .json file"
    ):
        sj.load_policy(tmp_path / "policy.csv")
    with pytest.raises(TypeError, match=r"ax is 'map.png'; give matplotlib axes, or write the figure"):
        found.plot("map.png")


def test_a_learner_evaluates_a_policy_that_draws(tmp_path: Path) -> None:
    """Followed in the model as an environment, it earns its gain; the verdict takes it as a baseline."""
    found = limited()
    found.write_policy(tmp_path / "policy.json")
    env = sj.envs.WorldEnv(sj.worlds.Tabular(found.model))
    learner = sj.Learner(env, seed=0)
    learner.train(200)
    seen = learner.evaluate(duration=6_000.0, policy=sj.load_policy(tmp_path / "policy.json"))
    assert seen.low is not None
    assert seen.high is not None
    assert seen.rate == pytest.approx(found.gain, abs=2.0 * (seen.high - seen.low))
    assert isinstance(learner._learned(), LearnedPolicy)


def test_repr_shows_what_is_drawn() -> None:
    """A solution with limits shows names where one action is taken, and probabilities where it draws."""
    assert "reject" in repr(limited())
    assert "0." in repr(limited())
