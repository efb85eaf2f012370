"""Renewal decisions: whether a chance is worth its time.

Chances come one after the other, and what comes next does not depend on what is done with this one: jobs that are offered,
requests that may be answered in several ways. The best action for a chance x is then the one with the largest *surplus*

    E[r | x, a] - theta E[tau | x, a]

where theta is the gain: what the time would earn elsewhere. (M. J. Neely, "Fast learning for renewal optimization in online
task scheduling", Journal of Machine Learning Research, 2021.) So the agent keeps the means of rewards and of durations apart,
which stay right while theta moves, and estimates theta by the rate of the best actions: a step that takes the best action
counts as it is, and in place of a step that explores, the means of the best action count.

How certain a surplus is follows from the squares of r - theta tau - surplus, which allow for rewards that depend on
durations. Pairs borrow two from the mean of all squares. With v this variance and n how often the pair was tried,

    Thompson      takes the largest of surplus + scale sqrt(v / n) z, with z standard normal (Thompson 1933)
    UpperBound    takes the largest of surplus + scale sqrt(2 v ln(steps) / n) (Auer, Cesa-Bianchi and Fischer 2002; for
                  rewards per cost, Xia et al. 2015 and Cayci, Eryilmaz and Srikant 2020)

and either tries what was tried less than tries ln(steps)^2 times, whatever it seems to be worth: what pays 100 once in fifty
times shows nothing at first, and no variance either. Chances are numbers, with a table of means, or vectors, with tiles;
n is then the sum of what each try has added to the tiles that it shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from sojourn.agents.acting import actor
from sojourn.agents.constructors import Sides, estimator
from sojourn.agents.exploration import Decay, Exploration, Linear, chance, exploration_of, later
from sojourn.agents.protocol import draw, learn, looks_ahead, misfit
from sojourn.agents.values.protocol import (
    Table,
    Values,
    best,
    checked_state,
    emptied,
    entries,
    is_available,
    is_sound,
    maskable,
    move,
    nth_available,
    num_missing,
    read,
    reads_vectors,
    ready_values,
    restricted,
    sizes,
    write_policy,
    zeros,
)
from sojourn.agents.values.tiles import bounds_of, tiled
from sojourn.data.numbers import at_least_zero, finite
from sojourn.deploy.tiled import TileSet
from sojourn.rates.protocol import Rate, carry, value
from sojourn.rates.ratio import Cumulative
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told
from sojourn.rules.elementary import log
from sojourn.rules.random import Stream, normal, uniform
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked, replaced
from sojourn.rules.vectors import State

_BORROWED = 2.0  # squares that each pair borrows from all others

# --- The surplus of actions, as values -------------------------------------------------


class SurplusValues(NamedTuple):
    """What each action earns beyond what its time is worth: means of rewards and durations, and the price of time.

    >>> one = SurplusValues(Table(np.array([[6.0, 1.0]])), Table(np.array([[4.0, 0.0]])), price=1.0)
    >>> float(read(one, 0, 0)), best(one, 0, 0.0)[0], best(one._replace(price=2.0), 0, 0.0)[0]
    (2.0, 0, 1)
    """

    rewards: Values
    times: Values
    price: float


@read.register
def read_surplus(values: SurplusValues, state: State, action: int) -> float:
    """The mean reward minus the price of the mean duration."""
    return read(values.rewards, state, action) - values.price * read(values.times, state, action)


@best.register
def best_surplus(values: SurplusValues, state: State, share: float) -> tuple[int, float]:
    """The first of the largest or, if the share is above 0, the one at this share among the largest."""
    chosen, highest, count = 0, -np.inf, 0
    for action in range(sizes(values)[1]):
        if is_available(values, state, action):
            worth = read(values, state, action)
            count = count + 1 if worth == highest else 1 if worth > highest else count
            chosen, highest = (action, worth) if worth > highest else (chosen, highest)
    left = int(share * count)
    for action in range(sizes(values)[1]):
        is_next = left > 0 and action > chosen and is_available(values, state, action)
        if is_next and read(values, state, action) == highest:
            chosen, left = action, left - 1
    return chosen, highest


@move.register
def move_surplus(values: SurplusValues, state: State, action: int, amount: float) -> SurplusValues:
    """Move the mean reward, and so the surplus."""
    return replaced(values, rewards=move(values.rewards, state, action, amount))


@is_available.register
def is_surplus_available(values: SurplusValues, state: State, action: int) -> bool:
    """Whether there is a mean reward."""
    return is_available(values.rewards, state, action)


@sizes.register
def sizes_of_surplus(values: SurplusValues) -> tuple[int, int]:
    """Those of the means."""
    return sizes(values.rewards)


@num_missing.register
def num_missing_surplus(values: SurplusValues) -> int:
    """The mean rewards that are missing."""
    return num_missing(values.rewards)


@is_sound.register
def is_surplus_sound(values: SurplusValues, missing: int) -> bool:
    """Whether both kinds of means are."""
    return is_sound(values.rewards, missing) and is_sound(values.times, 0) and abs(values.price) < np.inf


@ready_values.register
def ready_surplus(values: SurplusValues) -> SurplusValues:
    """Both kinds of means, for the same states and actions."""
    ready = SurplusValues(
        ready_values(values.rewards), ready_values(values.times), finite("price", values.price)
    )
    if type(ready.rewards) is not type(ready.times) or sizes(ready.rewards) != sizes(ready.times):
        raise ValueError("the means of rewards and of durations must be of the same kind and size")
    return ready


@emptied.register
def emptied_surplus(values: SurplusValues) -> SurplusValues:
    """All means are 0."""
    return SurplusValues(emptied(values.rewards), emptied(values.times), 0.0)


@actor.register
def actor_of_surplus(values: SurplusValues) -> list[TileSet]:
    """The rewards, and minus the price of the durations, which must be tiles."""
    rewards, times = actor(values.rewards), actor(values.times)
    assert isinstance(rewards, list)
    assert isinstance(times, list)
    return [*rewards, *(each._replace(factor=-values.price * each.factor) for each in times)]


@restricted.register
def restricted_surplus(values: SurplusValues, available: Flags) -> SurplusValues:
    """Mean rewards of -inf for actions that are not available."""
    return replaced(values, rewards=restricted(values.rewards, available))


@entries.register
def entries_of_surplus(values: SurplusValues) -> Floats:
    """A new array; writing into it changes nothing."""
    return entries(values.rewards) - values.price * entries(values.times)


@maskable.register
def maskable_surplus(values: SurplusValues) -> Floats:
    """The mean rewards, as the surpluses are computed anew."""
    return maskable(values.rewards)


@reads_vectors.register
def surplus_reads_vectors(values: SurplusValues) -> bool:
    """As its means do."""
    return reads_vectors(values.rewards)


@checked_state.register
def checked_state_of_surplus(values: SurplusValues, name: str, state: State) -> State:
    """As its means do."""
    return checked_state(values.rewards, name, state)


@rule(fallback=True)
def _write_best(means: Values, values: SurplusValues, actions: Ints) -> None:
    """Write nothing: for vectors there is no list of states."""


@_write_best.register
def _write_best_of_table(means: Table, values: SurplusValues, actions: Ints) -> None:
    for state in range(len(actions)):
        actions[state] = best(values, state, 0.0)[0]


@write_policy.register
def write_policy_of_surplus(values: SurplusValues, actions: Ints) -> None:
    """The best action of every state that can be listed."""
    _write_best(values.rewards, values, actions)


# --- How the next action is chosen -----------------------------------------------------


class Tried(NamedTuple):
    """How often actions were tried, and the squares of what they earned beyond their surplus: by pair, and of all steps."""

    visits: Values
    squares: Values
    all_squares: float
    steps: float


@checked(scale=at_least_zero, tries=at_least_zero)
class Thompson(NamedTuple):
    """Draws each surplus from where it may lie, and takes the action with the largest (Thompson 1933).

    `scale` multiplies standard errors; an action is also tried `tries` times the squared logarithm of the steps, whatever it is worth.

    >>> renewal(2, 3, exploration=Thompson(scale=0.5)).chooser.scale
    0.5
    """

    scale: float = 1.0
    tries: float = 1.0


@checked(scale=at_least_zero, tries=at_least_zero)
class UpperBound(NamedTuple):
    """Takes the action whose surplus may be the largest, by its standard error (Auer, Cesa-Bianchi and Fischer 2002).

    >>> renewal(2, 3, exploration=UpperBound(tries=0.0)).chooser.tries
    0.0
    """

    scale: float = 1.0
    tries: float = 1.0


class Chooser(Value, Protocol):
    """Any type that `chosen_action` is registered for: an exploration, `Thompson` or `UpperBound`."""


@rule()
def chosen_action(chooser: Chooser, values: SurplusValues, tried: Tried, state: State, rng: Stream) -> int:
    """Return the next action."""
    raise no_rule("chosen_action", chooser)


@rule()
def next_chooser(chooser: Chooser) -> Chooser:
    """Return how the agent chooses after one more step."""
    raise no_rule("next_chooser", chooser)


@inlined
def _error(tried: Tried, state: State, action: int, count: float) -> float:
    """Return the standard error of a surplus."""
    squares = max(read(tried.squares, state, action), 0.0) + _BORROWED * tried.all_squares / tried.steps
    return math.sqrt(squares / (count + _BORROWED) / count)


@inlined
def _least(tries: float, steps: float) -> float:
    """Return how often each action is tried whatever it seems to be worth."""
    logarithm = log(max(steps, 1.0))
    return max(tries * logarithm * logarithm, 1.0)


@chosen_action.register(Decay, Linear)
def chosen_by_epsilon(
    exploration: Exploration, values: SurplusValues, tried: Tried, state: State, rng: Stream
) -> int:
    """Any action with probability epsilon, otherwise the best; one number decides, also between equally good actions."""
    u, epsilon = uniform(rng), chance(exploration)
    if u < epsilon:
        return nth_available(values, state, u / epsilon)
    return best(values, state, (u - epsilon) / (1.0 - epsilon))[0]


@next_chooser.register(Decay, Linear)
def next_exploration(exploration: Exploration) -> Exploration:
    """The exploration moves on by one step."""
    return later(exploration)


@chosen_action.register
def chosen_by_thompson(
    chooser: Thompson, values: SurplusValues, tried: Tried, state: State, rng: Stream
) -> int:
    """The largest draw; the first that was tried too seldom, if there is one."""
    chosen, highest, least = 0, -np.inf, _least(chooser.tries, tried.steps)
    for action in range(sizes(values)[1]):
        if is_available(values, state, action):
            count, z = read(tried.visits, state, action), normal(rng)
            drawn = np.inf
            if count >= least:
                drawn = read(values, state, action) + chooser.scale * _error(tried, state, action, count) * z
            chosen, highest = (action, drawn) if drawn > highest else (chosen, highest)
    return chosen


@chosen_action.register
def chosen_by_bound(
    chooser: UpperBound, values: SurplusValues, tried: Tried, state: State, rng: Stream
) -> int:
    """The largest bound; the first that was tried too seldom, if there is one."""
    chosen, highest, least = 0, -np.inf, _least(chooser.tries, tried.steps)
    for action in range(sizes(values)[1]):
        if is_available(values, state, action):
            count = read(tried.visits, state, action)
            bound = np.inf
            if count >= least:
                width = math.sqrt(2.0 * log(max(tried.steps, 1.0))) * _error(tried, state, action, count)
                bound = read(values, state, action) + chooser.scale * width
            chosen, highest = (action, bound) if bound > highest else (chosen, highest)
    return chosen


@next_chooser.register(Thompson, UpperBound)
def same_chooser(chooser: Chooser) -> Chooser:
    """Thompson sampling and upper bounds explore less by themselves."""
    return chooser


# --- The agent ---------------------------------------------------------------------------


@checked(carried=finite)
class Renewal(NamedTuple):
    """An agent that asks of each chance whether it is worth its time."""

    values: SurplusValues
    rate: Rate
    chooser: Chooser
    tried: Tried
    carried: float
    accepted: bool

    @property
    def q(self) -> Floats:
        """The surpluses as an array of states by actions."""
        return entries(self.values)


@misfit.register
def misfit_renewal(agent: Renewal) -> str:
    """What was tried must have the kind and size of the means."""
    shape = sizes(agent.values)
    for name, part in (("visits", agent.tried.visits), ("squares", agent.tried.squares)):
        ready = ready_values(part)
        if type(ready) is not type(agent.values.rewards) or sizes(ready) != shape:
            return f"{name} are values of another kind or size"
    return (
        ""
        if agent.tried.steps >= 0.0 <= agent.tried.all_squares < np.inf
        else "squares are not those of its steps"
    )


@looks_ahead.register
def never_looks_ahead(agent: Renewal) -> bool:
    """What comes next does not depend on the action."""
    return False


@draw.register
def draw_renewal(agent: Renewal, state: State, rng: Stream) -> tuple[int, bool]:
    """As its `chooser` says; another action than the best explores."""
    action = chosen_action(agent.chooser, agent.values, agent.tried, state, rng)
    return action, read(agent.values, state, action) < best(agent.values, state, 0.0)[1]


@learn.register
def learn_renewal(
    agent: Renewal,
    state: State,
    action: int,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> Renewal:
    """Move the means of the pair, then the price of time by what the best action brings."""
    values, tried = agent.values, agent.tried
    chosen, highest = best(values, state, 0.0)
    accepted = read(values, state, action) == highest
    before = reward - values.price * duration - read(values, state, action)
    visits = move(tried.visits, state, action, 1.0)
    size = 1.0 / max(read(visits, state, action), 1.0)
    rewards = move(values.rewards, state, action, size * (reward - read(values.rewards, state, action)))
    times = move(values.times, state, action, size * (duration - read(values.times, state, action)))
    after = (
        reward
        - values.price * duration
        - (read(rewards, state, action) - values.price * read(times, state, action))
    )
    square = before * after
    earned, passed = reward, duration
    if not accepted:
        earned, passed = read(rewards, state, chosen), max(read(times, state, chosen), 0.0)
    rate, carried = carry(agent.rate, agent.carried, earned, passed)
    return Renewal(
        values=SurplusValues(rewards=rewards, times=times, price=value(rate)),
        rate=rate,
        chooser=next_chooser(agent.chooser),
        tried=Tried(
            visits=visits,
            squares=move(tried.squares, state, action, square),
            all_squares=tried.all_squares + square,
            steps=tried.steps + 1.0,
        ),
        carried=carried,
        accepted=accepted,
    )


# --- The constructors ----------------------------------------------------------------------

Choice: TypeAlias = float | Decay | Linear | Thompson | UpperBound


@told
def renewal(
    num_states: int,
    num_actions: int,
    *,
    exploration: Choice = Thompson(),  # noqa: B008 - it cannot be changed
    rate: Rate | None = None,
) -> Renewal:
    """An agent for chances of several kinds, the states, whose next one does not depend on the action.

    With one kind, it is a bandit for the largest reward per unit time; decisions by r - theta tau are those of Neely (2021).
    `exploration` is `Thompson`, `UpperBound`, or the probability of a random action; the rate is `Cumulative`. A job pays 6
    and takes 2; an offer of 1 for a time of 1 is then not worth its time:

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(renewal(num_states=2, num_actions=2), 0, 1, 6.0, 2.0, 1)
    >>> agent = learn(agent, 1, 1, 1.0, 1.0, 0)
    >>> agent.q
    array([[ 0.        ,  1.33333333],
           [ 0.        , -1.33333333]])
    """
    return _renewal([zeros(num_states, num_actions) for _ in range(4)], exploration, rate)


def tile_renewal(
    num_inputs: int,
    num_actions: int,
    *,
    bounds: Sides | None = None,
    tilings: int = 8,
    tiles: int = 8,
    memory: int = 65_536,
    exploration: Choice = Thompson(tries=0.0),  # noqa: B008 - it cannot be changed
    rate: Rate | None = None,
) -> Renewal:
    """The same for chances that are vectors, such as the length and the pay of a job, with tiles (Albus 1975).

    Every region would need tries of its own, so by default no action is tried more than once regardless of its worth.

    >>> from sojourn.agents.protocol import learn
    >>> agent = tile_renewal(num_inputs=1, num_actions=2, bounds=([0.0], [1.0]), tilings=2, tiles=4)
    >>> agent = learn(agent, (0.5,), 1, 6.0, 2.0, (0.9,))
    >>> float(read(agent.values.rewards, (0.4,), 1)), agent.values.price
    (3.0, 3.0)
    """
    box = bounds_of(num_inputs, bounds)
    parts = [tiled(box, num_actions, tilings=tilings, tiles=tiles, memory=memory) for _ in range(4)]
    return _renewal(parts, exploration, rate)


def _renewal(parts: Sequence[Values], given: Choice, rate: Rate | None) -> Renewal:
    rewards, times, visits, squares = parts
    chooser = given if isinstance(given, Thompson | UpperBound) else exploration_of(given)
    return Renewal(
        values=SurplusValues(rewards, times, 0.0),
        rate=estimator(Cumulative, None, rate),
        chooser=chooser,
        tried=Tried(visits, squares, 0.0, 0.0),
        carried=0.0,
        accepted=True,
    )
