"""Units: what an agent learns does not depend on what money and time are counted in.

In units that are powers of two apart, every product and quotient of an agent has the same bits, up to the unit. So where
the options that carry a unit are changed with it, so are all its steps, its values and its rate. `UNITS` says which
options these are, and how: {"discount_rate": (0, -1)} is a number per unit time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
import sojourn.envs
from counting import Counted
from sojourn.agents.catalogue import AGENTS, NamedAgent
from sojourn.agents.values.protocol import entries
from sojourn.rates.catalogue import ESTIMATORS

Powers = tuple[int, int]  # of money and of time


class Scaled(NamedTuple):
    """A world in which a unit of money counts as `money`, and one of time as `time`."""

    world: Any
    money: float
    time: float

    @property
    def num_states(self) -> int:
        return self.world.num_states  # type: ignore[no-any-return]

    @property
    def num_actions(self) -> int:
        return self.world.num_actions  # type: ignore[no-any-return]

    @property
    def observed(self) -> Any:
        return getattr(self.world, "observed", None)

    @property
    def available(self) -> Any:
        return getattr(self.world, "available", None)

    @property
    def controlled(self) -> Any:
        return getattr(self.world, "controlled", None)


@sj.start.register
def start_scaled(world: Scaled, rng: Any) -> tuple[Scaled, Any]:
    inner, state = sj.start(world.world, rng)
    return Scaled(inner, world.money, world.time), state


@sj.step.register
def step_scaled(world: Scaled, state: Any, action: Any, rng: Any) -> tuple[Scaled, Any, float, float]:
    inner, after, reward, duration = sj.step(world.world, state, action, rng)
    return Scaled(inner, world.money, world.time), after, world.money * reward, world.time * duration


class Late(NamedTuple):
    """Wear from 0 to 1 that pays nothing in the first 60 steps; without numbered actions, an action is a point."""

    steps: int = 0
    num_states: int = 0
    num_actions: int = 2

    @property
    def controlled(self) -> sj.worlds.Bounds | None:
        return None if self.num_actions else sj.worlds.Bounds((0.0,), (1.0,))

    @property
    def observed(self) -> sj.worlds.Bounds:
        return sj.worlds.Bounds((0.0,), (1.0,))


@sj.start.register
def start_late(world: Late, rng: Any) -> tuple[Late, Any]:
    return Late(num_actions=world.num_actions), (0.5,)


@sj.step.register
def step_late(world: Late, state: Any, action: Any, rng: Any) -> tuple[Late, Any, float, float]:
    reward = (1.5 * action - state[0]) if world.steps >= 60 else 0.0
    return (
        Late(world.steps + 1, 0, world.num_actions),
        (sj.random.uniform(rng),),
        reward,
        0.5 + sj.random.exponential(rng),
    )


# --- Which options carry a unit -----------------------------------------------------

# By the name of the agent. `initial` is given too where an agent has it. Step sizes are at most 1, so these begin small.
UNITS: dict[str, dict[str, tuple[float, Powers]]] = {
    "fixed_rate": {"rate": (0.5, (1, -1))},
    "smdp_q_learning": {"discount_rate": (0.01, (0, -1))},
    "ucb_bandit": {"confidence": (1.0, (1, -1))},
    "r_learning": {
        "rate_step_size": (2.0**-32, (0, -1))
    },  # of Incremental, whose estimate moves by r - rho tau
    "differential_q": {"step_size": (2.0**-32, (0, 1))},  # its errors are divided by a time
}
# The rate of RVI Q-learning is the level of its values, so its values are money and money per time at once. No option
# makes up for another unit of time. R-Learning as printed and RED CVaR count steps, so that their rates are money alone.
NOT_IN_TIME = ("rvi_q",)
BY_TIME = ("TimeSmoothed", "TimeForgetting")
RATE_IS_MONEY = ("r_learning_as_printed", "red_cvar")
# Differential Q-learning shows its estimator delta + rho tau, from which the estimator takes rho tau again. The first is
# money per time and the second money, so that what is rounded away depends on the unit of time.
ROUNDED = ("differential_q",)
VALUES_ARE_RATES = ("greedy_bandit", "ucb_bandit")

ON_TABLES = [name for name in AGENTS if not name.startswith("tile") and name != "oracle"]
POWERS = [(2.0**30, 1.0), (2.0**-30, 1.0), (1.0, 2.0**30), (1.0, 2.0**-30), (2.0**-29, 2.0**-30)]
DECIMALS = [(1e-9, 1.0), (1e9, 1.0), (1.0, 1e-9), (1.0, 1e9), (1e-3, 1e-3)]


def unit(powers: Powers, money: float, time: float) -> float:
    """Return what a number with these powers of money and time is multiplied by."""
    return float(money ** powers[0] * time ** powers[1])


def made(entry: NamedAgent, size: tuple[int, int], money: float, time: float, **given: Any) -> Any:
    """Return an agent whose options are those of the plain units, said in others."""
    options = {**entry.options, **given}
    for option, (number, powers) in UNITS.get(entry.name, {}).items():
        options[option] = number * unit(powers, money, time)
    agent: Any = entry.make(*size, **options)
    if hasattr(getattr(agent, "method", None), "mean_duration"):
        agent.method.mean_duration.q[:] *= time  # it begins with the literature's 1
    return agent


def spotty() -> sj.SMDP:
    """Return a model with rewards of both signs, states without any, steps that take no time, and two that take much."""
    rng, rows = np.random.default_rng(8), []
    for state in range(5):
        for action in range(2):
            reward = float(rng.normal(1.0, 3.0)) if rng.random() < 0.6 else 0.0
            law = 0.0 if state + action == 0 else sj.laws.Exponential(float(rng.exponential(1.5)))
            for after, share in zip(rng.permutation(5)[:2], (0.75, 0.25), strict=True):
                rows.append((state, action, int(after), share, reward, law))
    return sj.models.from_transitions(rows)


MODEL = spotty()


def ran(entry: NamedAgent, money: float, time: float, steps: int) -> sj.runs.Run:
    """Return an interpreted run, which needs no compiler."""
    vectors = entry.name.startswith("tile")
    world: Any = sj.worlds.continuous.Wear() if vectors else sj.worlds.Tabular(MODEL)
    size = (1, 2) if vectors else (MODEL.num_states, MODEL.num_actions)
    given = {"tilings": 2, "tiles": 4} if vectors else {}
    agent = made(entry, size, money, time, **given)
    return sj.run(Scaled(world, money, time), agent, steps, seed=3, compiled=False)


# --- The same bits in units that are powers of two apart ----------------------------


def values_of(agent: Any) -> Any:
    """Return the values of an agent: a table, or the weights of its tiles."""
    values = getattr(agent.values, "rewards", agent.values)
    return values.weights if hasattr(values, "weights") else entries(values)


VARIANTS = {"red_cvar, per time": AGENTS["red_cvar"]._replace(options={"per": "duration"})}


@pytest.mark.parametrize(
    "name", [name for name in (AGENTS | VARIANTS) if name != "oracle"]
)  # which only follows a policy
def test_the_same_bits_in_other_units(name: str) -> None:
    """In money and time times 2^30 and 2^-30, an agent takes the same steps, and its values and its rate are the same."""
    entry, steps = (AGENTS | VARIANTS)[name], 150 if name == "planner" else 400
    plain = ran(entry, 1.0, 1.0, steps)
    assert plain.reward != 0.0
    for money, time in POWERS:
        if name in NOT_IN_TIME and time != 1.0:
            continue
        found, per_time = ran(entry, money, time, steps), unit((1, -1), money, time)
        assert found.reward == money * plain.reward
        assert found.duration == time * plain.duration
        rate = plain.rate * (money if name in RATE_IS_MONEY else per_time)
        values = values_of(plain.agent) * (per_time if name in VALUES_ARE_RATES else money)
        if name in ROUNDED and time != 1.0:
            assert found.rate == pytest.approx(rate, rel=1e-5)
            assert values_of(found.agent) == pytest.approx(values, rel=1e-5)
        else:
            assert found.rate == rate
            assert (values_of(found.agent) == values).all()


@pytest.mark.parametrize("make", [sj.deep_q, sj.ppo, sj.agents.sac])
def test_networks_have_the_same_bits_in_other_units(make: Any) -> None:
    """Money and time times 2^30 and 2^-30 leave every weight of a network as it is; the rate is the same in its units.

    In the world, nothing is paid at first, so that rewards get their unit late.
    """
    pace: Any = {"rollout": 40, "batch": 20, "epochs": 2} if make is sj.ppo else {"warm_up": 40, "batch": 8}
    world = Late(num_actions=0 if make is sj.agents.sac else 2)

    def learned(money: float, time: float) -> Any:
        env = sj.envs.WorldEnv(Scaled(world, money, time), compiled=False)
        learner = sj.Learner(
            env, make, hidden=(4,), precision="double", compiled=False, seed=1, centring=0.1, **pace
        )
        learner.train(160)
        return learner

    plain = learned(1.0, 1.0)
    assert plain.rate != 0.0
    for money, time in POWERS:
        found = learned(money, time)
        assert found.rate == plain.rate * unit((1, -1), money, time)
        one, other = found.agent.state(), plain.agent.state()
        networks = [key for key in one if "weights" in key or "target" in key]
        assert networks
        for key in networks:
            assert (one[key] == other[key]).all()


# --- What policies earn in units that are not powers of two apart -------------------


@pytest.mark.parametrize("name", ON_TABLES)
def test_policies_earn_the_same_in_other_units(name: str) -> None:
    """In units from 1e-9 to 1e9, the policy after a few hundred steps earns what it earns in plain ones."""
    entry, steps = AGENTS[name], 150 if name == "planner" else 400
    plain = sj.evaluate(MODEL, ran(entry, 1.0, 1.0, steps).policy).gain
    for money, time in DECIMALS:
        if name in NOT_IN_TIME and time != 1.0:
            continue
        found = sj.evaluate(MODEL, ran(entry, money, time, steps).policy).gain
        assert found == pytest.approx(plain, rel=1e-9)


@pytest.mark.evidence
@pytest.mark.parametrize("name", ON_TABLES)
def test_long_runs_earn_as_much_in_other_units(name: str, counted: Counted) -> None:
    """After 5,000 steps, policies earn in the mean of 8 seeds what they earn in plain units, to 4 % of the best gain.

    That is on problems whose money and time are in units from 1e-9 to 1e9. Rounding makes runs in other units differ
    after a while, and so the means differ a little.
    """
    tried = failed = 0
    for problem in ("gosavi", "river-swim", "admission-control", "replacement", "two-choice"):
        model = sj.problems.PROBLEMS[problem]()
        best, size = float(np.max(sj.solve(model).gain)), (model.num_states, model.num_actions)

        def mean_gain(money: float, time: float) -> float:
            world = Scaled(sj.worlds.Tabular(model), money, time)  # noqa: B023
            agent = made(AGENTS[name], size, money, time)  # noqa: B023
            runs = [sj.run(world, agent, 5000, seed=seed) for seed in range(8)]
            return float(np.mean([np.min(sj.evaluate(model, run.policy).gain) for run in runs]))  # noqa: B023

        plain = mean_gain(1.0, 1.0)
        for money, time in (*DECIMALS, (1e-9, 1e-9), (1e9, 1e9), (1e6, 1e-6)):
            if name not in NOT_IN_TIME or time == 1.0:
                tried += 1
                failed += not abs(mean_gain(money, time) - plain) <= 0.04 * abs(best)
    counted("agents in units from 1e-9 to 1e9", tried=tried, failed=failed)


# --- Estimators ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_in_other_units(name: str) -> None:
    """An estimate is the same rate in other units, bit for bit, if a step size per unit of time is changed with them.

    `Incremental` divides its step size by the unit of time. `TimeSmoothed` and `TimeForgetting` keep 1 - beta of a unit
    of time, so that 1 - beta is raised to a power, which is rounded.
    """
    rng = np.random.default_rng(5)
    rewards, durations = rng.normal(1.0, 2.0, 300) * (rng.random(300) < 0.8), rng.exponential(1.0, 300)

    def estimate(money: float, time: float) -> float:
        rate: Any = ESTIMATORS[name].make(0.01)
        if name == "Fixed":
            rate = sj.rates.Fixed(0.7 * money / time)
        if name == "Incremental":
            rate = sj.rates.Incremental(0.01 / time)
        if name in BY_TIME:
            rate = rate._replace(step_size=-np.expm1(np.log1p(-0.01) / time).item())
        for reward, duration in zip(rewards.tolist(), durations.tolist(), strict=True):
            rate = sj.update(rate, money * reward, time * duration)
        return float(sj.value(rate))

    plain = estimate(1.0, 1.0)
    assert plain != 0.0
    for money, time in [(2.0**30, 1.0), (2.0**-30, 1.0), (2.0**3, 2.0**30), (1.0, 2.0**-6), (1.0, 2.0**-30)]:
        if time > 1e-3 or name not in (*BY_TIME, "Incremental"):  # a step size must stay below 1
            expected = plain * money / time
            near = pytest.approx(expected, rel=1e-9) if name in BY_TIME else expected
            assert estimate(money, time) == near


# --- Three shops --------------------------------------------------------------------


class Shop(gym.Env[Any, Any]):
    """A shop that is closed (0) or open (1) for a while, over and over; open, it earns 5 per unit time."""

    def __init__(self, while_: float, pay: float = 5.0) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(2)
        self.while_, self.pay = while_, pay

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, self.pay * self.while_ * float(action), False, False, {"duration": self.while_}


@pytest.mark.parametrize("pay", [5.0, 5e-9, -5e-9, 5e9])
@pytest.mark.parametrize("while_", [1e-9, 1e-3, 1.0, 1e9])
def test_a_shop_opens_if_it_pays(while_: float, pay: float) -> None:
    """A learner with nothing set tries both actions, and finds the better one, whether it decides every ms or every year."""
    learner = sj.Learner(Shop(while_, pay))
    learner.train(200)
    assert learner.policy.tolist() == [int(pay > 0.0)]
    assert learner.rate == pytest.approx(max(pay, 0.0), abs=1e-9 * abs(pay))
    found = learner.verdict(duration=2001.0 * while_)
    assert found.evaluation.rate == pytest.approx(max(pay, 0.0))
    assert found.warnings == ()
    assert found.visited is not None
    assert found.visited.share == 1.0


def test_admission_in_milliseconds() -> None:
    """With 1,000 arrivals per unit of time, the planner sees the whole queue, and earns at least 90 % of what it can."""
    model = sj.problems.admission_control(arrival_rate=1000.0, service_rate=1000.0)
    best = float(np.max(sj.solve(model).gain))
    assert best == pytest.approx(4752.0, abs=1.0)
    for seed in range(3):
        run = sj.run(
            sj.worlds.Tabular(model), sj.planner(model.num_states, model.num_actions), 5000, seed=seed
        )
        assert float(np.min(sj.evaluate(model, run.policy).gain)) >= 0.9 * best


def test_replacement_in_billions() -> None:
    """With money in units of 1e9, the planner finds the policy that it finds in others: a cost of 1.63, not of 2.16."""
    model = sj.problems.replacement(failure_cost=5e-9, planned_cost=1e-9)
    for seed in range(3):
        run = sj.run(
            sj.worlds.Tabular(model), sj.planner(model.num_states, model.num_actions), 10_000, seed=seed
        )
        assert float(np.min(sj.evaluate(model, run.policy).gain)) == pytest.approx(-1.63e-9, rel=0.01)
