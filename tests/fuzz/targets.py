"""What is done with a spoiled file, one function a format: it raises, or what was accepted is right.

Right is what an independent reader of the same file says: of a model the law of every pair, of a sweep the number of
its runs, of bars the counts and the prices, of a log the rate. A learner must say the same when it is saved again.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import gzip
import itertools
import json
import math
import re
import shutil
import tempfile
import tomllib
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import polars as pl

import sojourn as sj
import sojourn.envs
from sojourn.answers import log as log_words
from sojourn.answers import rates as rates_words
from sojourn.answers.log import answered
from sojourn.answers.page import find, read
from sojourn.answers.rates import rated_file
from sojourn.data.hints import as_json as record
from sojourn.learner.saved import Saved
from sojourn.models.model_files import load_model, save_model
from sojourn.report.blocks import Budget
from sojourn.report.html import page_of
from sojourn.runs.spec import load_sweep
from sojourn.runs.tasks import plan


class WrongNumberError(Exception):
    """Something was accepted, and it is not what the file says."""


def require(truth: object, what: str) -> None:
    """Raise if something accepted is wrong."""
    if not truth:
        raise WrongNumberError(what)


def require_words(lines: list[str]) -> None:
    """Raise if lines for a terminal have something in them that is no number where one belongs."""
    strange = [line for line in lines if re.search(r"(?<![\w'])(nan|inf|None)(?![\w'-])", line)]
    require(not strange, f"printed: {strange[:1]}")


# --- Models ---------------------------------------------------------------------------


def models(path: Path) -> None:
    """A model has the laws that its file says, and is the same after it has been written and read again."""
    model = load_model(path)
    content = json.loads(path.read_text()) if path.suffix == ".json" else tomllib.loads(path.read_text())
    wanted = _pairs(content)
    states, actions = (
        {name: number for number, name in enumerate(content[key])} if isinstance(content[key], list) else None
        for key in ("states", "actions")
    )
    require(model.num_pairs == len(wanted), "number of pairs")
    for (state, action), rows in wanted.items():
        pair = model.pair(_number(state, states), _number(action, actions))
        law: dict[int, float] = defaultdict(float)
        reward = duration = 0.0
        for to, chance, gives, takes, _ in rows:
            law[_number(to, states)] += chance
            reward, duration = reward + chance * gives, duration + chance * takes
        found: dict[int, float] = defaultdict(float)
        for row in range(model.row_offsets[pair], model.row_offsets[pair + 1]):
            found[int(model.successor[row])] += float(model.probability[row])
        for to in law.keys() | found.keys():
            require(math.isclose(law[to], found[to], rel_tol=1e-7, abs_tol=1e-12), "probability")
        scale = max((abs(chance * size) for _, chance, _, _, size in rows), default=0.0)
        require(math.isclose(reward, model.reward[pair], rel_tol=1e-7, abs_tol=1e-7 * scale), "reward")
        require(math.isclose(duration, model.duration[pair], rel_tol=1e-7), "duration")
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, f"again{path.suffix}")
        save_model(model, again)
        back = load_model(again)
    for name in ("pair_offsets", "row_offsets", "successor", "probability", "action", "reward", "duration"):
        require(np.array_equal(getattr(model, name), getattr(back, name)), f"{name} after writing")
    require((model.state_names, model.action_names) == (back.state_names, back.action_names), "names")


def _number(given: Any, names: dict[str, int] | None) -> int:
    return int(given) if names is None else names[given]


def _pairs(content: Any) -> dict[tuple[Any, Any], list[tuple[Any, float, float, float, float]]]:
    """Return the outcomes of each state and action: next state, probability, mean reward, mean duration, size of rewards."""
    pairs: dict[tuple[Any, Any], list[tuple[Any, float, float, float, float]]] = defaultdict(list)
    for pair in content["pairs"]:
        if "next" in pair:
            outcomes = [{"next": to, "probability": chance} for to, chance in pair["next"].items()]
        else:
            outcomes = pair["outcomes"]
        numbered = [
            (_key(content["states"], pair["state"]), _key(content["actions"], pair["action"]), outcome)
            for outcome in outcomes
        ]
        for state, action, outcome in numbered:
            rewards = outcome.get("reward", pair.get("reward"))
            gives, takes = _mean(rewards), _mean(outcome.get("duration", pair.get("duration", 1.0)))
            samples = rewards.get("values", ()) if isinstance(rewards, dict) else ()  # they may cancel
            size = max(map(abs, (gives, *samples)))
            pairs[state, action].append((outcome["next"], float(outcome["probability"]), gives, takes, size))
    return pairs


def _key(names: Any, given: Any) -> Any:
    return given if isinstance(names, list) else int(given)


def _mean(law: Any) -> float:
    if law is None:
        return 1.0
    if not isinstance(law, dict):
        return float(law)
    if law["law"] != "exponential" and "mean" in law:
        return float(law["mean"])
    match law["law"]:
        case "weibull":
            return float(law["scale"] * math.gamma(1.0 + 1.0 / law["shape"]))
        case "lognormal":
            return float(law["median"] * math.exp(law["sigma"] ** 2 / 2.0))
        case "empirical":
            return math.fsum(law["values"]) / len(law["values"])
        case "constant":
            return float(law["value"])
        case "exponential":
            return float(law["mean"])
        case "gamma":
            return float(law["shape"] * law["scale"])
        case "uniform":
            return float(law["low"] + law["high"]) / 2.0
        case "two_point":
            return float(law["low"] + law["probability"] * (law["high"] - law["low"]))
        case _:
            z = (law["location"] - law["floor"]) / law["scale"]
            bell = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
            return float(law["floor"] + law["scale"] * (z * math.erfc(-z / math.sqrt(2.0)) / 2.0 + bell))


# --- Sweeps ---------------------------------------------------------------------------


def sweeps(path: Path) -> None:
    """A sweep has as many runs as its file says, and its tasks have them all."""
    sweep = load_sweep(path)
    content = tomllib.loads(path.read_text())
    cells = math.prod(
        sum(
            math.prod(_choices(given) for key, given in entry.items() if key not in ("kind", "label"))
            for entry in content[name]
        )
        for name in ("world", "agent")
    )
    steps = content.get("steps")
    lengths = len(steps) if isinstance(steps, list) else 1
    seeds = content["seeds"] if isinstance(content["seeds"], int) else len(content["seeds"])
    require(sweep.num_runs == cells * lengths * seeds, "number of runs")
    json.loads(sweep.to_json())
    if sweep.num_runs <= 500:
        require(sum(task.num_runs for task in plan(sweep)) == sweep.num_runs, "runs of all tasks")
    else:
        require(all(task.num_runs > 0 for task in itertools.islice(plan(sweep), 3)), "runs of a task")


def _choices(given: Any) -> int:
    if isinstance(given, list):
        return len(given)
    space = (
        next((given[key] for key in ("linspace", "logspace") if key in given), None)
        if isinstance(given, dict)
        else None
    )
    return 1 if space is None else int(space[2])


# --- Learners -------------------------------------------------------------------------


@functools.cache
def _env(masked: bool) -> Any:
    if masked:
        return gym.make("sojourn/AdmissionControl-v0", capacity=3)
    return gym.make("sojourn/TwoState-v0", log_scale=1e-3)


def learners(path: Path) -> None:
    """A learner can go on, and says the same when it is saved again; only where it stood may be forgotten."""
    learner = sj.Learner.load(path, _env("masked" in path.name))
    with tempfile.TemporaryDirectory() as folder:
        again, third = Path(folder, "again"), Path(folder, "third")
        learner.save(again)
        one, other = _contents(path), _contents(again)
        # A learner of an older version does not say how its agent was made.
        for name in Saved.__annotations__.keys() & one["contents"]["dict"].keys() - {
            "state",
            "drawn",
            "place",
            "env",
        }:
            require(_alike(one["contents"]["dict"][name], other["contents"]["dict"][name], one, other), name)
        sj.Learner.load(again, _env("masked" in path.name)).save(third)
        require(_contents(third) == other or other["contents"]["dict"]["place"] is None, "saving twice")
    learner.train(3)


def _contents(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        found = json.loads(archive.read("contents.json"))
        return found | {
            "arrays": {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
        }


def _alike(one: Any, other: Any, ours: Any, theirs: Any) -> bool:
    """Whether two entries say the same; an array is its numbers, and a whole number may have become a float."""
    if isinstance(one, dict) and isinstance(other, dict):
        if "array" in one and "array" in other:
            return np.array_equal(_load(ours, one), _load(theirs, other), equal_nan=True)
        return one.keys() == other.keys() and all(_alike(one[key], other[key], ours, theirs) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _alike(a, b, ours, theirs) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, int | float) and isinstance(other, float):
        return float(one) == other or (one != one and other != other)
    return bool(one == other)


def _load(contents: Any, entry: Any) -> Any:
    import io

    return np.load(io.BytesIO(contents["arrays"][entry["array"]])).astype(float)


# --- Policies -------------------------------------------------------------------------


def policies(path: Path) -> None:
    """A policy has the best action of each of its states, as plain Python finds it in the file."""
    policy, content = sj.load_policy(path), json.loads(path.read_text())
    assert isinstance(policy, sj.learner.LearnedPolicy)
    rows = [[-math.inf if value is None else value for value in row] for row in content["values"]]
    best = [row.index(max(row)) + content["first_action"] for row in rows]
    require(policy.table()["action"].to_list() == best, "actions")
    if content["states"]["kind"] == "discrete":
        seen = [number + content["states"]["start"] for number in content["numbers"]]
        require([policy.act(observation) for observation in seen] == best, "acting")


# --- Bars -----------------------------------------------------------------------------


def bars(path: Path) -> None:
    """Bars account for every row, ascend in time, and have prices that stand in the file."""
    repair = path.stat().st_size % 2 == 0
    found = sj.worlds.load_bars(path, fill=2, repair=repair)
    require(found.rows is not None and found.rows - found.dropped + found.filled == len(found), "counts")
    require((np.diff(found.timestamp) > 0).all(), "order of time")
    for side in (found.open, found.close):
        require(len(side) == len(found) and (side > 0.0).all() and np.isfinite(side).all(), "prices")
    if path.name.endswith((".csv", ".csv.gz")):
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        text = data.decode("utf-8", "replace")
        numbers = set()
        for sign in ",;\t|\n":
            for field in text.replace(sign, "\x00").replace("\n", "\x00").split("\x00"):
                try:
                    numbers.add(float(field.strip(" \t\r\"'\ufeff")))
                except ValueError:
                    continue
        require(set(found.close.tolist()) <= numbers, "prices that are not in the file")


# --- Logs -----------------------------------------------------------------------------


def logs(path: Path) -> None:
    """All answers about a log can be had and written; of a file without flaws the observed rate is that of all its rows."""
    log = sj.read_log(path)
    found = answered(path.name, log, 0.95)
    json.dumps(record(found), allow_nan=False)
    require_words(list(found.sentences))
    require(len(log_words.lines(found)) > 3, "lines")
    rate = log.behaviour.rate
    require(
        math.isfinite(rate) and log.behaviour.low <= rate <= log.behaviour.high, "the behaviour's interval"
    )
    require(sum(sum(counts.values()) for counts in log.counts().values()) == len(log), "counts")
    if log.findings == ():
        model = log.model()
        require(model.counts is not None and int(model.counts.sum()) == len(log), "counts of the model")
    require(found.plain_gain is None or math.isfinite(found.plain_gain), "the gain of the model")
    require(len(found.advice) == len(log.states), "states of the policy")
    rows = pl.read_parquet(path).to_dicts() if path.suffix == ".parquet" else _csv_rows(path)
    if rows is None or log.refused or log.findings or "next_state" not in rows[0]:
        return
    with contextlib.suppress(TypeError, ValueError):
        total, clock = (math.fsum(float(row[name]) for row in rows) for name in ("reward", "duration"))
        require(len(log) == len(rows), "rows")
        require(math.isclose(log.behaviour.observed, total / clock, rel_tol=1e-9, abs_tol=1e-9), "the rate")


def _csv_rows(path: Path) -> list[dict[str, str]] | None:
    """Return the rows as Python's own reader has them; None if a row has too many or too few fields."""
    with (
        path.open(encoding="utf-8-sig", errors="replace", newline="") as handle,
        contextlib.suppress(csv.Error),
    ):
        rows = list(csv.DictReader(handle))
        if rows and all(None not in row and None not in row.values() for row in rows):
            return rows
    return None


def rates(path: Path) -> None:
    """The estimators that fit rewards and durations are found, written and told; no number in them is missing."""
    found = rated_file(path, kinds=["Exponential", "Cumulative"], step_sizes=[0.01, 0.1])
    json.dumps(record(found), allow_nan=False)
    require(math.isfinite(found.rate), "the rate")
    require_words(rates_words.lines(found))


# --- Folders for a report -------------------------------------------------------------


def reports(path: Path) -> None:
    """A page is made of what a folder holds, and can be written; `path` is a zip of the folder's files."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "out")
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        page = page_of([read(one, Budget()) for one in find(folder)], "title")
        require(page.rstrip().endswith("</html>"), "the end of the page")
        Path(place, "page.html").write_text(page, encoding="utf-8")
        shutil.rmtree(folder)


TARGETS = {
    target.__name__: target for target in (models, sweeps, learners, policies, bars, logs, rates, reports)
}
assert sojourn.envs
