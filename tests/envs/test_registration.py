from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest
from typer.testing import CliRunner

import sojourn as sj
import sojourn.envs
from sojourn.cli.commands import app
from sojourn.envs import registered
from sojourn.models.problems import PROBLEMS
from sojourn.models.smdp import SMDP
from sojourn.worlds.catalogue import WORLDS


def coin(reward: float = 2.0) -> SMDP:
    """A coin that is tossed for ever.

    It lands as it likes.

    Source: nobody.
    """
    return sj.models.from_transitions([(0, 0, 0, 1.0, reward, 1.0)])


@pytest.fixture
def added() -> Iterator[str]:
    """A problem from outside, and the id of its environment."""
    PROBLEMS["fair-coin"] = coin
    sojourn.envs.register()
    yield "sojourn/FairCoin-v0"
    del PROBLEMS["fair-coin"]
    sojourn.envs.register()


def test_a_problem_from_outside_is_an_environment(added: str) -> None:
    """One entry and one call: gym.make, make, the checker, the list and the command line know the problem."""
    env: Any = gym.make(added, reward=3.0)
    env.reset(seed=0)
    assert env.step(0)[1] == 3.0
    made: Any = sojourn.envs.make(added, {}).unwrapped
    assert type(made) is type(env.unwrapped) is registered.__getattr__("FairCoinEnv")
    assert sj.check_smdp_env(gym.make(added), steps=10).mean_duration == 1.0
    assert sojourn.envs.environments()[added] == "a coin that is tossed for ever"
    listed = json.loads(CliRunner().invoke(app, ["envs", "--json"]).stdout)
    assert {"id": added, "summary": "a coin that is tossed for ever"} in listed


def test_a_problem_says_of_itself_what_it_can(added: str) -> None:
    """The headings are there for a docstring with few paragraphs too, and the arguments are the problem's."""
    told = type(gym.make(added).unwrapped).__doc__ or ""
    assert "## Description\nIt lands as it likes." in told
    assert "## Rewards\nNot described." in told
    assert "`reward=2.0`: those of `" in told
    assert "## Source\nnobody." in told


def test_an_environment_of_a_problem_from_outside_is_pickled(added: str) -> None:
    """Its class is found again by its name."""
    env = gym.make(added).unwrapped
    assert type(pickle.loads(pickle.dumps(env))) is type(env)


def test_what_is_no_longer_a_problem_is_forgotten(added: str) -> None:
    """The ids are those of the problems there are; all of Gymnasium's own stay."""
    before = set(gym.registry)
    function = PROBLEMS.pop("fair-coin")
    try:
        sojourn.envs.register()
        assert before - set(gym.registry) == {added}
        assert added not in sojourn.envs.ENVIRONMENTS
        with pytest.raises(AttributeError, match="FairCoinEnv"):
            registered.__getattr__("FairCoinEnv")
    finally:
        PROBLEMS["fair-coin"] = function


def test_make_knows_a_problem_without_a_call() -> None:
    """`sojourn.envs.make` registers what is new by itself."""
    PROBLEMS["plain-coin"] = lambda: coin(1.0)
    try:
        assert sojourn.envs.make("sojourn/PlainCoin-v0", {}).reset(seed=0)[0] == 0
        assert sojourn.envs.environments()["sojourn/PlainCoin-v0"] == "the problem plain-coin"
    finally:
        del PROBLEMS["plain-coin"]
        sojourn.envs.register()


def test_a_problem_added_before_the_import_is_registered_by_it() -> None:
    """No call is needed then."""
    code = (
        "from sojourn.models.problems import PROBLEMS, long_shot\n"
        "PROBLEMS['far-shot'] = long_shot\n"
        "import gymnasium, sojourn.envs\n"
        "assert gymnasium.make('sojourn/FarShot-v0').observation_space.n == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_world_and_problem_has_its_environment() -> None:
    """The worlds come first, then the problems, in the order of their tables."""
    assert len(sojourn.envs.ENVIRONMENTS) == len(WORLDS) + len(PROBLEMS)
    assert list(sojourn.envs.ENVIRONMENTS)[:2] == ["sojourn/TwoState-v0", "sojourn/Market-v0"]
    assert list(sojourn.envs.ENVIRONMENTS)[len(WORLDS)] == "sojourn/Gosavi-v0"
    assert {"GosaviEnv", "LongShotEnv", "ProblemEnv"} <= set(dir(registered))
