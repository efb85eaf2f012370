"""Simulations in SimPy: what they earn is what their exact models say, and what is wrong gets a sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import simpy
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

import sojourn as sj
from counting import Counted
from simulations import (
    CallCentre,
    GasStation,
    Preempted,
    Queue,
    Sim,
    call_centre_model,
    gas_station_model,
    policy_by_observation,
    policy_by_state,
    preempted_model,
)
from sojourn.envs import deciding, simulation
from sojourn.envs.protocol import element_reader


def simulated(
    work: Any, observations: Space[Any] | None = None, actions: Space[Any] | None = None
) -> sj.envs.Simulation:
    """A simulation whose `start` is this function of `sim`."""

    class Small(sj.envs.Simulation):
        observation_space = observations or Discrete(10)
        action_space = actions or Discrete(3)

        def start(self, sim: Sim) -> Any:
            return work(sim)

    return Small()


def followed(env: sj.envs.Simulation, decisions: int) -> None:
    """Begin an episode, and take the first action so many times."""
    env.reset(seed=0)
    for _ in range(decisions):
        env.step(0)


# --- What they earn ---------------------------------------------------------------------


def test_a_queue_earns_what_its_exact_model_says() -> None:
    """Naor's queue under its best policy: the interval from a simulation holds the exact gain, M/M/1/3 by hand."""
    solution = sj.solve(sj.problems.admission_control(capacity=6))
    assert solution.policy.tolist() == [1, 1, 1, 0, 0, 0, 0]
    shares = np.array([1.2**-n for n in range(4)])
    shares /= shares.sum()
    by_hand = 5.0 * (1.0 - shares[3]) - shares @ np.arange(4)
    assert abs(solution.gain - by_hand) < 1e-9
    agent = sj.agents.policy_agent(solution.policy.tolist(), num_actions=2)
    found = sj.Learner(Queue, agent).evaluate(duration=20_000.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < by_hand < found.high
    assert found.high - found.low < 0.15


def test_the_call_centre_earns_what_its_exact_model_says() -> None:
    """Its best policy earns 9.502, several decisions at one instant included; the second class first earns less."""
    model = call_centre_model()
    solution = sj.solve(model)
    assert round(solution.gain, 3) == 9.502
    best = policy_by_observation(model, solution.policy.tolist())
    waiting = np.unravel_index(np.arange(len(best)), CallCentre.observation_space.nvec)
    second_first = np.where(waiting[1] > 0, 2, np.where(waiting[0] > 0, 1, 0)).tolist()
    gains = []
    for policy in (best, second_first):
        exact = sj.evaluate(model, policy_by_state(model, policy)).gain
        found = sj.Learner(CallCentre, sj.agents.policy_agent(policy, num_actions=3)).evaluate(
            duration=5_000.0
        )
        assert exact is not None
        assert found.low is not None
        assert found.high is not None
        assert found.low < exact < found.high
        assert found.high - found.low < 0.6
        gains.append(exact)
    assert gains[0] > gains[1] + 0.4


def test_a_learner_finds_a_good_policy_in_a_simulation() -> None:
    """After 3,000 arrivals a planner has the best policy of the queue, which the exact model knows."""
    learner = sj.Learner(Queue(), sj.planner, seed=0)
    learner.train(3000)
    best = sj.solve(sj.problems.admission_control(capacity=6))
    model = sj.problems.admission_control(capacity=6)
    assert sj.evaluate(model, learner.policy.tolist()).gain == pytest.approx(best.gain, rel=1e-9)


@pytest.mark.evidence
def test_learners_come_close_to_the_best_policy_of_the_call_centre(counted: Counted) -> None:
    """After 100,000 decisions the exact gain of what a planner has learned is within 2 % of 9.502, in ten runs."""
    model = call_centre_model()
    best = sj.solve(model).gain
    gains = []
    for seed in range(10):
        learner = sj.Learner(CallCentre(), sj.planner, seed=seed)
        learner.train(100_000)
        gains.append(sj.evaluate(model, policy_by_state(model, learner.policy.tolist())).gain)
    assert min(gains) > 0.98 * best
    counted("learners in the call centre", tried=len(gains), failed=0)


# --- Rewards and durations ----------------------------------------------------------------


def test_rewards_and_durations_are_those_between_two_decisions() -> None:
    """By hand: sums earned, rates times the time they lasted, of two sources, changed between decisions and at them."""

    def work(sim: Sim) -> Generator[Any, Any, None]:
        sim.earn(100.0)  # before the first decision: it belongs to none
        sim.earn_rate(7.0)
        yield sim.timeout(3.0)
        sim.earn_rate(2.0)
        yield sim.decide(0)
        sim.earn(1.0)
        yield sim.timeout(0.5)
        sim.earn_rate(-10.0, "rent")
        yield sim.timeout(0.25)
        yield sim.decide(1)
        sim.earn_rate(0.0, "rent")
        yield sim.decide(2)
        sim.earn(3)
        yield sim.decide(3)
        sim.earn_rate(np.float64(4.0))
        yield sim.timeout(2)
        yield sim.decide(4)
        yield sim.event()

    env = simulated(work)
    observation, info = env.reset(seed=0)
    assert (observation, info) == (0, {"clock": 3.0})
    steps = [env.step(0) for _ in range(4)]
    assert [step[0] for step in steps] == [1, 2, 3, 4]
    assert [step[1] for step in steps] == [1.0 + 0.75 * 2.0 - 0.25 * 10.0, 0.0, 3.0, 8.0]
    assert [step[4] for step in steps] == [
        {"duration": 0.75, "clock": 3.75},
        {"duration": 0.0, "clock": 3.75},
        {"duration": 0.0, "clock": 3.75},
        {"duration": 2.0, "clock": 5.75},
    ]
    assert not any(step[2] or step[3] for step in steps)


def test_processes_that_wait_for_one_event_see_each_others_decisions() -> None:
    """Three servers are woken by one event; each asks when the one before it has taken its call, not earlier."""

    def work(sim: Sim) -> None:
        calls = [5]
        bell = sim.event()

        def server() -> Generator[Any, Any, None]:
            yield bell
            while calls[0]:
                calls[0] -= yield sim.decide(calls[0])
                yield sim.timeout(1.0)
            yield sim.decide(9)

        def ring() -> Generator[Any, Any, None]:
            yield sim.timeout(1.0)
            bell.succeed()

        for _ in range(3):
            sim.process(server())
        sim.process(ring())

    env = simulated(work)
    seen = [env.reset()[0], *(env.step(1)[0] for _ in range(5))]
    assert seen == [5, 4, 3, 2, 1, 9]


def test_an_answer_goes_to_the_process_that_asked() -> None:
    """Two processes that ask at the same times get their own actions, and two questions of one process theirs."""
    got: dict[str, list[Any]] = {"a": [], "b": [], "both": []}

    def work(sim: Sim) -> None:
        def one(name: str, observation: int) -> Generator[Any, Any, None]:
            while True:
                got[name].append((yield sim.decide(observation)))
                yield sim.timeout(1.0)

        def both() -> Generator[Any, Any, None]:
            while True:
                yield sim.timeout(1.0)
                first, second = sim.decide(2), sim.decide(3)
                answers = yield first & second
                got["both"].append((answers[first], answers[second]))

        sim.process(one("a", 0))
        sim.process(one("b", 1))
        sim.process(both())

    env = simulated(work, actions=Discrete(10))
    observation, _ = env.reset()
    for _ in range(12):
        observation, *_ = env.step(2 * observation)
    assert got["a"][:3] == [0, 0, 0]
    assert got["b"][:3] == [2, 2, 2]
    assert got["both"][:2] == [(4, 6), (4, 6)]


def test_a_decision_comes_before_all_other_events_of_its_instant() -> None:
    """What a process does with its answer is done before others go on, although their events were there first."""
    order: list[str] = []

    def work(sim: Sim) -> None:
        def asks() -> Generator[Any, Any, None]:
            yield sim.timeout(1.0)
            yield sim.decide(0)
            order.append("answered")
            yield sim.decide(1)

        def other() -> Generator[Any, Any, None]:
            yield sim.timeout(1.0)
            order.append("other")

        sim.process(asks())
        sim.process(other())

    env = simulated(work)
    env.reset()
    env.step(0)
    assert order == ["answered"]


# --- As an environment ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [Queue, CallCentre])
def test_a_simulation_keeps_the_rules_of_an_environment(make: type[sj.envs.Simulation]) -> None:
    """The checker passes: durations, clock, masks, observations, and the same again with the same seed."""
    report = sj.check_smdp_env(make(), steps=500)
    assert report.steps == 500
    assert (report.zero_durations > 0) == (make is CallCentre)


def test_seeds_and_resets() -> None:
    """The same seed shows the same, another one something else; without a seed the random numbers go on."""

    def seen(env: sj.envs.Simulation, seed: int | None) -> list[Any]:
        env.reset(seed=seed)
        return [env.step(0)[4]["clock"] for _ in range(5)]

    env = Queue()
    first, again, other, further = seen(env, 3), seen(env, 3), seen(env, 4), seen(env, None)
    assert first == again
    assert len({first[0], other[0], further[0]}) == 3
    env.reset(seed=4)
    assert env.sim.rng is env.np_random


def test_a_learner_in_a_simulation_is_saved_and_goes_on(tmp_path: Path) -> None:
    """train(300), save, load, train(300) equals train(600), bit for bit: a simulation is replayed."""
    once = sj.Learner(Queue(), sj.smart, step_size=0.1, exploration=0.3, seed=1)
    once.train(300)
    once.save(tmp_path / "queue.sojourn")
    again = sj.Learner.load(tmp_path / "queue.sojourn", Queue())
    for learner in (once, again):
        learner.train(300)
    np.testing.assert_array_equal(once.q, again.q)
    assert once.totals == again.totals


def test_start_may_be_a_process_and_time_may_be_whole_numbers() -> None:
    """A `start` that yields is the process; clocks of whole numbers make durations that are floats."""

    def work(sim: Sim) -> Generator[Any, Any, None]:
        while True:
            yield sim.timeout(2)
            yield sim.decide(0)

    env = simulated(work)
    env.reset()
    info = env.step(np.int64(1))[4]
    assert info == {"duration": 2.0, "clock": 4.0}
    assert type(info["duration"]) is float


def test_resources_of_simpy_work_as_ever() -> None:
    """A `Store`, a `Resource`, conditions and interrupts in a simulation with decisions end as in SimPy alone."""

    def shop(sim: simpy.Environment, ended: list[float]) -> None:
        store, desk = simpy.Store(sim, capacity=2), simpy.Resource(sim)

        def maker() -> Generator[Any, Any, None]:
            for number in range(6):
                yield sim.timeout(1.5)
                yield store.put(number)

        def taker(limit: float) -> Generator[Any, Any, None]:
            for _ in range(3):
                with desk.request() as turn:
                    yield turn | sim.timeout(limit)
                    item = yield store.get()
                    yield sim.timeout(1.0 + item)
                ended.append(sim.now)

        def nuisance(process: simpy.Process) -> Generator[Any, Any, None]:
            yield sim.timeout(9.0)
            process.interrupt("stop")

        def sleeper() -> Generator[Any, Any, None]:
            try:
                yield sim.timeout(100.0)
            except simpy.Interrupt:
                ended.append(-sim.now)

        sim.process(maker())
        sim.process(taker(0.7))
        sim.process(taker(2.5))
        sim.process(nuisance(sim.process(sleeper())))

    def work(sim: Sim) -> Generator[Any, Any, None]:
        shop(sim, decided)
        while True:
            yield sim.decide(0)
            yield sim.timeout(0.3)

    alone: list[float] = []
    decided: list[float] = []
    plain = simpy.Environment()
    shop(plain, alone)
    plain.run(until=60.0)
    env = simulated(work)
    env.reset()
    while env.sim.now < 60.0:
        env.step(0)
    assert len(alone) == 7
    assert decided == alone


SPACES: list[tuple[Space[Any], list[Any], list[Any]]] = [
    (Discrete(3, start=1), [1, 3, np.int8(2), True], [0, 4, 1.0, "1", None, np.array([1])]),
    (MultiDiscrete([2, 3]), [(1, 2), [0, 0], np.array([1, 1], dtype=np.int8)], [(2, 0), (0, -1), (1, 1.5), 1, "ab"]),
    (MultiBinary(2), [(1, 0), [True, False]], [(2, 0), (256, 0), (0.5, 1), (1,)]),
    (Box(0.0, 0.7, (2,)), [(0, 0.7), np.array([0.1, 0.2])], [(0.0, 0.71), (float("nan"), 0), (1,), ("a", "b"), [(1,), 2]]),
    (Dict(a=Discrete(2)), [{"a": 1}], [{"a": 2}, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("space", "inside", "outside"), SPACES, ids=lambda part: type(part).__name__)
def test_what_is_read_is_in_its_space(space: Space[Any], inside: list[Any], outside: list[Any]) -> None:
    """Elements come out as their space has them, equal to what went in; what is outside does not come out."""
    read = element_reader(space)
    for given in inside:
        found: Any = read(given)
        assert space.contains(found)
        if not isinstance(given, dict):
            np.testing.assert_allclose(found, given, rtol=1e-6)
    for given in outside:
        assert read(given) is None


def test_an_observation_is_a_copy() -> None:
    """A process may go on to change the array that it has shown."""
    array = np.zeros(2)

    def work(sim: Sim) -> Generator[Any, Any, None]:
        while True:
            yield sim.decide(array)
            array[:] += 1.0
            yield sim.timeout(1.0)

    env = simulated(work, Box(0.0, 10.0, (2,), dtype=np.float64))
    first, _ = env.reset()
    second, *_ = env.step(0)
    assert (first.tolist(), second.tolist()) == ([0.0, 0.0], [1.0, 1.0])


# --- What is wrong ---------------------------------------------------------------------------


def asking(*arguments: Any, then: float = 1.0, **options: Any) -> Any:
    def work(sim: Sim) -> Generator[Any, Any, None]:
        while True:
            yield sim.decide(*arguments, **options)
            yield sim.timeout(then)

    return work


def ends(sim: Sim) -> Generator[Any, Any, None]:
    yield sim.timeout(2.5)
    yield sim.decide(0)


def forgets(sim: Sim) -> Generator[Any, Any, None]:
    sim.decide(0)
    yield sim.timeout(1.0)


def earning(amount: Any, by: str = "earn") -> Any:
    def work(sim: Sim) -> Generator[Any, Any, None]:
        yield sim.decide(0)
        getattr(sim, by)(amount)
        yield sim.timeout(1.0)
        yield sim.decide(0)

    return work


def spends(sim: Sim) -> Generator[Any, Any, None]:
    yield sim.decide(0)
    sim.earn(1e308)
    sim.earn(1e308)
    yield sim.decide(0)


def runs(sim: Sim) -> None:
    sim.run(until=3)


WRONG: list[tuple[Any, str]] = [
    (ends, "the simulation has no more events after time 2.5, and no process asks for a decision; let some process go on"),
    (forgets, "a decision was asked for at time 0, but no process waits for it; write `action = yield sim.decide"),
    (lambda sim: sim.decide(0) and None, "a decision was asked for at time 0, but no process waits for it"),
    (asking(10), r"the observation 10, in a decision at time 0, is not in the observation space, Discrete\(10\)"),
    (asking(0, mask=[1, 1]), r"the mask of a decision at time 0 is \[1, 1\]; it must have a 0 or 1 for each of the 3"),
    (asking(0, mask=[0, 0, 0]), r"is \[0, 0, 0\]; it must have a 0 or 1 for each of the 3 actions, and at least one 1"),
    (asking(0, mask=[2, 1, 0]), r"is \[2, 1, 0\]; it must have"),
    (asking(0, mask=np.ones((3, 3))), "it must have a 0 or 1"),
    (asking(0, mask=1), "the mask of a decision at time 0 is 1; it must have"),
    (asking(0, then=float("nan")), "a time of nan passed between two decisions, up to time nan; every process must wait"),
    (asking(0, then=float("inf")), "a time of inf passed between two decisions, up to time inf; every process must wait"),
    (earning(float("nan")), "the reward earned at time 0 is nan; it must be a finite number"),
    (earning("5"), "the reward earned at time 0 is '5'; it must be a number"),
    (earning(float("inf"), "earn_rate"), "the rate of earning at time 0 is inf; it must be a finite number"),
    (spends, "inf was earned up to time 0; rewards must stay finite"),
    (runs, r"this simulation is run by reset\(\) and step\(\), which wait for decisions; remove sim.run\(\)"),
]  # fmt: skip


@pytest.mark.parametrize(("work", "sentence"), WRONG, ids=range(len(WRONG)))
def test_what_a_process_does_wrong_gets_a_sentence(work: Any, sentence: str) -> None:
    """The sentence says what was wrong and when; then the episode is over, and the next reset begins a new one."""
    env = simulated(work)
    with pytest.raises((ValueError, TypeError, RuntimeError), match=sentence):
        followed(env, 3)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step\(\)"):
        env.step(0)


def test_an_action_that_is_not_allowed_does_nothing() -> None:
    """Outside the space it is an error, outside the mask a warning; the same decision is then asked for again."""
    env = simulated(asking(0, mask=[True, False, True]))
    assert env.reset()[1]["action_mask"].tolist() == [1, 0, 1]
    with pytest.warns(
        RuntimeWarning, match='was given the action 1, which info."action_mask". does not allow'
    ):
        observation, reward, _, _, info = env.step(1)
    assert (observation, reward, info["duration"], info["forbidden_action"]) == (0, 0.0, 0.0, 1)
    assert info["action_mask"].tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match=r"the action 3 is not in the action space, Discrete\(3\)"):
        env.step(3)
    assert env.step(2)[4]["clock"] == 1.0


def test_masks_count_from_the_first_action() -> None:
    """Where actions begin with 5, the first entry of the mask is that of action 5, and the process gets 5."""
    got: list[Any] = []

    def work(sim: Sim) -> Generator[Any, Any, None]:
        while True:
            got.append((yield sim.decide(0, mask=np.array([True, False]))))
            yield sim.timeout(1.0)

    env = simulated(work, actions=Discrete(2, start=5))
    env.reset()
    env.step(5)
    assert got == [5]
    with pytest.warns(RuntimeWarning, match="was given the action 6"):
        env.step(6)
    assert got == [5]
    with pytest.raises(TypeError, match="only Discrete actions can be masked"):
        simulated(work, actions=Box(0.0, 1.0)).reset()


def test_a_class_without_spaces_or_start_gets_a_sentence() -> None:
    """What is missing is named, with an example."""

    class Nothing(sj.envs.Simulation):
        pass

    class Spaces(sj.envs.Simulation):
        observation_space = action_space = Discrete(2)

    with pytest.raises(
        TypeError, match=r"Nothing has no observation_space; give the class one of gymnasium.spaces"
    ):
        Nothing().reset()
    with pytest.raises(NotImplementedError, match=r"Spaces has no method start\(self, sim\); write one"):
        Spaces().reset()
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step\(\)"):
        Spaces().step(0)


def test_an_exception_of_a_process_comes_as_it_is() -> None:
    """With the line of the process that raised it in its traceback."""

    def work(sim: Sim) -> Generator[Any, Any, None]:
        yield sim.decide(0)
        yield sim.timeout(1.0)
        raise KeyError("broken")

    env = simulated(work)
    env.reset()
    with pytest.raises(KeyError, match="broken") as found:
        env.step(0)
    assert "work" in [entry.name for entry in found.traceback]


def test_decisions_without_time_and_events_without_decisions_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Going round for ever is refused: decisions at one instant, and events that nobody decides about."""

    def stuck(sim: Sim) -> Generator[Any, Any, None]:
        while True:
            yield sim.decide(0)

    def silent(sim: Sim) -> Generator[Any, Any, None]:
        while True:
            yield sim.timeout(1.0)

    monkeypatch.setattr(deciding, "MOST_AT_ONCE", 50)
    monkeypatch.setattr(simulation, "MOST_EVENTS", 50)
    with pytest.raises(
        RuntimeError, match="the last 50 decisions were all made at time 0; several may be, but"
    ):
        followed(simulated(stuck), 60)
    with pytest.raises(
        RuntimeError, match=r"there were 50 events up to time 49.* without a decision; some process"
    ):
        simulated(silent).reset()


def test_without_simpy_there_is_a_sentence() -> None:
    """`sojourn.envs` needs no SimPy; a simulation does, and says how to get it."""
    code = (
        "import sys; sys.modules['simpy'] = None\n"
        "import sojourn as sj\n"
        "assert 'sojourn/Gosavi-v0' in sj.envs.environments()\n"
        "try:\n    sj.envs.Simulation\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "a simulation needs SimPy: pip install 'sojourn[simpy]'\n"


def test_a_simulation_is_wrapped_as_any_environment() -> None:
    """A time limit truncates it, and the learner goes on in a new episode."""
    learner = sj.Learner(gym.wrappers.TimeLimit(Queue(), 50), sj.smart, step_size=0.1, exploration=0.3)
    assert learner.train(200).steps == 200


def test_each_source_of_randomness_has_its_own_stream() -> None:
    """A stream depends on the seed, the episode and its name only: not on what others draw, nor on its being asked for first."""

    def drawn(first: list[str], **seed: int) -> list[float]:
        shop = Noisy(first)
        shop.reset(seed=3)
        if not seed:
            shop.reset()
        return [shop.sim.stream(name).random() for name in ("cars", "trucks")]

    class Noisy(sj.envs.Simulation):
        observation_space, action_space = Discrete(1), Discrete(1)

        def __init__(self, first: list[str]) -> None:
            self.first = first

        def start(self, sim: sj.envs.DecisionEnvironment) -> Generator[Any, Any, None]:
            sim.rng.random(len(self.first))
            for name in self.first:
                sim.stream(name)
            while True:
                yield sim.decide(0)

    once = drawn([], seed=3)
    assert once == drawn(["trucks", "cars"], seed=3)
    assert len({*once, *drawn([])}) == 4  # the next episode is another one
    plain = Noisy([])
    plain.reset(seed=3)
    assert plain.sim.rng.random() == np.random.Generator(np.random.PCG64(np.random.SeedSequence(3))).random()


def test_the_planner_is_told_what_the_gas_station_hides() -> None:
    """Without the time since the last car it earns half of what "call below 70 l" does, and is warned; with it, nearly the best."""
    model = gas_station_model()
    assert model.state_names is not None
    levels = [int(name.split()[0]) for name in model.state_names]
    rules = [sj.evaluate(model, [int(level < below) for level in levels]).gain for below in range(1, 15)]
    best = sj.solve(model).gain
    assert rules[6] == pytest.approx(max(rules), rel=1e-4)
    assert rules[6] == pytest.approx(best, rel=0.005)
    learner = sj.Learner(GasStation, seed=0)
    learner.train(8000)
    verdict = learner.verdict(duration=8000.0)
    assert verdict.evaluation.rate < 0.75 * best
    assert [
        each
        for each in verdict.warnings
        if each.startswith("the states leave something out: the reward depends on")
    ]
    found = learner.search(
        lambda below: lambda level: int(level < below), {"below": (1, 14)}, duration=400.0, tries=8, seeds=10
    )
    below = int(found.parameters["below"])
    assert below in (6, 7, 8)
    assert found.low < rules[below - 1] < found.high
    assert found.learned is not None
    assert found.learned.low > 0.05
    assert found.learned.correlation > 0.0


def test_preemption_earns_what_its_exact_model_says() -> None:
    """An urgent job decides whether to preempt, and the job that lost its turn, at the same instant, whether to leave."""
    model = preempted_model()
    best = sj.solve(model)
    assert model.state_names is not None
    asked = {
        name: action
        for name, action in zip(model.state_names, best.policy.tolist(), strict=True)
        if name[0] == "?"
    }
    assert set(asked.values()) == {0, 1}
    never = sj.evaluate(model, np.zeros(model.num_states, dtype=np.int64)).gain
    assert best.gain > never + 0.1
    learner = sj.Learner(Preempted)
    rules = [lambda at: asked[f"? {at[0]} {at[2]}"], lambda _: 0]
    found = learner.compare(*rules, duration=1500.0, seeds=8)
    assert found.low < best.gain - never < found.high
    assert found.low > 0.0
    assert abs(found.rate - best.gain) < 0.15
