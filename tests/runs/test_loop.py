from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from agents.test_agents import CONSTRUCTORS
from rates.test_rates import ESTIMATORS
from sojourn.rules.values import same

WORLD = sj.worlds.TwoState(log_scale=1e-3)
TABULAR = sj.worlds.Tabular(sj.problems.gosavi())

# Estimators of every kind are compiled in one agent, and every use of an estimator with one estimator; `make evidence`
# compiles all agents with all estimators. `exact/test_audit_runs` runs what is compiled here, and `check_agent` each agent with its own.
USES = (sj.smart, sj.r_learning, sj.agents.differential_q)
# Over all steps, forgetting by steps and by time, of several fields, harmonic.
COMPILED = {"Cumulative", "Exponential", "TimeForgetting", "AdaptiveRatio", "WeightedHarmonic", "PowerMean"}
PAIRS = [
    pytest.param(
        make,
        rate,
        id=f"{make.__name__}-{type(rate).__name__}",
        marks=()
        if (make is sj.smart and type(rate).__name__ in COMPILED)
        or (make in USES and isinstance(rate, sj.Harmonic))
        else pytest.mark.evidence,
    )
    for make, rate in itertools.product(CONSTRUCTORS, ESTIMATORS)
    if make is not sj.agents.rvi_q  # its rate is one of its values
]


@pytest.mark.parametrize(("make", "rate"), PAIRS)
def test_interpreted_equals_compiled(make: Any, rate: Any) -> None:
    """Every agent with every estimator runs the same in Python and compiled, bit for bit."""
    agent = make(2, 2, rate=rate)
    fast = sj.run(TABULAR, agent, steps=150, episodes=2, seed=3)
    slow = sj.run(TABULAR, agent, steps=150, episodes=2, seed=3, compiled=False)
    assert same(fast, slow)


@pytest.mark.parametrize("greedy", ["action", "draw", "after", "every"])
def test_readings_and_decay_interpreted_equal_compiled(greedy: str) -> None:
    """The readings of greedy and decaying exploration run the same in Python and compiled."""
    agent = sj.harmonic_r(2, 2, greedy=greedy, exploration=sj.agents.Decay(0.5, 0.99, 0.05))
    fast = sj.run(WORLD, agent, steps=300, seed=3)
    assert same(fast, sj.run(WORLD, agent, steps=300, seed=3, compiled=False))


def test_the_agent_passed_in_is_not_modified() -> None:
    """A run trains a copy of the agent."""
    agent = sj.smart(2, 2)
    sj.run(WORLD, agent, steps=100)
    assert (agent.q == 0.0).all()


def test_totals_add_up() -> None:
    """SMART's rate is the greedy reward over the greedy duration; totals include exploring steps."""
    run = sj.run(WORLD, sj.smart(2, 2), steps=1000, episodes=3, seed=2)
    assert run.steps == 3000
    assert run.rate == pytest.approx(run.greedy_reward / run.greedy_duration, rel=1e-12)
    assert 0 < run.greedy_steps < run.steps
    assert run.greedy_duration < run.duration


def test_curve_ends_at_the_totals() -> None:
    """The last record is the whole run, and records are at the requested steps."""
    run = sj.run(WORLD, sj.harmonic_r(2, 2), steps=500, episodes=2, record=sj.runs.evenly_spaced(1000, 10))
    assert run.curve.step.tolist() == list(range(100, 1001, 100))
    assert run.curve.reward[-1] == run.reward
    assert run.curve.greedy_reward[-1] == run.greedy_reward
    assert run.curve.clock[-1] == run.duration
    assert run.curve.rate[-1] == run.rate
    assert (np.diff(run.curve.clock) > 0.0).all()


def test_records_do_not_change_the_run() -> None:
    """A run is the same however often it is recorded."""
    runs = [sj.run(WORLD, sj.smart(2, 2), steps=700, record=record) for record in (0, 7, 300)]
    assert same(runs[0].agent, runs[1].agent)
    assert same(runs[1].agent, runs[2].agent)


def test_a_prefix_of_a_run_is_a_shorter_run() -> None:
    """The record at step n equals the end of a run of n steps."""
    long = sj.run(WORLD, sj.harmonic_r(2, 2), steps=1000, record=np.array([137, 1000]))
    short = sj.run(WORLD, sj.harmonic_r(2, 2), steps=137, record=0)
    assert (long.curve.reward[0], long.curve.rate[0]) == (short.reward, short.rate)


def test_blocks_do_not_change_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cutting a run into blocks, to keep it interruptible, does not change it."""
    whole = sj.run(WORLD, sj.harmonic_r(2, 2), steps=1000, episodes=2, seed=5)
    monkeypatch.setattr("sojourn.runs.loop._BLOCK", 77)
    assert same(sj.run(WORLD, sj.harmonic_r(2, 2), steps=1000, episodes=2, seed=5), whole)


def test_every_agent_meets_the_same_noise() -> None:
    """With one seed, two agents that take the same action at a step get the same duration."""
    always_a = sj.agents.fixed_rate(2, 2, exploration=0.0, rate=0.0)
    seeds = [sj.run(WORLD, always_a, steps=1, seed=seed).duration for seed in (0, 1)]
    other = sj.run(WORLD, sj.r_learning(2, 2, exploration=0.0), steps=1, seed=0).duration
    assert seeds[0] == other != seeds[1]


def test_memory_does_not_grow_with_steps() -> None:
    """Ten million steps need no more memory than ten thousand."""
    agent = sj.smart(2, 2)
    sj.run(WORLD, agent, steps=1000)
    peaks = []
    for episodes in (10, 10_000):
        tracemalloc.start()
        sj.run(WORLD, agent, steps=1000, episodes=episodes)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0] + 10_000


def test_the_loop_releases_the_interpreter() -> None:
    """Other threads make progress during a run."""
    sj.run(WORLD, sj.smart(2, 2), steps=10)
    worker = threading.Thread(target=sj.run, args=(WORLD, sj.smart(2, 2), 1000, 5000))
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
    assert turns > 1000


INTERRUPTED = """
import os, signal, threading, sojourn as sj
sj.run(sj.worlds.TwoState(0.0), sj.smart(2, 2), 10)
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    sj.run(sj.worlds.TwoState(0.0), sj.smart(2, 2), 1_000_000_000)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_long_run_can_be_interrupted() -> None:
    """Ctrl-C in the middle of a run raises KeyboardInterrupt within a moment, and nothing worse."""
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True, timeout=120
    )
    assert out.stdout == "interrupted\n"


def test_a_table_of_whole_numbers_learns_like_one_of_floats() -> None:
    """A warm start from an integer table learns floats."""
    agent = sj.smart(2, 2)
    whole = sj.run(WORLD, agent._replace(values=sj.agents.Table(np.zeros((2, 2), dtype=int))), steps=100)
    assert same(whole.agent, sj.run(WORLD, agent, steps=100).agent)


def test_divergence_is_announced() -> None:
    """R-Learning with a large step size diverges on long durations, with a warning."""
    agent = sj.r_learning(2, 2, step_size=0.1, rate_step_size=0.1)
    with pytest.warns(RuntimeWarning, match="RLearning with Incremental diverged"):  # beta tau is far above 2
        run = sj.run(sj.worlds.TwoState(log_scale=0.05), agent, steps=1000)
    assert run.diverged


def test_record_points() -> None:
    """Log-spaced and evenly spaced points ascend from at least 1 to the end without repeating."""
    for make, total, count in itertools.product(
        (sj.runs.log_spaced, sj.runs.evenly_spaced), (1, 7, 1000, 10**9), (1, 5, 200)
    ):
        points = make(total, count)
        assert (np.diff(points) > 0).all()
        assert 1 <= len(points) <= count
        assert points[-1] == total or count == 1
        assert points[0] >= 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=0), ValueError, "steps is 0"),
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=10, episodes=-1), ValueError, "episodes is -1"),
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=1.5), TypeError, "steps is 1.5"),  # type: ignore[arg-type]
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=10, seed=-1), ValueError, "seed is -1"),
        (lambda: sj.run(WORLD, sj.smart(3, 2), steps=10), ValueError, "has 2 states and 2 actions"),
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=10**20), ValueError, "less than 2"),
        (lambda: sj.run("world", sj.smart(2, 2), steps=10), TypeError, "str is not a world"),  # type: ignore[arg-type]
        (lambda: sj.run(sj.Cumulative(), sj.smart(2, 2), steps=10), TypeError, "Cumulative is not a world"),  # type: ignore[arg-type]
        (lambda: sj.run(WORLD, sj.Cumulative(), steps=10), TypeError, "Cumulative is not an agent"),  # type: ignore[arg-type]
        (lambda: sj.run(WORLD, sj.smart(2, 2)._replace(rate=3.0), steps=10), TypeError, "not an estimator"),  # type: ignore[arg-type]
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=10, record=[5, 3]), ValueError, "must ascend"),  # type: ignore[arg-type]
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=10, record=[11]), ValueError, "10 steps"),  # type: ignore[arg-type]
        (lambda: sj.run(WORLD, sj.smart(2, 2), steps=10, record=[0.5]), TypeError, "step counts"),  # type: ignore[arg-type]
    ],
)
def test_wrong_input_gets_one_sentence(call: Any, error: Any, message: str) -> None:
    """What cannot be run is refused before anything is."""
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_value_that_falls_to_minus_infinity_has_diverged() -> None:
    """An initial value of -inf marks a missing action; a value that becomes -inf has diverged."""
    agent = sj.agents.fixed_rate(
        2, 2, rate=1e308, step_size=1.0, exploration=0.5
    )  # times any duration above 2 too much
    world = sj.worlds.TwoState(log_scale=1e-3)
    with pytest.warns(RuntimeWarning, match="AverageReward with Fixed diverged"):
        run = sj.run(world, agent, 20, seed=0)
    assert (run.agent.q == -np.inf).any()
    with pytest.warns(RuntimeWarning, match="1 of 1 runs diverged"):
        sj.run_many(world, [agent], 1, 20)
    missing = sj.smart(2, 2)
    missing.q[:, 1] = -np.inf
    run = sj.run(world, missing, 200, seed=0)
    assert (run.agent.q[:, 1] == -np.inf).all()
    assert not run.diverged
