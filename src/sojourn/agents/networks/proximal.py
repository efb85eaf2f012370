"""The constructor of PPO agents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.agents.construct import estimator
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.networks.adam import adam
from sojourn.agents.networks.agent import Kernels, NetworkAgent
from sojourn.agents.networks.options import bounds_of, checked_hidden, checked_precision, schedule_of
from sojourn.agents.networks.perceptron import PRECISIONS, Kind, perceptron
from sojourn.agents.networks.ppo import (
    choose_choices,
    choose_points,
    learn_choices,
    learn_points,
)
from sojourn.agents.networks.protocol import Spaces, checked_spaces
from sojourn.agents.networks.rollout import PPO, Pace, Rollout
from sojourn.agents.networks.scaling import earnings, moments
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Exponential
from sojourn.rules.numbers import at_least_zero, positive, probability, whole
from sojourn.rules.streams import stream
from sojourn.rules.values import stacked

_CHOICES = Kernels(choose_choices, learn_choices)
_POINTS = Kernels(choose_points, learn_points)
_LONGEST = 0.5  # of a gradient
_FIRST_DEVIATION = -0.7  # its logarithm: half of the way from the middle to a bound


def ppo(  # an option for each thing that users tune, as in every constructor of an agent
    spaces: Spaces,
    *,
    hidden: Sequence[int] = (64, 64),
    step_size: float | Decay | Linear = Linear(0.001, 0.00005, 400_000.0),  # noqa: B008 - a value, which cannot change
    rollout: int = 2048,
    batch: int = 128,
    epochs: int = 8,
    trace: float = 0.8,
    clip: float = 0.2,
    entropy: float = 0.0,
    rate: Rate | None = None,
    rate_step_size: float | None = None,
    centring: float = 0.1,
    precision: str = "single",
    compiled: bool = True,
) -> NetworkAgent:
    """Proximal policy optimisation for reward per unit time, with numbered or continuous actions.

    After every `rollout` steps, of all environments together, the policy and the critic learn from these steps in
    batches, using each step `epochs` times. `trace` is lambda of the advantages, `clip` is how far the probability of
    an action may move, and `entropy` is the weight of the policy's entropy. You can give any estimator of the rate; it
    sees every step. `centring` corrects it by the level of the values. `hidden`, `step_size` and `precision` are as in
    `deep_q`.

    Continuous actions begin in the middle of their bounds, with a standard deviation of half the distance to a bound,
    so the bounds should hold only actions that may be worth trying. The best actions stand out only as the deviation
    falls, which takes about 200,000 steps.

    >>> agent = ppo(Spaces(num_inputs=2, low=[-1.0], high=[1.0]), hidden=(8,), compiled=False)
    >>> agent.greedy(np.zeros((1, 2)), np.zeros((1, 0))).shape
    (1, 1)
    """
    options = {name: option for name, option in locals().items() if name != "spaces"}
    spaces = checked_spaces(spaces, "ppo", continuous=True)
    steps, size = whole("rollout", rollout), whole("batch", batch)
    room = steps + spaces.places
    rng, layers = stream(spaces.seed), checked_hidden(hidden)
    low, high, furthest = bounds_of(spaces)
    dimensions = len(low)
    # Small weights in its last layer make a policy begin with nearly equal probabilities.
    policy = perceptron(
        (spaces.num_inputs, *layers, dimensions or spaces.num_actions),
        room,
        rng,
        precision=checked_precision(precision),
        last=0.01,
        further=[_FIRST_DEVIATION] * dimensions,
    )
    critic = perceptron((spaces.num_inputs, *layers, 1), room, rng, precision=precision)
    usual = 0.001 if rate_step_size is None and rate is None else rate_step_size
    learned = PPO(
        policy=policy,
        policy_means=adam(policy.weights),
        critic=critic,
        critic_means=adam(critic.weights),
        rollout=_empty(spaces, room, dimensions, PRECISIONS[precision]),
        low=low,
        high=high,
        furthest=furthest,
        chances=np.zeros(spaces.num_actions),
        seen=moments(spaces.num_inputs),
        earnings=earnings(estimator(Exponential, usual, rate, centring), spaces.places),
        step_size=stacked([schedule_of("step_size", step_size)]),
        counts=np.zeros(2, dtype=np.int64),
        rng=rng,
        pace=Pace(
            steps=steps,
            batch=size,
            epochs=whole("epochs", epochs),
            trace=probability("trace", trace),
            clip=positive("clip", clip),
            entropy=at_least_zero("entropy", entropy),
            longest=_LONGEST,
        ),
    )
    return NetworkAgent("ppo", learned, _POINTS if dimensions else _CHOICES, spaces, options, compiled)


def _empty(spaces: Spaces, room: int, dimensions: int, kind: Kind) -> Rollout:
    """Return a rollout with room for `room` steps."""
    return Rollout(
        places=np.zeros(room, dtype=np.int64),
        observations=np.zeros((room, spaces.num_inputs), dtype=kind),
        allowed=np.zeros((room, spaces.num_actions), dtype=np.int8),
        choices=np.zeros(room, dtype=np.int64),
        points=np.zeros((room, dimensions)),
        rewards=np.zeros(room),
        durations=np.zeros(room),
        next_observations=np.zeros((room, spaces.num_inputs), dtype=kind),
        cut=np.zeros(room, dtype=np.bool_),
        values=np.zeros(room),
        logs=np.zeros(room),
        advantages=np.zeros(room),
        aims=np.zeros(room),
        order=np.zeros(room, dtype=np.int64),
        ahead=np.zeros(spaces.places),
    )
