from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
import sojourn.envs
from small_envs import CART_BINS, TAXI, Gamble, Maze, Scripted, alike, sentence
from sojourn.learner.table_agent import Surplus
from sojourn.learner.watch import Seen, Watcher
from sojourn.runs.recording import Totals

NO_SURPLUS = Surplus(0, 0.0, 0.0, 0.0)


def warned(env: Any, agent: Any, steps: int, **options: Any) -> list[str]:
    """Train, and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sj.Learner(env, agent, **options).train(steps)
    assert all(each.category is RuntimeWarning for each in caught)
    assert all(each.filename == __file__ for each in caught)  # the warning points at the caller of train
    return [str(each.message) for each in caught]


# --- Callbacks ----------------------------------------------------------------------


def test_callbacks_are_called_every_thousand_steps_and_at_the_end() -> None:
    """All callbacks are called in order with the learner, every 1,000 steps and at the end."""
    seen: list[tuple[str, int]] = []
    learner = sj.Learner(Maze(), sj.smart)
    learner.train(
        2500,
        callbacks=[
            lambda learner: seen.append(("a", learner.totals.steps)),
            lambda learner: seen.append(("b", learner.totals.steps)),
        ],
    )
    assert seen == [(name, steps) for steps in (1000, 2000, 2500) for name in "ab"]
    seen.clear()
    learner.train(700, callbacks=lambda learner: seen.append(("c", learner.totals.steps)))
    assert seen == [("c", 3200)]


def test_callbacks_with_a_budget_of_time() -> None:
    """With a budget of time, too, callbacks are called every 1,000 steps and at the end."""
    seen: list[int] = []
    learner = sj.Learner(Maze(), sj.smart, duration=1)
    learner.train(duration=2500.0, callbacks=lambda learner: seen.append(learner.totals.steps))
    assert seen == [1000, 2000, 2500]


@pytest.mark.parametrize("answer", [True, np.True_, np.array(1.0) > 0.5])
def test_a_callback_that_returns_true_ends_training(answer: Any) -> None:
    """Any truth value ends training, including NumPy's; the other callbacks are still called."""
    calls: list[Any] = []
    learner = sj.Learner(Maze(), sj.smart)
    totals = learner.train(5000, callbacks=[lambda _: answer, calls.append])
    assert totals.steps == 1000
    assert calls == [learner]


@pytest.mark.parametrize("answer", [None, False, np.False_, 0, "", 0.0])
def test_other_return_values_do_not_end_training(answer: Any) -> None:
    """Other return values, such as None, do not end training."""
    assert sj.Learner(Maze(), sj.smart).train(2001, callbacks=lambda _: answer).steps == 2001


def test_exceptions_of_callbacks_pass_through() -> None:
    """After a callback raises, the learner can be used and continues as if uninterrupted."""
    learner, twin = (sj.Learner(Maze(cuts=0.1), sj.smart, seed=1) for _ in range(2))

    def fail(learner: sj.Learner) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        learner.train(5000, callbacks=fail)
    assert learner.totals.steps == 1000
    learner.train(500)
    twin.train(1500)
    assert alike(learner, twin)


def test_callbacks_change_nothing() -> None:
    """Callbacks, progress and evaluations in between do not change training."""
    learner, twin = (sj.Learner(Maze(cuts=0.1), sj.smart, seed=1) for _ in range(2))
    learner.train(2500, callbacks=lambda learner: learner.evaluate(duration=10.0), progress=True)
    twin.train(2500)
    assert alike(learner, twin)


# --- Progress -----------------------------------------------------------------------


def test_progress_is_shown_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal, progress is lines on stderr, the last one at the end; by default there is none."""
    learner = sj.Learner(Maze(), sj.smart)
    learner.train(2500, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.splitlines()[-1]
    assert last.startswith("training: 100 % of 2,500 steps")
    assert f"rate {learner.rate:.4g}" in last
    learner.train(duration=50.0, progress=True)
    assert "100 %" in capsys.readouterr().err
    learner.train(100)
    assert capsys.readouterr() == ("", "")


def test_progress_with_steps_without_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps without time count as progress as well: the last line says 100 %."""
    entries = [(1.0, {"duration": float(i % 2)}) for i in range(3000)]
    sj.Learner(Scripted(*entries), sj.smart).train(2000, progress=True)
    assert "100 %" in capsys.readouterr().err


# --- TensorBoard --------------------------------------------------------------------


def test_tensorboard_gets_what_can_be_watched(tmp_path: Path) -> None:
    """An event file with the rate, the earned rate and the largest value over the steps."""
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorBoard's own
        callback = sj.learner.tensorboard(str(tmp_path))
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    learner = sj.Learner(Maze(), sj.smart)
    rates: list[float] = []
    learner.train(2500, callbacks=[callback, lambda learner: rates.append(learner.rate)])
    assert [path.name.startswith("events") for path in tmp_path.iterdir()] == [True]
    events = EventAccumulator(str(tmp_path)).Reload()
    tags = events.Tags()["tensors"] + events.Tags()["scalars"]
    assert sorted(tags) == ["earned", "largest value", "rate"]
    found = events.Tensors("rate") if "rate" in events.Tags()["tensors"] else events.Scalars("rate")
    assert [event.step for event in found] == [1000, 2000, 2500]
    numbers = [
        event.tensor_proto.float_val[0] if hasattr(event, "tensor_proto") else event.value for event in found
    ]
    assert numbers == pytest.approx(rates, rel=1e-6)


def test_tensorboard_before_any_time_has_passed(tmp_path: Path) -> None:
    """A short training with nothing but steps without time is not an error."""
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        callback = sj.learner.tensorboard(str(tmp_path))
    env = Scripted(*[(1.0, {"duration": 0.0})] * 1000)
    sj.Learner(env, sj.smart).train(500, callbacks=callback)


def test_without_tensorboard_an_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without TensorBoard, one sentence says what to install."""
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    assert "pip install" in sentence(lambda: sj.learner.tensorboard(str(tmp_path)))


# --- Warnings: what they are for ----------------------------------------------------


def test_a_rate_that_is_too_low_is_warned_of_once() -> None:
    """The harmonic mean of 1 and 9 is 1.8, where 5 is earned: the values drift upwards, with one warning."""
    found = warned(Gamble(), sj.harmonic_r, 150_000, step_size=0.05, rate_step_size=0.01)
    assert len(found) == 1
    assert "drift" in found[0]
    assert "too low" in found[0]
    assert "too high" not in found[0]
    assert "\n" not in found[0]


def test_a_rate_that_is_too_high_is_warned_of() -> None:
    """A rate that stays above what can be earned makes all values sink, with a warning."""
    found = warned(Gamble(), sj.agents.fixed_rate, 50_000, step_size=0.05, rate=6.0)
    assert len(found) == 1
    assert "drift" in found[0]
    assert "too high" in found[0]


def test_a_warning_is_for_each_learner() -> None:
    """Warnings are given once per learner: a second training is silent, a new learner is not."""
    for _ in range(2):
        learner = sj.Learner(Gamble(noisy=False), sj.agents.fixed_rate, step_size=0.5)
        with pytest.warns(RuntimeWarning, match="drift"):
            learner.train(20_000)
        learner.train(50_000)  # a warning would be an error here


def test_actions_that_are_locked_in_are_warned_of() -> None:
    """Without exploration, drifting values leave the other action behind for ever, with a warning."""
    found = warned(Gamble(noisy=False), sj.agents.fixed_rate, 50_000, step_size=0.5, exploration=0.0)
    assert sum("locked in" in each for each in found) == 1
    assert sum("drift" in each for each in found) == 1
    assert len(found) == 2
    # With exploration the other action keeps up.
    found = warned(Gamble(noisy=False), sj.agents.fixed_rate, 50_000, step_size=0.5, exploration=0.5)
    assert not any("locked in" in each for each in found)


def test_numbers_that_are_no_longer_finite_are_warned_of_once() -> None:
    """Rewards that overflow cause one warning."""
    entries = [(1e308, {"duration": 1.0})] * 4000
    found = warned(Scripted(*entries), sj.smart, 3500, step_size=1.0)
    assert found == ["the values or the rate are no longer finite; smaller step sizes may help"]


# --- Warnings: false alarms ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_smart_does_not_drift_where_the_harmonic_mean_does(seed: int) -> None:
    """In the same gamble SMART's rate is right and its values only wander: no seed causes a warning."""
    assert warned(Gamble(), sj.smart, 100_000, step_size=0.05, seed=seed) == []


@pytest.mark.parametrize(
    ("make", "agent", "options"),
    [
        (lambda: Gamble(noisy=False), sj.smart, {"step_size": 0.1}),
        (lambda: Gamble(noisy=False), sj.harmonic_r, {"step_size": 0.1}),
        (lambda: Gamble(noisy=False), sj.smart, {"step_size": 0.5, "exploration": 0.0}),
        (Gamble, sj.relaxed_smart, {"step_size": 0.1}),
        (Gamble, sj.r_learning, {"step_size": 0.1}),
        (Gamble, sj.agents.differential_q, {"step_size": 0.1}),
        (Gamble, sj.agents.random_agent, {}),
        (Gamble, sj.agents.smdp_q_learning, {"step_size": 0.1}),
        (Gamble, sj.agents.smdp_q_learning, {"step_size": 0.1, "discount_rate": 1e-5}),
        (lambda: Maze(cuts=0.05), sj.smart, {"step_size": 0.2}),
        (lambda: Maze("state", ends=0.05), sj.smart, {"step_size": 0.2}),
        (Maze, sj.agents.differential_q, {"step_size": 0.2}),
        (lambda: gym.make("sojourn/TwoState-v0", max_episode_steps=1000), sj.smart, {"step_size": 0.1}),
        (lambda: gym.make("sojourn/TwoState-v0", max_episode_steps=1000), sj.r_learning, {"step_size": 0.1}),
        (lambda: gym.make("FrozenLake-v1"), sj.smart, {"step_size": 0.2, "duration": 1}),
        (lambda: gym.make("CartPole-v1"), sj.smart, {"step_size": 0.5, "duration": 1, "bins": CART_BINS}),
        (lambda: gym.make(TAXI), sj.smart, {"step_size": 0.5, "duration": 1}),
    ],
)  # fmt: skip
def test_training_that_goes_well_is_silent(make: Any, agent: Any, options: dict[str, Any]) -> None:
    """There is no warning where values converge, for many environments and agents."""
    assert warned(make(), agent, 60_000, seed=1, **options) == []


def looked(
    q: Callable[[int], Any], surplus: float, sound: bool = True, late: Surplus = NO_SURPLUS
) -> list[tuple[int, str]]:
    """Show the watcher values that depend on the steps, while greedy steps have this surplus over the rate."""
    said: list[tuple[int, str]] = []
    watcher = Watcher(2, sj.smart(1, 2, step_size=0.1))
    for steps in range(1000, 200_000, 1000):
        totals = Totals(steps, 2.0 * steps, float(steps), steps, 2.0 * steps, float(steps))
        spread = Surplus(steps, float(steps), surplus * steps, (1.0 + surplus**2) * steps)
        seen = Seen(totals, np.array([q(steps)]), 2.0 - surplus, spread, late, sound)
        said += [(steps, each) for each in watcher.look(seen)]
    return said


SILENT: dict[str, Callable[[int], Any]] = {
    "settled": lambda steps: [50.0 - 50.0 * np.exp(-steps / 3000), 1.0],
    "growing slowly": lambda steps: [float(np.log(steps)), 1.0],
    "random walk": lambda steps: [float(np.sqrt(steps)), 1.0],
    "swinging": lambda steps: [100.0 * float(np.sin(steps / 3000)), 1.0],
}


@pytest.mark.parametrize("surplus", [0.0, 0.5])
@pytest.mark.parametrize("kind", list(SILENT))
def test_values_that_do_not_drift(kind: str, surplus: float) -> None:
    """Values that converge, grow like a logarithm or a root, or oscillate, cause no warning of drift or lock-in."""
    assert looked(SILENT[kind], surplus) == []


def test_values_that_drift_with_a_rate_that_is_right() -> None:
    """Drifting values without evidence against the rate cause no warning."""
    assert looked(lambda steps: [0.2 * steps, 0.2 * steps - 1.0], 0.0) == []


@pytest.mark.parametrize("sign", [1, -1])
def test_values_that_drift(sign: int) -> None:
    """A steady drift with a wrong rate is detected after three doublings, and warned of once."""
    ((steps, said),) = looked(lambda steps: [sign * 0.2 * steps, sign * 0.2 * steps - 1.0], 0.5 * sign)
    assert steps == 8000
    assert f"{sign * 0.2:.3g} in each step" in said
    assert ("too low" if sign > 0 else "too high") in said


def test_a_gap_that_grows() -> None:
    """A growing gap causes one warning of lock-in."""
    ((steps, said),) = looked(lambda steps: [5.0, -0.2 * steps], 0.5)
    assert steps == 8000
    assert "locked in" in said


def test_numbers_that_are_not_finite() -> None:
    """Non-finite numbers cause one immediate warning."""
    ((steps, said),) = looked(lambda steps: [np.nan, 1.0], 0.0, sound=False)
    assert steps == 1000
    assert "no longer finite" in said
