"""Problems of whom to let into a queue."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from sojourn.data.numbers import finite, positive, probability, several, whole
from sojourn.models.laws import Exponential
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions

MOST_SERVERS, MOST_JOBS = 200, 1000  # with these a model has about a million rows


def access_control(
    *,
    num_servers: int = 10,
    priorities: Sequence[float] = (1.0, 2.0, 4.0, 8.0),
    free_probability: float = 0.06,
    freed_first: bool = False,
) -> SMDP:
    """Access control: customers of four priorities wait for ten servers; accept or reject the first.

    The queue never ends, and each customer's priority is equally likely to be 1, 2, 4 or 8. An
    accepted customer takes a free server. After the decision each busy server, including that of the new
    customer, becomes free with probability .06, so k of b busy servers become free with probability
    C(b, k) .06^k .94^(b - k).

    With `freed_first` the servers become free before the decision takes effect, as in the code of Wan, Naik and Sutton
    (2021). A customer can then be accepted in every state, and is rejected after all if no server is free by then.

    States: (free servers, priority of the first customer); number 4 b + i has b busy servers and priority i.

    Actions: 0 rejects, 1 accepts; if no server is free there is only 0, unless servers are freed first.

    Rewards: the priority of a customer who is accepted, 0 otherwise.

    Durations: 1.

    Source: R. S. Sutton and A. G. Barto, "Reinforcement Learning", 2nd edition, MIT Press 2018, example 10.2.

    >>> model = access_control()
    >>> model, model.state_names[3]
    (SMDP(44 states, 84 pairs, 2096 rows), '10 free, priority 8')
    """
    num_servers = whole("num_servers", num_servers, most=MOST_SERVERS)
    free = probability("free_probability", free_probability)
    rewards = [finite("a priority", reward) for reward in several("priorities", priorities)]
    kinds = len(rewards)
    rows: list[Transition] = []
    for busy in range(num_servers + 1):
        for kind, reward in enumerate(rewards):
            for action in range(2 if busy < num_servers or freed_first else 1):
                working = busy if freed_first else busy + action
                for ready in range(working + 1):
                    chance = comb(working, ready) * free**ready * (1.0 - free) ** (working - ready) / kinds
                    left = working - ready
                    accepted = action * (left < num_servers) if freed_first else action
                    then = left + accepted if freed_first else left
                    rows += [
                        (busy * kinds + kind, action, then * kinds + after, chance, reward * accepted, 1.0)
                        for after in range(kinds)
                    ]
    names = [f"{num_servers - b} free, priority {r:g}" for b in range(num_servers + 1) for r in rewards]
    distinct = names if len(set(names)) == len(names) else None
    return from_transitions(rows, state_names=distinct, action_names=("reject", "accept"))


def admission_control(
    *,
    arrival_rate: float = 1.0,
    service_rate: float = 1.2,
    reward: float = 5.0,
    holding_cost: float = 1.0,
    capacity: int = 20,
) -> SMDP:
    """Admission to an M/M/1 queue: each job pays once if it is let in, and costs as long as it is there.

    Jobs arrive at rate l = 1 and are served one after the other at rate m = 1.2. A decision is made
    at every arrival. Let n be the number of jobs after it. Until the next arrival, services and that arrival compete: with
    q = m / (l + m) there are exactly k < n services with probability (1 - q) q^k, and n with
    q^n. Each stage with j > 0 jobs takes 1 / (l + m) on average, however it ends, and costs j per
    unit of time, so k services cost on average

        holding_cost (n + (n - 1) + ... + (n - k)) / (l + m)

    Letting jobs in while there are fewer than L makes the queue M/M/1/L, with p(j) proportional to
    (l / m)^j, and the gain is l reward (1 - p(L)) - holding_cost sum j p(j).

    States: the number of jobs that the arrival sees, 0 to 20.

    Actions: 0 rejects, 1 accepts; with 20 jobs there is only 0.

    Rewards: 5 for an accepted job, minus the mean holding cost given the number of services.

    Durations: exponential with mean 1 / l. They are drawn independently of the number of services: each has the
    right law, and the means are exact, but the joint law is not.

    Source: P. Naor, "The regulation of queue size by levying tolls", Econometrica 37, 1969.

    >>> admission_control().reward[:2].round(6)
    array([0.      , 4.545455])
    """
    arrivals, services = positive("arrival_rate", arrival_rate), positive("service_rate", service_rate)
    reward, holding_cost = finite("reward", reward), finite("holding_cost", holding_cost)
    capacity, stage = whole("capacity", capacity, most=MOST_JOBS), 1.0 / (arrivals + services)
    served = services * stage
    duration = Exponential(1.0 / arrivals)
    rows: list[Transition] = []
    for seen in range(capacity + 1):
        for action in range(1 if seen == capacity else 2):
            jobs, cost = seen + action, 0.0
            for done in range(jobs + 1):
                cost += holding_cost * (jobs - done) * stage
                chance = served**jobs if done == jobs else (1.0 - served) * served**done
                rows.append((seen, action, jobs - done, chance, reward * action - cost, duration))
    names = [f"{jobs} jobs" for jobs in range(capacity + 1)]
    return from_transitions(rows, state_names=names, action_names=("reject", "accept"))
