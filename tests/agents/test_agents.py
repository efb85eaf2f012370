from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.agents.exploration import chance
from sojourn.agents.methods import FirstPair
from sojourn.agents.step_sizes import ConstantStepSize
from sojourn.rules.values import same

CONSTRUCTORS = [
    sj.smart,
    sj.relaxed_smart,
    sj.harmonic_r,
    sj.agents.weighted_harmonic_r,
    sj.r_learning,
    sj.agents.fixed_rate,
    sj.agents.smdp_q_learning,
    sj.agents.differential_q,
    sj.agents.rvi_q,
    sj.agents.red_cvar,
    sj.agents.h_learning,
    sj.agents.greedy_bandit,
    sj.agents.ucb_bandit,
    sj.agents.renewal,
    sj.agents.random_agent,
]
each_agent = pytest.mark.parametrize("make", CONSTRUCTORS, ids=lambda make: make.__name__)


@each_agent
def test_every_agent_passes_the_checker(make: Any) -> None:
    """Every exported agent keeps the rules, on other sizes than 2 by 2 too."""
    sj.check_agent(make(num_states=3, num_actions=4))


@each_agent
def test_learning_leaves_the_agent_as_it_was(make: Any) -> None:
    """`learn` returns a new agent; the one passed in keeps its table."""
    agent = make(num_states=2, num_actions=2)
    trained = sj.learn(agent, 0, 1, 5.0, 2.0, 1)
    assert (agent.q == 0.0).all()
    assert trained.q is not agent.q


def test_one_transition_by_hand() -> None:
    """Harmonic R-Learning after two transitions, computed on paper."""
    agent = sj.harmonic_r(2, 2, step_size=0.5, rate_step_size=0.5)
    agent = sj.learn(agent, 0, 0, 6.0, 2.0, 1)  # delta = 6; greedy, so rate = 3
    assert agent.q[0, 0] == 3.0
    assert sj.value(agent.rate) == pytest.approx(3.0)
    agent.q[1, 0] = 1e-9
    agent = sj.learn(agent, 1, 1, 1.0, 1.0, 0)  # delta = 1 - 3 + 3; not greedy, rate stays
    assert agent.q[1, 1] == pytest.approx(0.5)
    assert not agent.accepted
    assert sj.value(agent.rate) == pytest.approx(3.0)


def test_readings_of_greedy() -> None:
    """The readings part where they should: an exploring draw that is greedy, an action that becomes it."""
    for greedy, first, second, third in (
        ("action", True, False, False),
        ("draw", False, False, False),
        ("after", True, True, False),
        ("every", True, True, True),
    ):
        agent = sj.smart(1, 2, step_size=1.0, greedy=greedy, initial=[[0.1, 0.0]])
        assert sj.learn(agent, 0, 0, 1.0, 1.0, 0, explored=True).accepted == first
        assert sj.learn(agent, 0, 1, 1.0, 1.0, 0, explored=True).accepted == second
        assert sj.learn(agent, 0, 1, -1.0, 1.0, 0, explored=True).accepted == third


def test_ties_go_to_the_lowest_index() -> None:
    """Of equal values the first is the greedy one, and NaN never is."""
    q = np.array([[1.0, 2.0, 2.0], [math.nan, 1.0, 2.0], [0.0, math.nan, -1.0]])
    assert [sj.agents.greedy_action(q, s) for s in range(3)] == [1, 0, 0]


def test_exploration_decays_to_its_floor() -> None:
    """Exploration is multiplied after every step and stops at the floor."""
    agent = sj.smart(1, 2, exploration=sj.agents.Decay(start=0.4, factor=0.5, floor=0.15))
    seen = []
    for _ in range(4):
        seen.append(chance(agent.exploration))
        agent = sj.learn(agent, 0, 0, 0.0, 1.0, 0)
    assert seen == [0.4, 0.2, 0.15, 0.15]


def test_draws_explore_as_often_as_they_should() -> None:
    """Epsilon is the probability of a uniformly drawn action."""
    agent = sj.smart(1, 4, exploration=0.3)
    rng = sj.stream(0)
    draws = [sj.draw(agent, 0, rng) for _ in range(20_000)]
    explored = [action for action, exploring in draws if exploring]
    assert len(explored) / len(draws) == pytest.approx(0.3, abs=0.015)
    assert np.bincount(explored, minlength=4) / len(explored) == pytest.approx([0.25] * 4, abs=0.03)
    greedy = [action for action, exploring in draws if not exploring]
    assert np.bincount(greedy, minlength=4) / len(greedy) == pytest.approx([0.25] * 4, abs=0.02)


@pytest.mark.parametrize("make", [make for make in CONSTRUCTORS if make is not sj.agents.rvi_q])
def test_any_estimator_goes_with_any_agent(make: Any) -> None:
    """Each agent learns with an estimator that is not its own; RVI has none."""
    for rate in (sj.Harmonic(0.1), sj.rates.TimeSmoothed(0.1), sj.rates.Incremental(0.1)):
        trained = sj.learn(make(2, 2, rate=rate), 0, 0, 3.0, 2.0, 1)
        assert type(trained.rate) is type(rate)


def test_relaxed_smart_has_two_variants() -> None:
    """The paper's and Gosavi's Relaxed-SMART estimate the rate differently."""
    assert isinstance(sj.relaxed_smart(1, 1).rate, sj.Exponential)
    assert isinstance(sj.relaxed_smart(1, 1, variant="gosavi").rate, sj.rates.SmoothedCumulative)


def test_a_policy_can_be_followed() -> None:
    """Following a policy earns what that policy earns, and keeps the rules for agents."""
    agent = sj.agents.policy_agent([1, 0], num_actions=2)
    sj.check_agent(agent)
    run = sj.run(sj.worlds.TwoState(log_scale=0.0, offset=10.0), agent, steps=4)
    assert run.reward == pytest.approx(10 + math.sin(2) + 10)
    assert run.duration == pytest.approx(11 + 1 + math.cos(2) + 10 + 1)
    assert run.greedy_steps == 4
    with pytest.raises(ValueError, match=r"policy\[1\] is 5; it must be one of 0 to 1"):
        sj.agents.policy_agent([0, 5], num_actions=2)


def test_policy_reads_every_state() -> None:
    """The policy is the greedy action of each state."""
    agent = sj.smart(3, 2)
    agent.q[1, 1] = 1.0
    assert sj.agents.policy(agent).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.smart(0, 2), "num_states is 0"),
        (lambda: sj.smart(2, -1), "num_actions is -1"),
        (lambda: sj.smart(2, 2, step_size=-0.1), "step_size is -0.1"),
        (lambda: sj.smart(2, 2, step_size=0.0), "step_size is 0.0"),
        (lambda: sj.smart(2, 2, step_size=math.nan), "step_size is nan"),
        (lambda: sj.harmonic_r(2, 2, rate_step_size=0), "rate_step_size is 0.0"),
        (lambda: sj.smart(2, 2, exploration=1.2), "exploration is 1.2"),
        (lambda: sj.smart(2, 2, exploration=sj.agents.Decay(0.1, 0.9, 0.5)), "below its floor of 0.5"),
        (lambda: sj.agents.Decay(0.1, 0.0), "Decay.factor is 0.0"),
        (lambda: sj.smart(2, 2, greedy="greedily"), "'action', 'draw', 'after', 'every'"),
        (lambda: sj.relaxed_smart(2, 2, variant="other"), "'paper' or 'gosavi'"),
        (lambda: sj.harmonic_r(2, 2, rate_step_size=0.1, rate=sj.Cumulative()), "both given"),
        (lambda: sj.agents.smdp_q_learning(2, 2, discount_rate=0), "discount_rate is 0.0"),
        (lambda: sj.learn(sj.smart(2, 2), 0, 0, math.nan, 1.0, 0), "reward is nan"),
        (
            lambda: sj.learn(sj.smart(2, 2), 0, 0, 1.0, -1.0, 0),
            "duration is -1.0; it must be finite and at least 0",
        ),
        (lambda: sj.learn(sj.smart(2, 2), 0, 0, 1.0, math.nan, 0), "duration is nan"),
        (lambda: sj.smart(2, 2, ties="highest"), "ties is 'highest'; it must be 'random' or 'lowest'"),
        (lambda: sj.smart(2, 2, initial=math.inf), "initial is inf"),
        (
            lambda: sj.smart(2, 2, initial=[[1.0, 2.0]]),
            r"initial has the shape \(1, 2\); it must be a number, or",
        ),
        (lambda: sj.smart(1, 2, initial=[[math.nan, 2.0]]), "initial must have finite values"),
        (lambda: sj.smart(1, 1, initial=[[-math.inf]]), "initial must have finite values"),
        (
            lambda: sj.smart(2, 2, step_size=sj.rates.Visits(1.0, 0.5)),
            "Visits.power is 0.5; it must be greater than 0.5",
        ),
        (lambda: sj.smart(2, 2, step_size=sj.rates.Visits(2.0, 0.7)), "Visits.first is 2.0"),
        (lambda: sj.smart(2, 2, exploration=sj.agents.Linear(1.0, 0.1, 2.5)), "Linear.steps is 2.5"),
        (lambda: sj.harmonic_r(2, 2, centring=-0.1), "centring is -0.1"),
        (
            lambda: sj.agents.smdp_q_learning(2, 2, centring=0.1),
            "centring is given to smdp_q_learning, which learns discounted",
        ),
        (
            lambda: sj.agents.smdp_q_learning(2, 2, rate=sj.rates.Centred(sj.Cumulative(), 0.1)),
            "centring is given",
        ),
        (
            lambda: sj.agents.rvi_q(2, 2, centring=0.1),
            "centring is given to rvi_q, whose rate is already a function of its values",
        ),
        (
            lambda: sj.agents.rvi_q(2, 2, reference="last"),
            "reference is 'last'; it must be one of 'first', 'mean', 'maximum'",
        ),
        (
            lambda: sj.smart(2, 2, centring=0.1, rate=sj.rates.Centred(sj.Cumulative(), 0.1)),
            "rate is already centred",
        ),
        (
            lambda: sj.r_learning(2, 2, durations="unknown"),
            "durations is 'unknown'; it must be 'known' or 'ignored'",
        ),
        (lambda: sj.rates.Scheduled(sj.Cumulative(), sj.rates.Visits(1.0, 1.0)), "has no step size"),
        (lambda: sj.learn(sj.smart(2, 2), 2, 0, 1.0, 1.0, 0), "state is 2; it must be one of 0 to 1"),
        (lambda: sj.learn(sj.smart(2, 2), 0, 5, 1.0, 1.0, 0), "action is 5; it must be one of 0 to 1"),
        (lambda: sj.learn(sj.smart(2, 2), 0, 0, 1.0, 1.0, -1), "next_state is -1"),
    ],
)
def test_wrong_numbers_get_one_sentence(call: Any, message: str) -> None:
    """A number out of its bounds is named and refused."""
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sj.smart(2.5, 2),  # type: ignore[arg-type]
        lambda: sj.smart(2, 2, rate="fast"),  # type: ignore[arg-type]
        lambda: sj.smart(2, 2, rate=3.0),  # type: ignore[arg-type]
        lambda: sj.learn("agent", 0, 0, 1.0, 1.0, 0),  # type: ignore[type-var]
        lambda: sj.agents.act(None, 0, sj.stream(0)),  # type: ignore[arg-type]
        lambda: sj.check_agent(sj.Cumulative()),
    ],
)
def test_wrong_types_get_one_sentence(call: Any) -> None:
    """What is no agent, no estimator or no number is refused."""
    with pytest.raises(TypeError) as caught:
        call()
    assert "\n" not in str(caught.value)


class Stubborn(NamedTuple):
    """A user's agent: one action always; it learns only the rate."""

    values: sj.agents.Table
    rate: Any
    accepted: bool
    action: int
    carried: float = 0.0


@sj.draw.register
def draw_stubborn(agent: Stubborn, state: int, rng: Any) -> tuple[int, bool]:
    return agent.action, False


@sj.learn.register
def learn_stubborn(
    agent: Stubborn, state: int, action: int, reward: float, duration: float, next_state: int, explored: bool
) -> Stubborn:
    rate, carried = sj.rates.carry(agent.rate, agent.carried, reward, duration)
    return Stubborn(values=agent.values, rate=rate, accepted=True, action=agent.action, carried=carried)


def test_a_users_agent() -> None:
    """An agent registered in this file passes the checker and runs compiled, validated rules inside."""
    agent = Stubborn(values=sj.agents.Table(np.zeros((2, 2))), rate=sj.Cumulative(), accepted=False, action=1)
    sj.check_agent(agent)
    run = sj.run(sj.worlds.TwoState(log_scale=1e-3), agent, steps=1000)
    assert run.rate == pytest.approx(run.reward / run.duration, rel=1e-12)


def test_an_agent_that_leaves_its_actions_is_stopped() -> None:
    """An action out of range is an error with its place, not a read beyond the table."""
    agent = Stubborn(values=sj.agents.Table(np.zeros((2, 2))), rate=sj.Cumulative(), accepted=False, action=2)
    for compiled in (True, False):
        with pytest.raises(ValueError, match="draw of Stubborn returned the action 2 at step 0"):
            sj.run(sj.worlds.TwoState(log_scale=1e-3), agent, steps=10, compiled=compiled)


def test_changed_parameters_are_checked_before_a_run() -> None:
    """What `_replace` lets through, a run does not: step size and exploration stay in their bounds."""
    agent = sj.smart(2, 2)
    decay = sj.agents.Decay(0.2, 1.0)
    for bad, error, message in (
        (
            agent._replace(step_size=ConstantStepSize(0.1)._replace(size=-1.0)),
            ValueError,
            r"ConstantStepSize\.size is -1\.0",
        ),
        (agent._replace(exploration=decay._replace(start=3.0)), ValueError, r"Decay\.start is 3\.0"),
        (agent._replace(exploration=decay._replace(start=math.nan)), ValueError, r"Decay\.start is nan"),
        (agent._replace(greedy=7), ValueError, r"LearningAgent\.greedy is 7"),
        (
            agent._replace(ties=decay),
            TypeError,
            r"LearningAgent\.ties is Decay.*; it must be a way to break ties",
        ),
    ):
        with pytest.raises(error, match=message):
            sj.run(sj.worlds.TwoState(log_scale=1e-3), bad, steps=10)


def test_a_reference_outside_the_values_is_refused() -> None:
    """Compiled code would read beyond the table."""
    agent = sj.agents.rvi_q(2, 2)
    outside = agent._replace(method=agent.method._replace(reference=FirstPair(5, 0)))  # type: ignore[attr-defined]
    with pytest.raises(
        ValueError,
        match=r"reference is FirstPair\(state=5, action=0\), which does not fit its values of 2 states",
    ):
        sj.run(sj.worlds.TwoState(log_scale=1e-3), outside, steps=10)


def test_agents_can_be_pickled() -> None:
    """An agent survives pickling, for processes and clusters."""
    import pickle

    agent = sj.learn(sj.agents.differential_q(2, 2), 0, 1, 3.0, 2.0, 1)
    assert same(pickle.loads(pickle.dumps(agent)), agent)


def test_agents_and_estimators_tell_the_same_of_each_other() -> None:
    """The agents that an estimator's entry names are those whose entries name the estimator."""
    from sojourn.agents.catalogue import AGENTS
    from sojourn.rates.catalogue import ESTIMATORS

    def called(name: str) -> str:
        options = ", ".join(f"{key}={choice!r}" for key, choice in AGENTS[name].options.items())
        return f"{AGENTS[name].kind}({options})" if options else name

    for estimator in ESTIMATORS.values():
        users = {called(name) for name, agent in AGENTS.items() if agent.estimator == estimator.name}
        assert users == set(estimator.agents)


@pytest.mark.parametrize("rate", [2, 2.0, np.float32(2.0), np.int64(2)])
def test_a_fixed_rate_may_be_any_number(rate: Any) -> None:
    """Numbers of NumPy too: the agent keeps an estimator, and runs."""
    assert sj.agents.fixed_rate(2, 2, rate=rate).rate == sj.rates.Fixed(2.0)


@pytest.mark.parametrize("rate", [None, "fast", [1.0]])
def test_a_fixed_rate_that_is_no_number_is_refused(rate: Any) -> None:
    """With a sentence about the rate."""
    with pytest.raises(TypeError, match=r"rate is .*; it must be a number"):
        sj.agents.fixed_rate(2, 2, rate=rate)


class Older(NamedTuple):
    q: Any
    rate: Any
    accepted: bool


@sj.draw.register
def draw_older(agent: Older, state: int, rng: Any) -> tuple[int, bool]:
    return 0, False


@sj.learn.register
def learn_older(
    agent: Older, state: int, action: int, reward: float, duration: float, next_state: int, explored: bool
) -> Older:
    return agent


def test_an_agent_without_values_is_told_what_it_needs() -> None:
    """An agent of the older shape, with a field q, gets one sentence wherever it is used."""
    agent: Any = Older(np.zeros((2, 2)), sj.Cumulative(), True)
    for use in (
        lambda: sj.agents.act(agent, 0, sj.stream(0)),
        lambda: sj.learn(agent, 0, 0, 1.0, 1.0, 0),
        lambda: sj.run(sj.worlds.TwoState(1e-3), agent, 10),
        lambda: sj.check_agent(agent),
    ):
        with pytest.raises(TypeError, match="Older has no field values; an agent needs values"):
            use()


@pytest.mark.parametrize("rate", [0.5, "cumulative", sj.Cumulative, ()])
def test_what_is_no_estimator_is_refused(rate: Any) -> None:
    """A number, a name or a class in place of an estimator gets a sentence that says what belongs there."""
    with pytest.raises(
        TypeError, match=r"^rate is .*; it must be an estimator of the rate, such as sojourn.Cumulative\(\)"
    ):
        sj.smart(2, 2, rate=rate)
