"""The study of environments that nobody here wrote: what agents earn there, and whether they keep their best policy.

Each agent has one setting for all environments. After its training a run measures two policies in the same held-out
episodes: the best one in the course of the training (`Learner.best`) and the last one. What is earned is reward per
frame, a step of the environment as it is. Environments that are not installed are left out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import polars as pl
from gymnasium import spaces

from sojourn import __version__
from sojourn.answers.comparison.observed import in_processes
from sojourn.data.files import Json, load_json, own_folder, write_json, write_text, write_whole
from sojourn.data.hints import as_json, read_record
from sojourn.data.numbers import nearest, positive, shown, whole
from sojourn.learner.choice import OBSERVERS
from sojourn.learner.evaluation import Evaluation
from sojourn.learner.learner import Learner
from sojourn.report import blocks, figures
from sojourn.report.charts import Axis, Sheet, Whisker, Whiskers
from sojourn.report.looks import plain
from sojourn.report.markdown import markdown
from sojourn.report.words import counted, number
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import claim_folder
from sojourn.runs.spec import RULES_VERSION

FOLLOWED = 20_000.0  # frames for which each of the two policies is measured
FEWEST = 1000  # steps of a run
RUNS = "runs"
_SHORTEST, _LONGEST = 2, 8  # frames for which a repeated action is taken
_OTHERS = ("sb3-ppo", "sb3-dqn", "sb3-sac")  # of stable-baselines3, where it is installed
IGNORING = " without durations"


# --- The environments ---------------------------------------------------------------------


class Ending(gym.Wrapper[Any, Any, Any, Any]):
    """Pays a number where an episode is terminated, and nothing else."""

    def __init__(self, env: Any, paid: float) -> None:
        super().__init__(env)
        self.paid = paid

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        seen, _, terminated, truncated, info = self.env.step(action)
        return seen, self.paid if terminated else 0.0, terminated, truncated, info


class Repeated(gym.Wrapper[Any, Any, Any, Any]):
    """Takes each action for 2 to 8 frames, drawn at random; the duration is the number of frames."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        if seed is not None:
            self.lengths = np.random.default_rng([seed, 2])
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action until its frames are over, or the episode is."""
        total, frames = 0.0, 0
        for _ in range(int(self.lengths.integers(_SHORTEST, _LONGEST + 1))):
            seen, reward, terminated, truncated, info = self.env.step(action)
            total, frames = total + float(reward), frames + 1
            if terminated or truncated:
                break
        return seen, total, terminated, truncated, {**info, "duration": float(frames)}


class Place(NamedTuple):
    """An environment of the study, and how long agents are trained in it."""

    env_id: str
    about: str
    steps: int
    options: tuple[tuple[str, Any], ...] = ()
    ending: float | None = None
    repeated: bool = False
    few: bool = False  # whether two seeds must do, since a run takes minutes


_UNENDING = (("terminate_when_unhealthy", False),)
PLACES = {
    "cart-pole": Place("CartPole-v1", "a fall costs 1", 100_000, ending=-1.0),
    "lunar-lander": Place("LunarLander-v3", "as it is", 100_000),
    "mountain-car": Place("MountainCar-v0", "the top pays 1", 100_000, ending=1.0),
    "acrobot": Place("Acrobot-v1", "as it is", 100_000),
    "pendulum": Place("Pendulum-v1", "as it is", 20_000),
    "cart-pole-repeated": Place("CartPole-v1", "a fall costs 1; 2 to 8 frames", 60_000, (), -1.0, repeated=True),
    "acrobot-repeated": Place("Acrobot-v1", "2 to 8 frames", 60_000, repeated=True),
    "half-cheetah": Place("HalfCheetah-v5", "continuing", 300_000, few=True),
    "swimmer": Place("Swimmer-v5", "continuing", 300_000, few=True),
    "hopper": Place("Hopper-v5", "continuing", 300_000, _UNENDING, few=True),
    "ant": Place("Ant-v5", "continuing", 300_000, _UNENDING, few=True),
}  # fmt: skip


def made(name: str) -> Any:
    """Return an environment of the study.

    >>> env = made("cart-pole-repeated")
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[4]["duration"]
    8.0
    """
    place = PLACES[name]
    env: Any = gym.make(place.env_id, **dict(place.options))
    env = env if place.ending is None else Ending(env, place.ending)
    return Repeated(env) if place.repeated else env


def missing(name: str) -> str:
    """Return why an environment is left out, or an empty text.

    >>> missing("cart-pole")
    ''
    """
    try:
        made(name).close()
    except (ImportError, gym.error.Error) as error:
        why = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
        return f"{name} is left out, as {PLACES[name].env_id} cannot be made: {why}."
    return ""


def agents_for(name: str) -> list[str]:
    """Return the agents that are trained in an environment, as far as they exist.

    >>> agents_for("mountain-car")[:3]
    ['deep_q', 'ppo', 'tile_q']
    """
    env = made(name)
    is_point = isinstance(env.action_space, spaces.Box)
    env.close()
    fitting: list[str] = ["ppo", "sac"] if is_point else ["deep_q", "ppo", "tile_q"]
    ours = [agent for agent in fitting if agent in OBSERVERS]
    if PLACES[name].repeated:
        ours += [agent + IGNORING for agent in ours]
    wrong = "sb3-dqn" if is_point else "sb3-sac"
    return [*ours, *(agent for agent in _OTHERS if agent != wrong and _baselines() is not None)]


def _baselines() -> Any:
    """Return stable-baselines3, or None if it is not installed."""
    with contextlib.suppress(ImportError):
        import stable_baselines3  # noqa: PLC0415 - it may not be installed

        return stable_baselines3
    return None


# --- Runs ---------------------------------------------------------------------------------


class Cell(NamedTuple):
    """One run of the study."""

    place: str
    agent: str
    seed: int
    steps: int


@dataclass(frozen=True)
class EnvironmentRun:
    """A run: what its best and its last policy earn per frame, each with an interval or None."""

    place: str
    agent: str
    seed: int
    steps: int
    kept: float
    kept_low: float | None
    kept_high: float | None
    last: float
    last_low: float | None
    last_high: float | None
    kept_steps: int  # of training, after which the best policy was as it is
    actions: str  # of the best policy: drawn, the mode, or empty
    rate: float | None  # that was learned
    seconds: float


@dataclass(frozen=True)
class EnvironmentResult:
    """An agent in an environment, over its seeds: means, and the worst seed."""

    place: str
    agent: str
    seeds: int
    steps: int
    kept: float
    kept_worst: float
    last: float
    last_worst: float


@dataclass(frozen=True)
class Environments:
    """The study: a row for each environment and agent, all runs, and what was left out."""

    study: str
    seeds: int
    length: float
    results: tuple[EnvironmentResult, ...]
    runs: tuple[EnvironmentRun, ...]
    left_out: tuple[str, ...]
    version: str


def cells(names: Sequence[str], seeds: int, length: float) -> list[Cell]:
    """Return the runs in environments that are installed; the slow ones have at most two seeds.

    >>> [cell.steps for cell in cells(["pendulum"], seeds=2, length=0.1)][:2]
    [2000, 2000]
    """
    whole("seeds", seeds)
    positive("length", length)
    found = []
    for name in names:
        if name not in PLACES:
            raise ValueError(f"there is no environment {shown(name)} in the study{nearest(name, PLACES)}")
        if missing(name):
            continue
        place = PLACES[name]
        steps = max(FEWEST, round(length * place.steps))
        few = min(seeds, 2) if place.few else seeds
        found += [Cell(name, agent, seed, steps) for agent in agents_for(name) for seed in range(few)]
    return found


def measured(cell: Cell) -> EnvironmentRun:
    """Train an agent and measure its best policy and its last, in the same episodes."""
    begin = time.process_time()
    if cell.agent in _OTHERS:
        return _measured_other(cell, begin)
    known = PLACES[cell.place].repeated
    name = cell.agent.removesuffix(IGNORING)
    ignoring = name != cell.agent
    learner = Learner(
        lambda: made(cell.place), name, duration="duration" if known and not ignoring else 1, seed=cell.seed
    )
    learner.train(cell.steps)
    best = learner.best
    # Followed by a learner that knows how long steps take.
    judge = (
        Learner(lambda: made(cell.place), name, duration="duration", seed=cell.seed) if ignoring else learner
    )
    last = judge.evaluate(
        policy=learner.act if ignoring else None, duration=FOLLOWED, seed=10_000 + cell.seed
    )
    kept = judge.evaluate(policy=best.act if ignoring else best, duration=FOLLOWED, seed=10_000 + cell.seed)
    return _run(cell, kept, last, best.steps, best.evaluation.actions, learner.rate, begin)


def _measured_other(cell: Cell, begin: float) -> EnvironmentRun:
    """Train an algorithm of stable-baselines3 with its own settings; it keeps its last policy."""
    make = getattr(_baselines(), cell.agent.removeprefix("sb3-").upper())
    model = make("MlpPolicy", made(cell.place), seed=cell.seed, device="cpu")
    model.learn(total_timesteps=cell.steps)
    known = PLACES[cell.place].repeated
    judge = Learner(lambda: made(cell.place), "ppo", duration="duration" if known else 1, seed=cell.seed)
    last = judge.evaluate(
        policy=lambda seen: model.predict(seen, deterministic=True)[0],
        duration=FOLLOWED,
        seed=10_000 + cell.seed,
    )
    return _run(cell, last, last, cell.steps, "", None, begin)


def _run(
    cell: Cell,
    kept: Evaluation,
    last: Evaluation,
    kept_steps: int,
    actions: str,
    rate: float | None,
    begin: float,
) -> EnvironmentRun:
    return EnvironmentRun(
        *cell, kept.rate, kept.low, kept.high, last.rate, last.low, last.high, kept_steps, actions, rate,
        time.process_time() - begin,
    )  # fmt: skip


def environments(
    out: Path,
    names: Sequence[str] = tuple(PLACES),
    seeds: int = 5,
    length: float = 1.0,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Environments:
    """Run the study into a folder; return its findings. Runs that the folder has are not made again."""
    wanted = cells(names, seeds, length)
    claim_folder(out, RUNS)
    files = {cell: own_folder(out / RUNS) / _file(cell) for cell in wanted}
    lacking = [cell for cell, file in files.items() if not file.is_file()]
    progress(sum(cell.steps for cell in wanted) - sum(cell.steps for cell in lacking), earlier=True)
    for cell, run in in_processes(measured, lacking, jobs):
        write_json(files[cell], as_json(run))
        progress(cell.steps)
    runs = tuple(_read(file) for file in files.values())
    left_out = tuple(filter(None, map(missing, names)))
    found = Environments("environments", seeds, length, results(runs), runs, left_out, __version__)
    document = as_json(found)
    write_whole(
        out / "results.parquet",
        pl.DataFrame([as_json(run) for run in runs], infer_schema_length=None).write_parquet,
    )
    with figures.drawing(1, formats) as write_sheets:
        write_sheets(sheets(found), out / "figures")
    write_text(out / "README.md", markdown(section(out, document, blocks.Budget())))
    write_json(out / "summary.json", document)  # last, because its presence means that everything is done
    return found


def _file(cell: Cell) -> str:
    agent = cell.agent.replace(" ", "-").replace("_", "-")
    return f"{cell.place}-{agent}-{cell.steps}-{cell.seed}-rules-{RULES_VERSION}.json"


def _read(file: Path) -> EnvironmentRun:
    try:
        return read_record(EnvironmentRun, load_json(file))
    except ValueError as error:
        raise ValueError(f"{file} is damaged ({error}); remove it, and it is made again") from None


def results(runs: Sequence[EnvironmentRun]) -> tuple[EnvironmentResult, ...]:
    """Return the results over the seeds, in the order of the runs."""
    groups: dict[tuple[str, str, int], list[EnvironmentRun]] = {}
    for run in runs:
        groups.setdefault((run.place, run.agent, run.steps), []).append(run)
    return tuple(
        EnvironmentResult(
            place=place,
            agent=agent,
            seeds=len(several),
            steps=steps,
            kept=float(np.mean([run.kept for run in several])),
            kept_worst=min(run.kept for run in several),
            last=float(np.mean([run.last for run in several])),
            last_worst=min(run.last for run in several),
        )
        for (place, agent, steps), several in groups.items()
    )


# --- What was found -----------------------------------------------------------------------


def worse(run: EnvironmentRun) -> bool:
    """Whether the best policy earns less than the last one beyond noise: their 95 % intervals are apart."""
    high = run.kept if run.kept_high is None else run.kept_high
    low = run.last if run.last_low is None else run.last_low
    no_interval = run.kept_high is None or run.last_low is None
    return high < low and not no_interval


def findings(found: Environments) -> list[str]:
    """Return the findings in sentences."""
    ours = [run for run in found.runs if run.agent not in _OTHERS]
    ahead = [run for run in ours if _is_ahead(run)]
    behind = [f"{_title(run.agent)} in {run.place}, seed {run.seed}" for run in ours if worse(run)]
    told = f"In {len(ahead)} of {counted(len(ours), 'run')} the policy that was kept earns more than the last one beyond noise"
    told += f"; it earns less in {', '.join(behind)}." if behind else ", and less in none."
    best = {
        name: max((one for one in found.results if one.place == name), key=lambda one: one.kept)
        for name in _names(found)
    }
    words = "; ".join(f"{name}: {_title(one.agent)} {number(one.kept)}" for name, one in best.items())
    lines = [f"{told}", f"The most per frame, over the seeds: {words}."]
    pairs = [
        (one, other) for one in found.results for other in found.results if other == _ignoring(one, other)
    ]
    if pairs:
        each = "; ".join(
            f"{one.place} by {_title(one.agent)} {number(one.kept)} with, {number(other.kept)} without"
            for one, other in pairs
        )
        lines.append(f"Agents that know durations beside those that do not: {each}.")
    return [*lines, *found.left_out]


def _is_ahead(run: EnvironmentRun) -> bool:
    return run.kept_low is not None and run.last_high is not None and run.kept_low > run.last_high


def _ignoring(one: EnvironmentResult, other: EnvironmentResult) -> EnvironmentResult | None:
    return other if other.place == one.place and other.agent == one.agent + IGNORING else None


def _names(found: Environments) -> list[str]:
    return list(dict.fromkeys(one.place for one in found.results))


def _title(agent: str) -> str:
    return agent.replace("_", " ")


def headlines(found: Environments) -> list[str]:
    """Return the terminal output: a line for each environment and agent, and the findings."""
    rows = [
        f"{one.place:20}{_title(one.agent):28}{one.kept:>12.5g}{one.last:>12.5g}  kept and last, mean of {one.seeds}"
        for one in found.results
    ]
    return [*rows, "", *findings(found)]


def charts(found: Environments) -> list[Whiskers]:
    """Return a chart for each environment: the policies that were kept and the last ones, from the worst seed to the best."""
    agents = list(dict.fromkeys(one.agent for one in found.results))
    made_charts = []
    for name in _names(found):
        rows = []
        for one in found.results:
            if one.place != name:
                continue
            several = [run for run in found.runs if (run.place, run.agent) == (name, one.agent)]
            look = plain(agents.index(one.agent))
            kept, last = [run.kept for run in several], [run.last for run in several]
            rows.append(Whisker(f"{_title(one.agent)}, kept", look, one.kept, min(kept), max(kept)))
            rows.append(Whisker(f"{_title(one.agent)}, last", look, one.last, min(last), max(last)))
        made_charts.append(Whiskers(name, Axis("reward per frame"), rows, interval="worst to best seed"))
    return made_charts


def sheets(found: Environments) -> dict[str, Sheet]:
    """Return the figure."""
    panels = charts(found)
    return {"environments": Sheet([[panel] for panel in panels], (7.0, 2.2 * len(panels)))} if panels else {}


def table(found: Environments) -> blocks.DataTable:
    """Return the table of the study, a row for each environment and agent."""
    columns = [
        *blocks.texts("environment", "agent"),
        *blocks.numbers("steps", "seeds", digits=0),
        *blocks.numbers("kept", "worst seed kept", "last", "worst seed last", digits=5),
    ]
    rows = [
        (
            one.place,
            _title(one.agent),
            one.steps,
            one.seeds,
            one.kept,
            one.kept_worst,
            one.last,
            one.last_worst,
        )
        for one in found.results
    ]
    return blocks.DataTable("Reward per frame of the policy that was kept and of the last one", columns, rows)


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `summary.json` in a folder."""
    found = read_record(Environments, given)
    panels, names = charts(found), _names(found)
    about = "; ".join(f"{name} is {PLACES[name].env_id}, {PLACES[name].about}" for name in names)
    return blocks.Section(
        "study of environments",
        "Environments that nobody here wrote",
        f"What agents earn per frame in {counted(len(names), 'environment')}, by the policy that was kept and by the last one.",
        panels[0] if panels else None,
        [
            blocks.Points(findings(found)),
            blocks.Heading("What the policies earn"),
            blocks.Prose(
                "Every agent has its own settings, the same everywhere. The policy that was kept is the best in the course of the "
                "training, as `Learner.best` finds it; it may draw its actions. The last policy takes the best action, or the mode. "
                f"Both are followed for {number(FOLLOWED)} frames in the same held-out episodes. {about}."
            ),
            table(found),
            blocks.Charts(panels[1:]),
            blocks.Facts(
                "Settings",
                [("seeds", str(found.seeds)), ("length of runs", f"{number(found.length)} times the usual one"),
                 *blocks.made_by(found.version, folder)],
            ),
            blocks.Prose("`results.parquet` has every run; `figures/` has the charts."),
        ],
    )  # fmt: skip
