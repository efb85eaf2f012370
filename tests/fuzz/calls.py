"""Calls of every public name, and of the methods of public classes, with arguments of wrong kinds and values.

A valid call is made from samples, by the names of parameters; then one to three of its arguments are replaced. All that
is done follows from a number, so that each call can be repeated: `python -m fuzz.calls 17`.
"""

from __future__ import annotations

import functools
import inspect
import os
import random
import sys
import tempfile
import types
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
import polars as pl

import sojourn as sj
from sojourn.agents.intra_option import Courses
from sojourn.envs.states import tabulate
from sojourn.exact.logs.fit import LogRows
from sojourn.rules.rule import Rule

Make: TypeAlias = Callable[[], Any]


SWEEP = """seeds = 2
steps = 20
record = 3
[[world]]
kind = "two_state"
log_scale = 0.001
[[agent]]
kind = "smart"
step_size = [0.1, 0.2]
"""


class Seat(sj.envs.Simulation):
    """A simulation with one decision, over and over."""

    observation_space = gym.spaces.Discrete(1)
    action_space = gym.spaces.Discrete(2)

    def start(self, sim: Any) -> Any:
        """Decide once in every unit of time."""
        while True:
            yield sim.decide(0)
            sim.earn(1.0)
            yield sim.timeout(1.0)


def two_state() -> Any:
    """Return an environment of ours."""
    return gym.make("sojourn/TwoState-v0", log_scale=1e-3)


@functools.cache
def _solved() -> Any:
    return sj.solve(sj.problems.gosavi())


def _log() -> dict[str, list[Any]]:
    return {
        "state": [0, 1] * 20,
        "action": [0, 1, 1, 0] * 10,
        "reward": [1.0, 2.0, 3.0, 0.0] * 10,
        "duration": [1.0] * 40,
    }


def _results() -> pl.DataFrame:
    return pl.DataFrame({
        "world": ["w"] * 4, "agent": ["a", "a", "b", "b"], "seed": [0, 1, 0, 1], "steps": [10] * 4, "earned": [1.0, 2.0, 3.0, 4.0],
        "step_size": [0.1, 0.1, 0.2, 0.2], "cell": ["1", "1", "2", "2"], "rate": [1.0, 2.0, 3.0, 4.0], "step": [1, 2, 1, 2],
    })  # fmt: skip


@functools.cache
def _swept() -> str:
    """Return a folder with the results of a sweep."""
    sj.run_sweep(sj.runs.load_sweep("sweep.toml"), "out", ThreadPoolExecutor(1), 1)
    return "out"


@functools.cache
def _axes() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    return plt.figure().add_subplot()


def _steps() -> Any:
    from sojourn.rates.protocol import Side

    side = Side(*[1.0] * len(Side._fields))
    return sj.rates.Steps(1.0, 1.0, side, side)


@functools.cache
def _runs() -> Any:
    return sj.run_many(sj.worlds.TwoState(0.001), sj.smart(2, 2), 2, 20)


def _trained() -> Any:
    learner = sj.Learner(two_state(), "smart", seed=0)
    learner.train(10)
    return learner


def _begun(env: Any) -> Any:
    env.reset(seed=0)
    return env


# A valid argument for each parameter that has no default, by its name; where a name means several things, by its callable's.
SAMPLES: dict[str, Make] = {
    "action": lambda: 0, "actions": lambda: np.zeros(1, dtype=np.int64), "action_mask": lambda: [1, 1], "agent": lambda: sj.smart(2, 2),
    "agents": lambda: sj.smart(2, 2), "allowed": lambda: np.ones((1, 2), dtype=bool), "amounts": lambda: {"energy": np.zeros(4)}, "amount": lambda: 0.5, "array": lambda: np.zeros(2),
    "ax": _axes, "behaviour": lambda: sj.exact.Behaviour(1.0, 0.5, 1.5, 0.95, 10, 10.0, 1.0), "best_gain": lambda: 1.0, "beats_behaviour": lambda: 0.9,
    "baseline": lambda: None, "bound": lambda: 0.1, "loss": lambda: np.zeros(4), "cost": lambda: np.zeros(4), "fall": lambda: np.zeros(4), "rise": lambda: np.zeros(4),
    "limit": lambda: sj.exact.at_most("reward", 0.1), "bounds": lambda: [1.0, 2.0], "solutions": list, "adds": lambda: np.zeros(2), "time": lambda: 10.0, "policies": lambda: np.zeros((1, 2), dtype=np.int64),
    "deviations": lambda: np.zeros(1), "is_exact": lambda: True, "criterion": lambda: "total", "theta": lambda: 0.5, "discount": lambda: 0.1, "moves": lambda: lambda state: {"go": {"reward": 1.0, "next": {state: 1.0}}}, "bias": lambda: np.zeros(2), "bits": lambda: np.uint64(5), "candidates": lambda: [sj.Exponential(0.1), sj.Cumulative()],
    "carried": lambda: 0.0, "claim": lambda: "x", "class_laws": lambda: (np.array([0.5, 0.5]),), "classes": lambda: (np.array([0, 1]),),
    "clock": lambda: 0.0, "close": lambda: 100.0 + np.arange(50) % 7, "column": lambda: "earned", "columns": lambda: {"rate": np.zeros(2)},
    "constant_at_once": lambda: True, "constant_in_limit": lambda: True, "constructor": lambda: sj.smart, "count": lambda: 5,
    "counts": lambda: {0: 1}, "curve": lambda: sj.runs.Curve(np.arange(2), *np.zeros((4, 2))), "cut": lambda: np.zeros(1, dtype=bool),
    "data": lambda: {"seeds": 1, "steps": 10, "world": [{"kind": "two-state", "log_scale": 0.1}], "agent": [{"kind": "smart"}]},
    "difference": lambda: 0.1, "drift": lambda: 0.1, "duration": lambda: 1.0, "durations": lambda: [1.0, 2.0, 1.0] * 40, "ahead": lambda: 0.1,
    "empty": lambda: lambda: sj.agents.parts.zeros(2, 2), "end": lambda: 0.1, "env": two_state, "env_id": lambda: "sojourn/TwoState-v0",
    "epsilon": lambda: 0.1, "estimator": lambda: sj.Exponential(0.1), "estimators": lambda: {"e": sj.Exponential(0.1)},
    "evaluation": lambda: sj.learner.Evaluation(1.0, 0.5, 1.5, 0.95, 100, 100.0, None), "evidence": lambda: ("x",), "executor": lambda: ThreadPoolExecutor(1), "exploration": lambda: 0.1,
    "explored": lambda: False, "factor": lambda: 0.9, "first": lambda: 0.5, "first_action": lambda: 0, "floor": lambda: 0.0, "folder": _swept, "frequency_adjusted": lambda: 0.1,
    "folders": lambda: [_swept()], "found": lambda: {"a": sj.stats.profile({"w": np.array([1.0, 2.0])}, [1.5], samples=10)}, "function": lambda: min, "gain": lambda: 1.0,
    "gains": lambda: np.ones(2), "given": lambda: 0.1, "greedy_duration": lambda: 1.0, "greedy_reward": lambda: np.zeros(2),
    "greedy_steps": lambda: 1, "held": lambda: None, "high": lambda: 1.5, "id": lambda: "x", "index": lambda: 3, "iterations": lambda: 1,
    "jobs": lambda: 1, "kept": lambda: True, "key": lambda: 1, "kind": lambda: "smart", "label": lambda: "a", "labels": lambda: ((0, 1), (0, 1)),
    "law": lambda: 2.0, "laws": lambda: [sj.laws.Constant(2.0), 1.0], "learned_rate": lambda: 1.0, "level": lambda: 0.95, "limits": lambda: (),
    "location": lambda: 1.0, "log_scale": lambda: 0.001, "low": lambda: 0.5, "lower": lambda: 0.0, "margin": lambda: 0.1, "mean": lambda: 1.0,
    "median": lambda: 1.0, "model": sj.problems.gosavi, "model_at": lambda: lambda t: sj.problems.gosavi(), "moved": lambda: None, "name": lambda: "x",
    "needed": lambda: None, "next_allowed": lambda: np.ones((1, 2), dtype=bool), "next_observations": lambda: np.zeros((1, 2)), "next_state": lambda: 1,
    "negative": lambda: 0.0, "num_actions": lambda: 2, "num_inputs": lambda: 2, "num_states": lambda: 2,
    "numbers": lambda: np.ones(2), "observations": lambda: np.zeros((1, 2)), "observed": lambda: lambda seen: seen, "offset": lambda: 10.0, "one": lambda: {"w": np.array([1.0, 2.0])},
    "open": lambda: 100.0 + np.arange(50) % 7, "options": dict, "other": lambda: {"w": np.array([1.0, 3.0])}, "outcomes": lambda: [(0.5, 1.0, 1.0), (0.5, 2.0, 1.0)],
    "p": lambda: 0.5, "pair_offsets": lambda: [0, 1, 2], "parameters": lambda: np.zeros((1, 3)), "path": lambda: "file.json", "places": lambda: np.zeros(1, dtype=np.int64),
    "policy": lambda: [0, 0], "positive": lambda: 0.0, "power": lambda: 0.6, "probability": lambda: [1.0, 1.0], "q": lambda: np.zeros((2, 2)),
    "rate": lambda: sj.Exponential(0.1), "rates": lambda: [(0, 0, 1, 1.0, 1.0), (1, 0, 0, 1.0, 1.0)], "reason": lambda: "x", "record": lambda: 0, "regimes": lambda: [sj.problems.gosavi()] * 2,
    "residual": lambda: 0.0, "rests_on": lambda: 3, "reward": lambda: 1.0, "rewards": lambda: [1.0, 2.0, 3.0] * 40, "rng": lambda: sj.stream(0), "row_offsets": lambda: [0, 1, 2],
    "rows": lambda: 10, "scale": lambda: 1.0, "scales_with_reward": lambda: True, "scales_with_time": lambda: True, "schedule": lambda: sj.rates.Visits(0.5, 0.6), "obs": lambda: 0, "diverged": lambda: False, "pair": lambda: 0, "pairs": lambda: [0, 1], "state_names": lambda: ["a", "b"], "action_names": lambda: ["a", "b"], "place": lambda: 0, "decision": lambda: None, "observation": lambda: 0, "sim": lambda: None, "score": lambda: 1.0,
    "scores": lambda: {"w": np.array([1.0, 2.0, 3.0])}, "seconds": lambda: 0.1, "seed": lambda: 0, "seeds": lambda: 2, "sha256": lambda: "0", "shape": lambda: 2.0, "share": lambda: 1.0, "sigma": lambda: 1.0,
    "solver": lambda: "x", "source": _log, "spaces": lambda: sj.agents.Spaces(2, 2), "start": lambda: 0.5, "state": lambda: 0, "state_duration": lambda: np.ones(2), "state_reward": lambda: np.ones(2),
    "states": lambda: {"a": {"go": [("a", 1.0, 1.0, 1.0)]}}, "steps": lambda: 20, "step": lambda: np.arange(2), "step_size": lambda: 0.1, "strength": lambda: 0.1, "successor": lambda: [1, 0], "sweep": lambda: sj.runs.parse_sweep(SAMPLES["data"]()),
    "t": lambda: 1.0, "table": _results, "termination": lambda: [1.0, 1.0], "thin": lambda: None, "thresholds": lambda: [0.5, 1.5], "ties": sj.agents.parts.RandomTies, "times": lambda: [100.0], "timestamp": lambda: np.arange(50),
    "total": lambda: 100, "trajectory": lambda: np.zeros(2, dtype=np.int64), "transitions": lambda: [[[0.0, 1.0]], [[1.0, 0.0]]], "trap": lambda: False, "upper": lambda: 2.0, "value": lambda: 1.0, "values": lambda: [1.0, 2.0, 3.0],
    "verdict": lambda: "x", "visited": lambda: None, "visits": lambda: {0: 0.5}, "warnings": lambda: (), "weighted": lambda: None, "weights": lambda: [1.0, 1.0, 1.0], "where": lambda: "x", "world": lambda: sj.worlds.TwoState(0.001), "worlds": lambda: [sj.runs.Entry("two_state", {"log_scale": 0.1})],
    "x": lambda: "step_size", "y": lambda: "seed",
}  # fmt: skip
OWN: dict[str, Make] = {
    "Solution.policy": lambda: np.zeros(2, dtype=np.int64), "Audit.policy": lambda: np.zeros(2, dtype=np.int64), "Log.rows": lambda: LogRows(np.array([0, 1]), np.array([0, 0]), np.ones(2), np.ones(2), np.array([1, 0])),
    "Log.probability": lambda: None, "LearnedPolicy.states": lambda: tabulate(gym.spaces.Discrete(2)), "LearnedPolicy.values": lambda: np.ones((2, 2)), "LearnedPolicy.visits": lambda: np.ones((2, 2)),
    "Transitions.actions": lambda: np.zeros(1, dtype=np.int64), "Transitions.rewards": lambda: np.ones(1), "Transitions.durations": lambda: np.ones(1), "Sweep.agents": lambda: [sj.runs.Entry("smart", {})], "Sweep.seeds": lambda: [0, 1],
    "Runs.policy": lambda: np.zeros((1, 2), dtype=np.int64), "Bounds.low": lambda: (0.0, 0.0), "Bounds.high": lambda: (1.0, 1.0), "Curve.reward": lambda: np.zeros(2), "Curve.clock": lambda: np.zeros(2), "Curve.rate": lambda: np.zeros(2),
    "Run.rate": lambda: 1.0, "Run.greedy_reward": lambda: 1.0, "Grid.agents": lambda: [sj.smart(2, 2)], "Grid.options": lambda: [{}], "Improvement.policy": lambda: {0: 0}, "Improvement.counts": lambda: {0: 1}, "learned_values.rate": lambda: 1.0,
    "RatioSolution.policy": lambda: np.zeros(2, dtype=np.int64), "SelfConfirming.policy": lambda: np.zeros(2, dtype=np.int64), "SelfConfirming.rate": lambda: 1.0, "Behaviour.rate": lambda: 1.0, "Evaluation.rate": lambda: 1.0,
    "Steps.reward": lambda: 1.0, "limit.steps": _steps, "Linear.steps": lambda: 100.0, "Limit.estimator": lambda: "e", "Limit.agents": lambda: ("a",), "RateChoice.scores": lambda: (sj.rates.RateScore("a", sj.Cumulative(), 1.0, 0.0, 0.0, 0.0),),
    "Truth.reward": lambda: 1.0, "TwoPoint.probability": lambda: 0.5, "Outcomes.outcomes": lambda: [(0.5, 1.0, 1.0), (0.5, 2.0, 1.0)], "FlatLaws.kind": lambda: np.zeros(1, dtype=np.int8), "means.laws": lambda: sj.laws.flat([1.0]),
    "parts.best.values": lambda: sj.agents.Table(np.zeros((2, 2))), "parts.epsilon_greedy.values": lambda: sj.agents.Table(np.zeros((2, 2))), "parts.is_best.values": lambda: sj.agents.Table(np.zeros((2, 2))), "parts.move.values": lambda: sj.agents.Table(np.zeros((2, 2))),
    "parts.read.values": lambda: sj.agents.Table(np.zeros((2, 2))), "parts.chance.exploration": lambda: sj.agents.parts.exploration_of(0.1), "parts.later.exploration": lambda: sj.agents.parts.exploration_of(0.1), "parts.sized.step_size": lambda: sj.agents.parts.step_size_of(0.1, lambda: sj.agents.parts.zeros(2, 2)),
    "random.empirical.values": lambda: np.array([1.0, 2.0]), "from_transitions.transitions": lambda: [(0, 0, 1, 1.0, 1.0, 1.0), (1, 0, 0, 1.0, 1.0, 1.0)], "from_matrices.transitions": lambda: [np.eye(2)], "from_matrices.rewards": lambda: np.ones((2, 1)),
    "from_arrays.rewards": lambda: [[1.0], [2.0]], "from_table.table": lambda: {0: {0: [(1.0, 0, 1.0, False)]}}, "from_options.options": lambda: [sj.models.primitive(sj.problems.gosavi(), 0)], "Option.policy": lambda: [0, 0], "interrupted.options": lambda: [sj.models.primitive(sj.problems.gosavi(), action) for action in (0, 1)], "interrupted.values": lambda: np.ones((2, 2)),
    "intra_option.courses": lambda: Courses(np.zeros((2, 2), dtype=np.int64), np.ones((2, 2))), "Options.options": lambda: [sj.models.Option(0, steps=2)], "Holding.lengths": lambda: [1, 2],
    "load_bars.path": lambda: "minutes.csv", "SMDP.reward": lambda: [1.0, 1.0], "load_sweep.path": lambda: "sweep.toml", "load_policy.path": lambda: "policy.json", "load_model.path": lambda: "model.toml", "save_model.path": lambda: "kept.json", "policy_agent.policy": lambda: [0, 1],
    "Claim.verdict": lambda: "holds", "coupling.durations": lambda: [1.0, 2.0, 1.0] * 40, "VectorRateReward.env": lambda: gym.make_vec("sojourn/TwoState-v0", num_envs=2, log_scale=1e-3), "DecisionEnvironment.rng": lambda: np.random.default_rng(0),
    "DecisionEnvironment.allowed": lambda: lambda mask: np.arange(2), "Verdict.gain": lambda: None, "Verdict.best_gain": lambda: None, "follow.agent": lambda: sj.smart(2, 2), "weighted_harmonic_mean.durations": lambda: None, "learn.action": lambda: 0,
    "tensorboard.folder": lambda: "tb", "heatmap.table": _results, "Empirical.values": lambda: [1.0, 2.0], "FlooredNormal.floor": lambda: 0.0, "Steps.positive": lambda: _steps().positive, "Steps.negative": lambda: _steps().negative,
    "Drifting.times": lambda: [0.0, 100.0], "Log.evaluate.policy": lambda: {0: 0, 1: 1}, "SMDP.with_counts.counts": lambda: [1] * 4, "SMDP.with_means.reward": lambda: [1.0] * 4, "SMDP.with_means.duration": lambda: [1.0] * 4,
    "DecisionEnvironment.earn_rate.rate": lambda: 1.0, "Constraint.amount": lambda: "lost", "at_most.amount": lambda: "lost", "at_least.amount": lambda: "lost", "from_dict.states": lambda: {"a": {"go": {"next": {"a": 1.0}, "reward": 1.0}}}, "WorldEnv.go_to.place": lambda: INSTANCES["WorldEnv"]().place(), "run_sweep.folder": lambda: "swept", "gain.clock": lambda: 0.0, "optimal.world": lambda: sj.worlds.Tabular(sj.problems.gosavi()), "Rule": lambda: 0,
}  # fmt: skip


WORK, WORKERS = ("duration", "episodes", "steps"), ("Learner.", "check_smdp_env", "run")
# Parameters with a default without which nothing works.
NEEDED = {
    ("SMDP", "reward"),
    ("SMDP", "duration"),
    ("model.SMDP", "reward"),
    ("model.SMDP", "duration"),
    ("Learner.train", "steps"),
}
OWN |= {
    "SMDP.duration": lambda: [1.0, 1.0],
    "read_lives.source": lambda: {"life": [1.0, 2.0, 3.0], "failed": [True, False, True]},
    "read_lives.failure_cost": lambda: 5.0,
    "read_lives.planned_cost": lambda: 1.0,
    "When.behaviour": lambda: 1.0,
    "When.per": lambda: "day",
    "NetworkDecisions.make": lambda: lambda sim: None,
    "NetworkDecisions.rng": lambda: np.random.default_rng(0),
    "training.history": lambda: pl.DataFrame(
        {"steps": [1], "rate": [1.0], "earned": [1.0], "evaluated": [None]}
    ),
    "RuleSearch.tried": tuple,
}
SAMPLES |= {
    "rule": lambda: lambda observation: 0,
    "episode": lambda: 0,
    "num_envs": lambda: 2,
    "correlation": lambda: 0.5,
    "learned": lambda: None,
    "at_end": tuple,
    "driver": lambda: None,
    "choice": lambda: None,
}


class Odd:
    """Something that is nothing in particular."""

    def __repr__(self) -> str:
        return "Odd()"


WRONG: list[Make] = [
    lambda: None, lambda: "", lambda: "x", lambda: "é\n\x1b", lambda: b"x", lambda: 5e-324, lambda: float("nan"), lambda: float("inf"), lambda: -float("inf"), lambda: -1, lambda: 0,
    lambda: 1, lambda: 3, lambda: 0.5, lambda: -0.5, lambda: 1e308, lambda: 2**31, lambda: 2**63, lambda: 2**64, lambda: 10**30, lambda: 10**400, lambda: -(10**30), list, dict, lambda: (), set,
    lambda: [[]], lambda: [None], lambda: ["x"], lambda: [1, [2, 3]], lambda: [1.0, float("nan")], lambda: [10**30], lambda: {"x": 1}, lambda: {0: {}}, lambda: {None: None}, lambda: (1,), lambda: (1, 2, 3),
    Odd, lambda: Odd, lambda: int, lambda: lambda: 1, lambda: lambda x: x, lambda: lambda *a, **k: None, lambda: len, lambda: sys, lambda: np.ma.masked_array([1.0, 2.0], [True, False]), lambda: np.ma.masked,
    lambda: np.array([None, "x"], dtype=object), lambda: np.array(["a", "b"]), lambda: np.zeros((0,)), lambda: np.zeros((2, 3, 4)), lambda: np.zeros((3, 0)), lambda: np.array(1.0), lambda: np.full((2, 2), np.nan),
    lambda: np.array([1j, 2.0]), lambda: np.array(["2020-01-01"], dtype="datetime64[D]"), lambda: np.zeros(2, dtype=[("a", float)]), lambda: np.array([2**63], dtype=np.uint64), lambda: np.float32(0.5), lambda: np.int8(1),
    lambda: 1j, lambda: True, lambda: False, lambda: Path("does/not/exist"), lambda: Path("does-not-exist.json"), pl.DataFrame, lambda: pl.DataFrame({"x": [1, None]}), lambda: pl.DataFrame({"reward": ["a"]}), lambda: pl.Series([1.0]),
    lambda: iter([1]), lambda: map(str, ()), lambda: range(3), lambda: range(10**12), lambda: slice(1), lambda: NotImplemented, lambda: Ellipsis, lambda: "1", lambda: memoryview(b"ab"), lambda: ValueError("x"), lambda: gym.spaces.Discrete(2),
]  # fmt: skip


def _public() -> dict[str, Any]:
    """Return every public name that can be called, and the methods of public classes, by its name."""
    modules = {"": sj} | {
        f"{name}.": getattr(sj, name)
        for name in sj.__all__
        if isinstance(getattr(sj, name), types.ModuleType)
    }
    found: dict[str, Any] = {}
    for place, module in modules.items():
        for name in getattr(module, "__all__", None) or _defined(module):
            thing = getattr(module, name)
            is_known = any(thing is other for other in found.values())  # at the top, or in another module
            others = types.ModuleType | types.GenericAlias | types.UnionType
            if callable(thing) and not is_known and not isinstance(thing, others):
                found[place + name] = thing
    return found


def _defined(module: types.ModuleType) -> list[str]:
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]


@functools.cache
def targets() -> dict[str, Any]:
    """Return what is called: functions, classes, and methods of those classes of which there is a sample."""
    public = _public()
    found = dict(public)
    for name, cls in public.items():
        if isinstance(cls, type):
            for method, function in inspect.getmembers(cls, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("sojourn"):
                    found[f"{name}.{method}"] = function
    return dict(sorted(found.items()))


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of something public."""
    try:
        return dict(inspect.signature(targets()[name]).parameters)
    except ValueError:
        return {}


def sample(name: str, parameter: str) -> Any:
    """Return a valid argument for a parameter of something public."""
    if parameter == "self":
        owner = name.rpartition(".")[0]
        return INSTANCES[owner]() if owner in INSTANCES else valid(owner)
    parts = name.split(".")
    for place in (".".join(parts[-2:]), parts[-1]):
        if f"{place}.{parameter}" in OWN:
            return OWN[f"{place}.{parameter}"]()
    return SAMPLES[parameter]()


INSTANCES: dict[str, Make] = {
    "exact.Constraint": lambda: sj.exact.at_most("reward", 0.1), "Solution": _solved, "Learner": lambda: sj.Learner(two_state(), "smart"), "envs.Simulation": lambda: _begun(Seat()), "SMDP": sj.problems.gosavi, "model.SMDP": sj.problems.gosavi,
    "PolicyValue": lambda: sj.evaluate(sj.problems.gosavi(), [0, 0]), "Audit": lambda: sj.audit(sj.problems.gosavi()), "Log": lambda: sj.read_log(_log()), "Bars": lambda: sj.worlds.synthetic_bars(100),
    "Runs": _runs, "Sweep": lambda: sj.runs.parse_sweep(SAMPLES["data"]()), "Entry": lambda: sj.runs.Entry("smart", {}), "ObservingAgent": lambda: sj.deep_q(sj.agents.Spaces(2, 2)),
    "envs.Options": lambda: _begun(sj.envs.Options(two_state(), [sj.models.Option(0, steps=2)])), "envs.Holding": lambda: _begun(sj.envs.Holding(two_state(), [1, 2])),
    "learner.BestPolicy": lambda: _trained().find_best(duration=10.0), "envs.WorldVectorEnv": lambda: _begun(sj.envs.WorldVectorEnv(sj.worlds.TwoState(0.001), 2)),
    "WorldEnv": lambda: _begun(sj.envs.WorldEnv(sj.worlds.TwoState(0.001))), "envs.RateReward": lambda: _begun(sj.envs.RateReward(two_state())), "envs.VectorRateReward": lambda: _begun(sj.envs.VectorRateReward(OWN["VectorRateReward.env"]())),
}  # fmt: skip


def arguments(name: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a valid call."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    if name == "grid":
        return [], {"constructor": sj.smart, "num_states": 2, "num_actions": 2}
    for parameter in parameters(name).values():
        optional = parameter.default is not parameter.empty and (name, parameter.name) not in NEEDED
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or optional:
            continue
        named[parameter.name] = sample(name, parameter.name)
    return positional, named


def valid(name: str) -> Any:
    """Call something public with valid arguments."""
    positional, named = arguments(name)
    return called(name, positional, named)


def called(name: str, positional: list[Any], named: Mapping[str, Any]) -> Any:
    """Call something; a method's object goes first."""
    named = dict(named)
    thing = targets()[name]
    leading = list(parameters(name)) if isinstance(thing, Rule) else ["self"]  # rules take no names
    first = [named.pop(one) for one in leading if one in named]
    return thing(*first, *positional, **named)


@functools.cache
def _names() -> list[str]:
    return [name for name in targets() if any(parameter != "self" for parameter in parameters(name))]


def name_of(number: int) -> str:
    """Return what the call of a number calls."""
    return _names()[number % len(_names())]


def spoiled(number: int, seed: int = 0) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name and arguments of one wrong call."""
    rng = random.Random(f"{seed}/{number}")
    name = name_of(number)
    positional, named = arguments(name)
    wanted = parameters(name)
    changeable = [one for one in wanted if one != "self"]
    for parameter in rng.sample(changeable, min(len(changeable), rng.choice((1, 1, 1, 1, 2, 3)))):
        kind = wanted[parameter].kind
        wrong = _wrong(rng)
        if parameter in WORK and name.startswith(WORKERS) and isinstance(wrong, int | float) and wrong > 1e5:
            wrong = -wrong  # so much work is not wrong, but would take for ever
        if kind is inspect.Parameter.VAR_POSITIONAL:
            positional = [wrong]
        else:
            named["nonsense" if kind is inspect.Parameter.VAR_KEYWORD else parameter] = wrong
    if rng.random() < 0.03 and len(named) > 1:
        del named[rng.choice([one for one in named if one != "self"])]
    return name, positional, named


def _wrong(rng: random.Random) -> Any:
    """Return a wrong argument: an odd thing, or a valid one of another parameter."""
    if rng.random() < 0.25:
        return rng.choice(list(SAMPLES.values()))()
    return rng.choice(WRONG)()


@functools.cache
def place(folder: Path) -> None:
    """Go to a folder in which calls may write; it gets a file of each kind."""
    os.chdir(folder)
    corpus = Path(__file__).parent / "corpus"
    for name, file in (
        ("minutes.csv", "bars/minutes.csv"),
        ("policy.json", "policies/tuple.json"),
        ("model.toml", "models/gosavi.toml"),
    ):
        Path(name).write_bytes((corpus / file).read_bytes())
    Path("sweep.toml").write_text(SWEEP)


def calls(path: Path) -> None:
    """Make one wrong call, whose number is the path's name, in the path's folder; what comes of it can be shown."""
    place(path.parent)
    name, positional, named = spoiled(int(path.name))
    shown = repr(called(name, positional, named))
    assert isinstance(shown, str)


def main() -> None:
    """Make some calls in this process, and show what each ends with."""
    place(Path(tempfile.mkdtemp(prefix="calls-")))
    for number in map(int, sys.argv[1:]):
        name, positional, named = spoiled(number)
        sys.stdout.write(f"{number} {name}(*{positional!r:.300}, **{named!r:.600})\n")
        sys.stdout.write(f"  {called(name, positional, named)!r:.300}\n")


if __name__ == "__main__":
    main()
