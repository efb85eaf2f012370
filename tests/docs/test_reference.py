"""The reference has every public name, and each has an example."""

from __future__ import annotations

import doctest
import functools
import importlib
import importlib.util
import re
import types
from collections.abc import Mapping
from pathlib import Path

import pytest

import sojourn as sj
import sojourn.deploy

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
LAWS = (
    "Constant", "Empirical", "Exponential", "FlooredNormal", "Gamma", "Lognormal", "Outcomes", "TwoPoint", "Uniform",
    "Weibull", "mean",
)  # fmt: skip
DRAWS = (
    "empirical", "exponential", "gamma", "integer", "lognormal", "normal", "stream", "streams", "uniform", "weibull",
)  # fmt: skip
SIMULATIONS = ("DecisionEnvironment", "NetworkDecisions", "NetworkSimulation", "Simulation")
WRAPPERS = ("Holding", "Options", "RateReward", "VectorRateReward")
ROOMS = ("agents", "rates", "models", "exact", "worlds", "runs", "learner")
PUBLIC = sorted(
    {f"sojourn.{name}" for name in sj.__all__ if name != "model"}  # which is another name for `models`
    | {
        f"sojourn.{room}.{name}"
        for room in ROOMS
        for name in getattr(sj, room).__all__
        if name not in sj.__all__
    }
    | {f"sojourn.problems.{name}" for name in sj.problems.__all__}
    | {f"sojourn.worlds.changes.{name}" for name in sj.worlds.changes.__all__}
    | {f"sojourn.worlds.continuous.{name}" for name in sj.worlds.continuous.__all__}
    | {f"sojourn.laws.{name}" for name in LAWS}
    | {f"sojourn.envs.{name}" for name in (*SIMULATIONS, *WRAPPERS, "WorldEnv", "WorldVectorEnv")}
    | {f"sojourn.random.{name}" for name in DRAWS if name not in sj.__all__}
    | {f"sojourn.deploy.{name}" for name in sojourn.deploy.__all__}
    | {f"sojourn.stats.{name}" for name in sj.stats.__all__}
    | {f"sojourn.plot.{name}" for name in sj.plot.__all__}
)


def listed() -> list[str]:
    """The names on the reference pages, besides the mathematics of some modules."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md")))
    names = re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE)
    ours = [name for name in names if name.startswith("sojourn.")]  # the paper's package has its own names
    return [name for name in ours if name in PUBLIC or not is_module(name)]


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_reference_has_every_public_name_once() -> None:
    """The reference has exactly the public names, each once."""
    assert sorted(listed()) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    """Every docstring has an example that `pytest --doctest-modules src` finds and runs."""
    parent, last = owner(name)
    thing = getattr(parent, last)
    module = thing if isinstance(thing, types.ModuleType) else importlib.import_module(home(thing, parent))
    wanted = module.__name__ if isinstance(thing, types.ModuleType | Mapping) else f"{module.__name__}.{last}"
    found = {test.name: test.examples for test in doctest.DocTestFinder().find(module)}
    assert found.get(wanted), f"{name} has no example that doctest finds"


def owner(name: str) -> tuple[types.ModuleType, str]:
    """The module that exports a name, possibly under an alias, and the name's last part."""
    *path, last = name.split(".")[1:]
    return functools.reduce(getattr, path, sj), last


def home(thing: object, parent: types.ModuleType) -> str:
    """The module that defines an object; data is documented where it is exported."""
    return parent.__name__ if isinstance(thing, Mapping) else str(thing.__module__)
