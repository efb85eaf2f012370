"""The file of a learner: its content, and how a learner is restored from it.

The file contains only data (`sojourn.learner.archive`). A duration or an action mask that is a function is not saved,
nor is the history behind the warnings, which start afresh after loading. For an agent of observations, the file says
how it was constructed, if it is one of Sojourn's, and what it has learned. You construct your own agent again, which
then gets its state from the file: `Learner.load(path, env, agent=make)`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import numpy as np

from sojourn.agents.networks.protocol import Spaces
from sojourn.agents.protocol import Agent, ready_agent
from sojourn.agents.values.protocol import sizes
from sojourn.data.hints import check_kind, is_of_kind
from sojourn.data.numbers import shown, whole, within
from sojourn.deploy import reading, tables
from sojourn.deploy.interface import About, Policy
from sojourn.deploy.networks import NetworkPolicy
from sojourn.deploy.spaces import Actions, Form, form_in_words
from sojourn.deploy.tables import LabelPolicy
from sojourn.deploy.tabulation import Description, Tabulation
from sojourn.deploy.tiled import TilePolicy
from sojourn.envs.places import SavedPlace, Trace, places_of
from sojourn.envs.protocol import Environment, Space
from sojourn.envs.reader import DurationSource, MaskSource, TableReader
from sojourn.envs.states import action_count, first_action, tabulate
from sojourn.exact.policy_files import SolvedPolicy
from sojourn.learner.archive import format_of, read_archive, write_archive
from sojourn.learner.best import Past
from sojourn.learner.choice import OBSERVERS, MakeObserver, Supply, made_for, observing_agent
from sojourn.learner.driver import Driver, ObservingDriver, TableDriver
from sojourn.learner.facts import OURS, Recipe, recipe_of_agent
from sojourn.learner.history import History
from sojourn.learner.policy import LearnedPolicy, facts_of, observing_policy, policy_of
from sojourn.learner.table_agent import HiddenActions, HiddenValues, TableAgent, check_totals
from sojourn.learner.watch import RateLimits
from sojourn.rates.protocol import stumbling
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.rules.random import Stream
from sojourn.rules.values import Column, canonical, with_fields
from sojourn.rules.vectors import Bounds
from sojourn.runs.recording import Totals

FORMAT, VERSION = "sojourn learner", 4
NETWORK_FORMAT, NETWORK_VERSION = "sojourn learner with a network", 2

Options = dict[str, bool | int | float | str | None]


class SavedEnvironment(TypedDict):
    """How an environment was constructed: its id, the module that registers it, and its options.

    `module` is None if Sojourn or Gymnasium registers it; `kwargs` is None if a file cannot hold the options.
    """

    id: str
    module: str | None
    kwargs: Options | None
    max_episode_steps: int | None


class Made(TypedDict, total=False):
    """How the agent of a learner was made; files of older versions do not say."""

    recipe: Recipe


class Saved(Made):
    """The content of a learner's file."""

    agent: Agent
    stream: Stream
    totals: dict[str, float]
    now: Column
    seed: int
    state: int | None
    drawn: tuple[int, bool]
    hidden: HiddenValues
    states: Description
    first_action: int
    duration: str | float | None
    action_mask: str | None
    clock: str | None
    place: SavedPlace | None
    env: SavedEnvironment | None


class SavedSpaces(TypedDict):
    """What observations and actions are, so that the policy can act without the environment."""

    observations: Form
    actions: Actions
    bounds: list[Floats]
    low: Floats
    high: Floats


class WithSpaces(Made, total=False):
    """What files of older versions lack; None if the spaces cannot be described."""

    spaces: SavedSpaces | None


class SavedNetwork(WithSpaces):
    """The content of a learner's file if its agent is one of observations."""

    kind: str  # of agent; empty for a third-party one
    options: dict[str, Any]
    learned: dict[str, Any]
    totals: dict[str, float]
    seed: int
    places: int
    num_inputs: int
    num_actions: int
    duration: str | float | None
    action_mask: str | None
    lanes: dict[str, Any]
    env: SavedEnvironment | None


def write(path: Path, driver: Driver, past: Past, history: History) -> None:
    """Write everything needed to continue. A learner of 0.2 that has not been trained since is written as by 0.2."""
    further = _further(driver.limits, past, history)
    if isinstance(driver, TableDriver):
        write_archive(path, FORMAT, VERSION, {**_of_table(driver), **further})
    else:
        write_archive(path, NETWORK_FORMAT, NETWORK_VERSION, {**_of_observer(driver), **further})


def _further(limits: RateLimits, past: Past, history: History) -> dict[str, Any]:
    """Return what was watched. What a file of version 0.2 did not hold and has not come since is left out here, too."""
    further: dict[str, Any] = {}
    if past.kept or past.choice is not None or past.leader is not None:
        further["past"] = past.saved()
    if history.rows:
        further["history"] = history.saved()
    if (limits.low, limits.high) != (-math.inf, math.inf):
        further["limits"] = np.array([limits.first, limits.low, limits.high])
    return further


def _of_table(driver: TableDriver) -> Saved:
    reader, table, at = driver.reader, driver.table, driver.position
    made: Made = {} if driver.recipe is None else {"recipe": driver.recipe}
    return {
        **made,
        "agent": table.agent,
        "stream": table.rng,
        "totals": table.totals._asdict(),
        "now": table.now,
        "seed": driver.seed,
        "state": None if at is None else at[0],
        "drawn": (0, False) if at is None else at[1:],
        "hidden": driver.hidden.to_dict(),
        "states": reader.states.to_dict(),
        "first_action": reader.first_action,
        "duration": None if callable(reader.source) else reader.source,
        "action_mask": reader.mask_key,
        "clock": reader.clock_key,
        "place": driver.place(),
        "env": described(driver.env),
    }


def _of_observer(driver: ObservingDriver) -> SavedNetwork:
    reader, agent = driver.reader, driver.agent
    ours = agent if isinstance(agent, OURS) else None
    made: WithSpaces = {} if driver.recipe is None else {"recipe": driver.recipe, "spaces": _spaces(driver)}
    return {
        **made,
        "kind": "" if ours is None else ours.kind,
        "options": {} if ours is None else ours.options,
        "learned": agent.state(),
        "totals": driver.totals._asdict(),
        "seed": driver.seed,
        "places": driver.places.count,
        "num_inputs": reader.num_inputs,
        "num_actions": -1 if ours is None else reader.num_actions,
        "duration": None if callable(reader.source) else reader.source,
        "action_mask": reader.mask_key,
        "lanes": driver.places.state(),
        "env": described(driver.env),
    }


def _spaces(driver: ObservingDriver) -> SavedSpaces | None:
    reader = driver.reader
    try:
        observations, actions = reader.forms()
    except TypeError:
        return None
    bounds = [np.array(side) for side in reader.bounds]
    return {
        "observations": observations, "actions": actions, "bounds": bounds, "low": reader.low, "high": reader.high,
    }  # fmt: skip


def read(
    path: Path,
    supply: Supply,
    duration: DurationSource | None = None,
    action_mask: MaskSource | None = None,
    agent: MakeObserver | None = None,
) -> tuple[Driver, Past, History]:
    """Restore the driver that a file describes, in environments like the saved ones, its past policies and its history.

    Arguments override what the file says, or supply what it cannot hold.
    """
    contents, is_network = _contents(path)
    env = supply.env if is_network else supply.single
    try:
        check_kind(SavedNetwork if is_network else Saved, contents, "the learner")
        source = _given("duration", contents["duration"], duration)
        mask = _given("action mask", contents["action_mask"], action_mask)
        driver: Driver
        if is_network:
            driver = _restored_observer(contents, env, source, mask, agent)
        else:
            driver = _restored_table(contents, env, source, mask)
        driver.limits = _restored_limits(contents.get("limits"), driver.limits.is_rate)
        history = History.restored(contents.get("history"), driver.totals.steps)
        return driver, Past.restored(contents.get("past"), driver), history
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from None
    except MemoryError:
        raise ValueError(f"{path}: its options ask for an agent that is larger than the memory") from None


_KINDS: dict[str, type[Policy]] = {
    **reading.KINDS,
    tables.LEARNED: LearnedPolicy,
    tables.SOLVED: SolvedPolicy,
}
AnyPolicy: TypeAlias = LearnedPolicy | SolvedPolicy | LabelPolicy | NetworkPolicy | TilePolicy


@told
def load_policy(path: str | Path, seed: int = 0) -> AnyPolicy:
    """Load the policy in a JSON file or in a saved learner's file. No environment is needed.

    A policy that `solve` found and `write_policy` wrote may draw its action in some states, from `seed`; so does that of a
    network with probabilities if it is asked to, `act(observation, sample=True)`. `sojourn.deploy.load_policy` reads the same
    JSON files where nothing but NumPy is wanted.

    >>> import tempfile
    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3), compiled=False), seed=0)
    >>> totals = learner.train(100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.write_policy(f"{folder}/policy.json")
    ...     policy = load_policy(f"{folder}/policy.json")
    >>> policy.act(0) == learner.act(0)
    True
    """
    path = Path(path)
    if path.suffix == ".json":
        return reading.read(path, seed, _KINDS)  # type: ignore[return-value] # the classes that are listed there
    if path.suffix == ".csv":
        raise ValueError(f"{path} is a table for people; write the policy as a .json file and load that")
    contents, is_network = _contents(path)
    try:
        check_kind(SavedNetwork if is_network else Saved, contents, "the learner")
        if is_network:
            return _policy_of_observer(contents, seed)
        return _policy_of_table(contents)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from None


def _policy_of_table(saved: Saved) -> LearnedPolicy:
    (table, hidden), states = _restored_agent(saved), Tabulation(saved["states"])
    if states.num_states != len(table.q):
        raise ValueError(f"it has values for {len(table.q)} states, but numbers {states.num_states}")
    actions: Actions = {"kind": "numbered", "count": table.q.shape[1], "first": saved["first_action"]}
    facts = _facts(saved, recipe_of_agent(table.agent), table.rate, states.describe(), actions)
    return policy_of(states, saved["first_action"], table.values, hidden, table.visits, facts)


def _policy_of_observer(saved: SavedNetwork, seed: int) -> NetworkPolicy | TilePolicy:
    make, given = OBSERVERS.get(saved["kind"]), saved.get("spaces")
    if make is None or given is None:
        why = "was saved by an older sojourn" if make is not None else "is not one of Sojourn's"
        raise ValueError(f"its agent {why}; load the learner in its environment, and use its write_policy")
    spaces = Spaces(
        saved["num_inputs"], saved["num_actions"], given["low"], given["high"], saved["places"], saved["seed"]
    )
    agent = made_for(
        make, spaces, Bounds(*(tuple(side.tolist()) for side in given["bounds"])), saved["options"]
    )
    agent.restored(saved["learned"])
    seen = form_in_words(given["observations"])
    facts = _facts(saved, recipe_of_agent(agent), agent.rate, seen, given["actions"])
    return observing_policy(agent, given["observations"], given["actions"], facts, seed)


def _facts(
    saved: Saved | SavedNetwork, recipe: Recipe, rate: float, observations: str, actions: Actions
) -> About:
    totals = canonical(with_fields(Totals(), **saved["totals"]))
    env = saved["env"]
    made = saved.get("recipe", recipe)
    return facts_of(
        made, totals, rate, saved["seed"], None if env is None else env["id"], observations, actions
    )


def saved_environment(path: str | Path) -> SavedEnvironment | None:
    """Return the id and the options of a saved learner's training environment, if known."""
    saved: SavedEnvironment | None = _contents(Path(path))[0].get("env")
    return saved if saved is not None and is_of_kind(SavedEnvironment, saved) else None


def _contents(path: Path) -> tuple[Any, bool]:
    """Return a file's content, and whether its agent is one of observations."""
    is_network = format_of(path) == NETWORK_FORMAT
    expected = (NETWORK_FORMAT, NETWORK_VERSION) if is_network else (FORMAT, VERSION)
    return read_archive(path, *expected), is_network


def _given(what: str, saved: Any, given: Any) -> Any:
    """Return the argument if given, else the saved value."""
    if saved is None and given is None:
        name = what.replace(" ", "_")
        raise ValueError(
            f"its {what} was a function, which is not saved; pass it again: load(..., {name}=...)"
        )
    return saved if given is None else given


def _restored_agent(saved: Saved, mask_name: str = "the action mask") -> tuple[TableAgent, HiddenActions]:
    """Return a file's agent, and the actions hidden in its table."""
    agent = ready_agent(saved["agent"])
    table = TableAgent.restored(agent, saved["stream"], saved["totals"], saved["now"])
    return table, HiddenActions.restored(table.q, mask_name, saved["hidden"], table.worth)


def _restored_table(saved: Saved, env: Environment, source: DurationSource, mask: MaskSource) -> TableDriver:
    states, agent = Tabulation.from_dict(saved["states"]), ready_agent(saved["agent"])
    _check_fit(states, agent, saved["first_action"], env)
    wrong = stumbling(agent.rate)
    if wrong:
        raise ValueError(wrong)
    reader = TableReader(env, source, mask, saved["clock"], bins=states)
    trace = Trace(env, whole("seed", saved["seed"], least=0))
    driver = TableDriver(reader, *_restored_agent(saved, reader.mask_name), trace)
    driver.recipe = saved.get("recipe")
    state, (action, explored) = saved["state"], saved["drawn"]
    if state is not None:
        within("state", state, states.num_states)
        within("action", action, reader.num_actions)
        if math.isinf(driver.q[state, action]):
            raise ValueError(
                f"its next action is {action}, which is not allowed in the state where it stands"
            )
        driver.go_to(saved["place"], (state, action, bool(explored)))
    return driver


_OF_0_2: dict[str, dict[str, Any]] = {  # options that its files do not have
    "deep_q": {"lookahead": 1, "hold": 1, "unit_steps": 10_000},
    "tile_q": {"pairs": False},
    "tile_sarsa": {"pairs": False},
}


def _restored_observer(
    saved: SavedNetwork, env: Any, source: DurationSource, mask: MaskSource, agent: MakeObserver | None
) -> ObservingDriver:
    make = OBSERVERS.get(saved["kind"]) if agent is None else agent
    if make is None:
        raise ValueError("its agent is not one of Sojourn's; say how to make it: load(..., agent=make)")
    options = saved["options"] if saved["kind"] and agent is None else {}
    if agent is None:
        options = {**_OF_0_2.get(saved["kind"], {}), **options}  # it goes on as it was
    places = places_of(env, saved["seed"], source, mask, saved["lanes"].get("clock"))
    driver = ObservingDriver(observing_agent(make, options, places), places)
    there = (places.count, places.reader.num_inputs)
    if there != (saved["places"], saved["num_inputs"]):
        raise ValueError(
            f"it was trained in {saved['places']} environments with {saved['num_inputs']} inputs, but here there are "
            f"{there[0]} with {there[1]}"
        )
    driver.agent.restored(saved["learned"])
    driver.totals = canonical(with_fields(Totals(), **saved["totals"]))
    check_totals(driver.totals)
    places.restored(saved["lanes"])
    driver.recipe = saved.get("recipe")
    return driver


def _restored_limits(saved: Any, is_rate: bool) -> RateLimits:
    """Return the limits of the rate in a file; one of an older version has none, so nothing is known of steps before."""
    if saved is None:
        return RateLimits(0.0, -math.inf, math.inf, is_rate)
    check_kind(Column, saved, "the limits of the rate")
    if saved.shape != (3,) or np.isnan(saved).any():
        raise ValueError(f"its limits of the rate are {shown(saved)}, which is impossible")
    first, low, high = saved.tolist()
    return RateLimits(first, low, high, is_rate)


def _check_fit(states: Tabulation, agent: Agent, first: int, env: Environment) -> None:
    """Refuse an environment whose states or actions differ from those of the training."""
    if not _fits(states, env.observation_space):
        raise ValueError(
            f"it was trained with {states.describe()}; this environment observes "
            f"{shown(env.observation_space)}"
        )
    count = sizes(agent.values)[1]
    if action_count(env.action_space) != count or first_action(env.action_space) != first:
        raise ValueError(
            f"it was trained with {count} actions; this environment has {shown(env.action_space)}"
        )


def _fits(states: Tabulation, space: Space) -> bool:
    """Whether a space is the saved one; for continuous parts, only the shape can be compared."""
    try:
        return tabulate(space) == states
    except (TypeError, ValueError):
        try:
            return 0 <= states(copy.deepcopy(space).sample()) < states.num_states
        except (TypeError, ValueError, IndexError, KeyError):
            return False


def described(env: Any) -> SavedEnvironment | None:
    """Return how an environment was constructed, if it has a spec."""
    spec = getattr(env, "spec", None)
    if spec is None:
        return None
    return {
        "id": spec.id,
        "module": _module_of(spec.entry_point),
        "kwargs": _plain(spec.kwargs),
        "max_episode_steps": spec.max_episode_steps,
    }


def _module_of(entry_point: object) -> str | None:
    """Return the module that defines an environment, unless Gymnasium or Sojourn registers it."""
    module = (
        entry_point.partition(":")[0]
        if isinstance(entry_point, str)
        else getattr(entry_point, "__module__", None)
    )
    known = module is None or module.partition(".")[0] in ("gymnasium", "sojourn", "__main__")
    return None if known else module


def _plain(options: Mapping[str, Any]) -> Options | None:
    """Return the options, or None if a file cannot hold some of them."""
    kinds = (bool, int, float, str, type(None))
    return dict(options) if all(isinstance(choice, kinds) for choice in options.values()) else None
