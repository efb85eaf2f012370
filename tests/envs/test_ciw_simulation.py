"""Decisions in networks of queues in Ciw, held against exact models."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import ciw
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete

import sojourn as sj
from small_envs import sentence

pytestmark = pytest.mark.interpreted
EXPONENTIAL = ciw.dists.Exponential


def paying(sim: Any, cost: float) -> type:
    """Nodes in which everybody costs so much per unit of time."""

    class Paying(ciw.Node):  # type: ignore[misc] # Ciw has no types
        def accept(self, *args: Any, **options: Any) -> None:
            super().accept(*args, **options)
            sim.earn_rate(-cost * self.number_of_individuals, self.id_number)

        def release(self, *args: Any, **options: Any) -> None:
            super().release(*args, **options)
            sim.earn_rate(-cost * self.number_of_individuals, self.id_number)

    return Paying


class Door(sj.envs.NetworkSimulation):
    """`sj.problems.admission_control` in Ciw: a baulking function decides."""

    observation_space, action_space = Discrete(7), Discrete(2)

    def start(self, sim: Any) -> Any:
        def baulks(jobs: int, **_: Any) -> float:
            admit = sim.decide(jobs, mask=[True, jobs < 6])
            sim.earn(5.0 * admit)
            return 1.0 - float(admit)

        network = ciw.create_network(
            arrival_distributions=[EXPONENTIAL(1.0)],
            service_distributions=[EXPONENTIAL(1.2)],
            number_of_servers=[1],
            baulking_functions=[baulks],
        )
        return ciw.Simulation(network, node_class=paying(sim, 1.0))


SERVICES, ROOM = (0.9, 0.5), 4


class Routed(sj.envs.NetworkSimulation):
    """Arrivals at rate 1 go to one of two queues, of which each has room for 4; everybody costs 1 per time, and pays 6."""

    observation_space, action_space = MultiDiscrete([ROOM + 1, ROOM + 1]), Discrete(3)

    def start(self, sim: Any) -> Any:
        class Choose(ciw.routing.NodeRouting):  # type: ignore[misc]
            def next_node(self, _: Any) -> Any:
                _, _, *queues, leave = self.simulation.nodes
                sizes = [node.number_of_individuals for node in queues]
                where = sim.decide(sizes, mask=[1, *(size < ROOM for size in sizes)])
                sim.earn(6.0 * (where > 0))
                return queues[where - 1] if where else leave

        leave = ciw.routing.Leave()
        network = ciw.create_network(
            arrival_distributions=[EXPONENTIAL(1.0), None, None],
            service_distributions=[ciw.dists.Deterministic(0.0), *map(EXPONENTIAL, SERVICES)],
            number_of_servers=[float("inf"), 1, 1],
            routing=ciw.routing.NetworkRouting([Choose(), leave, leave]),
        )
        return ciw.Simulation(network, node_class=[ciw.Node, paying(sim, 1.0), paying(sim, 1.0)])


def routed_model() -> sj.SMDP:
    """The exact model: "?" before the two lengths is an arrival's decision, which takes no time."""
    rows: list[Any] = []
    for one in range(ROOM + 1):
        for two in range(ROOM + 1):
            moves = [(1.0, f"? {one} {two}")]
            moves += [(SERVICES[0], f"{one - 1} {two}")] * (one > 0) + [(SERVICES[1], f"{one} {two - 1}")] * (
                two > 0
            )
            total = sum(rate for rate, _ in moves)
            here = f"{one} {two}"
            rows += [
                (here, "away", there, rate / total, -(one + two) / total, 1.0 / total)
                for rate, there in moves
            ]
            rows.append((f"? {here}", "away", here, 1.0, 0.0, 0.0))
            if one < ROOM:
                rows.append((f"? {here}", "first", f"{one + 1} {two}", 1.0, 6.0, 0.0))
            if two < ROOM:
                rows.append((f"? {here}", "second", f"{one} {two + 1}", 1.0, 6.0, 0.0))
    return sj.models.from_transitions(rows, action_names=["away", "first", "second"])


def test_admission_in_ciw_earns_what_its_exact_model_says() -> None:
    """Naor's queue: the best rule's rate covers its exact gain, and a search finds the rule."""
    best = sj.solve(sj.problems.admission_control(capacity=6)).gain
    learner = sj.Learner(Door)
    found = learner.search(
        lambda room: lambda jobs: int(jobs < room), {"room": (1, 4)}, duration=150.0, tries=4, seeds=8
    )
    assert found.parameters["room"] in (2, 3)
    exact = sj.evaluate(
        sj.problems.admission_control(capacity=6), [int(jobs < found.parameters["room"]) for jobs in range(7)]
    ).gain
    assert found.low < exact < found.high
    assert exact == pytest.approx(best, rel=0.02)


def test_routing_in_ciw_earns_what_its_exact_model_says() -> None:
    """Two unequal queues: the best policy and "always the first that has room" differ by as much as the model says."""
    model = routed_model()
    best = sj.solve(model)
    assert model.state_names is not None
    actions = dict(zip(model.state_names, best.policy.tolist(), strict=True))
    first = {name: int(name[0] == "?" and int(name.split()[1]) < ROOM) for name in model.state_names}
    plain = sj.evaluate(model, [first[name] for name in model.state_names]).gain

    def rule(table: dict[str, int]) -> Callable[[Any], int]:
        return lambda at: table[f"? {at[0]} {at[1]}"]

    found = sj.Learner(Routed).compare(rule(actions), rule(first), duration=300.0, seeds=8)
    assert found.low < best.gain - plain < found.high
    assert found.low > 0.0
    assert abs(found.rate - best.gain) < 0.35


def test_networks_take_turns_without_disturbing_each_other() -> None:
    """The same seed gives the same run, also if another network and `random` were used before, and no thread stays."""

    def steps(env: Any, count: int) -> list[Any]:
        return [env.step(step % 2 if env.mask[step % 2] else 0) for step in range(count)]

    class Masked(Door):
        mask = (1, 0)

        def step(self, action: Any) -> Any:
            returned = super().step(action)
            self.mask = returned[4]["action_mask"]
            return returned

    threads = threading.active_count()
    alone, one, two = Masked(), Masked(), Masked()
    random.seed(4)
    alone.reset(seed=1)
    expected = [step[:2] for step in steps(alone, 20)]
    one.reset(seed=1)
    two.reset(seed=2)
    seen = []
    for step in range(20):
        action = step % 2 if one.mask[step % 2] else 0
        seen.append(one.step(action)[:2])
        two.step(0)
    assert seen == expected
    one.reset()
    assert [step[:2] for step in steps(one, 20)] != expected  # another episode
    for env in (alone, one, two):
        env.close()
    assert threading.active_count() == threads


def test_what_a_network_does_wrong_gets_a_sentence() -> None:
    """What start returns, an error of a function, no events, and decisions outside."""

    class Wrong(sj.envs.NetworkSimulation):
        observation_space, action_space = Discrete(2), Discrete(2)

        def __init__(self, kind: str) -> None:
            self.kind = kind

        def start(self, sim: Any) -> Any:
            if self.kind == "nothing":
                return None
            if self.kind == "outside":
                sim.decide(0)

            def baulks(jobs: int, **_: Any) -> float:
                if self.kind == "error":
                    raise ZeroDivisionError("of the user")
                return float(sim.decide(jobs if self.kind == "space" else 0))

            arrivals = ciw.dists.Sequential([1.0, float("inf")]) if self.kind == "end" else EXPONENTIAL(1.0)
            network = ciw.create_network(
                arrival_distributions=[arrivals],
                service_distributions=[ciw.dists.Deterministic(100.0)],
                number_of_servers=[1],
                baulking_functions=[baulks],
            )
            return ciw.Simulation(network)

    assert "must return a ciw.Simulation" in sentence(lambda: Wrong("nothing").reset(), TypeError)
    assert "outside the network" in sentence(lambda: Wrong("outside").reset(), RuntimeError)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        Wrong("error").reset()
    for kind, words, error in (
        ("end", "no more events", RuntimeError),
        ("space", "is not in the observation", ValueError),
    ):
        env = Wrong(kind)
        env.reset(seed=0)
        assert words in sentence(lambda env=env: [env.step(0) for _ in range(9)], error)  # type: ignore[misc]
        assert "call reset() before step()" in sentence(lambda env=env: env.step(0), RuntimeError)  # type: ignore[misc]


def test_a_network_is_an_environment() -> None:
    """Our checker finds nothing wrong, and a saved learner's replay leads back to where it was."""
    env = Door()
    report = sj.check_smdp_env(env)
    assert report.zero_durations == 0
    env.close()


def test_without_ciw_there_is_a_sentence() -> None:
    """Where Ciw is not installed, only what needs it fails."""
    code = "import sys; sys.modules['ciw'] = None\nimport sojourn as sj\nsj.envs.WorldEnv\nsj.envs.NetworkSimulation"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.rstrip().endswith("a network of queues needs Ciw: pip install 'sojourn[ciw]'")
