"""Problems that the planner's constants were not chosen on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import sojourn as sj


def others() -> Iterator[tuple[str, sj.SMDP]]:
    """Yield problems with their names: known ones with other parameters, and random ones."""
    for arrival, capacity in ((0.5, 10), (0.9, 15), (1.5, 10), (2.0, 30)):
        model = sj.problems.admission_control(arrival_rate=arrival, capacity=capacity, reward=3.0)
        yield f"admission, arrivals {arrival}, room for {capacity}", model
    for servers, free in ((3, 0.1), (5, 0.03), (8, 0.1)):
        model = sj.problems.access_control(num_servers=servers, free_probability=free)
        yield f"access, {servers} servers, freed with {free}", model
    for shape, cost in ((2.0, 3.0), (4.0, 20.0), (8.0, 10.0)):
        model = sj.problems.replacement(shape=shape, failure_cost=cost)
        yield f"replacement, shape {shape}, failure {cost}", model
    for states, forward in ((4, 0.3), (8, 0.5), (5, 0.2)):
        yield (
            f"river of {states}, forward {forward}",
            sj.problems.river_swim(num_states=states, forward=forward),
        )
    for short, long in ((2, 30), (8, 9)):
        yield (
            f"two choices of {short} and {long}",
            sj.problems.two_choice(short_length=short, long_length=long),
        )
    yield "maintenance, dear failures", sj.problems.tijms_maintenance(failure_cost=40.0)
    yield "maintenance, long repairs", sj.problems.tijms_maintenance(failure_duration=8.0)
    yield "rooms without options", sj.problems.four_rooms(with_options=False)
    yield "rooms with rare slips", sj.problems.four_rooms(slip=0.1)
    yield "long shot, rarer", sj.problems.long_shot(long_rewards=(0.0, 30.0))
    yield "jobs, paces alike", sj.problems.jobs(first_paces=(0.5, 1.6))
    for seed in range(20):
        yield f"random {seed}", random_model(seed)


def random_model(seed: int) -> sj.SMDP:
    """Return a random model of 5 to 60 states, 2 to 4 actions, few successors and few rewards."""
    rng = np.random.default_rng([16, seed])
    num_states, num_actions = int(rng.integers(5, 61)), int(rng.integers(2, 5))
    paid = rng.random((num_states, num_actions)) < rng.choice([0.1, 0.3, 1.0])
    paid[rng.integers(num_states), rng.integers(num_actions)] = True
    slow = float(rng.choice([1.0, 5.0, 25.0]))
    rows = []
    for state in range(num_states):
        for action in range(num_actions):
            ahead = rng.choice(num_states, int(rng.integers(1, 5)), replace=False)
            if action == 0:  # a way round, so that every policy can be left again
                ahead = np.union1d(ahead, [(state + 1) % num_states])
            shares = rng.dirichlet(np.ones(len(ahead)))
            duration = float(np.exp(rng.uniform(0.0, np.log(slow))))
            reward = float(rng.exponential(3.0)) if paid[state, action] else 0.0
            rows += [
                (state, action, int(s), float(p), reward, sj.laws.Exponential(duration))
                for s, p in zip(ahead, shares, strict=True)
            ]
    return sj.models.from_transitions(rows)
