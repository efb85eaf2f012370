"""An agent, an estimator, a world and a problem each need one entry, from outside the package, to be found everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pytest

OUTSIDE = """
from typing import Any, NamedTuple

import sojourn as sj
from sojourn.agents.catalogue import NamedAgent, add_agent
from sojourn.models.problems import PROBLEMS
from sojourn.rates.catalogue import NamedEstimator, add_estimator
from sojourn.worlds.catalogue import NamedWorld, add_world


class Halved(NamedTuple):
    reward: float = 0.0
    duration: float = 0.0


@sj.update.register
def update(rate: Halved, reward: float, duration: float) -> Halved:
    return Halved(rate.reward + reward, rate.duration + duration)


@sj.value.register
def value(rate: Halved) -> float:
    return 0.5 * rate.reward / rate.duration if rate.duration > 0.0 else 0.0


@sj.limit.register
def limit(rate: Halved, steps: Any) -> float:
    return 0.5 * steps.reward / steps.duration


def halved_r(
    num_states: int, num_actions: int, *, step_size: float = 0.01, exploration: float = 0.1
) -> Any:
    return sj.smart(num_states, num_actions, step_size=step_size, exploration=exploration, rate=Halved())


class Coin(NamedTuple):
    pay: float = 1.0
    num_states: int = 1
    num_actions: int = 2


@sj.start.register
def start(world: Coin, rng: Any) -> tuple[Coin, int]:
    return world, 0


@sj.step.register
def step(world: Coin, state: int, action: int, rng: Any) -> tuple[Coin, int, float, float]:
    return world, 0, world.pay * action, 1.0 + action


def two_jobs(pay: float = 3.0) -> Any:
    return sj.models.from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 1.0, pay, 2.0)])


add_estimator(NamedEstimator("Halved", Halved, has_step_size=False, agents=("halved_r",)))
add_agent(NamedAgent("halved_r", "Halved R", halved_r, "Halved", grid={"step_size": (0.01, 0.1)}))
add_world(NamedWorld("coin", Coin, "a coin", not_options=("num_states", "num_actions")))
PROBLEMS["two-jobs"] = two_jobs
"""

FOUND = {
    "sweeps": """
        sweep = sj.runs.parse_sweep({"seeds": 1, "steps": 10, "agent": [{"kind": "halved-r"}],
                                "world": [{"kind": "coin", "pay": 2}, {"kind": "two-jobs"}]})
        assert sweep.num_cells == 2
    """,
    "comparisons": """
        from sojourn.answers.comparison import plan
        entries = plan.tuning("two-jobs", plan.Settings(100, 2, 2, exploration=(0.1,))).agents
        assert entries[-1].kind == "halved_r" and len(entries[-1]) == 2
        named = plan.Settings(100, 2, 2, agents=("outside:halved_r",), exploration=(0.1,))
        (entry,) = plan.tuning("outside:two_jobs", plan.checked_settings(named)).agents
        assert entry.kind == entry.label == "outside:halved_r" and len(entry) == 2
    """,
    "audits": """
        found = sj.audit(two_jobs())["Halved"]
        assert (found.rate, found.error, found.agents) == (0.75, -0.75, ("halved_r",))
    """,
    "figures and pages": """
        from sojourn.report.looks import estimator_looks, looks, title
        assert title("halved-r") == "Halved R"
        assert len(set(looks(["smart", "halved_r"]).values())) == 2
        assert len(set(estimator_looks(["Cumulative", "Halved"]).values())) == 2
    """,
    "environments": """
        import gymnasium, sojourn.envs
        assert gymnasium.make("sojourn/Coin-v0", pay=3.0).unwrapped.world.pay == 3.0
        assert gymnasium.make("sojourn/TwoJobs-v0", pay=4.0).unwrapped.model.num_actions == 2
        assert sojourn.envs.environments()["sojourn/Coin-v0"] == "a coin"
    """,
    "checkers and runs": """
        sj.runs.check_rate(Halved()), sj.check_agent(halved_r(2, 2)), sj.check_world(Coin())
        run = sj.run(Coin(), halved_r(1, 2, exploration=1.0), 1000)
        assert run.rate == 0.5 * run.greedy_reward / run.greedy_duration
    """,
    "exact answers by name": """
        from sojourn.models.model_files import named_model
        assert sj.solve(named_model("two-jobs", {"pay": 5})).gain == 2.5
    """,
}


TRY_ALL = """
import json, sys, traceback
import sojourn as sj
from outside import *
wrong = {}
for where, code in json.load(sys.stdin).items():
    try:
        exec(code)
    except BaseException:
        wrong[where] = traceback.format_exc()
print(json.dumps(wrong))
"""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Try all of them in a separate process; return the failures."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "outside.py").write_text(OUTSIDE)
    found = json.dumps({where: textwrap.dedent(code) for where, code in FOUND.items()})
    command = [sys.executable, "-c", TRY_ALL]
    done = subprocess.run(command, cwd=folder, input=found, capture_output=True, text=True, check=True)
    told: dict[str, str] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("where", FOUND)
def test_what_is_added_from_outside_is_found(where: str, wrong: dict[str, str]) -> None:
    """With one entry each in a user's module, all lists have them."""
    assert where not in wrong, wrong[where]
