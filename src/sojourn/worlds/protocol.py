"""What a world is: a value with two rules.

    start(world, rng) -> (world, state)
    step(world, state, action, rng) -> (world, next_state, reward, duration)

A world says how many states and actions it has (`num_states`, `num_actions`), holds all
that changes between steps except the state, in numbers (its arrays are constants, shared by
all runs, and cannot be written into), and draws all its randomness from `rng` with
the functions of `sojourn.rules.random`. `reward` is the total over the step, never a rate;
`duration` is finite and at least 0; states and actions are numbered from 0.

A new world is one small file. This one, a machine that earns 5 a day until it is serviced
or breaks down, runs compiled like the built-in ones:

    from typing import NamedTuple
    import sojourn as sj

    class Machine(NamedTuple):
        risk: float = 0.02              # of a breakdown, for each day since the last service
        age: int = 0
        num_states: int = 30
        num_actions: int = 2            # 0 goes on for a day, 1 services

    @sj.start.register
    def start(world: Machine, rng):
        return Machine(world.risk, 0, world.num_states, world.num_actions), 0

    @sj.step.register
    def step(world: Machine, state, action, rng):
        if action == 1:
            age, reward, duration = 0, -2.0, 0.5
        elif sj.random.uniform(rng) < world.risk * state:
            age, reward, duration = 0, -10.0, 1.0 + sj.random.exponential(rng)
        else:
            age, reward, duration = min(state + 1, world.num_states - 1), 5.0, 1.0
        return Machine(world.risk, age, world.num_states, world.num_actions), age, reward, duration

    run = sj.run(Machine(), sj.smart(num_states=30, num_actions=2), steps=100_000, seed=0)

`sojourn.check_world(Machine())` tells whether it keeps the rules. Compiled code takes global
names as they are when it is first compiled; what may vary belongs into the world's fields.

A world in which some states lack some actions says so with `available`, an array [state,
action] of bools: an environment made of it then shows action masks. A step that takes an action
the state does not have returns `NO_STATE` as the next state, and the loop stops with a sentence.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from sojourn.rules.compile import no_rule, rule
from sojourn.rules.numbers import Number, within
from sojourn.rules.streams import Stream, check_stream
from sojourn.rules.values import Value


class World(Value, Protocol):
    """What every world has: whoever runs one looks at nothing else."""

    @property
    def num_states(self) -> int:
        """The number of states."""

    @property
    def num_actions(self) -> int:
        """The number of actions."""


W = TypeVar("W", bound=World)

NO_STATE = -1  # the next state after an action that the state does not have


def _check_start(world: W, rng: Stream) -> tuple[W, Stream]:
    return world, check_stream(rng)


def _check_step(world: W, state: Number, action: Number, rng: Stream) -> tuple[W, int, int, Stream]:
    return (
        world,
        within("state", state, world.num_states),
        within("action", action, world.num_actions),
        check_stream(rng),
    )


@rule(compiled=False)
def unreadable(world: World) -> str:
    """Return why compiled code must not read a world's fields, which it does without a look, or an empty text.

    However a world was made, `_replace` and pickles included, it is asked before it runs. A world without
    arrays needs no such rule.
    """
    return ""


@rule(_check_start)
def start(world: W, rng: Stream) -> tuple[W, int]:
    """Return the world at the beginning of an episode, and its first state.

    >>> import sojourn as sj
    >>> world, state = start(sj.Tabular(sj.problems.long_return()), sj.stream(0))
    >>> state
    0
    """
    raise no_rule("start", world)


@rule(_check_step)
def step(world: W, state: int, action: int, rng: Stream) -> tuple[W, int, float, float]:
    """Return the world after one action, the next state, the reward and the duration.

    >>> import sojourn as sj
    >>> world, state, reward, duration = step(sj.Tabular(sj.problems.long_return()), 0, 1, sj.stream(0))
    >>> int(state), float(reward), float(duration)
    (1, 770.0, 100.0)
    """
    raise no_rule("step", world)
