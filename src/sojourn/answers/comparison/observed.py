"""Comparison of agents on problems whose observations cannot be enumerated: the runs, how they are judged and shown.

Tiles and networks use their own settings, the same on all problems. The paper's study of networks, in another
package, also runs them with other rates and without durations. Every run has its own file, so that an interrupted
comparison can be resumed.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.data.files import Json, load_json, own_folder, write_json, write_text, write_whole
from sojourn.data.hints import as_json, read_record
from sojourn.data.names import is_users, users_constructor
from sojourn.data.numbers import nearest, shown, whole
from sojourn.envs.places import places_of
from sojourn.envs.worlds import WorldEnv
from sojourn.learner.choice import OBSERVERS, observer_for, observing_agent
from sojourn.learner.learner import Learner
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.protocol import Rate
from sojourn.report import blocks, figures, terminal
from sojourn.report.charts import Axis, Sheet, Whisker, Whiskers
from sojourn.report.looks import plain
from sojourn.report.markdown import markdown
from sojourn.report.words import counted
from sojourn.rules.intervals import mean_interval
from sojourn.rules.jit.identity import source_of
from sojourn.rules.vectors import Vector
from sojourn.runs.catalogue import plain_kind
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS, claim_folder
from sojourn.runs.spec import RULES_VERSION
from sojourn.worlds.catalogue import WORLDS
from sojourn.worlds.protocol import gain, optimal

PROBLEMS = ("wear", "offers", "offers-16", "workload", "c-mu", "hold", "update-or-wait", "fleet")
RUNS, FILE = "runs", "observations.json"
_USUAL = ("tile_q", "deep_q", "ppo")  # compared by default
_TITLES = {"deep_q": "deep Q", "ppo": "PPO", "sac": "SAC", "tile_q": "tile Q", "tile_sarsa": "tile Sarsa"}


C = TypeVar("C")  # a run
R = TypeVar("R")  # what comes of it


@dataclass(frozen=True)
class BestGain:
    """A problem and its best possible gain; `is_exact` is false where the measured rate of a rule stands in for it.

    `bar` is what the best agent of a study should reach, relative to the gain; None where agents are only compared.
    """

    problem: str
    gain: float
    is_exact: bool
    bar: float | None


@dataclass(frozen=True)
class ObservedRun:
    """The result of one run: the gain of its policy, also relative to the best, its learned rate and its CPU time."""

    problem: str
    agent: str
    variant: str
    seed: int
    steps: int
    gain: float
    relative_gain: float
    learned_rate: float
    seconds: float


@dataclass(frozen=True)
class ObservedResult:
    """What an agent reached on a problem with one kind of rate: means over seeds, with an interval."""

    problem: str
    agent: str
    variant: str
    steps: int
    seeds: int
    gain: float
    relative_gain: float
    low: float
    high: float
    learned_rate: float
    seconds: float  # CPU time per run

    @property
    def title(self) -> str:
        """The agent's name for readers."""
        return _TITLES.get(self.agent, self.agent)


@dataclass(frozen=True)
class Observations:
    """The content of `observations.json`: the size of the study, all problems, and what agents reached.

    A comparison has only the `first` part. A study may have a `second` one, with `rate_seeds` seeds, and runs of
    another `length`, relative to the default.
    """

    seeds: int
    rate_seeds: int
    length: float
    truths: tuple[BestGain, ...]
    first: tuple[ObservedResult, ...]
    second: tuple[ObservedResult, ...]
    version: str

    @property
    def is_comparison(self) -> bool:
        """Whether this is a comparison on chosen problems rather than a study."""
        return all(one.bar is None for one in self.truths)

    def on(self, problem: str) -> list[ObservedResult]:
        """Return the results on a problem in the first part, best first."""
        rows = (one for one in self.first if one.problem == problem)
        return sorted(rows, key=lambda one: -one.relative_gain)


# --- What is run -------------------------------------------------------------------------


class Variant(NamedTuple):
    """How an agent gets its rate: from an estimator, centred or not, or with all durations replaced by 1.

    >>> Variant("Harmonic", 0.0).label, Variant().label
    ('Harmonic, not centred', 'Exponential, centred')
    """

    estimator: str = "Exponential"
    centring: float = 0.1  # the default of agents
    ignores_durations: bool = False

    @property
    def label(self) -> str:
        """The name in tables."""
        if self.ignores_durations:
            return "durations ignored"
        return f"{self.estimator}, {'centred' if self.centring else 'not centred'}"

    def rate(self) -> Rate:
        """Return a fresh estimator, with the step size that agents have by default."""
        return ESTIMATORS[self.estimator].make(0.001)


OWN = Variant()


class Cell(NamedTuple):
    """One run: an agent learns in a problem for a number of steps, with one seed."""

    problem: str
    agent: str
    variant: Variant
    seed: int
    steps: int


def observed(names: Sequence[str]) -> bool:
    """Whether the observations of these problems cannot be enumerated; an error if that holds for only some.

    >>> observed(["wear", "offers_16"]), observed(["gosavi", "mine:queue"])
    (True, False)
    """
    continuous = [name for name in names if _problem(name) in PROBLEMS]
    if continuous and len(continuous) < len(names):
        other = next(name for name in names if name not in continuous)
        raise ValueError(
            f"the observations of {continuous[0]} cannot be listed, and {shown(other)} is judged in another way; "
            "compare agents on them with two commands, each with its own --out"
        )
    return bool(continuous)


def cells(
    problems: Sequence[str], agents: Sequence[str] = (), steps: int = 30_000, seeds: int = 30
) -> list[Cell]:
    """Return the runs, or raise an error if one is impossible; by default with the standard agents that fit.

    >>> [(cell.agent, cell.seed, cell.steps) for cell in cells(["hold"], steps=5000, seeds=2)]
    [('ppo', 0, 5000), ('ppo', 1, 5000)]
    """
    whole("seeds", seeds)
    whole("steps", steps, least=100)
    problems, agents = [_problem(name) for name in problems], [_agent(name) for name in agents]
    for kind, several in (("problem", problems), ("agent", agents)):
        twice = [name for name in several if several.count(name) > 1]
        if twice:
            raise ValueError(f"the {kind} {twice[0]!r} is named twice; name each once")
    return [
        Cell(problem, agent, OWN, seed, steps)
        for problem in problems
        for agent in _fitting(problem, agents)
        for seed in range(seeds)
    ]


def _problem(name: str) -> str:
    return name if is_users(name) else name.replace("_", "-")


def _agent(name: str) -> str:
    kind = plain_kind(name)
    if is_users(name) or kind in OBSERVERS:
        return kind
    raise ValueError(
        f"{shown(name)} is not an agent for observations that cannot be listed{nearest(kind, OBSERVERS)}; or name your "
        "own as module:Agent"
    )


def _fitting(problem: str, agents: Sequence[str]) -> list[str]:
    """Return the named agents, all of which must fit; by default the standard ones that fit."""
    fitting = []
    for agent in agents or _USUAL:
        try:
            _check_fit(problem, agent)
            fitting.append(agent)
        except (TypeError, ValueError) as error:
            if agents:
                raise ValueError(f"{agent} cannot be compared on {problem}: {error}") from None
    return fitting


def _check_fit(problem: str, agent: str) -> None:
    """Construct the agent, which raises an error if it does not fit."""
    env, own = environment(problem), not is_users(agent)
    observer = observer_for(agent if own else users_constructor(agent), env)
    if observer is None:
        raise ValueError(
            "it is not an agent for observations; such an agent is made with spaces=..., which say what it can see and do"
        )
    options = {"rate": OWN.rate(), "centring": OWN.centring} if own else {}
    observing_agent(observer[0], options, places_of(env))


# --- Judging -----------------------------------------------------------------------------

FOLLOWED = 40_000  # steps
_RULE_STEPS = 300_000
_MEND_FROM = 0.55
_FIRST_SEED = 1_000_000  # offset of the evaluation seeds, one for each seed of a run

Act = Callable[[Any, dict[str, Any]], Any]


def environment(problem: str) -> WorldEnv:
    """Return a problem as an environment."""
    return WorldEnv(WORLDS[problem.replace("-", "_")].make())


def judged(problem: str, act: Act, seed: int) -> float:
    """Estimate a policy's gain from equally many steps of it and of the best policy, with common random numbers."""
    noise = _FIRST_SEED + seed
    found = _rate(problem, act, FOLLOWED, noise)
    if problem == "fleet":  # some states consume more random numbers than others
        return found
    return best_gain(problem) - (_rate(problem, _best(problem), FOLLOWED, noise) - found)


@functools.cache
def best_gain(problem: str) -> float:
    """Return the exact gain of a problem; for the fleet, what the best threshold rule earns."""
    exact = gain(environment(problem).world)
    return _rate(problem, _best(problem), _RULE_STEPS, _FIRST_SEED) if exact is None else exact


def _best(problem: str) -> Act:
    if problem == "fleet":
        return _mend_the_worst
    world = environment(problem).world
    return lambda seen, info: optimal(world, _vector(seen))


def _vector(seen: Any) -> Vector:
    return tuple(float(number) for number in seen)


def _mend_the_worst(seen: Any, info: dict[str, Any]) -> int:
    worst = int(np.argmax(seen))
    return 1 + worst if seen[worst] >= _MEND_FROM else 0


def _rate(problem: str, act: Act, steps: int, seed: int) -> float:
    """Return the reward per unit time of a policy over `steps` steps."""
    env = environment(problem)
    seen, info = env.reset(seed=seed)
    reward = duration = 0.0
    for _ in range(steps):
        seen, paid, _, _, info = env.step(act(seen, info))
        reward += paid
        duration += info["duration"]
    return reward / duration


def truth(problem: str) -> BestGain:
    """Return the best gain of a problem as a record."""
    exact = gain(environment(problem).world)
    return BestGain(problem, best_gain(problem), exact is not None, None)


def results(runs: Sequence[ObservedRun]) -> tuple[ObservedResult, ...]:
    """Return the means over seeds, in the order of problems."""
    grouped: dict[tuple[str, str, str], list[ObservedRun]] = {}
    for run in runs:
        grouped.setdefault((run.problem, run.agent, run.variant), []).append(run)
    return tuple(sorted(map(_result, grouped.values()), key=lambda one: PROBLEMS.index(one.problem)))


def _result(runs: Sequence[ObservedRun]) -> ObservedResult:
    low, high = mean_interval(np.array([run.relative_gain for run in runs]))
    means: dict[str, Any] = {
        field: float(np.mean([getattr(run, field) for run in runs]))
        for field in ("gain", "relative_gain", "learned_rate", "seconds")
    }
    first = {field: getattr(runs[0], field) for field in ("problem", "agent", "variant", "steps")}
    return ObservedResult(**first, **means, seeds=len(runs), low=low, high=high)


# --- Running -----------------------------------------------------------------------------


def compare_observed(
    wanted: Sequence[Cell],
    out: Path,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Observations:
    """Compare agents, write the results into a folder, and return them; existing runs are kept."""
    runs = completed(out, wanted, jobs, progress)
    found = Observations(
        seeds=len({cell.seed for cell in wanted}),
        rate_seeds=0,
        length=1.0,
        truths=tuple(truth(problem) for problem in dict.fromkeys(cell.problem for cell in wanted)),
        first=results([runs[cell] for cell in wanted]),
        second=(),
        version=__version__,
    )
    write(out, found, runs, {"gains": gains_sheet(found)}, section, formats)
    return found


def completed(
    out: Path, wanted: Sequence[Cell], jobs: int | None, progress: Advance
) -> dict[Cell, ObservedRun]:
    """Make the runs that a folder lacks, and return all runs."""
    claim_folder(out, RUNS)
    files = {cell: own_folder(out / RUNS) / _name(cell) for cell in wanted}
    missing = [cell for cell, file in files.items() if not file.is_file()]
    progress(sum(cell.steps for cell in set(wanted) - set(missing)), earlier=True)
    for cell, run in in_processes(measured, missing, jobs):
        write_json(files[cell], as_json(run))
        progress(cell.steps)
    return {cell: _read(file) for cell, file in files.items()}


def write(
    out: Path,
    found: Observations,
    runs: Mapping[Cell, ObservedRun],
    sheets: Mapping[str, Sheet],
    section: Callable[[Path, dict[str, Json], blocks.Budget], blocks.Section],
    formats: Sequence[str],
) -> None:
    """Write the results into the folder of the runs."""
    write_whole(out / RESULTS, pl.DataFrame(list(runs.values())).write_parquet)
    with figures.drawing(1, formats) as write_sheets:  # drawn before another process would have started
        write_sheets(sheets, out / "figures")
    write_text(out / "README.md", markdown(section(out, as_json(found), blocks.Budget())))
    write_json(out / FILE, as_json(found))  # last, because its presence means that everything is done


def measured(cell: Cell) -> ObservedRun:
    """Make and judge one run."""
    begin = time.process_time()
    learner = begun(cell)
    learner.train(cell.steps)
    seconds = time.process_time() - begin
    found = judged(cell.problem, lambda seen, info: learner.act(seen, info.get("action_mask")), cell.seed)
    best = best_gain(cell.problem)
    return ObservedRun(
        problem=cell.problem,
        agent=cell.agent,
        variant=cell.variant.label,
        seed=cell.seed,
        steps=cell.steps,
        gain=found,
        relative_gain=1.0 - (best - found) / abs(best),
        learned_rate=learner.rate,
        seconds=seconds,
    )


def begun(cell: Cell) -> Learner:
    """Return a fresh agent for a run; a user's agent keeps its own settings."""
    env, variant = environment(cell.problem), cell.variant
    if is_users(cell.agent):
        return Learner(env, users_constructor(cell.agent), seed=cell.seed)
    return Learner(
        env,
        cell.agent,
        duration=1.0 if variant.ignores_durations else "duration",
        seed=cell.seed,
        rate=variant.rate(),
        centring=variant.centring,
    )


def _name(cell: Cell) -> str:
    """Return the file name of a run, which depends on the rules and on the source of a user's agent."""
    variant = cell.variant.label.replace(", ", "-").replace(" ", "-").lower()
    agent = f"{cell.agent}-{source_of(cell.agent)[:16]}" if is_users(cell.agent) else cell.agent
    return f"{cell.problem}-{agent.replace(':', '-')}-{variant}-{cell.steps}-{cell.seed}-rules-{RULES_VERSION}.json"


def _read(file: Path) -> ObservedRun:
    try:
        return read_record(ObservedRun, load_json(file))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} cannot be read ({error}); remove it, and the run is made again") from None


def in_processes(measure: Callable[[C], R], cells: Sequence[C], jobs: int | None) -> Iterator[tuple[C, R]]:
    """Yield runs as they finish, several at a time, in processes, since most of a run is Python."""
    width = jobs or os.cpu_count() or 1
    if width == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, measure(cell)
        return
    # No forking: it is unsafe after Polars was used. Ctrl-C reaches only this process, which ends the others.
    fresh = multiprocessing.get_context("spawn")
    deaf = (signal.SIGINT, signal.SIG_IGN)
    with (
        ProcessPoolExecutor(min(width, len(cells)), fresh, signal.signal, deaf) as pool,
        _killed_on_error(pool),
    ):
        begun = {pool.submit(measure, cell): cell for cell in cells}
        for done in as_completed(begun):
            yield begun[done], done.result()


@contextlib.contextmanager
def _killed_on_error(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Kill the processes of a pool if anything goes wrong here."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise


# --- Charts and words --------------------------------------------------------------------

_LEAST = -1.0  # relative gain: a run that learned nothing would squeeze all others into a corner


def gains_chart(found: Observations) -> Whiskers:
    """Return the chart of the relative gain of each agent on each problem."""
    agents = list(dict.fromkeys(one.agent for one in found.first))
    rows = {f"{one.problem}, {one.title}": (agents.index(one.agent), one) for one in found.first}
    note = (
        "The dotted line is the best possible gain; for the fleet, it is what the best threshold rule earns."
    )
    return whiskers("Policies after learning", rows, note)


def whiskers(heading: str, rows: Mapping[str, tuple[int, ObservedResult]], note: str) -> Whiskers:
    """Return the chart of relative gains by row name, each with the index of its look."""
    cut = any(one.low < _LEAST for _, one in rows.values())
    return Whiskers(
        heading,
        Axis("relative gain, 95 % interval", short="relative gain"),
        [
            Whisker(
                name, plain(place), *(max(_LEAST, gain) for gain in (one.relative_gain, one.low, one.high))
            )
            for name, (place, one) in rows.items()
        ],
        interval="95 % interval",
        reference=1.0,
        note=note + (f" What is below {_LEAST:g} is drawn there." if cut else ""),
    )


def gains_sheet(found: Observations) -> Sheet:
    """Return the figure of all relative gains."""
    return Sheet([[gains_chart(found)]], (6.5, 1.2 + 0.28 * len(found.first)))


def lines(found: Observations, findings: Sequence[str]) -> list[str]:
    """Return the terminal output: what each agent reached on each problem, and the findings."""
    return terminal.lines([gains(found), blocks.Points(findings)])


def ahead(found: Observations) -> list[str]:
    """Say which agent is ahead on each problem, and whether its interval overlaps with others."""
    told = []
    for one in found.truths:
        best, *others = found.on(one.problem)
        if not others or best.seeds == 1:
            told.append(f"On {one.problem} {best.title} reaches {best.relative_gain:.4f} of the best gain.")
            continue
        near = [each.title for each in others if each.high >= best.low]
        apart = (
            f"; its interval overlaps with that of {' and that of '.join(near)}"
            if near
            else ", clear of all others"
        )
        told.append(
            f"On {one.problem} {best.title} is ahead with {best.relative_gain:.4f} of the best gain{apart}."
        )
    return told


def gains(found: Observations) -> blocks.DataTable:
    """Return the table of what the policies are worth."""
    best = {one.problem: one.gain for one in found.truths}
    rows = [
        (
            *(one.problem, one.title, one.steps, one.seeds, best[one.problem], one.gain),
            *(one.relative_gain, one.low, one.high, one.learned_rate, one.seconds),
        )
        for one in found.first
    ]
    columns = [
        *blocks.texts("problem", "agent"),
        *blocks.numbers("steps", "seeds"),
        blocks.Column("best gain", digits=5, short=None),
        blocks.Column("gain", digits=5, short=None),
        *blocks.numbers("relative gain", "low", "high"),
        blocks.Column("learned rate", short=None),
        blocks.Column("CPU s", digits=3, short=None),
    ]
    return blocks.DataTable(
        "Policies after learning", columns, rows, "Means over seeds, with the 95 % interval of the mean."
    )


# --- Section of the page -----------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `observations.json` in a folder."""
    found = read_record(Observations, given)
    return section_of(folder, found, ahead(found), [("seeds", str(found.seeds))])


def section_of(
    folder: Path,
    found: Observations,
    findings: Sequence[str],
    settings: Sequence[tuple[str, str]],
    further: Sequence[blocks.Block] = (),
) -> blocks.Section:
    """Return a section with these findings and settings; further blocks follow the table of gains."""
    names = list(dict.fromkeys(one.title for one in found.first))
    who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return blocks.Section(
        "study of networks",
        "Observations that cannot be listed",
        f"{who[:1].upper()}{who[1:]} on {counted(len(found.truths), 'problem')} with continuous observations, compared "
        "with the best possible gain.",
        gains_chart(found),
        [
            blocks.Points(findings),
            blocks.Heading("What the policies are worth"),
            blocks.Prose(
                "Every agent has its own settings, the same on all problems: Exponential(0.001) for the rate, centred. Only "
                "the number of steps was chosen for each problem. The relative gain is 1 - (best gain - gain) / |best gain|. "
                "To measure a policy's gain, it is followed without random actions, the best policy is followed with the "
                "same random numbers, and the difference of their rates is subtracted from the exact gain. By chance, a "
                "relative gain can come out a little above 1. The gain of the fleet is not known; the best threshold rule "
                "stands for it."
            ),
            gains(found),
            *further,
            blocks.Facts("Settings", [*settings, *blocks.made_by(found.version, folder)]),
            blocks.Prose("`results.parquet` has every run; `figures/` has the charts."),
        ],
    )
