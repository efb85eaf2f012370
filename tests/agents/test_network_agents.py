"""Deep Q, PPO and SAC: against slow versions of themselves, bit for bit in two ways, with masks and any estimator."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import sojourn as sj
from naive_networks import NaiveDeepQ, NaivePPO, NaiveSAC
from small_envs import sentence
from sojourn.agents.networks.base import NetworkAgent
from sojourn.agents.networks.perceptron import (
    backward_to_inputs,
    forward,
    input_slopes_in,
    inputs_in,
    outputs_in,
    perceptron,
)
from sojourn.agents.networks.sac import Draws, draw_points, policy_slopes
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rules.random import stream
from sojourn.rules.values import same

DISCRETE = sj.agents.Spaces(num_inputs=2, num_actions=3, seed=5)
CONTINUOUS = sj.agents.Spaces(num_inputs=2, low=np.array([0.0]), high=np.array([20.0]), seed=5)
HALF_BOUNDED = CONTINUOUS._replace(low=np.array([0.0, -np.inf]), high=np.array([20.0, np.inf]))


def _any(thing: Any) -> Any:
    return thing


class Seen:
    """A made-up stream of observations, rewards, durations and masks."""

    def __init__(self, seed: int = 0) -> None:
        self.draws = np.random.default_rng(seed)

    def observation(self) -> Any:
        return self.draws.normal(size=2) * [1.0, 30.0] + [0.0, 5.0]

    def allowed(self) -> Any:
        mask = self.draws.integers(0, 2, size=3)
        mask[self.draws.integers(3)] = 1
        return mask.astype(np.int8)


def transition(
    o: Any,
    allowed: Any,
    a: Any,
    r: float,
    tau: float,
    o2: Any,
    allowed2: Any,
    cut: bool,
    e: bool,
    ended: bool,
) -> Any:
    actions: Any = np.array([a], dtype=np.int64 if np.ndim(a) == 0 else np.float64)
    return sj.agents.Transitions(
        np.zeros(1, dtype=np.int64),
        np.array([o]),
        np.array([allowed], dtype=np.int8),
        actions,
        np.array([r]),
        np.array([tau]),
        np.array([o2]),
        np.array([allowed2], dtype=np.int8),
        np.array([cut]),
        np.array([e]),
        np.array([ended]),
    )


def trained(agent: NetworkAgent, steps: int, seed: int = 0) -> list[sj.agents.Transitions]:
    """Let an agent act and learn in a made-up stream; return what it was shown."""
    seen, shown = Seen(seed), []
    masks = agent.spaces.num_actions > 0
    o, allowed = seen.observation(), seen.allowed() if masks else np.zeros(0)
    for _ in range(steps):
        actions, explored = agent.draw([o], [allowed])
        o2, allowed2 = seen.observation(), seen.allowed() if masks else np.zeros(0)
        action = int(actions[0]) if masks else actions[0]
        if masks:
            assert allowed[action]
        r, tau = float(seen.draws.normal() + np.sum(action)), float(seen.draws.exponential())
        end = seen.draws.random()
        cut, ended = bool(end < 0.2), bool(end > 0.8)
        shown.append(transition(o, allowed, action, r, tau, o2, allowed2, cut, bool(explored[0]), ended))
        agent.learn(shown[-1])
        o, allowed = o2, allowed2
    return shown


def test_deep_q_is_what_its_formulas_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty steps with masks, held actions and four changes of units come to the weights, target and rate of a slow version.

    They agree to nine digits.
    """
    monkeypatch.setattr("sojourn.agents.networks.deep_q._RENEWAL", 9)
    options: Any = {"hidden": (4,), "batch": 3, "warm_up": 10, "exploration": 0.3}
    agent = sj.deep_q(DISCRETE, **options, precision="double", compiled=False)
    slow = NaiveDeepQ(
        (2, 4, 3), batch=3, warm_up=10, renewal=9, exploration=0.3, lookahead=5, hold=30, seed=5
    )
    for step in trained(agent, 40):
        o, allowed = step.observations[0], step.allowed[0]
        assert slow.draw(o, allowed) == (step.actions[0], step.explored[0])
        row = float(step.rewards[0]), float(step.durations[0]), step.next_observations[0]
        ends = bool(step.cut[0]), bool(step.explored[0])
        slow.learn(o, int(step.actions[0]), *row, step.next_allowed[0], *ends)
    learned: Any = agent.learned
    assert learned.network.weights.tolist() == pytest.approx(slow.weights.tolist(), rel=1e-9)
    assert learned.target.tolist() == pytest.approx(slow.target.tolist(), rel=1e-9)
    assert agent.rate == pytest.approx(slow.units.rate, rel=1e-9)


@pytest.mark.parametrize("dimensions", [0, 1], ids=["numbered", "continuous"])
def test_ppo_is_what_its_formulas_say(dimensions: int) -> None:
    """Three rollouts, with masks and truncations, come to the weights and rate of a slow version, to eight digits.

    The slow version lets no advantage pass a truncation, so that nothing of the next episode leaks into the last.
    """
    options: Any = {"hidden": (4,), "rollout": 12, "batch": 6, "epochs": 2}
    spaces = CONTINUOUS if dimensions else DISCRETE
    agent = sj.ppo(spaces, **options, precision="double", compiled=False)
    slow = NaivePPO((2, 4, dimensions or 3), rollout=12, epochs=2, dimensions=dimensions, seed=5)
    for step in trained(agent, 36):
        o, allowed = step.observations[0], step.allowed[0]
        action = slow.draw(o, allowed)
        taken = (step.actions[0] / 10.0 - 1.0).tolist() if dimensions else int(step.actions[0])
        assert action == pytest.approx(taken, rel=1e-9)
        row = float(step.rewards[0]), float(step.durations[0]), step.next_observations[0]
        slow.learn(o, action, *row, bool(step.cut[0]), allowed)
    learned: Any = agent.learned
    assert learned.policy.weights.tolist() == pytest.approx(slow.policy.tolist(), rel=1e-8, abs=1e-12)
    assert learned.critic.weights.tolist() == pytest.approx(slow.critic.tolist(), rel=1e-8, abs=1e-12)
    assert agent.rate == pytest.approx(slow.units.rate, rel=1e-8)


def test_sac_is_what_its_formulas_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty steps, with durations and a price for terminations, come to the numbers of a slow version.

    One dimension of the actions has bounds, the other has none. Weights, targets, temperature, reset cost and rate agree
    to eight digits, through three changes of units.
    """
    monkeypatch.setattr("sojourn.agents.networks.sac._RENEWAL", 9)
    options: Any = {
        "hidden": (4,),
        "batch": 3,
        "warm_up": 8,
        "most_resets": 0.01,
        "entropy": -1.0,
        "centring": 0.1,
    }
    agent = sj.agents.sac(HALF_BOUNDED, **options, precision="double", compiled=False)
    slow = NaiveSAC((2, 4), bounded=[True, False], batch=3, warm_up=8, renewal=9, most_resets=0.01, seed=5)
    for step in trained(agent, 30):
        point = slow.draw(step.observations[0])
        assert step.actions[0] == pytest.approx([10.0 * (point[0] + 1.0), point[1]], rel=1e-9, abs=1e-12)
        row = float(step.rewards[0]), float(step.durations[0]), step.next_observations[0]
        slow.learn(step.observations[0], point, *row, bool(step.ended[0]))
    learned: Any = agent.learned
    assert slow.cost[0] > 0.0
    for ours, theirs in (
        (learned.actor.weights, slow.actor),
        (learned.first.network.weights, slow.critics[0]),
        (learned.second.network.weights, slow.critics[1]),
        (learned.first.target, slow.targets[0]),
        (learned.second.target, slow.targets[1]),
        (learned.temperature.number, slow.log_alpha),
        (learned.reset_cost.number, slow.cost),
        (agent.rate, slow.units.rate),
        (agent.error, slow.error),
    ):
        assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-12)


def test_slopes_by_inputs_are_differences() -> None:
    """The slopes of a network's output by its inputs, and of SAC's loss by the policy's outputs, are finite differences."""
    draws, network = np.random.default_rng(2), perceptron((3, 5, 4, 1), 6, stream(1), precision="double")
    inputs, given = inputs_in(network), draws.normal(size=(6, 3))

    def said(rows: Any) -> Any:
        inputs[:] = rows
        forward(network, network.weights, 6)
        return outputs_in(network, network.units).copy()

    said(given)
    outputs_in(network, network.slopes)[:] = 1.0
    backward_to_inputs(network, 6)
    found = input_slopes_in(network).copy()
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        assert found[:, j] == pytest.approx(
            (said(given + step) - said(given - step))[:, 0] / 2e-6, rel=1e-6, abs=1e-9
        )

    # Q is linear in the action, so its slopes are the same everywhere; one deviation is beyond the end of its range.
    furthest, alpha, by_action = np.array([1.0, np.inf]), 0.3, np.array([0.7, -0.2])
    outputs = np.array([[0.3, -1.0, -0.5, 0.2], [-2.0, 0.4, 0.1, 2.5]])
    room = Draws(np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2), np.tile(by_action, (2, 1)))

    def loss(outputs: Any) -> float:
        draw_points(outputs, 2, furthest, stream(7), room)
        return float(np.mean(alpha * room.logs - room.points @ by_action))

    slopes = np.zeros((2, 4))
    loss(outputs)
    policy_slopes(outputs, 2, furthest, room, alpha, slopes)
    pulled = slopes[1, 3]
    for at in np.ndindex(2, 4):
        moved = np.zeros((2, 4))
        moved[at] = 1e-6
        difference = (loss(outputs + moved) - loss(outputs - moved)) / 2e-6
        assert at == (1, 3) or slopes[at] == pytest.approx(difference, rel=1e-6, abs=1e-9)
    outputs[1, 3] = 2.0
    loss(outputs)
    policy_slopes(outputs, 2, furthest, room, alpha, slopes)
    assert pulled == max(slopes[1, 3], 0.0)  # what would push it farther out is no slope


@pytest.mark.parametrize(
    ("kind", "spaces"),
    [("deep_q", DISCRETE), ("ppo", DISCRETE), ("ppo", CONTINUOUS), ("sac", HALF_BOUNDED)],
    ids=["deep Q", "PPO", "continuous PPO", "SAC"],
)
def test_double_precision_gives_the_same_bits_interpreted_and_compiled(
    kind: str, spaces: sj.agents.Spaces
) -> None:
    """After learning from batches, every number that the agent holds is the same to the last bit; PPO with entropy."""
    options: Any = {"hidden": (5,), "precision": "double"}
    options |= {
        "deep_q": {"batch": 4, "warm_up": 5},
        "ppo": {"rollout": 8, "batch": 5, "epochs": 2, "entropy": 0.01},
        "sac": {"batch": 4, "warm_up": 5, "most_resets": 0.1},
    }[kind]
    agents = [getattr(sj.agents, kind)(spaces, **options, compiled=compiled) for compiled in (False, True)]
    for agent in agents:
        trained(agent, 40)
    assert same(agents[0].learned, agents[1].learned)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_any_estimator_sees_single_steps_in_order(name: str) -> None:
    """Deep Q shows it the greedy steps, PPO and SAC all, one by one: it ends as if it had been fed by hand."""
    rate = ESTIMATORS[name].make(0.1)
    options: Any = {"hidden": (3,), "rate": rate, "centring": 0.0, "compiled": False}
    for agent in (
        sj.deep_q(DISCRETE, **options, warm_up=30, exploration=0.5),
        sj.ppo(DISCRETE, **options, rollout=10, batch=10, epochs=1),
        sj.agents.sac(CONTINUOUS, **options, warm_up=24, batch=2),
    ):
        by_hand, count = rate, 0
        for step in trained(agent, 60):
            if not step.explored[0]:
                by_hand, count = (
                    sj.update(by_hand, float(step.rewards[0]), float(step.durations[0])),
                    count + 1,
                )
        assert same(agent.estimator, by_hand)
        assert (count < 60) == (agent.kind == "deep_q")


def test_what_is_earned_in_no_time_is_carried() -> None:
    """10 in no time, and then 1 in a time of 4, is a rate of 11 / 4 to the estimator, at each place by itself."""
    spaces = DISCRETE._replace(places=2)
    agent = sj.ppo(spaces, hidden=(3,), rate=sj.Cumulative(), centring=0.0, compiled=False)
    row = transition(np.zeros(2), np.ones(3), 0, 10.0, 0.0, np.zeros(2), np.ones(3), False, False, False)
    for place, reward, duration in ((0, 10.0, 0.0), (1, 5.0, 1.0), (0, 1.0, 4.0)):
        step = row._replace(
            places=np.array([place]), rewards=np.array([reward]), durations=np.array([duration])
        )
        agent.learn(step)
        if place == 1:
            assert agent.rate == 5.0
    assert agent.rate == (5.0 + 11.0) / 5.0


def test_schedules_move_with_the_steps() -> None:
    """Exploration and step size that go to 0 in four steps are 0 after four steps, and nothing is learned any more."""
    falling = sj.agents.Linear(0.5, 0.0, 4)
    agent = sj.deep_q(
        DISCRETE, hidden=(3,), exploration=falling, step_size=falling, warm_up=2, batch=2, compiled=False
    )
    trained(agent, 4)
    learned: Any = agent.learned
    assert (learned.exploration.end[0], learned.exploration.steps[0], learned.step_size.steps[0]) == (0, 0, 0)
    before = learned.network.weights.copy()
    trained(agent, 3)
    assert np.array_equal(learned.network.weights, before)


def test_a_restored_agent_goes_on_as_if_nothing_had_happened() -> None:
    """State, restored, and further steps give the same bits; the state of another agent is refused by name."""
    agents = [sj.deep_q(DISCRETE, hidden=(3,), warm_up=5, batch=2, compiled=False) for _ in range(2)]
    trained(agents[0], 12)
    agents[1].restored(agents[0].state())
    for agent in agents:
        trained(agent, 6, seed=1)
    assert same(agents[0].learned, agents[1].learned)
    other = sj.deep_q(DISCRETE, hidden=(4,), compiled=False)
    assert "network.weights" in sentence(lambda: other.restored(agents[0].state()))
    assert "another agent" in sentence(lambda: other.restored({"rng": agents[0].state()["rng"]}))


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: sj.deep_q(CONTINUOUS), "ppo"),
        (lambda: sj.deep_q(DISCRETE, hidden=_any(64)), "hidden is 64"),
        (lambda: sj.deep_q(DISCRETE, hidden=(64, 0)), "hidden[1] is 0"),
        (lambda: sj.deep_q(DISCRETE, precision="half"), "'single', 'double'"),
        (lambda: sj.deep_q(DISCRETE, step_size=2.0), "step_size is 2.0"),
        (lambda: sj.deep_q(_any(3)), "sojourn.agents.Spaces"),
        (lambda: sj.deep_q(DISCRETE, rate=sj.Cumulative(), rate_step_size=0.1), "both given"),
        (
            lambda: sj.ppo(CONTINUOUS._replace(high=np.array([-1.0]))),
            "each low bound must be below its high bound",
        ),
        (lambda: sj.ppo(DISCRETE, clip=0.0), "clip is 0.0"),
        (lambda: sj.agents.sac(DISCRETE), "for numbered actions use deep_q or ppo"),
        (lambda: sj.agents.sac(CONTINUOUS, most_resets=-1.0), "most_resets is -1.0"),
        (lambda: sj.agents.sac(CONTINUOUS, entropy=np.nan), "entropy is nan"),
        (lambda: sj.ppo(DISCRETE, compiled=False).greedy(np.zeros((1, 3)), np.ones((1, 3))), "2 inputs"),
        (
            lambda: sj.ppo(DISCRETE, compiled=False).greedy(np.zeros((2, 2)), np.ones((2, 3))),
            "up to 1 at once",
        ),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(call: Any, part: str) -> None:
    """What is wrong, and what it should be."""
    assert part in sentence(call)


def test_continuous_actions_go_from_bound_to_bound() -> None:
    """An untrained policy has the middle of the bounds for its mean, and half of the way to one for its deviation."""
    agent = sj.ppo(CONTINUOUS, hidden=(3,), compiled=False)
    drawn = np.array([agent.draw(np.zeros((1, 2)), np.zeros((1, 0)))[0][0, 0] for _ in range(2000)])
    assert drawn.mean() == pytest.approx(10.0, abs=0.5)
    assert drawn.std() == pytest.approx(20.0 * np.exp(-0.7) / 2.0, rel=0.1)


# --- Models that mislead a rate -----------------------------------------------------------------


def one_hot(problem: str) -> gymnasium.Env[Any, Any]:
    """A problem whose states are shown as vectors of a one among zeros."""
    states = sj.problems.PROBLEMS[problem]().num_states
    env: Any = sj.envs.make(f"sojourn/{problem.title().replace('-', '')}-v0", {})
    space = gymnasium.spaces.Box(0.0, 1.0, (states,))
    return gymnasium.wrappers.TransformObservation(
        env, lambda state: np.eye(states, dtype=np.float32)[state], space
    )


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("agent", "problem", "steps", "options"),
    [
        (sj.deep_q, "early-pay", 30_000, {}),
        (sj.ppo, "early-pay", 60_000, {}),
        (sj.deep_q, "rare-delay", 60_000, {}),
        (sj.ppo, "rare-delay", 700_000, {"rollout": 16_384, "batch": 1024}),
    ],
)
def test_networks_where_a_wrong_rate_or_a_rare_step_misleads(
    agent: Any, problem: str, steps: int, options: dict[str, Any]
) -> None:
    """The first choice is right in each of three runs, if a rollout of PPO sees the rare step some ten times."""
    best = sj.solve(sj.problems.PROBLEMS[problem]())
    for seed in range(3):
        learner = sj.Learner(one_hot(problem), agent, seed=seed, **options)
        learner.train(steps)
        first = np.eye(best.model.num_states)[0]
        assert learner.act(first) == best.policy[0]
