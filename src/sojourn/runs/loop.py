"""Run an agent in a world: one fused loop for every world, agent and estimator.

A seed makes two independent random streams, one for the world and one for the agent, so under the same seed all
agents meet the same noise. The loop's memory does not depend on the number of steps, and the loop can be interrupted
at any time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.agents.protocol import (
    A,
    Agent,
    described,
    draw,
    learn,
    learns_inside,
    pauses,
    policy,
    ready_agent,
    think,
)
from sojourn.agents.values.protocol import num_missing, reads_vectors, restricted, sizes
from sojourn.data.numbers import whole
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags, Floats
from sojourn.rules.borrowed import borrowed, given_back
from sojourn.rules.bridge import compiled_apart, inlined
from sojourn.rules.door import told, warn
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, streams
from sojourn.rules.rehearsal import returned, same_kind
from sojourn.rules.rule import first_meeting
from sojourn.rules.values import Column, canonical, copied, with_fields
from sojourn.rules.vectors import Action, State, is_offered, is_state, spot
from sojourn.runs.progress import StopFlag
from sojourn.runs.recording import NEVER, Course, Length, Points, Totals, counted, has_diverged, record_points
from sojourn.worlds.protocol import (
    Fault,
    W,
    World,
    controlled,
    explain_step,
    extent,
    first_state,
    observed,
    ready_world,
    start,
    step,
)
from sojourn.worlds.truth import Truth, knows_truth, truth_of, watched

_draw, _learn, _start, _step, _value = draw.bare, learn.bare, start.bare, step.bare, value.bare
_watched = watched.bare

Streams: TypeAlias = npt.NDArray[np.uint64]  # two rows: the world's stream and the agent's

_BLOCK = 5_000_000  # steps between checks for an interrupt: a fraction of a second


class Curve(NamedTuple):
    """The totals of a run and its estimated rate at some of its steps.

    step            the number of steps taken so far
    reward          their total reward
    greedy_reward   the total reward of the accepted ones
    clock           their total duration
    rate            the estimated rate at that moment

    >>> import sojourn as sj
    >>> world = sj.worlds.Tabular(sj.problems.long_return())
    >>> curve = run(world, sj.agents.policy_agent([0, 0], num_actions=2), steps=100, record=3).curve
    >>> curve.step, curve.reward, curve.clock
    (array([  1,  10, 100]), array([  30.,  150., 1500.]), array([  2.,  15., 150.]))
    """

    step: Points
    reward: Column
    greedy_reward: Column
    clock: Column
    rate: Column


PARTS = Curve._fields[1:]  # recorded at each point; the steps are known beforehand


class Run(NamedTuple):
    """One run: the trained agent, its totals, and a curve of how they grew.

    `rate` is the agent's own estimate; `reward / duration` is what was earned. `duration` is the total time, the
    clock at the end. The `greedy_` figures cover accepted steps only, those that took the greedy action as the
    agent sees it. `diverged` says that the rate or a value is no longer finite, except for initial values of
    -inf, which mark actions that a state does not have.

    >>> import sojourn as sj
    >>> world = sj.worlds.Tabular(sj.problems.long_return())  # 30 in a time of 2, then back in a time of 1
    >>> result = run(world, sj.agents.policy_agent([0, 0], num_actions=2), steps=100)
    >>> result.reward, result.duration, result.rate
    (1500.0, 150.0, 10.0)
    >>> result
    <run of 100 steps, seed 0: 10 per unit time earned, learned rate 10>
    """

    agent: Any  # of the type given
    rate: float
    reward: float
    duration: float
    greedy_reward: float
    greedy_duration: float
    greedy_steps: int
    steps: int
    seed: int
    curve: Curve
    diverged: bool
    truth: Truth | None = None  # only if the world knows its gain at every time

    @property
    def dynamic_regret(self) -> float:
        """How much more the best policy at each time would have earned, in a world that changes.

        It is the sum over all steps of duration times the gain at the step's start, minus the sum of the rewards.
        """
        return self._known.dynamic_regret

    @property
    def tracking_error(self) -> float:
        """The time-weighted mean squared error of the agent's rate before each step, without the first 100 steps."""
        return self._known.tracking_error

    @property
    def _known(self) -> Truth:
        if self.truth is None:
            raise ValueError(
                "this world does not know its gain at every time; run a world that does, such as Switching or Drifting"
            )
        return self.truth

    @property
    def policy(self) -> Points:
        """The greedy action of every state after training."""
        return policy(self.agent)

    def __repr__(self) -> str:
        earned = f"{self.reward / self.duration:.6g}" if self.duration > 0.0 else "nothing"
        return f"<run of {self.steps:,} steps, seed {self.seed}: {earned} per unit time earned, learned rate {self.rate:.6g}>"


@told
def run(
    world: World,
    agent: Agent,
    steps: int,
    episodes: int = 1,
    *,
    seed: int = 0,
    record: int | Points = 100,
    compiled: bool = True,
) -> Run:
    """Let `agent` learn in `world` for a number of episodes, each of `steps` steps.

    `record` asks for a curve: a number of log-spaced points, or an array of step counts such as
    `evenly_spaced(steps, 1000)`. With `compiled=False` the same source runs in Python, for a debugger, about a
    thousand times slower.

    >>> from sojourn.agents.constructors import harmonic_r
    >>> from sojourn.worlds.two_state import TwoState
    >>> agent = harmonic_r(num_states=2, num_actions=2, step_size=0.01, rate_step_size=0.01)
    >>> result = run(TwoState(log_scale=1e-3), agent, steps=1000, episodes=4, seed=0)
    >>> result.steps
    4000
    """
    length = Length(whole("steps", steps), whole("episodes", episodes))
    world, agent = ready(world, agent)
    seed = whole("seed", seed, least=0)
    if length.total >= NEVER:
        raise ValueError(f"steps times episodes is {length.total}; it must be less than 2^63")
    points = record_points(record, length.total)
    result = walk_through(world, agent, length, seed, points, compiled)
    if result.diverged:
        warn(
            f"{described(agent)} diverged: its values or its rate are no longer finite; "
            "smaller step sizes may help"
        )
    return result


# --- What the loop needs of a world and an agent ------------------------------------


def ready(world: W, agent: A) -> tuple[W, A]:
    """Return world and agent in the form that the loop needs, or raise an error that says what is wrong with them."""
    world = ready_world(world)
    return world, ready_for(world, agent)


def ready_for(world: World, agent: A) -> A:
    """Return an agent in the form that the loop needs for a ready world, or raise an error that says what is wrong."""
    agent = ready_agent(agent)
    wrong = unlike(world, agent)
    if learns_inside(agent):
        wrong = (
            f"{type(agent).__name__} learns from the steps inside options, which {type(world).__name__} does not show; use "
            "sojourn.Learner(sojourn.envs.Options(env, options), agent)"
        )
    if wrong:
        raise ValueError(wrong)
    agent = without_missing(world, agent)
    if first_meeting(world, agent):
        rehearse(world, agent)
    return agent


def unlike(world: World, agent: Agent) -> str:
    """Return why the agent's values do not fit the world's states and actions, or an empty string if they do."""
    name, wanted = type(world).__name__, extent(world)
    is_vector = observed(world) is not None
    if reads_vectors(agent.values) != is_vector:
        kind = type(agent.values).__name__
        if is_vector:
            return f"the states of {name} are vectors, but the agent's values are a {kind}; take sojourn.tile_q, for example"
        return f"the states of {name} are numbered, but the agent's values are {kind}; take an agent with a table"
    if sizes(agent.values) == wanted:
        return ""
    states = "numbers in a state" if is_vector else "states"
    actions = "actions that are numbers" if controlled(world) is not None else f"{wanted[1]} actions"
    return f"the agent's values have the shape {sizes(agent.values)}, but {name} has {wanted[0]} {states} and {actions}"


def without_missing(world: World, agent: A) -> A:
    """Return an agent, or a stack of agents, that never takes a missing action."""
    available = getattr(world, "available", None)
    if available is None or available.all():
        return agent
    return with_fields(agent, values=restricted(agent.values, available))


def rehearse(world: World, agent: Agent) -> None:
    """Take two steps and check what each rule returns; world and agent are not modified."""
    agent = copied(agent)
    world_rng, agent_rng = streams(0, 2)
    world, state = returned(start, world, world_rng, parts=("world", "state"))
    for _ in range(2):
        size, num_actions = extent(world)
        if not is_state(state, size):
            return  # the loop itself has the better message for this
        action, explored = returned(draw, agent, state, agent_rng, parts=("action", "explored"))
        _check_action(world, agent, action)
        if not is_offered(state, action, size, num_actions):
            return
        world, next_state, reward, duration = returned(
            step, world, state, action, world_rng, parts=("world", "next_state", "reward", "duration")
        )
        if not (is_state(next_state, size) and 0.0 <= duration < np.inf and abs(reward) < np.inf):
            return
        after = learn.bare(agent, state, action, reward, duration, next_state, explored)
        agent, state = same_kind("learn", agent, after), next_state


def _check_action(world: World, agent: Agent, action: Action) -> None:
    """Raise an error if the world's actions are ints and this one is a float, or vice versa."""
    counts = controlled(world) is None
    if isinstance(action, int | np.integer) != counts:
        wanted = "a whole number" if counts else "a float"
        raise TypeError(
            f"draw of {type(agent).__name__} returned {action!r} as the action; it must be {wanted}"
        )


# --- The loop -----------------------------------------------------------------------


class Walk(NamedTuple):
    """The state of a run between two steps."""

    world: World
    agent: Agent
    state: State
    totals: Totals


@compiled_apart
def go_on(
    walk: Walk, course: Course, points: Points, curve: Floats, fault: Column, stop: Flags, rngs: Streams
) -> Walk:
    """Walk to the end of the course; stop early at a fault, which is recorded, or when another thread sets `stop`.

    The curve, [part, point], is recorded at the steps in `points`, which end with `NEVER`.
    """
    world_rng, agent_rng = rngs[0], rngs[1]
    steps, episode = walk.totals.steps, course.episode
    recorded = 0
    # A loop, because Numba takes a third of a second to compile `searchsorted`.
    while points[recorded] <= steps:
        recorded += 1
    while steps < course.until and walk.totals.duration < course.time and fault[0] == 0.0 and not stop[0]:
        if steps % episode == 0:
            world, state = _start(walk.world, world_rng)
            walk = Walk(world, walk.agent, state, walk.totals)
        until = min(course.until, points[recorded], (steps // episode + 1) * episode, steps + _BLOCK)
        walk = given_back(_stretch(walk, until - steps, course, fault, world_rng, agent_rng), walk)
        if pauses(walk.agent):
            walk = Walk(walk.world, think(walk.agent, walk.state), walk.state, walk.totals)
        steps = walk.totals.steps
        if steps == points[recorded]:  # in the order of PARTS
            curve[0, recorded] = walk.totals.reward
            curve[1, recorded] = walk.totals.greedy_reward
            curve[2, recorded] = walk.totals.duration
            curve[3, recorded] = _value(walk.agent.rate)
            recorded += 1
    return walk


_walk = kernel(go_on)


@compiled_apart
def _stretch(
    walk: Walk, count: int, course: Course, fault: Column, world_rng: Stream, agent_rng: Stream
) -> Walk:
    """Take `count` steps, or fewer if time is up or the agent pauses to think. Every step is taken here.

    The arrays of the returned walk are borrowed from the given one.
    """
    world, agent, state, totals = borrowed(walk.world), borrowed(walk.agent), walk.state, walk.totals
    num_states, num_actions = course.num_states, course.num_actions
    if not is_state(state, num_states):
        _record_fault(fault, -1, -1, 0.0, 1.0, spot(state))
        return Walk(world, agent, state, totals)
    # On a fault it returns rather than breaks: with a break, Numba counts references in every step.
    for _ in range(count):
        action, explored = _draw(agent, state, agent_rng)
        if not is_offered(state, action, num_states, num_actions):
            _record_fault(fault, spot(state), action, 0.0, 1.0, 0)
            return Walk(world, agent, state, totals)
        world = _watched(world, _value(agent.rate))
        world, next_state, reward, duration = _step(world, state, action, world_rng)
        if not (is_state(next_state, num_states) and 0.0 <= duration < np.inf and abs(reward) < np.inf):
            _record_fault(fault, spot(state), action, reward, duration, spot(next_state))
            return Walk(world, agent, state, totals)
        agent = _learn(agent, state, action, reward, duration, next_state, explored)
        totals = counted(totals, reward, duration, agent.accepted)
        state = next_state
        if pauses(agent) or totals.duration >= course.time:
            return Walk(world, agent, state, totals)
    return Walk(world, agent, state, totals)


@inlined
def _record_fault(
    fault: Column, state: float, action: Action, reward: float, duration: float, next_state: float
) -> None:
    """Record a step that breaks the rules."""
    fault[0] = 1.0
    fault[1] = state
    fault[2] = action
    fault[3] = reward
    fault[4] = duration
    fault[5] = next_state


def walk_through(
    world: World, agent: Agent, length: Length, seed: int, points: Points, compiled: bool = True
) -> Run:
    """Run an agent in a world; both have passed `ready`."""
    curve, fault = np.empty((len(PARTS), len(points))), np.zeros(6)
    recording = np.append(points, NEVER), curve, fault, StopFlag().flag, np.array(streams(seed, 2))
    walk = Walk(world, copied(agent), first_state(world), Totals())
    # At its end, a compiled walk is converted back into Python objects, and Numba crashes if that is
    # interrupted. Signals reach the main thread only, so the work is done in another thread.
    with ThreadPoolExecutor(1) as pool:
        while walk.totals.steps < length.total:
            until = min(length.total, walk.totals.steps + _BLOCK)
            course = Course(until, length.steps, *extent(world))
            if compiled:
                walk = pool.submit(_walk, walk, course, *recording).result()
            else:
                walk = _walk.python(walk, course, *recording)
            if fault[0]:
                raise ValueError(explain(world, agent, walk.totals.steps, Fault(*fault[1:])))
    trained, totals = walk.agent, walk.totals
    if not compiled:  # interpreted rules leave NumPy scalars where compiled ones leave floats
        trained, totals = canonical(trained), canonical(totals)
    return Run(
        agent=trained,
        rate=float(value(trained.rate)),
        **totals._asdict(),
        seed=seed,
        curve=Curve(points, *curve),
        diverged=has_diverged(trained, num_missing(agent.values)),
        truth=truth_of(walk.world) if knows_truth(walk.world) else None,
    )


def explain(world: World, agent: Agent, at: int, fault: Fault) -> str:
    """Say in one sentence which rule a step broke."""
    actions, name = extent(world)[1] - 1, type(agent).__name__
    if fault.state >= 0 and controlled(world) is None and not 0 <= fault.action <= actions:
        return (
            f"draw of {name} returned the action {fault.action:.0f} at step {at}; actions are 0 to {actions}"
        )
    return explain_step(world, name, at, fault)
