"""Options, and how long to hold: what the page says is what was measured, and a short form of the measurement."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn as sj
from site_builder import DOCS, loaded
from sojourn.models import from_options, primitive

epochs = loaded("epochs")
PAGE = (DOCS / "gallery" / "options.md").read_text(encoding="utf-8")


def test_the_page_says_what_was_measured() -> None:
    """Inside options, all runs come to 90 % by 32,000 steps, from outside one of five ever does; free lengths pay on two of three."""
    found = epochs.read()
    inner, outer = (np.array(found["inside"][agent]) for agent in ("intra_option", "differential_q"))
    assert (inner[:, 2] >= 0.9).all()
    assert (outer >= 0.9).any(axis=1).sum() == 1
    assert outer[:, 0].mean() > 0.5 > inner[:, 1].mean()
    paid = {task: epochs.worth(found[task])[3] > 0.0 for task in ("light", "cart", "pendulum")}
    assert paid == {"light": True, "cart": True, "pendulum": False}
    assert len(epochs.holding_table().splitlines()) == 5
    assert len(epochs.inside_table().splitlines()) == 2 + len(epochs.AT)


def test_a_run_is_what_the_data_says() -> None:
    """The first 4,000 steps of the first run give its share of the best gain again."""
    rooms, doors = (
        sj.problems.four_rooms(goal=epochs.GOAL, with_options=False),
        sj.problems.hallways(epochs.GOAL),
    )
    chosen = [primitive(rooms, move) for move in range(4)] + doors
    whole = from_options(rooms, chosen)
    env = sj.envs.Options(sj.envs.WorldEnv(sj.worlds.Tabular(rooms)), chosen)
    learner = sj.Learner(env, "differential_q", seed=0, step_size=0.1, rate_step_size=0.001, exploration=0.1)
    learner.train(duration=4_000)
    policy = np.where(whole.pair_table() >= 0, learner.q, -np.inf).argmax(axis=1)
    share = float(np.min(sj.evaluate(whole, policy).gain)) / sj.solve(whole).gain
    assert share == pytest.approx(epochs.read()["inside"]["differential_q"][0][0], rel=1e-9)


def test_holding_is_worth_what_the_models_say() -> None:
    """The best gains of the traffic light that the page prints are those of the data."""
    for lengths, gain in epochs.read()["light"]["best"].items():
        assert f"[{lengths}] {gain:.3f} a second" in PAGE
