from __future__ import annotations

import inspect
import itertools
from math import comb
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy import integrate, stats

import sojourn as sj
from sojourn.envs import ENVIRONMENTS
from sojourn.models import SMDP, from_options
from sojourn.models.problems import (
    PROBLEMS,
    access_control,
    admission_control,
    early_pay,
    four_rooms,
    gosavi,
    jobs,
    long_return,
    long_shot,
    rare_delay,
    replacement,
    river_swim,
    rooms,
    tijms_maintenance,
    two_choice,
)
from sojourn.worlds.catalogue import WORLDS
from sojourn.worlds.tabular import Tabular, initial_values

# --- Exact answers of these tests' own, dense -------------------------------------------


def dense(model: SMDP, policy: Any) -> tuple[Any, Any, Any]:
    """The chain of a policy, its rewards and its durations."""
    pairs = [model.pair(state, int(action)) for state, action in enumerate(policy)]
    chain = np.zeros((model.num_states, model.num_states))
    for state, pair in enumerate(pairs):
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        np.add.at(chain[state], model.successor[rows], model.probability[rows])
    return chain, model.reward[pairs], model.duration[pairs]


def evaluated(model: SMDP, policy: Any) -> tuple[float, Any]:
    """The gain and the bias: h + gain d = r + P h, h(0) = 0, for one recurrent class."""
    chain, reward, duration = dense(model, policy)
    system = np.eye(len(chain)) - chain
    system[:, 0] = duration  # the unknown gain in the place of h(0)
    answer = np.linalg.solve(system, reward)
    bias = np.append(0.0, answer[1:])
    return float(answer[0]), bias


def policies(model: SMDP) -> Any:
    """All deterministic policies."""
    return itertools.product(
        *(model.action[model.pair_offsets[s] : model.pair_offsets[s + 1]] for s in range(model.num_states))
    )


def best(model: SMDP) -> float:
    """The optimal gain, by trying every policy."""
    return max(evaluated(model, policy)[0] for policy in policies(model))


def improved(model: SMDP) -> tuple[float, Any]:
    """The optimal gain and a policy of it, by policy iteration."""
    policy = model.action[model.pair_offsets[:-1]].copy()
    while True:
        gain, bias = evaluated(model, policy)
        ahead = np.add.reduceat(model.probability * bias[model.successor], model.row_offsets[:-1])
        worth = model.reward - gain * model.duration + ahead
        changed = False
        for state in range(model.num_states):
            pairs = slice(model.pair_offsets[state], model.pair_offsets[state + 1])
            top = int(np.argmax(worth[pairs]))
            if worth[pairs][top] > worth[model.pair(state, policy[state])] + 1e-9:
                policy[state], changed = model.action[pairs][top], True
        if not changed:
            return gain, policy


# --- Gains, each derived in another way --------------------------------------------------


def test_gosavi() -> None:
    """The best of four policies takes action 0 in state 0 and 1 in state 1; its gain by hand is 141/67.

    Its chain (.7 .3; .2 .8) has the stationary law (.4, .6), so E[r] = .4 * 2.7 + .6 * 7.6 = 5.64 and
    E[d] = .4 * 2.2 + .6 * 3 = 2.68.
    """
    assert best(gosavi()) == pytest.approx(5.64 / 2.68, rel=1e-12)
    assert improved(gosavi())[1].tolist() == [0, 1]


def test_tijms_maintenance() -> None:
    """The optimal average cost is the book's 0.4338, with repair from condition 4 on.

    By renewal-reward: a cycle begins in condition 1 and ends with a repair. Condition 1 lasts 10
    days on average, then 2 for 1 / .2 = 5 days, from where .1 / .2 goes to 3, .05 / .2 to 4, .05 / .2 to 5;
    3 lasts 1 / .3 days and leads to 4 with .1 / .3, to 5 with .2 / .3.
    """
    to_4, to_5 = 0.25 + 0.5 / 3.0, 0.25 + 1.0 / 3.0
    cost = 5.0 * to_4 + 10.0 * to_5
    time = 10.0 + 5.0 + 0.5 / 0.3 + 1.0 * to_4 + 2.0 * to_5
    assert best(tijms_maintenance()) == pytest.approx(-cost / time, rel=1e-12)
    assert best(tijms_maintenance()) == pytest.approx(-0.4338, abs=5e-5)
    assert improved(tijms_maintenance())[1].tolist() == [0, 0, 0, 1, 1]


def test_access_control() -> None:
    """Relative value iteration over the number of busy servers, without priorities in the state, agrees.

    After a decision only the number b of busy servers matters, so w(b) = E[max over accept and reject]:
    w'(b) = sum over k of C(b, k) .06^k .94^(b - k) mean over priorities of max(w(b - k), r + w(b - k + 1)).
    """
    freed = np.zeros((11, 11))
    for busy in range(11):
        for free in range(busy + 1):
            freed[busy, busy - free] = comb(busy, free) * 0.06**free * 0.94 ** (busy - free)
    values = np.zeros(11)
    for _ in range(2000):
        accept = np.append(values[1:], -np.inf)
        chosen = np.mean([np.maximum(values, reward + accept) for reward in (1, 2, 4, 8)], axis=0)
        after = freed @ chosen
        gain, values = after[0] - values[0], after - after[0]
    found, policy = improved(access_control())
    assert found == pytest.approx(gain, rel=1e-9)
    # Nobody is better than accepting only as much as the servers can do, the best first.
    assert 2.6 < found < 8 * 0.25 + 4 * 0.25 + 2 * 0.1
    assert policy[:40].reshape(10, 4)[:, 3].all()  # priority 8 is always accepted
    for kind in range(4):  # a customer who is accepted with fewer free servers is so with more
        assert (np.diff(policy.reshape(11, 4)[:, kind]) <= 0).all()


def test_access_control_lacks_accept_without_a_free_server() -> None:
    """With all ten servers busy there is only reject."""
    model = access_control()
    assert initial_values(model)[40:].tolist() == [[0.0, -np.inf]] * 4
    assert np.isfinite(initial_values(model)[:40]).all()


def test_river_swim() -> None:
    """The best of 64 policies swims right; its gain is that of a birth-death chain."""
    odds = [1.0, 0.3 / 0.1, 0.3 / 0.1, 0.3 / 0.1, 0.3 / 0.1, 0.3 / 0.7]
    law = np.cumprod(odds)
    assert best(river_swim()) == pytest.approx(10_000 * 0.3 * law[-1] / law.sum(), rel=1e-12)
    assert evaluated(river_swim(), [0] * 6)[0] == pytest.approx(5.0)


def test_two_choice() -> None:
    """By renewal-reward each loop earns its reward over its length."""
    model = two_choice()
    assert [evaluated(model, policy)[0] for policy in policies(model)] == pytest.approx([1.0, 2.0])
    odd = two_choice(short_length=1, short_reward=3.0, long_length=4, long_reward=2.0, step_duration=0.5)
    assert [evaluated(odd, policy)[0] for policy in policies(odd)] == pytest.approx([6.0, 1.0])


@pytest.mark.parametrize(
    "given",
    [{}, {"arrival_rate": 2.0, "service_rate": 1.5, "reward": 9.0, "holding_cost": 0.5, "capacity": 12}],
)
def test_admission_control(given: dict[str, Any]) -> None:
    """Every threshold policy has the gain of M/M/1/L, and the best of them is optimal."""
    numbers = {
        "arrival_rate": 1.0,
        "service_rate": 1.2,
        "reward": 5.0,
        "holding_cost": 1.0,
        "capacity": 20,
    } | given
    model = admission_control(**given)
    gains = []
    for limit in range(numbers["capacity"] + 1):
        law = (numbers["arrival_rate"] / numbers["service_rate"]) ** np.arange(limit + 1)
        law /= law.sum()
        let_in = numbers["arrival_rate"] * numbers["reward"] * (1.0 - law[-1])
        gains.append(let_in - numbers["holding_cost"] * law @ np.arange(limit + 1))
        policy = (np.arange(model.num_states) < limit).astype(int)
        assert evaluated(model, policy)[0] == pytest.approx(gains[-1], rel=1e-10, abs=1e-10)
    assert improved(model)[0] == pytest.approx(max(gains), rel=1e-10)


def test_replacement() -> None:
    """Every age limit has the gain of renewal theory, by numerical integration, and the best is optimal."""
    model, life = replacement(), stats.gamma(4.0, scale=0.5)
    gains = []
    for limit in range(1, 17):
        age = 0.25 * limit
        fails, lived = life.cdf(age), integrate.quad(life.sf, 0.0, age, epsabs=1e-13)[0]
        gains.append(-(5.0 * fails + 1.0 * (1.0 - fails)) / lived)
        policy = (np.arange(17) >= limit).astype(int)
        assert evaluated(model, policy)[0] == pytest.approx(gains[-1], rel=1e-9)
    found, policy = improved(model)
    assert found == pytest.approx(max(gains), rel=1e-9)
    assert policy.tolist() == [0] * (1 + int(np.argmax(gains))) + [1] * (16 - int(np.argmax(gains)))
    assert (model.duration > 0.0).all()
    assert (model.duration <= 0.25).all()


def test_four_rooms() -> None:
    """Options add nothing to the best steps, steps add to options, and each option takes its steps."""
    both, steps, options = four_rooms(), four_rooms(with_options=False), four_rooms(with_primitives=False)
    gains = [improved(model)[0] for model in (both, steps, options)]
    assert gains[0] == pytest.approx(gains[1], rel=1e-9)
    assert 0.9 * gains[1] < gains[2] < gains[1]
    assert (np.diff(both.pair_offsets) == 6).all()
    assert (np.diff(options.pair_offsets) == 2).all()
    # Without slips the way from the corner to the goal is 14 steps, whichever way one counts them.
    for model in (four_rooms(slip=0.0), four_rooms(slip=0.0, with_primitives=False)):
        assert solved_gain(model) == pytest.approx(1.0 / 14.0, rel=1e-9)


def test_four_rooms_is_the_model_of_its_options() -> None:
    """Where every option ends, how long it takes and what it earns on average are what `from_options` finds."""
    goal = rooms._NUMBER[7, 9]
    steps = rooms._steps(goal, 1.0 / 3.0, 1.0)
    options = [
        rooms._to_hallway(goal, room, *hallways)
        for room, (_, _, (one, two)) in rooms._ROOMS.items()
        for hallways in ((one, two), (two, one))
    ]
    expected, found = from_options(steps, options), four_rooms(with_primitives=False)
    kept = np.flatnonzero(expected.state_of_pair() != goal)
    np.testing.assert_allclose(found.duration, expected.duration[kept], rtol=1e-9)
    np.testing.assert_allclose(found.reward, expected.reward[kept], rtol=1e-9, atol=1e-12)
    for pair, other in enumerate(kept):
        law, ends = np.zeros((2, 103))
        rows = slice(found.row_offsets[pair], found.row_offsets[pair + 1])
        np.add.at(law, found.successor[rows], found.probability[rows])
        rows = slice(expected.row_offsets[other], expected.row_offsets[other + 1])
        after = expected.successor[rows]
        after = np.where(after == goal, 0, after - (after > goal))
        np.add.at(ends, after, expected.probability[rows])
        np.testing.assert_allclose(law, ends, atol=1e-10)
    assert found.row_duration is not None
    lengths = found.row_duration[found.probability > 1e-6]
    assert (lengths == np.rint(lengths)).all()


def test_four_rooms_options_are_the_steps_they_take() -> None:
    """Simulated step by step, an option ends where and when the model says, within five deviations."""
    steps, model = four_rooms(with_options=False), four_rooms()
    name = "upper left to north"
    assert model.action_names is not None
    assert model.state_names is not None
    action = model.action_names.index(name)
    room = {f"({row}, {column})" for row in range(1, 6) for column in range(1, 6)}
    inside = [number for number, cell in enumerate(model.state_names) if cell in room]
    world, rng, lengths, ends = Tabular(steps), sj.stream(3), [], []
    for _ in range(2000):
        state, length = 0, 0
        while state in inside:
            row, column = (int(part) for part in model.state_names[state].strip("()").split(","))
            # To the hallway at (3, 6): right, or up or down first where the column ends.
            move = 1 if row == 3 or column < 5 else 0 if row > 3 else 2
            _, state, _, _ = sj.step.bare(world, state, move, rng)
            length += 1
        lengths.append(length)
        ends.append(state)
    pair = model.pair(0, action)
    assert np.mean(lengths) == pytest.approx(model.duration[pair], abs=5.0 * np.std(lengths) / np.sqrt(2000))
    rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
    assert set(ends) <= set(model.successor[rows].tolist())


def solved_gain(model: SMDP) -> float:
    """The optimal gain where some policies have several classes, by linear programming."""
    from scipy.optimize import linprog

    flow = np.zeros((model.num_states + 1, model.num_pairs))
    for pair, state in enumerate(model.state_of_pair()):
        flow[state, pair] += 1.0
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        np.add.at(flow[:, pair], model.successor[rows], -model.probability[rows])
    flow[-1] = model.duration
    target = np.append(np.zeros(model.num_states), 1.0)
    return float(-linprog(-model.reward, A_eq=flow, b_eq=target).fun)


def test_long_shot() -> None:
    """A earns 5 and B 3, but at A's harmonic rate, 1.8, B looks better, and still so at B's own."""
    model = long_shot()
    assert [evaluated(model, policy)[0] for policy in policies(model)] == pytest.approx([5.0, 3.0])
    for rates in ([1.0, 9.0], [1.0, 5.0]):
        worth = model.reward - sj.rates.harmonic_mean(rates) * model.duration
        assert worth[1] > worth[0]


def test_long_return() -> None:
    """A earns 10 and B 770/101, but at the harmonic rate of either policy B looks better."""
    model = long_return()
    gains = {policy[0]: evaluated(model, policy)[0] for policy in policies(model)}
    assert gains == pytest.approx({0: 10.0, 1: 770.0 / 101.0})
    for rates in ([15.0, 0.0], [7.7, 0.0]):
        worth = (model.reward - sj.rates.modified_harmonic_mean(rates) * model.duration)[:2]
        assert worth[1] > worth[0]


def test_early_pay() -> None:
    """A earns 1 and B 0.7; the modified harmonic mean is 5 under A and far below under B, the mean duration 5 and 1."""
    model = early_pay()
    assert [evaluated(model, policy)[0] for policy in policies(model)] == pytest.approx([1.0, 0.7])
    assert sj.rates.modified_harmonic_mean([10.0, 0.0]) == 5.0
    assert sj.rates.modified_harmonic_mean([0.1, 1.3]) == pytest.approx(2.0 / (10.0 + 1.0 / 1.3))  # 0.19


def test_rare_delay() -> None:
    """The steady action earns 1 and the other 0.6, although its mean of r / tau is 60."""
    model = rare_delay()
    assert [evaluated(model, policy)[0] for policy in policies(model)] == pytest.approx([1.0, 0.6])
    reward = 0.6 * (0.001 * 1000.0 + 0.999 * 0.01)
    assert model.reward[1] == pytest.approx(reward)
    assert reward * (0.001 / 1000.0 + 0.999 / 0.01) == pytest.approx(60.5, abs=0.1)


@pytest.mark.parametrize("problem", [long_shot, long_return])
def test_the_counterexamples_mislead_the_agent(problem: Any) -> None:
    """SMART finds A, Harmonic R-Learning B, from the same seed."""
    model = problem()
    sizes = (model.num_states, model.num_actions)
    options: dict[str, Any] = {"step_size": 0.01, "exploration": 0.2}
    smart = sj.run(Tabular(model), sj.smart(*sizes, **options), 200_000, seed=1)
    harmonic = sj.run(Tabular(model), sj.harmonic_r(*sizes, rate_step_size=0.001, **options), 200_000, seed=1)
    assert (smart.policy[0], harmonic.policy[0]) == (0, 1)


def test_jobs() -> None:
    """The gains are 1 / E[s], and of the two estimators the harmonic one varies less, by E[r^2] / E[r]^2."""
    model = jobs()
    assert [evaluated(model, policy)[0] for policy in policies(model)] == pytest.approx([1.0, 1.0 / 0.9])
    agents = [
        sj.agents.policy_agent([0], 2, rate=rate) for rate in (sj.Cumulative(), sj.rates.CumulativeHarmonic())
    ]
    found = np.array(
        [[sj.run(Tabular(model), agent, 400, seed=s).rate for s in range(600)] for agent in agents]
    )
    assert found.mean(axis=1) == pytest.approx([1.0, 1.0], abs=0.01)
    sizes = 2.0 ** np.arange(6)
    expected = (sizes**2).mean() / sizes.mean() ** 2
    assert found[0].var() / found[1].var() == pytest.approx(expected, rel=0.35)


# --- All problems ------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_solvers_agree(name: str) -> None:
    """The project's own solver finds the same gain as these tests do."""
    solve = pytest.importorskip("sojourn.exact.solve").solve
    model = PROBLEMS[name]()
    assert solve(model).gain == pytest.approx(solved_gain(model), rel=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_worlds(name: str) -> None:
    """Every problem passes the checker of worlds, interpreted as compiled."""
    sj.check_world(Tabular(PROBLEMS[name]()))


@pytest.mark.parametrize("name", PROBLEMS)
def test_simulated_problems_earn_what_they_should(name: str) -> None:
    """What a random policy earns in the long run is its exact gain, within five deviations of batches."""
    model = PROBLEMS[name]()
    agent = sj.agents.random_agent(model.num_states, model.num_actions)._replace(
        values=sj.agents.Table(initial_values(model))
    )
    run = sj.run(Tabular(model), agent, 400_000, seed=4, record=sj.runs.evenly_spaced(400_000, 40))
    weight = 1.0 / np.diff(model.pair_offsets)[model.state_of_pair()]
    chain = np.zeros((model.num_states, model.num_states))
    for pair, state in enumerate(model.state_of_pair()):
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        np.add.at(chain[state], model.successor[rows], weight[pair] * model.probability[rows])
    system = np.vstack([chain.T - np.eye(len(chain)), np.ones(len(chain))])
    law = np.linalg.lstsq(system, np.append(np.zeros(len(chain)), 1.0), rcond=None)[0]
    often = law[model.state_of_pair()] * weight
    exact = (often @ model.reward) / (often @ model.duration)
    rewards, clocks = (np.diff(column, prepend=0.0) for column in (run.curve.reward, run.curve.clock))
    spread = np.std(rewards - exact * clocks, ddof=1) / clocks.mean() / np.sqrt(40)
    assert run.reward / run.duration == pytest.approx(exact, abs=5.0 * spread + 1e-3 * abs(exact))


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_environments(name: str) -> None:
    """Each problem is registered under its name, with the problem's arguments and masks where they matter."""
    env: Any = gym.make(f"sojourn/{camel(name)}-v0").unwrapped
    model = PROBLEMS[name]()
    assert env.observation_space.n == model.num_states
    assert env.action_space.n == model.num_actions
    assert ("action_mask" in env.reset(seed=0)[1]) == (
        len(model.action) < model.num_states * model.num_actions
    )
    documented = inspect.getdoc(type(env)) or ""
    for argument in inspect.signature(PROBLEMS[name]).parameters:
        assert f"`{argument}=" in documented


def test_every_environment_but_the_worlds_is_a_problem() -> None:
    """No problem is without its environment, and none of them without its problem."""
    worlds = {f"sojourn/{camel(name.replace('_', '-'))}-v0" for name in WORLDS}
    assert set(ENVIRONMENTS) - worlds == {f"sojourn/{camel(name)}-v0" for name in PROBLEMS}


def test_make_takes_the_arguments_of_the_problem() -> None:
    """Arguments of `gym.make` are those of the problem, with its own sentence for a wrong one."""
    env: Any = gym.make("sojourn/AccessControl-v0", num_servers=3, priorities=(1.0, 5.0), start=2).unwrapped
    assert env.model.num_states == 8
    assert env.reset(seed=0)[0] == 2
    with pytest.raises(ValueError, match="num_servers is 0; it must be at least 1"):
        gym.make("sojourn/AccessControl-v0", num_servers=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'servers'"):
        gym.make("sojourn/AccessControl-v0", servers=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gosavi(rewards=[[[1.0], [2.0], [3.0]]]),
            r"the number of matrices in rewards is 1; it must be 2, the number of actions",
        ),
        (lambda: tijms_maintenance(failure_duration=0.0), "failure_duration is 0.0; it must be"),
        (
            lambda: tijms_maintenance(preventive_costs=(1.0,)),
            "preventive_costs has the length 1; it must be 3, one for each of the conditions 2 to 4",
        ),
        (lambda: tijms_maintenance(deterioration=[[1.0]]), "deterioration has the shape"),
        (lambda: access_control(free_probability=1.5), "free_probability is 1.5"),
        (lambda: access_control(priorities=()), "priorities is empty"),
        (lambda: river_swim(num_states=1), "num_states is 1; it must be at least 2"),
        (lambda: river_swim(forward=0.7, back=0.7), "together they must be at most 1"),
        (lambda: two_choice(short_length=0), "short_length is 0"),
        (lambda: admission_control(service_rate=-1.0), "service_rate is -1.0"),
        (lambda: replacement(interval=1e6), "no machine lives to the age of"),
        (lambda: replacement(shape=0.0), "shape is 0.0"),
        (lambda: four_rooms(goal="nowhere"), "goal is 'nowhere'; it must be a hallway"),
        (lambda: four_rooms(goal=(1, 1)), r"goal is \(1, 1\)"),
        (lambda: four_rooms(with_options=False, with_primitives=False), "neither options nor primitives"),
        (lambda: long_shot(short_rewards=(1.0,)), "short_rewards has 1 numbers; it must have 2"),
        (lambda: long_return(long_duration=float("inf")), "long_duration is inf"),
        (lambda: jobs(sizes=()), "sizes is empty"),
        (lambda: jobs(first_paces=(1.0, -1.0)), "first_paces is -1.0"),
    ],
)
def test_wrong_arguments_get_one_sentence(call: Any, message: str) -> None:
    """A wrong argument is named and refused."""
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_numbering_actions_the_other_way_round_changes_nothing_else(name: str) -> None:
    """Gains, laws and rows belong to the same action, whatever its number; twice round is where we began."""
    model = PROBLEMS[name]()
    turned = model.with_actions_reversed()
    last = model.num_actions - 1
    for state in range(0, model.num_states, max(1, model.num_states // 7)):
        first, end = model.pair_offsets[state], model.pair_offsets[state + 1]
        for action in model.action[first:end].tolist():
            one, other = model.pair(state, action), turned.pair(state, last - action)
            assert model.reward[one] == turned.reward[other]
            assert model.duration[one] == turned.duration[other]
            mine = slice(model.row_offsets[one], model.row_offsets[one + 1])
            its = slice(turned.row_offsets[other], turned.row_offsets[other + 1])
            for part in ("successor", "probability"):
                assert getattr(model, part)[mine].tolist() == getattr(turned, part)[its].tolist()
            for laws, turned_laws in zip(model.flat_laws()[:2], turned.flat_laws()[:2], strict=True):
                by_rows = model.flat_laws()[2]
                assert laws.law(mine.start if by_rows else one) == turned_laws.law(
                    its.start if by_rows else other
                )
    assert sj.solve(turned).gain == pytest.approx(sj.solve(model).gain, abs=1e-9)
    again = turned.with_actions_reversed()
    assert again.action.tolist() == model.action.tolist()
    assert again.reward.tolist() == model.reward.tolist()
    assert again.action_names == (None if model.action_names is None else model.action_names[: last + 1])


def test_access_control_with_servers_freed_first() -> None:
    """Each server's coin is thrown before the decision takes effect; the gain is that of the published code."""
    model = access_control(num_servers=2, priorities=(1.0, 3.0), free_probability=0.25, freed_first=True)
    for busy, kind, action in itertools.product(range(3), range(2), range(2)):
        expected: dict[int, float] = {}
        reward = 0.0
        for coins in itertools.product((True, False), repeat=busy):  # which of the busy servers become free
            chance = float(np.prod([0.25 if free else 0.75 for free in coins]))
            left = busy - sum(coins)
            taken = action if left < 2 else 0
            reward += chance * taken * (1.0, 3.0)[kind]
            for after in range(2):
                state = (left + taken) * 2 + after
                expected[state] = expected.get(state, 0.0) + chance / 2
        pair = model.pair(busy * 2 + kind, action)
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        found: dict[
            int, float
        ] = {}  # a successor has two rows if it can be reached with and without the customer
        for state, chance in zip(
            model.successor[rows].tolist(), model.probability[rows].tolist(), strict=True
        ):
            found[state] = found.get(state, 0.0) + chance
        assert found == pytest.approx(expected)
        assert model.reward[pair] == pytest.approx(reward)
    assert sj.solve(access_control(freed_first=True)).gain == pytest.approx(2.7432, abs=5e-5)
