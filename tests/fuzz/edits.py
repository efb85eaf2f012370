"""Edits every number of every kind of saved learner and policy, and does with the file what a user would do.

A learner of each kind is trained and saved. Its file is then written anew with one number changed, or one array of another
shape or type, loaded, trained, asked, its policy followed, and saved again. A file must be refused in one sentence when it
is read, or the run must be like any other: no place outside an array, no death, no hang.

Compiled code does not check places, so a wrong one would often go unnoticed. Here everything is interpreted, which checks
them, or, if `checked`, compiled by Numba with its own check of bounds.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import sojourn as sj
from fuzz.worker import RAW, SOURCE
from small_envs import CART_BINS, Maze
from sojourn.agents.baselines import follow
from sojourn.agents.catalogue import AGENTS
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.networks.protocol import Spaces
from sojourn.envs.registered import ProblemEnv
from sojourn.envs.worlds import WorldEnv
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.scheduled import Scheduled, Visits
from sojourn.rules import kernel as kernels
from sojourn.rules.kernel import Kernel
from sojourn.worlds.catalogue import WORLDS

STEPS, TIME = 200, 20.0  # of the training and of the evaluation that follow each edit
PATIENCE = 20  # seconds of the processor that they may take
MEMORY = 6 << 30  # bytes of addresses that the process may have
WHOLE = (-1, 0, 1, 3, 2**31, 2**53 - 1, 2**63 - 1, -(2**63))
REAL = (-1.0, 0.0, 0.5, 3.0, 1e300, math.nan, math.inf)
MANY, SMALL, FEW = 200, 40, 8  # entries edited of an array of places, of whole numbers, of other floats
PLACES = ("counts.", "states")  # arrays of floats that are places, in planners and their like


# --- What is saved -------------------------------------------------------------------


class Walk(gym.Env[Any, Any]):
    """A point in a square that drifts, and is pushed back or not; `push` says whether the push is a number from -1 to 1."""

    def __init__(self, push: bool = False, unbounded: bool = False, size: int = 2) -> None:
        end = np.inf if unbounded else 1.0
        self.observation_space = spaces.Box(-end, end, (size,), np.float64)
        self.action_space: Any = spaces.Box(-1.0, 1.0, (1,), np.float64) if push else spaces.Discrete(3)
        self.push, self.at, self.t = push, np.zeros(size), 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at, self.t = np.zeros(len(self.at)), 0
        return self.at.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        force = float(np.clip(np.asarray(action).ravel()[0], -1, 1)) if self.push else int(action) - 1.0
        self.at = np.clip(self.at + 0.2 * force + 0.1 * self.np_random.normal(size=len(self.at)), -1.0, 1.0)
        self.t += 1
        reward = 1.0 - float(np.abs(self.at).sum())
        return self.at.copy(), reward, False, self.t % 50 == 0, {"duration": 0.5 + abs(force)}


class Mean:
    """A user's own agent of observations, which has learned the mean reward of each action."""

    def __init__(self, spaces: Spaces) -> None:
        self.totals, self.steps, self.rng = np.zeros((spaces.num_actions, 2)), 0, np.random.default_rng(0)

    @property
    def rate(self) -> float:
        return float(self.totals[:, 0].sum() / max(self.totals[:, 1].sum(), 1e-9))

    def draw(self, observations: Any, allowed: Any) -> tuple[Any, Any]:
        return self.rng.integers(len(self.totals), size=len(observations)), np.ones(len(observations), bool)

    def greedy(self, observations: Any, allowed: Any) -> Any:
        return np.full(len(observations), int(self.totals[:, 0].argmax()))

    def learn(self, transitions: Any) -> None:
        for action, reward, duration in zip(
            transitions.actions, transitions.rewards, transitions.durations, strict=True
        ):
            self.totals[int(action)] += reward, duration

    def state(self) -> dict[str, Any]:
        return {"totals": self.totals, "steps": self.steps}

    def restored(self, state: dict[str, Any]) -> None:
        self.totals = np.array(state["totals"], dtype=np.float64).reshape(self.totals.shape)
        self.steps = int(state["steps"])


class Kind(NamedTuple):
    """A kind of learner: its environment, its agent and its options, and how `load` is told to make the agent."""

    env: Callable[[], Any]
    agent: Any
    options: dict[str, Any]
    only: str = ""  # how the places begin that are edited: what others of its like have, too, is edited once
    exported: bool = False  # as a policy in JSON
    given: Mapping[str, Any] = MappingProxyType({})  # to `load`


def kinds(compiled: bool) -> dict[str, Kind]:
    """Return every kind of learner by name."""

    def world() -> Any:
        return WorldEnv(sj.worlds.TwoState(log_scale=1e-3), compiled=compiled)

    def problem(name: str) -> Callable[[], Any]:
        return lambda: ProblemEnv(PROBLEMS[name](), compiled=compiled)

    def cart() -> Any:
        return gym.make("CartPole-v1")

    def named(name: str) -> Callable[[], Any]:
        world = WORLDS[name]
        return lambda: WorldEnv(world.make(**world.example), compiled=compiled)

    found: dict[str, Kind] = {}
    for name in WORLDS:
        is_listed = isinstance(named(name)().observation_space, spaces.Discrete)
        agent, place = ("random_agent", "place") if is_listed else (None, "lanes.place")
        found[f"world {name}"] = Kind(named(name), agent, {}, place)
    for name, entry in AGENTS.items():
        if not name.startswith(("tile", "oracle")):
            found[name] = Kind(world, entry.make, dict(entry.options), "" if name == "smart" else "agent")
    for name, estimator in ESTIMATORS.items():
        found[f"rate {name}"] = Kind(world, sj.smart, {"rate": estimator.make()}, "agent.rate")
    visits = Visits(1.0, 0.7, 0.01)
    masked = lambda: Maze(masks="state", cuts=0.05)  # noqa: E731
    both = lambda: Maze(masks="both", ends=0.02, cuts=0.05)  # noqa: E731
    networks = {"hidden": (3,), "batch": 4, "compiled": compiled}
    deep = {**networks, "replay": 32, "warm_up": 8}
    rollout = {**networks, "rollout": 16, "epochs": 2}
    tiles = {"tilings": 2, "tiles": 3}
    found |= {
        "rate scheduled": Kind(
            world, sj.smart, {"rate": Scheduled(ESTIMATORS["Exponential"].make(), visits)}, "agent.rate"
        ),
        "rate centred": Kind(
            world, sj.smart, {"rate": ESTIMATORS["AdaptiveRatio"].make(), "centring": 0.1}, "agent.rate"
        ),
        "visits": Kind(
            world,
            sj.smart,
            {"step_size": visits, "exploration": Linear(1.0, 0.1, 100), "ties": "lowest"},
            "agent",
        ),
        "decay": Kind(world, sj.smart, {"exploration": Decay(0.5, 0.99, 0.01), "greedy": "after"}, "agent"),
        "rvi mean": Kind(world, sj.agents.rvi_q, {"reference": "mean"}, "agent"),
        "rvi maximum": Kind(world, sj.agents.rvi_q, {"reference": "maximum"}, "agent"),
        "policy": Kind(world, sj.agents.policy_agent([1, 0], 2), {}, "agent"),
        "follower": Kind(world, follow(sj.smart(2, 2)), {}, "agent"),
        "planner in a maze": Kind(lambda: Maze(cuts=0.05), "planner", {}, "agent"),
        "planner with masks": Kind(both, "planner", {}),
        "h_learning with masks": Kind(both, "h_learning", {}, "agent"),
        "smart with masks": Kind(masked, "smart", {}),
        "bins": Kind(cart, "smart", {"bins": CART_BINS, "duration": 1.0}),
        "problem": Kind(problem("tijms-maintenance"), "planner", {}, "place"),
        "tile_q": Kind(Walk, "tile_q", tiles),
        "tile_q unbounded": Kind(lambda: Walk(unbounded=True), "tile_q", {**tiles, "step_size": visits}),
        "tile_q hashed": Kind(lambda: Walk(size=3), "tile_q", {**tiles, "memory": 16}),
        "tile_sarsa": Kind(Walk, "tile_sarsa", {**tiles, "rate": ESTIMATORS["AdaptiveRatio"].make()}),
        "deep_q": Kind(Walk, "deep_q", deep),
        "deep_q double": Kind(
            Walk, "deep_q", {**deep, "precision": "double", "hidden": (3, 2)}, "learned.network"
        ),
        "deep_q adaptive": Kind(
            Walk,
            "deep_q",
            {**deep, "rate": ESTIMATORS["AdaptiveRatio"].make(), "step_size": 0.01},
            "learned.earnings",
        ),
        "deep_q with masks": Kind(masked, "deep_q", deep, "learned.replay"),
        "deep_q in a vector": Kind(lambda: gym.vector.SyncVectorEnv([Walk, Walk]), "deep_q", deep, "lanes"),
        "ppo": Kind(Walk, "ppo", rollout),
        "ppo with points": Kind(lambda: Walk(push=True), "ppo", rollout, "learned.rollout"),
        "ppo in a vector": Kind(
            lambda: gym.vector.SyncVectorEnv([Walk, Walk, Walk]), "ppo", rollout, "learned.rollout"
        ),
        "sac": Kind(lambda: Walk(push=True), "sac", {**deep, "most_resets": 0.1}, "learned"),
        "own agent": Kind(Walk, Mean, {}, given={"agent": Mean}),
        "policy file": Kind(world, "smart", {}, exported=True),
        "policy file with masks": Kind(both, "planner", {}, exported=True),
        "policy file with bins": Kind(cart, "smart", {"bins": CART_BINS, "duration": 1.0}, exported=True),
    }
    return found


def saved(kind: Kind, folder: Path) -> Path:
    """Train a learner of a kind and save it, or its policy."""
    learner = sj.Learner(kind.env(), kind.agent, seed=1, **kind.options)
    learner.train(2 * STEPS + 5)  # an odd number, so that nothing is full
    path = folder / ("whole.json" if kind.exported else "whole")
    learner.write_policy(path) if kind.exported else learner.save(path)
    return path


# --- What is edited ------------------------------------------------------------------


class Edit(NamedTuple):
    """One change of a file: where, and to what."""

    where: str
    change: Callable[[Any, dict[str, Any]], None]


def parts_of(path: Path) -> tuple[Any, dict[str, Any]]:
    """Return the JSON of a file and its arrays."""
    if path.suffix == ".json":
        return json.loads(path.read_text()), {}
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    data = json.loads(parts.pop("contents.json"))
    return data, {name: np.load(io.BytesIO(part)) for name, part in parts.items()}


def write(path: Path, data: Any, arrays: dict[str, Any]) -> None:
    """Write a file from its JSON and its arrays."""
    if path.suffix == ".json":
        path.write_text(json.dumps(data))
        return
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("contents.json", json.dumps(data))
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, array, allow_pickle=False)
            archive.writestr(name, part.getvalue())


def edits(data: Any, arrays: dict[str, Any]) -> Iterator[Edit]:
    """Yield every edit of a file."""
    names: dict[str, str] = {}
    for place, number in _scalars(data, ()):
        where = (
            ".".join(map(str, place))
            .replace("contents.dict.", "")
            .replace("fields.", "")
            .replace("dict.", "")
        )
        if place[-1] == "array":
            names[str(number)] = where.removesuffix(".array")
        elif not isinstance(number, str):
            near = (
                (number - 1, number + 1) if isinstance(number, int) and not isinstance(number, bool) else ()
            )
            for other in (*WHOLE, *near, 0.5, math.nan, math.inf, 10**30, not number, None):
                if not (type(other) is type(number) and other == number):
                    yield Edit(f"{where} = {other!r}", _scalar_to(place, other))
    for name, array in arrays.items():
        yield from _edits_of(name, names.get(name, name), array)


def _scalars(data: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if parts is None:
        yield place, data
        return
    many = len(data) > SMALL and isinstance(data, list)
    kept = {round(at) for at in np.linspace(0, len(data) - 1, SMALL)} if many else ()
    for at, part in parts:
        if not many or at in kept:
            yield from _scalars(part, (*place, at))


def _scalar_to(place: tuple[Any, ...], number: Any) -> Callable[[Any, dict[str, Any]], None]:
    def change(data: Any, arrays: dict[str, Any]) -> None:
        for at in place[:-1]:
            data = data[at]
        data[place[-1]] = number

    return change


def _edits_of(name: str, where: str, array: Any) -> Iterator[Edit]:
    """Yield every edit of an array."""
    kind, size = array.dtype, array.size
    if kind.kind in "iu":
        info = np.iinfo(kind)
        wanted = (*WHOLE, 2**64 - 1, *array.shape, size + 1, 100)
        numbers: list[Any] = sorted({number for number in wanted if info.min <= number <= info.max})
    else:
        numbers = [False, True] if kind.kind == "b" else [*REAL, *map(float, {*array.shape, size, size + 1})]
    most = MANY if any(name in where for name in PLACES) else SMALL if kind.kind in "iu" else FEW
    places = range(size) if size <= most else sorted({round(at) for at in np.linspace(0, size - 1, most)})
    for at in places:
        for number in numbers:
            yield Edit(f"{where}[{at} of {array.shape}] = {number!r}", _entry_to(name, at, number))
    shapes = {
        "one fewer": array[:-1], "one more": np.concatenate([array, array[-1:]]) if size else np.zeros(1, kind),
        "none": array[:0], "flat": array.reshape(-1) if array.ndim > 1 else array[np.newaxis],
        "a number": np.zeros((), kind), "turned": array.T,
    }  # fmt: skip
    if array.ndim > 1:
        shapes |= {
            "one column fewer": array[..., :-1],
            "one column more": np.concatenate([array, array[..., -1:]], -1),
        }
    for told, other in shapes.items():
        if other.shape != array.shape:
            yield Edit(f"{where} {told}", _array_to(name, np.ascontiguousarray(other)))
    for other_kind in (np.float64, np.float32, np.int64, np.int8, np.uint64, np.bool_):
        if other_kind != kind:
            with np.errstate(all="ignore"):
                yield Edit(f"{where} of {np.dtype(other_kind)}", _array_to(name, array.astype(other_kind)))


def _entry_to(name: str, at: int, number: Any) -> Callable[[Any, dict[str, Any]], None]:
    def change(data: Any, arrays: dict[str, Any]) -> None:
        arrays[name] = array = arrays[name].copy()
        with np.errstate(all="ignore"):
            array.reshape(-1)[at] = number

    return change


def _array_to(name: str, array: Any) -> Callable[[Any, dict[str, Any]], None]:
    def change(data: Any, arrays: dict[str, Any]) -> None:
        arrays[name] = array

    return change


# --- What is done with it ------------------------------------------------------------


class ToldError(Exception):
    """A sentence that was said while a learner was used."""


def is_sentence(error: Exception) -> bool:
    """Whether an error is one of Sojourn's sentences."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = frame.filename.startswith(SOURCE) and (frame.line or "").lstrip().startswith("raise")
    return ours and type(error) is ValueError and "\n" not in str(error) and not RAW.search(str(error))


def used(kind: Kind, path: Path) -> str:
    """Load a file and use it; return what it was about if the file was refused."""
    env = kind.env()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind.exported:
                policy = sj.load_policy(path)
            else:
                learner = sj.Learner.load(path, env, **kind.given)
                if not hasattr(learner.agent, "draw"):
                    policy = sj.load_policy(path)
    except ValueError as error:
        if is_sentence(error):
            return str(error)
        raise
    if kind.exported:
        for _ in range(20):
            observation = env.observation_space.sample()
            with contextlib.suppress(ValueError):  # it may be for other observations
                if policy.known(observation):
                    policy.act(observation)
        assert isinstance(policy, sj.learner.LearnedPolicy)
        policy.table()
        policy.write(path.with_name("again.json"))
        return ""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            learner.train(STEPS)
        except ValueError as error:
            if is_sentence(error):
                raise ToldError(str(error)) from None
            raise
        single = getattr(env, "single_observation_space", env.observation_space)
        for _ in range(5):
            learner.act(single.sample())
        learner.evaluate(duration=TIME, env=None)
        learner.save(path.with_name("again"))
    return ""


class Tried(NamedTuple):
    """What came of one edit."""

    kind: str
    where: str
    outcome: str  # "refused", "ran", or what must not be: "raw", or "death" of the process, by a hang, too
    text: str


def tried(chosen: Sequence[str], every: int, found: Sequence[str] = (), checked: bool = False) -> list[Tried]:
    """Try every so-many-th edit of some kinds of files in a child, and those that begin like one of `found`."""
    results: list[Tried] = []
    first = 0
    with tempfile.TemporaryDirectory() as folder:
        own = {"SOJOURN_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
        if checked:
            own |= {"NUMBA_BOUNDSCHECK": "1"}
        while True:
            asked = {"kinds": chosen, "first": first, "every": every, "found": found, "checked": checked}
            child = subprocess.run(
                [sys.executable, "-m", "fuzz.edits"], input=json.dumps(asked), capture_output=True, text=True,
                check=False, env=os.environ | own, cwd=folder,
            )  # fmt: skip
            answers = [json.loads(line) for line in child.stdout.splitlines()]
            results += [Tried(**answer["came"]) for answer in answers if "came" in answer]
            if child.returncode == 0:
                return results
            if not answers or "came" in answers[-1]:
                raise RuntimeError(child.stderr)
            last = answers[-1]
            results.append(Tried(last["kind"], last["where"], "death", f"code {child.returncode}"))
            first = last["number"] + 1


def _came(kind: Kind, edit: Edit, path: Path, whole: str, arrays: dict[str, Any]) -> tuple[str, str]:
    """Return what comes of an edit."""
    data, others = json.loads(whole), dict(arrays)
    edit.change(data, others)
    write(path, data, others)
    try:
        refused = used(kind, path)
    except ToldError as error:  # the environment's own words, if it stands where nothing goes on
        is_place = "place" in edit.where.split(".")[:2]
        # What was seen, or a step size, may be so large that the agent diverges, and says so.
        is_large = edit.where.endswith(("= 1e+300", "= inf")) or ".step_size." in edit.where
        has_diverged = is_large and "so it has diverged" in str(error)
        return "ran" if is_place or has_diverged else "raw", str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
        last = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error} [{last.filename}:{last.lineno}]"
        # A number may be finite, but so large that values diverge; the environment then says what it does not allow.
        is_large = edit.where.endswith("= 1e+300") and "is not allowed" in told
        return "ran" if is_large else "raw", told
    return "refused" if refused else "ran", refused


def main() -> None:
    """Try the edits that the standard input asks for; answer each with two lines of JSON, one before and one after."""
    asked = json.loads(sys.stdin.read())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    kernels.PATIENCE = 0.0 if asked["checked"] else math.inf
    if not asked["checked"]:
        setattr(Kernel, "prepared", lambda self, *arguments: self.python)  # noqa: B010 - which no type checker allows
    known, number = kinds(compiled=asked["checked"]), -1
    for name in asked["kinds"]:
        kind = known[name]
        with tempfile.TemporaryDirectory() as folder:
            path = saved(kind, Path(folder))
            assert used(kind, path) == ""  # which also compiles everything
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            data, arrays = parts_of(path)
            whole = json.dumps(data)
            for edit in edits(data, arrays):
                if not edit.where.startswith(kind.only):
                    continue
                number += 1
                is_found = f"{name}: {edit.where}".startswith(tuple(asked["found"]))
                if number < asked["first"] or (number % asked["every"] and not is_found):
                    continue
                about = {"number": number, "kind": name, "where": edit.where}
                print(json.dumps(about), file=answers, flush=True)
                signal.setitimer(
                    signal.ITIMER_PROF, PATIENCE
                )  # which ends the process, even within compiled code
                outcome, text = _came(kind, edit, path, whole, arrays)
                signal.setitimer(signal.ITIMER_PROF, 0)
                came = {"kind": name, "where": edit.where, "outcome": outcome, "text": text}
                print(json.dumps({"came": came}), file=answers, flush=True)


if __name__ == "__main__":
    main()
