"""What is watched in a training: a table, evaluations, TensorBoard and checkpoints."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from networks_worlds import Wear
from small_envs import Maze, sentence
from sojourn.learner.history import History
from sojourn.runs.recording import Totals

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about

SMALL: dict[str, Any] = {"hidden": (4,), "compiled": False}


def test_the_table_has_what_was_earned_between_its_rows() -> None:
    """There is a row every 1,000 steps with the totals and the rate; what was earned is between two rows."""
    learner, seen = sj.Learner(Maze(), sj.smart, seed=1), []
    learner.train(3000, callbacks=lambda one: seen.append((one.totals, one.rate)))
    table = learner.history
    assert table["steps"].to_list() == [1000, 2000, 3000]
    assert table["rate"].to_list() == [rate for _, rate in seen]
    first, second, _ = (totals for totals, _ in seen)
    assert table["earned"][0] == first.reward / first.duration
    between = (second.reward - first.reward) / (second.duration - first.duration)
    assert table["earned"][1] == pytest.approx(between, rel=1e-12)
    assert table["evaluated"].null_count() == table["error"].null_count() == 3


def test_evaluations_are_the_same_however_training_is_interrupted(tmp_path: Path) -> None:
    """Saved, loaded and trained further, a learner has the same history; an evaluation changes nothing else."""
    whole, parts, bare = (sj.Learner(Maze, sj.smart, seed=2) for _ in range(3))
    whole.train(3000, evaluate_every=700)
    parts.train(1250, evaluate_every=700)
    parts.save(tmp_path / "learner")
    parts = sj.Learner.load(tmp_path / "learner", Maze)
    parts.train(1750, evaluate_every=700)
    bare.train(3000)
    assert whole.history.equals(parts.history)
    assert np.array_equal(whole.q, bare.q)
    found = whole.history.drop_nulls("evaluated")
    assert found["steps"].to_list() == [700, 1400, 2100, 2800]
    assert found["best_evaluated"].to_list() == list(itertools.accumulate(found["evaluated"], max))
    # The policy that earned most is one of those that the best is chosen from.
    leader = found["steps"][int(np.argmax(found["evaluated"]))]
    assert leader in whole.find_best(duration=50.0).considered["steps"].to_list()


def test_an_evaluation_that_was_interrupted_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in an evaluation ends the training at once, and the evaluation comes when it continues."""
    learner, whole = (sj.Learner(Maze, sj.smart, seed=2) for _ in range(2))

    def pressed(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sj.Learner, "evaluate", pressed)
        learner.train(1000, evaluate_every=1000)
    assert learner.history["evaluated"].to_list() == [None]
    learner.train(1000, evaluate_every=1000)
    whole.train(2000, evaluate_every=1000)
    assert learner.history.equals(whole.history)


def test_a_long_training_has_at_most_about_a_thousand_rows() -> None:
    """When there are too many rows, every other one is dropped, but no evaluation."""

    class Fake:
        rate, largest_value, error, totals = 1.0, 2.0, math.nan, Totals()

    history = History()
    for steps in range(1000, 2_500_001, 1000):
        Fake.totals = Totals(steps=steps, duration=float(steps), reward=0.0)
        history.note(Fake(), 0.5 if steps == 77_000 else math.nan)  # type: ignore[arg-type]
    kept = [row.steps for row in history.rows]
    assert 77_000 in kept
    assert len(kept) <= 1001
    assert set(np.diff([step for step in kept if step != 77_000])) == {4000}
    again = History.restored(history.saved(), 0)
    assert str(again) == str(history)


@pytest.mark.parametrize("name", ["deep_q", "ppo"])
def test_the_error_of_a_network(name: str) -> None:
    """The error is the root mean square of what the values were beside their aims when they last moved."""
    options: dict[str, Any] = (
        {"warm_up": 20, "batch": 4} if name == "deep_q" else {"rollout": 16, "batch": 8, "epochs": 2}
    )
    learner = sj.Learner(Wear(), name, seed=0, **SMALL, **options)
    assert math.isnan(learner.agent.error)
    learner.train(15)
    assert math.isnan(learner.agent.error)
    learner.train(985)
    state = learner.agent.state()
    if name == "ppo":
        errors = state["rollout.aims"][:16] - state["rollout.values"][:16]
    else:
        last = state["network.slopes"].reshape(-1)[-2 * 4 :].reshape(4, 2)  # of 4 steps by 2 actions
        errors = 4.0 * last.sum(axis=1)
    assert learner.agent.error == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    assert learner.history["error"].to_list() == [learner.agent.error]


def test_tensorboard_gets_evaluations_and_errors(tmp_path: Path) -> None:
    """An event file has each evaluation, the best so far, and the errors of a network, at their steps."""
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorBoard's own
        callback = sj.learner.tensorboard(str(tmp_path))
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    learner = sj.Learner(Wear, "ppo", rollout=64, **SMALL)
    learner.train(2000, evaluate_every=500, callbacks=callback)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in events.Tensors("evaluated")] == [500, 1000, 1500, 2000]
    for tag, column in (("evaluated",) * 2, ("best evaluated", "best_evaluated"), ("error", "error")):
        found = [event.tensor_proto.float_val[0] for event in events.Tensors(tag)]
        assert found == pytest.approx(learner.history[column].to_list(), rel=1e-6)


def test_checkpoints_continue_a_training(tmp_path: Path) -> None:
    """A learner is saved about every so many steps, into one file or many, and continues as if it had not been."""
    learner = sj.Learner(Maze(), sj.smart, seed=3)
    many = sj.learner.checkpoints(str(tmp_path / "{steps}.sojourn"), every=1500)
    one = sj.learner.checkpoints(str(tmp_path / "last.sojourn"), every=1000)
    learner.train(4500, callbacks=[many, one])
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["2000.sojourn", "3000.sojourn", "4500.sojourn", "last.sojourn"]
    again = sj.Learner.load(tmp_path / "2000.sojourn", Maze())
    again.train(2500)
    assert np.array_equal(again.q, learner.q)
    assert sj.Learner.load(tmp_path / "last.sojourn", Maze()).totals.steps == 4000
    assert "every is 0" in sentence(lambda: sj.learner.checkpoints("x", every=0), ValueError)


def test_a_damaged_history_is_refused() -> None:
    """A history of another shape, or with impossible numbers, is refused in one sentence."""
    assert "shape" in sentence(
        lambda: History.restored({"due": 1, "distance": 1, "rows": np.zeros((2, 3))}, 0), ValueError
    )
    assert "due" in sentence(
        lambda: History.restored({"due": -1, "distance": 1, "rows": np.zeros((2, 7))}, 0), ValueError
    )
