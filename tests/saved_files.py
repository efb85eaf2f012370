"""What version 0.2 saved, in `data/saved-by-0.2`, and what it said of that: every later version must say the same.

    python tests/saved_files.py write FOLDER     write all files anew, by the version that is installed
    python tests/saved_files.py tell FOLDER      print what this version reads in the files, as JSON

The files in `data/saved-by-0.2` were written by the first command, with version 0.2.0, and are never written again. Only
the public interface is used here: names of `sojourn` itself, the command line, names of files, keys and columns.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import sys
import tempfile
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from unittest import mock

import gymnasium as gym
import numpy as np
import polars as pl

import sojourn as sj
from asking import ask

FOLDER = Path(__file__).parent / "data" / "saved-by-0.2"
STEPS, MORE, NEXT = 120, 50, 20  # trained before saving and after loading; actions that are listed

Json: TypeAlias = Any


# --- Learners ---------------------------------------------------------------------------


class Shop(gym.Env[Any, Any]):
    """Three queues and three actions; which are allowed depends on the queue and on the time. Episodes end and are cut."""

    def __init__(self, is_masked: bool = True) -> None:
        self.observation_space = gym.spaces.Discrete(3, start=1)
        self.action_space: Any = gym.spaces.Discrete(3, start=2)
        self.is_masked, self.queue, self.steps = is_masked, 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        """Begin with an empty queue."""
        super().reset(seed=seed)
        self.queue = self.steps = 0
        return 1, self._info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Serve; a third of the steps takes no time."""
        luck, length = self.np_random.random(2).tolist()
        reward = (int(action) - 1) * (1.0 + self.queue) - luck
        self.steps += 1
        info = {"duration": 0.0 if self.steps % 3 == 0 else 0.5 + length * int(action)}
        self.queue = (self.queue + int(action) + int(4.0 * luck)) % 3
        return self.queue + 1, reward, luck > 0.97, self.steps >= 40, self._info() | info

    def _info(self) -> dict[str, Any]:
        if not self.is_masked:
            return {}
        mask = np.ones(3, dtype=np.int8)
        mask[self.queue] = self.steps % 4 == 0
        return {"action_mask": mask}


class Noted(gym.Wrapper[Any, Any, Any, Any]):
    """Notes the actions that are taken."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.actions: list[Any] = []

    def step(self, action: Any) -> Any:
        """Take a step, and note its action."""
        self.actions.append(np.asarray(action).tolist())
        return super().step(action)


def gosavi() -> Any:
    return gym.make("sojourn.envs:sojourn/Gosavi-v0")


def queue() -> Any:
    return gym.make("sojourn.envs:sojourn/AdmissionControl-v0", capacity=4)


def two_state() -> Any:
    return gym.make("sojourn.envs:sojourn/TwoState-v0", log_scale=1e-3, max_episode_steps=50)


def market() -> Any:
    return gym.make("sojourn.envs:sojourn/Market-v0", num_bars=300, state_size=3, duration="random")


def wear() -> Any:
    return gym.make("sojourn.envs:sojourn/Wear-v0")


def c_mu() -> Any:
    return gym.make("sojourn.envs:sojourn/CMu-v0")


def hold() -> Any:
    return gym.make("sojourn.envs:sojourn/Hold-v0")


def fleet() -> Any:
    return gym.make("sojourn.envs:sojourn/Fleet-v0")


def cart() -> Any:
    return gym.make("CartPole-v1")


def carts() -> Any:
    return gym.make_vec("CartPole-v1", 3, vectorization_mode="sync")


def wears() -> Any:
    import sojourn.envs  # noqa: F401 - registers the environments

    return gym.make_vec("sojourn/Wear-v0", 2, vectorization_mode="sync")


class Kind(NamedTuple):
    """A learner: where it learns, how it is made, and whether the numbers of further training must be the same.

    With `bits` they must be, to the last bit, on every machine. Without, a version may give others: either because the
    numbers differ between machines, too, or because a rule that has a known fault may be mended; `reason` says which.
    """

    env: Callable[[], Any]
    make: Any
    options: Mapping[str, Any] = {}
    bits: bool = True
    reason: str = ""


_SMALL = {"hidden": (8,), "batch": 16}
_DEEP = {**_SMALL, "replay": 100, "warm_up": 40}
_PPO = {**_SMALL, "rollout": 32, "epochs": 2}
_DOUBLE = {"precision": "double"}
PLANNER = (
    "the planner's numbers depended on the unit of time, and its tries had no limit in time: it has one more number, and "
    "acts otherwise later"
)
IN_SINGLE = "in single precision the last bits differ between machines"
MENDED = (
    "AdaptiveRatio forgot the noise between rare events; it has three more numbers, and says something else"
)
_ESTIMATORS: dict[str, Any] = {
    "Cumulative": sj.Cumulative(),
    "Exponential": sj.Exponential(0.05),
    "Incremental": sj.rates.Incremental(0.05),
    "SmoothedCumulative": sj.rates.SmoothedCumulative(0.05),
    "Harmonic": sj.Harmonic(0.05),
    "WeightedHarmonic": sj.rates.WeightedHarmonic(0.05),
    "CumulativeHarmonic": sj.rates.CumulativeHarmonic(),
    "CumulativeWeightedHarmonic": sj.rates.CumulativeWeightedHarmonic(),
    "AdaptiveRatio": sj.rates.AdaptiveRatio(),
    "ClippedExponential": sj.rates.ClippedExponential(0.05),
    "TimeForgetting": sj.rates.TimeForgetting(0.05),
    "TimeSmoothed": sj.rates.TimeSmoothed(0.05),
    "MeanOfRates": sj.rates.MeanOfRates(0.05),
    "Fixed": sj.rates.Fixed(1.5),
    "Scheduled": sj.rates.Scheduled(sj.Exponential(0.05), sj.rates.Visits(0.5, 0.7)),
    "Centred": sj.rates.Centred(sj.Exponential(0.05), 0.2),
}

LEARNERS: dict[str, Kind] = {
    "smart": Kind(gosavi, sj.smart),
    "relaxed-smart": Kind(gosavi, sj.relaxed_smart),
    "relaxed-smart-gosavi": Kind(gosavi, sj.relaxed_smart, {"variant": "gosavi"}),
    "harmonic-r": Kind(gosavi, sj.harmonic_r),
    "harmonic-r-centred": Kind(queue, sj.harmonic_r, {"centring": 0.1}),
    "weighted-harmonic-r": Kind(gosavi, sj.agents.weighted_harmonic_r),
    "r-learning": Kind(gosavi, sj.r_learning),
    "r-learning-as-printed": Kind(gosavi, sj.r_learning, {"durations": "ignored"}),
    "differential-q": Kind(queue, sj.agents.differential_q),
    "smdp-q-learning": Kind(gosavi, sj.agents.smdp_q_learning),
    "fixed-rate": Kind(gosavi, sj.agents.fixed_rate, {"rate": 0.5}),
    "rvi-q": Kind(queue, sj.agents.rvi_q),
    "rvi-q-mean": Kind(queue, sj.agents.rvi_q, {"reference": "mean"}),
    "planner": Kind(queue, sj.planner, bits=False, reason=PLANNER),
    "planner-masked": Kind(Shop, sj.planner, bits=False, reason=PLANNER),
    "h-learning": Kind(gosavi, sj.agents.h_learning),
    "greedy-bandit": Kind(gosavi, sj.agents.greedy_bandit),
    "ucb-bandit": Kind(gosavi, sj.agents.ucb_bandit),
    "random-agent": Kind(gosavi, sj.agents.random_agent),
    "policy-agent": Kind(gosavi, sj.agents.policy_agent([1, 0], num_actions=2)),
    "follow": Kind(gosavi, sj.agents.follow(sj.smart(2, 2))),
    "chosen": Kind(gosavi, None, bits=False, reason=PLANNER),
    "draw-decay": Kind(
        two_state, sj.smart, {"greedy": "draw", "exploration": sj.agents.Decay(0.9, 0.99, 0.05)}
    ),
    "after-linear": Kind(
        two_state, sj.relaxed_smart, {"greedy": "after", "exploration": sj.agents.Linear(1.0, 0.1, 60)}
    ),
    "every-visits": Kind(market, sj.harmonic_r, {"greedy": "every", "step_size": sj.rates.Visits(0.5, 0.7)}),
    "rate-visits": Kind(gosavi, sj.relaxed_smart, {"rate_step_size": sj.rates.Visits(0.5, 0.7)}),
    "ties-lowest": Kind(market, sj.smart, {"ties": "lowest"}),
    "initial": Kind(gosavi, sj.r_learning, {"initial": [[1.0, 2.0], [3.0, 2.5]]}),
    "masked": Kind(Shop, sj.relaxed_smart),
    "unmasked": Kind(lambda: Shop(is_masked=False), sj.harmonic_r),
    "binned": Kind(
        cart,
        sj.smart,
        {"duration": 0.02, "bins": [1, 1, [-np.inf, 0.0, np.inf], [-np.inf, -0.5, 0.5, np.inf]]},
    ),
    **{f"rate-{name}": Kind(gosavi, sj.relaxed_smart, {"rate": rate}) for name, rate in _ESTIMATORS.items()},
    "tile-q": Kind(wear, sj.tile_q, {"tilings": 4, "tiles": 4}),
    "tile-q-hashed": Kind(fleet, sj.tile_q, {"tilings": 4, "tiles": 4, "memory": 128}),
    "tile-q-unbounded": Kind(cart, sj.tile_q, {"tilings": 2, "tiles": 3, "memory": 512, "duration": 0.02}),
    "tile-q-masked": Kind(c_mu, sj.tile_q, {"tilings": 2, "tiles": 2, "memory": 256}),
    "tile-q-visits": Kind(
        wear, sj.tile_q, {"tilings": 2, "tiles": 4, "step_size": sj.rates.Visits(0.5, 0.7)}
    ),
    "tile-sarsa": Kind(wear, sj.agents.tile_sarsa, {"tilings": 4, "tiles": 4}),
    "tile-q-of-two": Kind(wears, sj.tile_q, {"tilings": 2, "tiles": 4}),
    "deep-q": Kind(wear, sj.deep_q, {**_DEEP, **_DOUBLE}),
    "deep-q-single": Kind(wear, sj.deep_q, _DEEP, bits=False, reason=IN_SINGLE),
    "deep-q-masked": Kind(c_mu, sj.deep_q, {**_DEEP, **_DOUBLE}),
    "deep-q-of-three": Kind(carts, sj.deep_q, {**_DEEP, **_DOUBLE, "duration": 0.02}),
    "ppo": Kind(wear, sj.ppo, {**_PPO, **_DOUBLE}),
    "ppo-single": Kind(wear, sj.ppo, _PPO, bits=False, reason=IN_SINGLE),
    "ppo-continuous": Kind(hold, sj.ppo, {**_PPO, **_DOUBLE}),
    "ppo-masked": Kind(c_mu, sj.ppo, {**_PPO, **_DOUBLE}),
    "ppo-of-two": Kind(wears, sj.ppo, {**_PPO, **_DOUBLE}),
}
LEARNERS["rate-AdaptiveRatio"] = LEARNERS["rate-AdaptiveRatio"]._replace(bits=False, reason=MENDED)


def trained(kind: Kind) -> sj.Learner:
    """Return a learner as it was before it was saved."""
    learner = sj.Learner(kind.env(), kind.make, seed=3, **kind.options)
    learner.train(STEPS)
    return learner


def told_of_learner(path: Path, kind: Kind) -> Json:
    """Return what there is to know of a saved learner: as it is read, and after further training."""
    learner = sj.Learner.load(path, kind.env())
    with tempfile.TemporaryDirectory() as folder:
        again, later = Path(folder, "again"), Path(folder, "later")
        learner.save(again)
        read = {**_seen(learner), "saved again": again.read_bytes() == path.read_bytes()}
        learner.train(MORE)
        learner.save(later)
        after = {**_seen(learner), "arrays": _arrays(later)}
    return {"read": read, "trained further": after, "next actions": _next_actions(path, kind)}


def _next_actions(path: Path, kind: Kind) -> list[Any]:
    """Return the next actions of a loaded learner, after those that bring the environment to where it was."""
    env = kind.env()
    if isinstance(env, gym.vector.VectorEnv):
        return []
    noted = Noted(env)
    sj.Learner.load(path, noted).train(NEXT)
    return noted.actions[-NEXT:]


def _seen(learner: sj.Learner) -> dict[str, Json]:
    """Return what a user sees of a learner; numbers in hexadecimal, so that no bit is lost."""
    observations = _observations(learner.env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of states that were never visited
        acts = [_bits(learner.act(observation)) for observation in observations]
    seen = {
        "rate": _bits(learner.rate),
        "largest_value": _bits(learner.largest_value),
        "totals": [_bits(number) for number in learner.totals],
        "num_actions": learner.num_actions,
        "seed": learner.seed,
        "duration": learner.duration,
        "acts": acts,
    }
    if not isinstance(learner.agent, sj.agents.ObservingAgent):
        seen |= {
            "q": _bits(learner.q),
            "policy": learner.policy.tolist(),
            "states": learner.states.num_states,
        }
    return seen


def _observations(env: Any) -> list[Any]:
    """Return some observations of an environment, always the same."""
    space = getattr(env, "single_observation_space", env.observation_space)
    if isinstance(space, gym.spaces.Discrete):
        return list(range(int(space.start), int(space.start + space.n)))[:20]
    rng = np.random.default_rng(0)
    return [rng.uniform(0.0, 1.0, space.shape).astype(space.dtype) for _ in range(10)]


def _bits(number: Any) -> Json:
    """Return a number or an array of them as texts that have every bit; whole numbers as they are."""
    if isinstance(number, np.ndarray | list):
        return [_bits(entry) for entry in number]
    if isinstance(number, float | np.floating):
        return float(number).hex()
    return int(number)


# Arrays of deep Q that its files did not have in 0.2: which steps followed one another, and the action that is held.
NEW_ARRAYS = {
    *("replay.explored", "replay.following", "latest"), *("begun", "paid", "lasted"), *("held", "left")
}  # fmt: skip


def _arrays(path: Path) -> str:
    """Return a hash of all arrays in the file of a learner but those that 0.2 did not have."""
    with zipfile.ZipFile(path) as archive:
        learned = (
            json.loads(archive.read("contents.json"))["contents"]["dict"].get("learned", {}).get("dict", {})
        )
        new = {learned[name]["array"] for name in NEW_ARRAYS & set(learned)}
        old = [name for name in archive.namelist() if name != "contents.json" and name not in new]
        parts = [archive.read(name) for _, name in sorted((f"{n}.npy", name) for n, name in enumerate(old))]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


POLICIES = ("smart", "masked", "every-visits", "binned")  # learners whose policy was exported, too


def told_of_policy(path: Path, kind: Kind) -> Json:
    """Return what there is to know of an exported policy, or of the policy in the file of a learner."""
    policy, env = sj.load_policy(path), kind.env()
    assert isinstance(policy, sj.learner.LearnedPolicy)
    known = [observation for observation in _observations(env) if policy.known(observation)]
    return {
        "known": len(known),
        "acts": [policy.act(observation) for observation in known],
        "table": policy.table().to_dicts(),
    }


# --- Folders of commands ------------------------------------------------------------------

SWEEP = """name = "kept"
seeds = 2
steps = 200
record = 5

[[world]]
kind = "two-state"
log_scale = [1e-3, 1e-2]

[[world]]
kind = "gosavi"

[[agent]]
kind = "smart"
step_size = [0.01, 0.1]

[[agent]]
kind = "harmonic-r"
label = "harmonic"
rate_step_size = 0.05
"""
MEANS = SWEEP.replace('"kept"', '"means"').replace(
    "record = 5", 'record = 5\ncurves = "mean"\npolicies = false\nspacing = "even"'
)
MODEL = """states = ["good", "worn", "broken"]
actions = ["run", "mend"]

[[pairs]]
state = "good"
action = "run"
reward = 5.0
duration = { law = "exponential", mean = 1.0 }
next = { good = 0.8, worn = 0.2 }

[[pairs]]
state = "worn"
action = "run"
reward = 4.0
duration = { law = "exponential", mean = 1.0 }
next = { worn = 0.6, broken = 0.4 }

[[pairs]]
state = "worn"
action = "mend"
reward = -2.0
duration = 0.5
next = { good = 1.0 }

[[pairs]]
state = "broken"
action = "mend"
reward = -10.0
duration = 3.0
next = { good = 1.0 }
"""
INPUTS = {"kept.toml": SWEEP, "means.toml": MEANS, "machine.toml": MODEL}

# Each command that writes a folder, given where the inputs and the learners are; the folder has the name of the entry.
COMMANDS: dict[str, str] = {
    "sweep": "sweep kept.toml --out {out} --jobs 1",
    "sweep-means": "sweep means.toml --out {out} --jobs 1",
    "compare": "compare gosavi --agent smart --agent harmonic-r --steps 200 --seeds 2 --tuning-seeds 1 --widen 0 "
    "--exploration 0.1 --grid step_size=0.1 --grid rate_step_size=0.1 --out {out} --jobs 1",
    "compare-changing": "compare pay-rise --agent smart --steps 200 --seeds 2 --tuning-seeds 1 --widen 0 "
    "--exploration 0.1 --grid step_size=0.1 --out {out} --jobs 1",
    "compare-observed": "compare wear --agent tile-q --steps 400 --seeds 1 --out {out} --jobs 1",
    "solve": "solve machine.toml --out {out}",
    "solve-problem": "solve admission-control -o capacity=3 --out {out}",
    "audit": "audit long-shot --out {out}",
    "log": "log decisions.csv --out {out}",
    "rates": "rates decisions.csv --step-sizes 0.01,0.1 --out {out}",
    "evaluate": "evaluate learners/smart.sojourn --time 500 --out {out}",
    "robustness": "reproduce robustness --seeds 1 --steps 2 --episodes 1 --formats svg --out {out} --jobs 1",
    "bitcoin": "reproduce bitcoin --segment-length 60 --segments 0-1 --seeds 2 --state-sizes 3 --formats svg --out {out} --jobs 1",
    "drift": "reproduce drift --streams 2 --worlds 2 --seeds 1 --formats svg --out {out} --jobs 1",
    "observations": "reproduce observations --seeds 1 --rate-seeds 0 --length 0.001 --formats svg --out {out} --jobs 1",
}
RESUMED = (
    "sweep",
    "sweep-means",
    "compare",
    "compare-changing",
    "compare-observed",
    "bitcoin",
    "observations",
)
LEFT_OUT = {  # what is not kept, because it is large and no page shows it; so these two cannot be resumed
    "robustness": ["results.parquet", "sweep/results.parquet", "sweep/timings.parquet"],
    "drift": [
        "streams",
        *[
            f"{name}/{table}.parquet"
            for name in ("family", "named", "others", "sweep")
            for table in ("results", "timings")
        ],
    ],
}
PAGE_NUMBERS = 150  # so many of the numbers on a page are kept, chosen by their hashes

# Commands that print JSON; what they print is compared by its keys, and by its numbers where these must not change.
PRINTED: dict[str, str] = {
    "solve": "solve machine.toml --json",
    "audit": "audit gosavi --json",
    "log": "log decisions.csv --json",
    "rates": "rates decisions.csv --step-sizes 0.01,0.1 --json",
    "envs": "envs --json",
    "claims": "claims --json",
    "claim": "claims monotonicity --json",
    "train": "train sojourn/Gosavi-v0 --agent smart --steps 60 --out new.sojourn --json",
    "train-deep": "train sojourn/Wear-v0 --agent deep-q --steps 20 --out deep.sojourn --json",
    "evaluate": "evaluate learners/smart.sojourn --time 300 --json",
}
KEYS_ONLY = ("envs", "claims", "claim")  # their texts may change
# Wrong commands, each with its exit code.
WRONG: dict[str, int] = {
    "nonsense": 2,
    "solve": 2,
    "solve gosavi --nonsense": 2,
    "solve nonsense": 1,
    "solve kept.toml": 1,
    "solve gosavi -o nonsense=1": 1,
    "audit gosavi --policy 7,7": 1,
    "compare nonsense --out wrong": 1,
    "compare gosavi --agent nonsense --out wrong": 1,
    "compare gosavi --steps 1 --out wrong": 2,
    "sweep machine.toml --out wrong": 1,
    "sweep missing.toml --out wrong": 1,
    "sweep kept.toml": 2,
    "results machine.toml": 1,
    "report learners": 1,
    "log machine.toml": 1,
    "rates missing.csv": 1,
    "train nonsense/Nonsense-v0": 1,
    "train sojourn/Gosavi-v0 --agent nonsense": 1,
    "evaluate machine.toml": 1,
    "policy machine.toml": 1,
    "claims nonsense": 1,
    "reproduce nonsense": 2,
    "reproduce bitcoin --data missing.csv --out wrong": 1,
    "data nonsense": 2,
}


def decisions() -> str:
    """Return a log of decisions as CSV, always the same."""
    state, lines = 7, ["state,action,reward,duration"]
    stand = "centre"
    for row in range(120):
        state = (1103515245 * state + 12345) % 2**31
        ride = "far" if state >> 16 & 1 else "near"
        lines.append(
            f"{stand},{ride},{(45 if ride == 'far' else 12) + row % 5},{(40 if ride == 'far' else 10) + row % 7}"
        )
        stand = {"near": stand, "far": "airport" if stand == "centre" else "centre"}[ride]
    return "\n".join(lines) + "\n"


def tables(folder: Path) -> dict[str, Json]:
    """Return the columns of every table in a folder, and a hash of its content."""
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        table = pl.read_parquet(path)
        content = "" if path.name == "timings.parquet" else _digest(table)
        columns = {name: str(kind) for name, kind in table.schema.items()}
        found[path.relative_to(folder).as_posix()] = {
            "columns": columns,
            "rows": len(table),
            "content": content,
        }
    return found


def _digest(table: pl.DataFrame) -> str:
    """Return a hash of a table, without columns that say how long something took."""
    rows = table.drop([name for name in table.columns if "seconds" in name]).rows()
    text = json.dumps(rows, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def keys(data: Json, place: str = "") -> set[str]:
    """Return the paths of all keys in JSON; a list counts as all of its entries.

    >>> sorted(keys({"agents": [{"name": "a"}, {"rate": 1}]}))
    ['agents', 'agents[].name', 'agents[].rate']
    """
    if isinstance(data, list):
        return {key for entry in data for key in keys(entry, f"{place}[]")}
    if not isinstance(data, dict):
        return set()
    found: set[str] = set()
    for name, entry in data.items():
        path = f"{place}.{name}" if place else name
        found |= {path} | keys(entry, path)
    return found


def documents(folder: Path) -> dict[str, list[str]]:
    """Return the keys of every JSON file in a folder."""
    return {
        path.relative_to(folder).as_posix(): sorted(keys(json.loads(path.read_text(encoding="utf-8"))))
        for path in sorted(folder.rglob("*.json"))
    }


def told_of_folder(folder: Path) -> Json:
    """Return what there is to know of the folder of a command: its files, columns, keys, and numbers on its page."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {
        "files": [name for name in files if not name.endswith(".lock")],
        "tables": tables(folder),
        "documents": documents(folder),
        "page": sorted(numbers_on_page(folder), key=lambda text: hashlib.sha256(text.encode()).digest())[
            :PAGE_NUMBERS
        ],
    }


def numbers_on_page(folder: Path) -> set[str]:
    """Return all numbers with a decimal point on the page of a report about a folder: in its tables and charts."""
    with tempfile.TemporaryDirectory() as place:
        page = Path(place, "page.html")
        sj.write_report([folder], page)
        text = re.sub(
            r"<(style|script)(?![^>]*json)[^>]*>.*?</\1>",
            " ",
            page.read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )
    return set(re.findall(r"-?\d+\.\d+(?:e[-+]?\d+)?", text))


def options(words: list[str]) -> Json:
    """Return the names of a command's options and of the commands below it, as its help lists them."""
    with mock.patch.dict(os.environ, COLUMNS="200", TERMINAL_WIDTH="200"):
        text = ask(*words, "--help").stdout
    found = {"options": sorted(set(re.findall(r"^\W+(?:\*\s+)?(--[\w-]+)", text, re.MULTILINE)))}
    listed = re.search(r"─ Commands ─.*?╰", text, re.DOTALL)
    names = re.findall(r"^│ (\w[\w-]*)", listed.group(), re.MULTILINE) if listed else []
    return found | ({"commands": {name: options([*words, name]) for name in names}} if names else {})


# --- Names --------------------------------------------------------------------------------


def names(root: Path) -> dict[str, list[str]]:
    """Return the names of the package: at the top, in its public modules, in the documentation, and in the tests."""
    modules = [name for name in sj.__all__ if inspect.ismodule(getattr(sj, name))]
    public = {
        f"sojourn.{name}.{own}" for name in modules for own in getattr(getattr(sj, name), "__all__", ())
    }
    pages = [root / "README.md", *sorted(root.glob("docs/**/*.md"))]
    tests = [path for path in sorted(root.glob("tests/**/*.py")) if path.name != Path(__file__).name]
    return {
        "top": sorted(sj.__all__),
        "modules": sorted(public),
        "documentation": sorted(_dotted(pages)),
        "tests": sorted(_dotted(tests)),
    }


def _dotted(files: list[Path]) -> set[str]:
    """Return the dotted names below `sojourn` in some files, as far as they lead somewhere."""
    found: set[str] = set()
    for path in files:
        text = path.read_text(encoding="utf-8")
        found |= {f"sojourn.{name}" for name in re.findall(r"\b(?:sj|sojourn)\.([a-zA-Z_][\w.]*\w)", text)}
        found |= {name.replace(":", ".") for name in re.findall(r"\bsojourn[\w.]*:[a-zA-Z]\w*", text)}
        for module, several in re.findall(
            r"^\s*from (sojourn[\w.]*) import (\([^)]*\)|[\w, ]+)", text, re.MULTILINE
        ):
            found |= {
                f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?[,)\s]*(?:$|,|\n)", several)
            }
    return {name for name in found if "._" not in name and is_there(name)}


def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


# --- All of it ----------------------------------------------------------------------------


def tell(folder: Path) -> Json:
    """Return what this version reads in the files; where it cannot, the error."""

    def tried(told: Callable[..., Json], *arguments: Any) -> Json:
        try:
            return told(*arguments)
        except Exception as error:  # noqa: BLE001 - a test shows it
            return f"{type(error).__name__}: {error}"

    found: Json = {"learners": {}, "policies": {}, "folders": {}}
    for name, kind in LEARNERS.items():
        found["learners"][name] = tried(told_of_learner, folder / "learners" / f"{name}.sojourn", kind)
    for name in POLICIES:
        for path in (folder / "policies" / f"{name}.json", folder / "learners" / f"{name}.sojourn"):
            place = path.relative_to(folder).as_posix()
            found["policies"][place] = tried(told_of_policy, path, LEARNERS[name])
    for name in COMMANDS:
        found["folders"][name] = tried(told_of_folder, folder / name)
    return found


def write(folder: Path) -> None:
    """Write all files, and what there is to say of them."""
    for name in ("learners", "policies"):
        (folder / name).mkdir(parents=True)
    for name, text in {**INPUTS, "decisions.csv": decisions()}.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, kind in LEARNERS.items():
        learner = trained(kind)
        learner.save(folder / "learners" / f"{name}.sojourn")
        if name in POLICIES:
            for ending in ("csv", "json"):
                learner.write_policy(folder / "policies" / f"{name}.{ending}")
    for name, command in COMMANDS.items():
        done = ask(*command.format(out=name).split(), folder=folder)
        assert done.returncode == 0, (name, done.stderr)
    for path in [*folder.rglob("figures"), *folder.rglob(".lock")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, files in LEFT_OUT.items():
        for file in files:
            shutil.rmtree(folder / name / file) if file == "streams" else (folder / name / file).unlink()
    found = tell(folder)
    _write_json(folder / "learners.json", {name: found[name] for name in ("learners", "policies")})
    _write_json(folder / "folders.json", {"rules_version": rules_version(), "folders": found["folders"]})
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(folder, Path(place, "copy"))
        commands: Json = {
            "printed": {
                name: json.loads(ask(*words.split(), folder=copy).stdout) for name, words in PRINTED.items()
            },
            "wrong": {words: ask(*words.split(), folder=copy).returncode for words in WRONG},
        }
    for name in KEYS_ONLY:
        commands["printed"][name] = sorted(keys(commands["printed"][name]))
    commands["environments"] = sorted(name for name in gym.registry if name.startswith("sojourn/"))
    commands["command"] = options([])
    _write_json(folder / "commands.json", commands)
    _write_json(folder / "names.json", names(Path(__file__).parents[1]))


def _write_json(path: Path, data: Json) -> None:
    """Write JSON in which lists of texts and numbers take one line each."""
    text = json.dumps(data, indent=1)
    short = re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\n\s*", " ", found.group()), text)
    path.write_text(short + "\n", encoding="utf-8")


def rules_version() -> int:
    """Return the version of the rules that decide numbers, which every sweep says."""
    return int(json.loads(sj.runs.parse_sweep(tomllib.loads(SWEEP)).to_json())["rules_version"])


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        sys.stdout.write(json.dumps(tell(Path(sys.argv[2]))))
