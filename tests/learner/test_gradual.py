"""Single steps are interpreted at first, and compiled once that pays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
from sojourn.exact.bounds import bounds
from sojourn.learner import table_agent
from sojourn.rules import kernel as kernels
from sojourn.rules.kernel import Kernel, kernel


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the patience, with none of it used up."""

    def set_to(seconds: float) -> None:
        monkeypatch.setattr(kernels, "PATIENCE", seconds)
        monkeypatch.setattr(kernels, "_spent", {})
        # Machine code from other tests would be used at once.
        monkeypatch.setattr(Kernel, "is_at_hand", lambda *_: False)

    return set_to


def trained(agent: str) -> tuple[Any, ...]:
    """Return everything that a short training leaves: values, totals, and the environment's position."""
    learner = sj.Learner(gym.make("sojourn.envs:sojourn/AdmissionControl-v0"), agent, seed=3)
    totals = learner.train(400)
    return learner.agent.q.tobytes(), tuple(totals), learner.rate, learner.train(1).duration


@pytest.mark.parametrize("agent", ["planner", "differential_q"])
def test_the_same_bits_interpreted_compiled_and_first_one_then_the_other(agent: str, patience: Any) -> None:
    """What is learned does not depend, in any bit, on when compiled code takes over from Python."""
    found = []
    for seconds in (np.inf, 0.0, 1e-3):
        patience(seconds)
        found.append(trained(agent))
    assert found[0] == found[1] == found[2]


def is_interpreted(agent: table_agent.TableAgent) -> bool:
    """Whether the next step of an agent is interpreted."""
    return getattr(agent._run, "__qualname__", "").endswith("interpreted")


def test_compiled_code_takes_over_once_patience_has_run_out(patience: Any) -> None:
    """The first steps are interpreted and later ones compiled; from then on, so are all steps of agents of the same type."""
    patience(1e-3)
    agents = [table_agent.TableAgent(sj.smart(2, 2), sj.random.stream(0)) for _ in range(2)]
    step = (0, 1, 1.0, 1.0, 1, False, 1)
    agents[0].advance(*step)
    assert is_interpreted(agents[0])
    for _ in range(500):
        agents[0].advance(*step)
    assert not is_interpreted(agents[0])
    agents[1].advance(*step)
    assert not is_interpreted(agents[1])


def test_a_short_training_needs_no_compiler(tmp_path: Path) -> None:
    """In a new process with an empty cache, a few steps of our own agents do not even import Numba."""
    program = (
        "import sys, gymnasium as gym, sojourn as sj\n"
        "env = gym.make('sojourn.envs:sojourn/AdmissionControl-v0')\n"
        "learner = sj.Learner(env, seed=1)\n"
        "learner.train(50)\n"
        "print(learner.verdict(duration=20.0), file=sys.stderr)\n"
        "print('numba' in sys.modules)"
    )
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == ["False"]
    assert not list(tmp_path.rglob("*.code"))


def test_machine_code_on_disk_is_used_at_once(tmp_path: Path) -> None:
    """What one process has compiled, the next uses at once."""
    program = (
        "import sys, sojourn as sj\n"
        "from sojourn.learner import table_agent\n"
        "from sojourn.rules import kernel as kernels\n"
        "kernels.PATIENCE = float(sys.argv[1])\n"
        "agent = table_agent.TableAgent(sj.smart(2, 2), sj.random.stream(0))\n"
        "agent.advance(0, 1, 1.0, 1.0, 1, False, 1)\n"
        "print(getattr(agent._run, '__qualname__', '').endswith('interpreted'))"
    )
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path / "cache")}
    interpreted = [
        subprocess.run(
            [sys.executable, "-c", program, seconds],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout.split()
        for seconds in ("inf", "0", "inf")
    ]
    assert interpreted == [["True"], ["False"], ["False"]]


class Mine(NamedTuple):
    """An estimator from outside the package."""

    rate: float = 0.0


@sj.value.register
def value_mine(rate: Mine) -> float:
    return rate.rate


@kernel
def shown(rate: Mine, column: Any) -> None:
    column[0] = rate.rate


def test_rules_from_outside_are_compiled_at_once(patience: Any) -> None:
    """The equality of bits is untested for users' rules, so these never switch midway."""
    patience(np.inf)
    used: list[Any] = []
    column = np.zeros(1)
    run = kernels.gradually(shown, (Mine(2.0), column), used.append)
    assert used == [run]
    run(Mine(3.0), column)
    assert column[0] == 3.0


def test_proofs_are_the_same_interpreted_and_compiled(patience: Any) -> None:
    """Solving and proving a small model gives the same in Python and in compiled code."""
    model = sj.problems.admission_control()
    found = []
    for seconds in (np.inf, 0.0):
        patience(seconds)
        solution = sj.solve(model)
        found.append((solution.gain, bounds(model, solution.bias)))
    assert found[0] == found[1]
