from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sojourn as sj
from sojourn.runs import batch, lanes

WORLD = sj.worlds.TwoState(log_scale=1e-3)


def test_a_batch_is_its_runs() -> None:
    """Each row of the table is the run of that agent with that seed."""
    agents = {"smart": sj.smart(2, 2), "harmonic": sj.harmonic_r(2, 2)}
    runs = sj.run_many(WORLD, agents, seeds=3, steps=200, episodes=2, record=5)
    assert len(runs) == 6
    for row, ((name, agent), seed) in enumerate(itertools.product(agents.items(), range(3))):
        run = sj.run(WORLD, agent, steps=200, episodes=2, seed=seed, record=5)
        assert (runs["agent"][row], runs["seed"][row]) == (name, seed)
        for figure in ("rate", "reward", "duration", "greedy_reward", "greedy_duration", "greedy_steps"):
            assert runs[figure][row] == getattr(run, figure)
        assert (runs.policy[row] == run.policy).all()
        assert (runs.curve.greedy_reward[row] == run.curve.greedy_reward).all()
    shown = runs._repr_html_()  # in a notebook
    assert (shown.count("<td>smart</td>"), "6 runs" in shown) == (3, True)


def test_the_number_of_jobs_does_not_matter() -> None:
    """The table does not depend on the number of threads."""
    agents = sj.grid(
        sj.harmonic_r, num_states=2, num_actions=2, step_size=[0.01, 0.1], rate_step_size=[0.1, 0.2]
    )
    tables = [sj.run_many(WORLD, agents, seeds=[5, 3], steps=300, jobs=jobs) for jobs in (1, 4)]
    for name in tables[0].columns:
        assert (tables[0][name] == tables[1][name]).all()
    assert tables[0]["seed"].tolist() == [5, 3] * 4
    assert tables[0]["step_size"].tolist() == [0.01] * 4 + [0.1] * 4


def test_options_that_an_agent_lacks_are_nan() -> None:
    """Grids with different options share one table, with NaN for missing options."""
    agents = {
        "smart": sj.grid(sj.smart, num_states=2, num_actions=2, step_size=np.array([0.1, 0.2])),
        "harmonic": sj.grid(
            sj.harmonic_r, num_states=2, num_actions=2, step_size=(0.1,), rate_step_size=[0.3]
        ),
    }
    runs = sj.run_many(WORLD, agents, seeds=1, steps=50)
    assert runs["agent"].tolist() == ["smart", "smart", "harmonic"]
    assert np.isnan(runs["rate_step_size"][:2]).all()
    assert runs["rate_step_size"][2] == 0.3


def test_options_of_any_kind_are_columns() -> None:
    """A decaying exploration becomes three columns; words and estimators are kept; figures keep their names."""
    common = {"num_states": 2, "num_actions": 2}
    decays = sj.grid(
        sj.smart, **common, exploration=[sj.agents.Decay(0.2, 0.99), 0.3], greedy=["action", "draw"]
    )
    fixed = sj.grid(sj.agents.fixed_rate, **common, rate=[0.5, 1.0])
    runs = sj.run_many(WORLD, {"smart": decays, "fixed": fixed}, seeds=int(np.int64(2)), steps=20)
    assert {len(column) for column in runs.columns.values()} == {12}
    assert runs["exploration"][:8].tolist() == [0.2] * 4 + [0.3] * 4
    assert runs["exploration_factor"][0] == 0.99
    assert runs["greedy"].tolist() == ["action", "action", "draw", "draw"] * 2 + [None] * 4
    assert runs["option_rate"][8:].tolist() == runs["rate"][8:].tolist() == [0.5, 0.5, 1.0, 1.0]


def test_lanes_are_used_after_enough_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small calls count towards lanes like a large one, other agents do not, and the numbers stay the same."""
    asked = []
    monkeypatch.setattr(batch, "_steps_taken", Counter())
    monkeypatch.setattr(batch, "LANES_PAY", 1000)
    monkeypatch.setattr(lanes, "lane_group", lambda *_: asked.append(True))  # None: not in lanes after all
    world = sj.worlds.TwoState(log_scale=1e-3)
    sj.run_many(world, sj.smart(2, 2), seeds=4, steps=249)
    sj.run_many(world, sj.harmonic_r(2, 2), seeds=4, steps=249)
    assert not asked
    later = sj.run_many(world, sj.smart(2, 2), seeds=4, steps=249)
    assert asked
    monkeypatch.undo()
    assert_array_equal(later["rate"], sj.run_many(world, sj.smart(2, 2), seeds=4, steps=249)["rate"])


def test_a_failing_run_stops_the_batch_with_its_sentence() -> None:
    """An error in one run becomes the error of the batch."""
    with pytest.raises(ValueError, match="reward inf"):
        sj.run_many(sj.worlds.TwoState(log_scale=0.1), sj.agents.random_agent(2, 2), seeds=4, steps=10_000)


INTERRUPTED = """
import os, signal, threading, sojourn as sj
sj.run_many(sj.worlds.TwoState(0.0), sj.smart(2, 2), 1, 10)
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    sj.run_many(sj.worlds.TwoState(0.0), sj.smart(2, 2), 8, 2_000_000_000, jobs=2)
except KeyboardInterrupt:
    print("interrupted", len(sj.run_many(sj.worlds.TwoState(0.0), sj.smart(2, 2), 3, 10)))
"""


def test_a_long_batch_can_be_interrupted() -> None:
    """Ctrl-C ends a batch of minutes within a moment, and the next batch is unaffected."""
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True, timeout=25
    )
    assert out.stdout == "interrupted 3\n"


def test_divergence_is_a_column() -> None:
    """Diverged runs are marked in a column, with one warning."""
    agent = sj.r_learning(2, 2, step_size=0.1, rate_step_size=0.1)
    with pytest.warns(RuntimeWarning, match="2 of 2 runs diverged"):
        runs = sj.run_many(sj.worlds.TwoState(log_scale=0.05), agent, seeds=2, steps=1000)
    assert runs["diverged"].all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sj.run_many(WORLD, [], 1, 10), ValueError, "agents is empty"),
        (lambda: sj.run_many(WORLD, 3, 1, 10), TypeError, "agents must be"),  # type: ignore[arg-type]
        (lambda: sj.run_many(WORLD, sj.smart(2, 2), [], 10), ValueError, "seeds is empty"),
        (lambda: sj.run_many(WORLD, sj.smart(2, 2), [-1], 10), ValueError, "seeds is -1"),
        (lambda: sj.run_many(WORLD, sj.smart(2, 2), 1, 10, jobs=0), ValueError, "jobs is 0"),
        (
            lambda: sj.grid(sj.smart, num_states=2, num_actions=2, step_size=[]),
            ValueError,
            "step_size is an empty",
        ),
        (lambda: sj.run_many(WORLD, sj.smart(2, 2), 1, 10)["speed"], KeyError, "no column 'speed'"),
    ],
)
def test_wrong_input_gets_one_sentence(call: Any, error: Any, message: str) -> None:
    """Invalid input is refused in one sentence, before anything runs."""
    with pytest.raises(error, match=message):
        call()
