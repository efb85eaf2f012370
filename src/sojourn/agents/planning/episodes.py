"""Agents that plan at the beginning of an episode and follow the plan to its end: TSDE, UCRL-SMDP and CT-UCRL.

They count as the planner does, and share its solver. Their values Q(s, a) and their rate are those of the mean model,
as the planner's are, and are found anew at the beginning of each episode; what they do until the next is another plan:

    TSDE       the best policy of a model drawn from the posterior. An episode ends when some pair has been seen more
               than twice as often as at its beginning, or when it has become longer than the one before.
    UCRL-SMDP  the best policy of the most hopeful plausible model. An episode ends when the pair to be taken has been
    CT-UCRL    seen as often in it as before it.

`posterior` and `optimism` have the models. These agents are what regret is usually compared with, and each has a bound
on its regret in its paper's setting, which the planner has not. It holds in that setting only: UCRL-SMDP and CT-UCRL
must be told the ranges that their papers assume to be known, and by default take them from what they have seen.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from sojourn.agents.planning.model import (
    DURATION,
    VISITS,
    Outlook,
    SparseCounts,
    count,
    has_room,
    model_of,
    no_counts,
    with_room,
)
from sojourn.agents.planning.optimism import (
    KEPT,
    BoundedSteps,
    Confidence,
    ExponentialSojourns,
    Limits,
    hopeful_model,
)
from sojourn.agents.planning.planner import (
    ACTION,
    BEST,
    GUESS,
    PLANNED,
    SEEN,
    TIME,
    TRY,
    VALUE,
    PlannedRate,
    forget,
    places_of,
    planned,
    write_values,
    wrong_plans,
)
from sojourn.agents.planning.posterior import UsualStep, drawn_model
from sojourn.agents.protocol import draw, learn, looks_ahead, misfit, pauses, think
from sojourn.agents.values.protocol import Table, best, entries, read, zeros
from sojourn.data.numbers import at_least_zero, finite, positive, proper_fraction
from sojourn.rules.arrays import MOST_COUNTED, Floats
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.door import told
from sojourn.rules.elementary import log
from sojourn.rules.random import Stream, uniform, word_at
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, checked, replaced

KEY = GUESS  # the column of whose first cell is the key of the agent's own random numbers, or 0 before its first step
_ROUNDS = 60  # of looking for the most hopeful model
_MORE = 1e-7  # a round that raises the gain by less than this share is the last
_LEAST = 1e-6  # of the mean duration, as in `model`


class Episode(NamedTuple):
    """When episodes began, and what all steps were like."""

    steps: int = 0
    begun: int = 0  # the step at which this episode began
    stretch: int = 1  # for how many steps the one before it went on
    over: bool = False
    reward: float = 0.0  # of all steps together
    clock: float = 0.0
    lowest: float = np.inf  # reward of a step
    highest: float = -np.inf
    shortest: float = np.inf  # duration of a step
    longest: float = 0.0


def wrong_episode(course: Episode) -> str:
    """Return what is wrong with a course that came from elsewhere, or an empty text."""
    sound = 0 <= course.begun <= course.steps <= MOST_COUNTED and 0 <= course.stretch <= MOST_COUNTED
    if not sound or not np.isfinite([course.reward, course.clock]).all() or not course.clock >= 0.0:
        return f"course of {course.steps} steps has counts or totals of no such course"
    ranges = (course.lowest, course.highest, course.shortest, course.longest)
    if course.steps > 0 and not (np.isfinite(ranges).all() and course.shortest >= 0.0):
        return "course has rewards or durations that are not finite"
    return ""


@inlined
def after(course: Episode, reward: float, duration: float) -> Episode:
    """Return the course after one step."""
    return replaced(
        course,
        steps=course.steps + 1,
        reward=course.reward + reward,
        clock=course.clock + duration,
        lowest=min(course.lowest, reward),
        highest=max(course.highest, reward),
        shortest=min(course.shortest, duration),
        longest=max(course.longest, duration),
    )


# --- What the agents differ in ----------------------------------------------------------


class EpisodicMethod(Value, Protocol):
    """How an agent plans, and when an episode is over."""


@checked(strength=positive)
class PosteriorSampling(NamedTuple):
    """TSDE (Ouyang, Gagrani, Nayyar and Jain 2017); the prior of a mean reward is worth `strength` steps."""

    strength: float


@rule()
def is_over(
    method: EpisodicMethod, course: Episode, counts: SparseCounts, states: Floats, last: int, state: int
) -> bool:
    """Whether the episode ends after a step from the state `last` to another one."""
    raise no_rule("is_over", method)


@rule()
def plan_episode(
    method: EpisodicMethod, q: Floats, counts: SparseCounts, states: Floats, course: Episode, state: int
) -> float:
    """Write the plan of an episode that begins in a state, and return the gain that it hopes for."""
    raise no_rule("plan_episode", method)


@rule(fallback=True)
def kept_of(method: EpisodicMethod, duration: float, visits: float) -> float:
    """Return what a duration adds to the pair's total: nothing, if it is truncated."""
    return duration


@inlined
def planned_visits(counts: SparseCounts, states: Floats, state: int) -> float:
    """Return how often the pair that the plan takes in a state was seen."""
    return float(counts.pairs[state, int(states[state, ACTION + TRY]), VISITS])


@is_over.register
def is_over_sampled(
    method: PosteriorSampling,
    course: Episode,
    counts: SparseCounts,
    states: Floats,
    last: int,
    state: int,
) -> bool:
    """It is longer than the one before, or the pair has been seen more than twice as often as at its beginning."""
    longer = course.steps - course.begun > course.stretch
    return longer or planned_visits(counts, states, last) > 2.0 * states[last, PLANNED]


@plan_episode.register
def plan_sampled(
    method: PosteriorSampling,
    q: Floats,
    counts: SparseCounts,
    states: Floats,
    course: Episode,
    state: int,
) -> float:
    """The best policy of a model that is drawn from the posterior; each episode has random numbers of its own."""
    key, rng = int(states[0, KEY]), np.empty(4, np.uint64)
    for i in range(4):
        rng[i] = word_at(key, 4 * course.steps + i)
    steps = float(course.steps)
    usual = UsualStep(steps=steps, reward=course.reward / steps, duration=mean_duration(course))
    model = drawn_model(counts, q, usual, method.strength, rng)
    everywhere = np.arange(q.shape[0])
    return planned(model, states, everywhere, TRY, state, 0.0)[0]


@inlined
def mean_duration(course: Episode) -> float:
    """Return the mean duration of all steps, or 1 if none took any time."""
    return course.clock / course.steps if course.clock > 0.0 else 1.0


@inlined
def is_known_well(course: Episode, counts: SparseCounts, states: Floats, state: int) -> bool:
    """Whether the pair to be taken has been seen as often in this episode as before it, or for the first time."""
    before = states[state, PLANNED]
    return course.begun == 0 or planned_visits(counts, states, state) - before >= max(before, 1.0)


@is_over.register
def is_over_bounded(
    method: BoundedSteps, course: Episode, counts: SparseCounts, states: Floats, last: int, state: int
) -> bool:
    """The pair to be taken has been seen as often as before the episode."""
    return is_known_well(course, counts, states, state)


@is_over.register
def is_over_exponential(
    method: ExponentialSojourns,
    course: Episode,
    counts: SparseCounts,
    states: Floats,
    last: int,
    state: int,
) -> bool:
    """The pair to be taken has been seen as often as before the episode."""
    return is_known_well(course, counts, states, state)


@inlined
def promised_reward(course: Episode) -> float:
    """Return a reward above that of any step so far, for where none is known."""
    above = max(course.highest - course.lowest, abs(course.highest))
    return course.highest + (above if above > 0.0 else 1.0)


@inlined
def limits_of(
    course: Episode,
    shape: tuple[int, int],
    delta: float,
    rewards: tuple[float, float],
    known: float,
    times: tuple[float, float],
) -> Limits:
    """Return what is plausible for all pairs; `rewards` and `times` are ranges, `known` the highest reward or inf."""
    duration, steps = mean_duration(course), course.steps + 1.0
    num_states, num_actions = shape
    return Limits(
        lowest=rewards[0],
        highest=rewards[1],
        top=promised_reward(course) if known == np.inf else known,
        shortest=times[0],
        longest=times[1],
        least=_LEAST * duration,
        of_pairs=log(2.0 * num_states * num_actions * steps / delta),
        of_successors=14.0 * num_states * log(2.0 * num_actions * steps / delta),
    )


@plan_episode.register
def plan_bounded(
    method: BoundedSteps,
    q: Floats,
    counts: SparseCounts,
    states: Floats,
    course: Episode,
    state: int,
) -> float:
    """The best policy of the most hopeful model; unknown ranges are those of the steps so far."""
    lowest = course.lowest if method.lowest == np.inf else method.lowest
    highest = course.highest if method.highest == np.inf else method.highest
    shortest = course.shortest if method.shortest == np.inf else method.shortest
    longest = course.longest if method.longest == np.inf else method.longest
    limits = limits_of(course, q.shape, method.delta, (lowest, highest), method.highest, (shortest, longest))
    return plan_hopefully(method, q, counts, states, state, limits)


@plan_episode.register
def plan_exponential(
    method: ExponentialSojourns,
    q: Floats,
    counts: SparseCounts,
    states: Floats,
    course: Episode,
    state: int,
) -> float:
    """The best policy of the most hopeful model; unknown bounds are those of the pairs' mean durations so far."""
    pairs, shortest, longest = counts.pairs, np.inf, 0.0
    for there in range(pairs.shape[0]):
        for action in range(pairs.shape[1]):
            if pairs[there, action, VISITS] > 0.0:
                shortest = min(shortest, pairs[there, action, DURATION])
                longest = max(longest, pairs[there, action, DURATION])
    shortest = shortest if method.shortest == np.inf else method.shortest
    longest = longest if method.longest == np.inf else method.longest
    rewards = (course.lowest, course.highest)
    limits = limits_of(course, q.shape, method.delta, rewards, method.highest, (shortest, longest))
    return plan_hopefully(method, q, counts, states, state, limits)


@kept_of.register
def kept_exponential(method: ExponentialSojourns, duration: float, visits: float) -> float:
    """Durations longer than longest sqrt(2 n / log(1 / delta)) count as 0, if the longest mean is known."""
    if method.longest == np.inf:
        return duration
    return duration if duration <= method.longest * math.sqrt(2.0 * visits / -log(method.delta)) else 0.0


@compiled_apart
def plan_hopefully(
    method: Confidence, q: Floats, counts: SparseCounts, states: Floats, state: int, limits: Limits
) -> float:
    """Look for the most hopeful plausible model and its best policy, and return its gain."""
    everywhere, h = np.arange(q.shape[0]), np.empty(q.shape[0])
    gain = limits.top
    for tried in range(_ROUNDS):
        for there in range(len(h)):
            h[there] = states[there, VALUE + TRY]
        model = hopeful_model(method, counts, q, h, gain, limits)
        before = gain
        gain = planned(model, states, everywhere, TRY, state, 0.0)[0]
        if tried > 0 and gain <= before + _MORE * abs(before):
            break
    return gain


# --- The agent --------------------------------------------------------------------------


@compiled_apart
def begin_episode(
    method: EpisodicMethod, q: Floats, counts: SparseCounts, states: Floats, course: Episode, state: int
) -> float:
    """Find the mean model's values and the plan of a new episode; return the gain of the mean model."""
    states[state, SEEN] = 1.0
    seen, place = places_of(states)
    mean = Outlook(
        known=-1.0,
        promise=0.0,
        worth=1.0,
        reward=course.reward / course.steps,
        duration=mean_duration(course),
    )
    model = model_of(counts, q, seen, place, place[state], mean)
    gain = planned(model, states, seen, BEST, place[state], 0.0)[0]
    write_values(q, counts, model, states, seen, gain)
    plan_episode(method, q, counts, states, course, state)
    if (
        not course.clock > 0.0
    ):  # a rate needs time, and the next plan must not begin with times in a unit of our own
        gain = 0.0
        forget(states, TIME + BEST)
        forget(states, TIME + TRY)
    for there in range(q.shape[0]):
        states[there, PLANNED] = planned_visits(counts, states, there)
    return gain


class EpisodicPlanner(NamedTuple):
    """An agent that counts, plans for an episode, and follows the plan until it is over."""

    values: Table  # Q(s, a) of the mean model
    rate: PlannedRate
    accepted: bool
    pausing: bool
    counts: SparseCounts
    states: Floats  # [state, column], with the columns of the planner
    course: Episode
    method: EpisodicMethod

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@looks_ahead.register
def looks_ahead_episodic(agent: EpisodicPlanner) -> bool:
    """It does not: it counts, and its plans look ahead."""
    return False


@misfit.register
def misfit_episodic(agent: EpisodicPlanner) -> str:
    """Its counts must have as many pairs as its values, and the actions of its plans must exist."""
    wrong = wrong_plans(agent.states, agent.counts, agent.q.shape) or wrong_episode(agent.course)
    key = agent.states[0, KEY] if not wrong else 0.0
    return wrong or ("" if 0.0 <= key <= 2.0**52 and key == np.floor(key) else "states have no such key")


@draw.register
def draw_episodic(agent: EpisodicPlanner, state: int, rng: Stream) -> tuple[int, bool]:
    """The plan's action; the very first draw also sets the key of the agent's own random numbers."""
    if agent.states[0, KEY] == 0.0:
        agent.states[0, KEY] = 1.0 + np.floor(uniform(rng) * 2.0**51)
    action = int(agent.states[state, ACTION + TRY])
    if read(agent.values, state, action) == -np.inf:
        action = best(agent.values, state, 0.0)[0]
    return action, False


@learn.register
def learn_episodic(
    agent: EpisodicPlanner,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> EpisodicPlanner:
    """Count the transition; pause if the episode is over, or if there is no room for more counts."""
    counts, states = agent.counts, agent.states
    if not has_room(counts):
        counts = with_room(counts)
    counts = count(counts, state, action, reward, duration, next_state)
    visits = counts.pairs[state, action, VISITS]
    counts.pairs[state, action, KEPT] += kept_of(agent.method, duration, visits)
    states[state, SEEN] = 1.0
    states[next_state, SEEN] = 1.0
    course = after(agent.course, reward, duration)
    over = is_over(agent.method, course, counts, states, state, next_state)
    return replaced(
        agent,
        accepted=action == best(agent.values, state, 0.0)[0],
        pausing=over or not has_room(counts),
        counts=counts,
        course=replaced(course, over=over),
    )


@pauses.register
def pauses_episodic(agent: EpisodicPlanner) -> bool:
    """When an episode is over, or there is no room for more counts."""
    return agent.pausing


@think.register
def think_episodic(agent: EpisodicPlanner, state: int) -> EpisodicPlanner:
    """Make room for counts, and begin an episode if the last one is over."""
    counts, course, rate = agent.counts, agent.course, agent.rate
    if not has_room(counts):
        counts = with_room(counts)
    if course.over and course.steps > 0:
        rate = PlannedRate(
            rate=begin_episode(agent.method, agent.values.q, counts, agent.states, course, state)
        )
        course = replaced(course, begun=course.steps, stretch=course.steps - course.begun, over=False)
    return replaced(agent, rate=rate, pausing=False, counts=counts, course=course)


# --- The constructors -------------------------------------------------------------------


def _episodic(num_states: int, num_actions: int, method: EpisodicMethod) -> EpisodicPlanner:
    return EpisodicPlanner(
        values=zeros(num_states, num_actions),
        rate=PlannedRate(),
        accepted=False,
        pausing=False,
        counts=no_counts(num_states, num_actions),
        states=np.zeros((num_states, 9)),
        course=Episode(),
        method=method,
    )


@told
def tsde(num_states: int, num_actions: int, *, strength: float = 1.0) -> EpisodicPlanner:
    """Thompson sampling with dynamic episodes (Ouyang, Gagrani, Nayyar and Jain 2017), for steps that take time.

    At the beginning of each episode it draws a model from the posterior, and follows its best policy. Successors have
    a Dirichlet prior with a weight of 1 in all, rewards a normal law and durations a gamma law, with priors around the
    means of all steps; the paper has known rewards and steps of equal length. The prior of a mean reward is worth
    `strength` steps: the fewer, the more it hopes for from pairs that it has not tried.

    >>> from sojourn.agents.protocol import learn, think
    >>> agent = tsde(num_states=2, num_actions=1)
    >>> agent = think(learn(agent, 0, 0, 6.0, 2.0, 1), 1)
    >>> agent = think(learn(agent, 1, 0, 0.0, 1.0, 0), 0)
    >>> round(float(agent.rate.rate), 3)  # 6 in a time of 2, and then the way back in 1
    2.0
    """
    return _episodic(num_states, num_actions, PosteriorSampling(strength=positive("strength", strength)))


@told
def ucrl_smdp(
    num_states: int,
    num_actions: int,
    *,
    radius: float = 1.0,
    delta: float = 0.05,
    lowest: float | None = None,
    highest: float | None = None,
    shortest: float | None = None,
    longest: float | None = None,
) -> EpisodicPlanner:
    """UCRL-SMDP (Fruit and Lazaric 2017): the best policy of the most hopeful model that is plausible.

    Rewards of steps lie from `lowest` to `highest`, and their durations from `shortest` to `longest`. Its bound on the
    regret holds only if they are given, `radius` is 1 and no step is outside. By default they are those of the steps so
    far, and a pair that was never tried pays more than any of them. All radii are multiplied by `radius`; as published,
    they hold with probability 1 - `delta`.

    >>> from sojourn.agents.protocol import act, learn, think
    >>> from sojourn.rules.random import stream
    >>> agent = ucrl_smdp(1, 2, radius=0.05, lowest=0.0, highest=10.0, shortest=1.0, longest=2.0)
    >>> act(think(learn(agent, 0, 0, 6.0, 2.0, 0), 0), 0, stream(0))  # the other action may pay more
    1
    """
    method = BoundedSteps(
        delta=proper_fraction("delta", delta),
        radius=at_least_zero("radius", radius),
        lowest=_known("lowest", lowest),
        highest=_known("highest", highest),
        shortest=_known_time("shortest", shortest),
        longest=_known_time("longest", longest),
    )
    _check_order("lowest", method.lowest, "highest", method.highest)
    _check_order("shortest", method.shortest, "longest", method.longest)
    return _episodic(num_states, num_actions, method)


@told
def ct_ucrl(
    num_states: int,
    num_actions: int,
    *,
    radius: float = 1.0,
    delta: float = 0.05,
    highest: float | None = None,
    shortest: float | None = None,
    longest: float | None = None,
) -> EpisodicPlanner:
    """CT-UCRL (Gao and Zhou 2022), for exponential sojourns: the best policy of the most hopeful plausible model.

    `highest` is the largest *mean* reward of a pair, and `shortest` and `longest` are the ends of the mean sojourns, 1
    over the largest and the least rate. Its bound on the regret holds only if they are given, `radius` is 1, and a pair
    always pays the same. By default the ends are those of the means so far, no sojourn is truncated, and a pair that
    was never tried pays more than any step so far.

    >>> from sojourn.agents.protocol import act, learn, think
    >>> from sojourn.rules.random import stream
    >>> agent = ct_ucrl(num_states=1, num_actions=2, highest=8.0, shortest=0.1, longest=0.5)
    >>> act(think(learn(agent, 0, 0, 6.0, 0.4, 0), 0), 0, stream(0))  # the other action may pay more
    1
    """
    method = ExponentialSojourns(
        delta=proper_fraction("delta", delta),
        radius=at_least_zero("radius", radius),
        highest=_known("highest", highest),
        shortest=_known_time("shortest", shortest),
        longest=_known_time("longest", longest),
    )
    _check_order("shortest", method.shortest, "longest", method.longest)
    return _episodic(num_states, num_actions, method)


def _known(name: str, given: float | None) -> float:
    """Return an end of a range; inf if it is unknown."""
    return np.inf if given is None else finite(name, given)


def _known_time(name: str, given: float | None) -> float:
    """Return an end of a range of durations; inf if it is unknown."""
    return np.inf if given is None else at_least_zero(name, given)


def _check_order(least: str, low: float, most: str, high: float) -> None:
    """Refuse a range whose ends are known and in the wrong order."""
    if high < low < np.inf:
        raise ValueError(f"{least} is {low} and {most} is {high}; {most} must not be the smaller one")
