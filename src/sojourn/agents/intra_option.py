"""Intra-option learning (Wan, Naik and Sutton 2021): from every step inside an option, about all options that agree with it.

The agent chooses options, and learns from each step from s to s' that is taken inside one, with reward r and duration tau. Let
beta(s', o) be the probability that option o ends on arrival in s'. Every option o that would have taken the same action moves:

    delta = r - rho tau + beta(s', o) max Q(s', .) + (1 - beta(s', o)) Q(s', o) - Q(s, o);      Q(s, o) += alpha delta

The maximum is over options that can begin in s'. An option may be under way where it cannot begin, so the agent has a table
of its own for what options are worth, and `values` holds those that can be chosen. The rate moves by the sum of all delta;
if it is another estimator, it is shown the rewards of steps inside options that were not chosen to explore.

In the paper, an option's actions may be drawn, and the error is weighted by how much likelier the option makes the
action. Here policies of options are deterministic, so the weight is 1 or 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.constructors import estimator, initial_table
from sojourn.agents.exploration import (
    Decay,
    Exploration,
    Linear,
    Ties,
    chance,
    epsilon_greedy,
    exploration_of,
    is_best,
    later,
    ties_of,
)
from sojourn.agents.protocol import draw, is_greedy, learn, learns_inside, looks_ahead, misfit
from sojourn.agents.step_sizes import GivenStepSize, StepSize, sized, step_size_of
from sojourn.agents.values.protocol import Table, best, entries, move, read, sizes, zeros
from sojourn.data.numbers import finite
from sojourn.rates.protocol import Rate, carry, value
from sojourn.rates.ratio import Incremental
from sojourn.rates.scheduled import Visits
from sojourn.rules.arrays import Floats, Ints, misread, outside
from sojourn.rules.door import told
from sojourn.rules.random import Stream
from sojourn.rules.values import checked

_value = value.bare


class Courses(NamedTuple):
    """What options do: `action` [state, option], -1 where an option has none, and the probability of `ending` on arrival.

    >>> Courses(np.array([[0, 1]]), np.array([[1.0, 0.5]])).ending
    array([[1. , 0.5]])
    """

    action: Ints
    ending: Floats


@checked(carried=finite)
class IntraOption(NamedTuple):
    """An agent that chooses options, and learns from the steps inside them."""

    values: Table
    rate: Rate
    worth: Table
    courses: Courses
    step_size: StepSize
    exploration: Exploration
    ties: Ties
    is_differential: bool
    carried: float
    accepted: bool

    @property
    def q(self) -> Floats:
        """The values as an array of states by options."""
        return entries(self.values)


@misfit.register
def misfit_intra_option(agent: IntraOption) -> str:
    """What is known of options must be as large as the values."""
    shape, courses = sizes(agent.values), agent.courses
    return (
        misread("worth", agent.worth.q, np.float64, shape)
        or misread("action", courses.action, np.int64, shape)
        or misread("ending", courses.ending, np.float64, shape)
        or outside("ending", courses.ending, 0.0, 1.0)
    )


@looks_ahead.register
def looks_ahead_intra_option(agent: IntraOption) -> bool:
    """It finds the next state's options by the state's own number."""
    return False


@learns_inside.register
def learns_inside_intra_option(agent: IntraOption) -> bool:
    """It does, unless every option ends after one step."""
    return bool((agent.courses.ending < 1.0).any())


@is_greedy.register
def is_greedy_intra_option(agent: IntraOption, state: int, action: int) -> bool:
    """Whether its way to break ties counts the option as greedy."""
    return is_best(agent.ties, agent.values, state, action)


@draw.register
def draw_intra_option(agent: IntraOption, state: int, rng: Stream) -> tuple[int, bool]:
    """Any option with probability epsilon, otherwise a greedy one."""
    return epsilon_greedy(agent.values, state, chance(agent.exploration), agent.ties, rng)


@learn.register
def learn_intra_option(
    agent: IntraOption,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> IntraOption:
    """Move all options that would have taken the same action, and then the rate."""
    values, worth, step_size, courses = agent.values, agent.worth, agent.step_size, agent.courses
    accepted = not explored or is_best(agent.ties, values, state, action)
    ahead = best(values, next_state, 0.0)[1]
    rho = _value(agent.rate)
    total = 0.0
    for option in range(sizes(values)[1]):
        if courses.action[state, option] == courses.action[state, action] or option == action:
            ending = courses.ending[next_state, option]
            onward = ending * ahead + (1.0 - ending) * read(worth, next_state, option)
            here = read(worth, state, option)
            delta = reward - rho * duration + onward - here
            total += delta
            size, step_size = sized(step_size, state, option)
            worth = move(worth, state, option, size * delta)
            known = read(values, state, option)
            if known != -np.inf:
                values = move(values, state, option, read(worth, state, option) - known)
    rate, carried = agent.rate, agent.carried
    if agent.is_differential:
        rate, carried = carry(rate, carried, total + rho * duration, duration)
    elif accepted:
        rate, carried = carry(rate, carried, reward, duration)
    return IntraOption(
        values=values,
        rate=rate,
        worth=worth,
        courses=courses,
        step_size=step_size,
        exploration=later(agent.exploration),
        ties=agent.ties,
        is_differential=agent.is_differential,
        carried=carried,
        accepted=accepted,
    )


@told
def intra_option(
    num_states: int,
    num_actions: int,
    *,
    courses: Courses,
    step_size: GivenStepSize = 0.1,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.1,
    ties: str = "random",
    initial: ArrayLike = 0.0,
    rate: Rate | None = None,
) -> IntraOption:
    """Intra-option Differential Q-learning (Wan, Naik and Sutton 2021), for an environment of options.

    `Learner(Options(env, options), "intra_option")` fills in `courses`, what the options do. A step of training is a step inside
    an option. `rate_step_size` is the product eta alpha of the paper.

    Both options take the only action there is. The first ends at once, the second never does; a reward of 6 moves both:

    >>> from sojourn.agents.protocol import learn
    >>> courses = Courses(np.array([[0, 0]]), np.array([[1.0, 0.0]]))
    >>> agent = intra_option(1, 2, courses=courses, step_size=0.5, rate_step_size=0.1)
    >>> agent = learn(agent, 0, 0, 6.0, 2.0, 0)
    >>> agent.q, round(value(agent.rate), 12)
    (array([[3., 3.]]), 1.2)
    """
    values = initial_table(num_states, num_actions, initial)
    return IntraOption(
        values=values,
        rate=estimator(Incremental, rate_step_size, rate),
        worth=Table(values.q.copy()),
        courses=courses,
        step_size=step_size_of(step_size, lambda: zeros(num_states, num_actions)),
        exploration=exploration_of(exploration),
        ties=ties_of(ties),
        is_differential=rate is None,
        carried=0.0,
        accepted=False,
    )
