from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.models import SMDP, from_arrays, from_transitions
from sojourn.models.laws import (
    Constant,
    Exponential,
    FlooredNormal,
    Gamma,
    Lognormal,
    Outcomes,
    TwoPoint,
    Uniform,
    Weibull,
)  # fmt: skip
from sojourn.rules.random import streams, uniform
from sojourn.rules.values import same
from sojourn.worlds.tabular import Tabular, _fill, available, initial_values

EVERY_LAW = from_transitions(
    [
        (0, 0, 1, 0.25, Constant(1.0), Exponential(2.0)),
        (0, 0, 2, 0.75, Uniform(-1.0, 3.0), Gamma(2.5, 0.4)),
        (0, 2, 0, 1.0, TwoPoint(-5.0, 1.0, 0.3), FlooredNormal(1.0, 0.5, 0.01)),
        (1, 1, 0, 1.0, Outcomes([(0.5, 1.0, 1.0), (0.25, -2.0, 4.0), (0.25, 8.0, 0.5)])),
        (2, 0, 0, 0.125, Exponential(-2.0), Gamma(0.5, 3.0)),
        (2, 0, 2, 0.875, Lognormal(-1.0, 0.5), Weibull(1.5, 1.0)),
        (2, 2, 1, 1.0, 0.0, 1.0),
    ]
)
BY_PAIRS = from_arrays(
    np.random.default_rng(1).dirichlet(np.ones(5), size=(5, 3)),
    np.random.default_rng(2).normal(size=(5, 3)),
    np.random.default_rng(3).uniform(1.0, 9.0, size=(5, 3)),
).with_laws(duration=Exponential)
MODELS = [EVERY_LAW, BY_PAIRS, from_transitions([(0, 0, 0, 1.0, 2.0, 3.0)])]


def agent_for(model: SMDP, make: Any = sj.smart, **options: Any) -> Any:
    return make(model.num_states, model.num_actions, **options)._replace(
        values=sj.agents.Table(initial_values(model))
    )


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_models_pass_the_checker(model: SMDP) -> None:
    """Models pass the checker as worlds, whether their laws are by row or by pair."""
    sj.check_world(Tabular(model))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(
    "make", [sj.smart, sj.harmonic_r, sj.r_learning, sj.agents.differential_q, sj.agents.random_agent]
)
def test_interpreted_equals_compiled(model: SMDP, make: Any) -> None:
    """Every law gives the same bits in Python and in machine code, with every kind of agent."""
    agent = agent_for(model, make)
    runs = [sj.run(Tabular(model), agent, 300, 2, seed=7, compiled=how) for how in (True, False)]
    assert same(*runs)
    assert not runs[0].diverged


def taken(model: SMDP, state: int, action: int, count: int) -> tuple[Any, Any, Any]:
    world, rng = Tabular(model), streams(3, 2)[0]
    steps = [sj.step.bare(world, state, action, rng)[1:] for _ in range(count)]
    states, rewards, durations = (np.array(column) for column in zip(*steps, strict=True))
    return states, rewards, durations


@pytest.mark.parametrize(("state", "action"), [(0, 0), (0, 2), (1, 1), (2, 0), (2, 2)])
def test_steps_have_the_models_laws(state: int, action: int) -> None:
    """Means of rewards and durations, and frequencies of next states, match the model within five standard errors."""
    count = 20_000
    states, rewards, durations = taken(EVERY_LAW, state, action, count)
    pair = EVERY_LAW.pair(state, action)
    for numbers, mean in ((rewards, EVERY_LAW.reward[pair]), (durations, EVERY_LAW.duration[pair])):
        assert numbers.mean() == pytest.approx(mean, abs=5.0 * numbers.std() / np.sqrt(count) + 1e-12)
    for after in range(3):
        rows = slice(EVERY_LAW.row_offsets[pair], EVERY_LAW.row_offsets[pair + 1])
        chance = EVERY_LAW.probability[rows][EVERY_LAW.successor[rows] == after].sum()
        spread = np.sqrt(chance * (1.0 - chance) / count)
        assert (states == after).mean() == pytest.approx(chance, abs=5.0 * spread + 1e-12)


def test_reward_and_duration_of_an_outcome_come_together() -> None:
    """Joint laws are respected: no reward occurs with another outcome's duration."""
    _, rewards, durations = taken(EVERY_LAW, 1, 1, 500)
    assert set(zip(rewards.tolist(), durations.tolist(), strict=True)) == {
        (1.0, 1.0),
        (-2.0, 4.0),
        (8.0, 0.5),
    }


def gain(model: SMDP, policy: Any) -> float:
    """The gain of a policy, from the stationary law of its chain, by dense algebra."""
    pairs = [model.pair(state, int(action)) for state, action in enumerate(policy)]
    chain = np.zeros((model.num_states, model.num_states))
    for state, pair in enumerate(pairs):
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        np.add.at(chain[state], model.successor[rows], model.probability[rows])
    system = np.vstack([chain.T - np.eye(len(chain)), np.ones(len(chain))])
    law = np.linalg.lstsq(system, np.append(np.zeros(len(chain)), 1.0), rcond=None)[0]
    return float(law @ model.reward[pairs] / (law @ model.duration[pairs]))


@pytest.mark.parametrize("policy", [[0, 1, 0], [0, 1, 2]])
def test_long_runs_come_to_the_gain(policy: list[int]) -> None:
    """Over a million steps, a policy earns its gain within five standard errors from twenty batches."""
    run = sj.run(
        Tabular(EVERY_LAW),
        sj.agents.policy_agent(policy, 3),
        1_000_000,
        seed=2,
        record=sj.runs.evenly_spaced(1_000_000, 20),
    )
    rewards, clocks = (np.diff(column, prepend=0.0) for column in (run.curve.reward, run.curve.clock))
    spread = (rewards / clocks).std(ddof=1) / np.sqrt(20)
    assert run.reward / run.duration == pytest.approx(gain(EVERY_LAW, policy), abs=5.0 * spread)


def test_draws_of_a_step() -> None:
    """A step takes one word for the row and one for each law that is not constant."""
    world = Tabular(EVERY_LAW)
    for state, action, words in ((2, 2, 1), (1, 1, 1), (0, 2, 3)):
        rng, twin = streams(5, 2)[0], streams(5, 2)[0]
        sj.step.bare(world, state, action, rng)
        for _ in range(words):
            uniform(twin)
        assert same(rng, twin)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any))
def test_alias_tables_are_the_law(weights: list[int]) -> None:
    """The cells of the alias method add up to the probabilities."""
    law = np.array(weights) / sum(weights)
    share, other = np.empty(len(law)), np.empty(len(law), dtype=np.int64)
    _fill.python(np.array([0, len(law)]), law, share, other, *np.empty((2, len(law)), dtype=np.int64))
    found = share / len(law)
    np.add.at(found, other, (1.0 - share) / len(law))
    assert ((share >= 0.0) & (share <= 1.0)).all()
    np.testing.assert_allclose(found, law, atol=1e-14)


def test_large_tables_are_made_compiled_and_are_the_same() -> None:
    """Large tables are made by compiled code, with the same bits as in Python."""
    law = np.random.default_rng(0).dirichlet(np.ones(30), size=1000)
    offsets = np.arange(1001) * 30
    tables = []
    for fill in (_fill, _fill.python):
        share, other = np.empty(30_000), np.empty(30_000, dtype=np.int64)
        fill(offsets, law.ravel(), share, other, *np.empty((2, 30_000), dtype=np.int64))
        tables.append((share, other))
    assert same(tables[0][0], tables[1][0])
    assert same(tables[0][1], tables[1][1])


@pytest.mark.parametrize("compiled", [True, False])
def test_an_action_that_a_state_lacks_is_refused(compiled: bool) -> None:
    """The error names the state and the action, and says how an agent avoids such actions."""
    agent = sj.agents.policy_agent([1, 1, 0], 3)
    with pytest.raises(
        ValueError,
        match=r"state 0 of TabularWorld has no action 1, which PolicyAgent took at step 0; an agent",
    ):
        sj.run(Tabular(EVERY_LAW), agent, 10, compiled=compiled)
    with pytest.raises(ValueError, match="state 0 of TabularWorld has no action 1"):
        sj.run_many(Tabular(EVERY_LAW), [agent], [0], 10)


def test_initial_values_hide_missing_actions() -> None:
    """An action of value -inf is neither taken nor counted as divergence, in single and in many runs."""
    assert available(EVERY_LAW).tolist() == [[True, False, True], [False, True, False], [True, False, True]]
    assert same(Tabular(EVERY_LAW).available, available(EVERY_LAW))
    agent = agent_for(EVERY_LAW, exploration=1.0)
    run = sj.run(Tabular(EVERY_LAW), agent, 20_000)
    assert not run.diverged
    assert (np.isfinite(run.agent.q) == available(EVERY_LAW)).all()
    assert not sj.run_many(Tabular(EVERY_LAW), [agent], [0, 1], 1000)["diverged"].any()


def test_an_env_shows_masks_where_actions_are_lacking() -> None:
    """`info` has the current state's mask, in the form of Gymnasium's spaces, and none if no state lacks an action."""
    env = sj.envs.WorldEnv(Tabular(EVERY_LAW))
    state, info = env.reset(seed=0)
    for _ in range(50):
        mask = info["action_mask"]
        assert mask.dtype == np.int8
        assert mask.tolist() == available(EVERY_LAW)[state].tolist()
        state, *_, info = env.step(env.action_space.sample(mask))
    drawn = {int(env.action_space.sample()) for _ in range(50)}
    assert drawn == set(np.flatnonzero(info["action_mask"]).tolist())
    lacking = int(np.argmin(available(EVERY_LAW)[state]))  # every state lacks one
    with pytest.warns(
        RuntimeWarning, match=f"given the action {lacking}, which .* does not allow: nothing happened"
    ):
        stayed, reward, _, _, told = env.step(lacking)
    assert (stayed, reward, told["duration"], told["clock"]) == (state, 0.0, 0.0, info["clock"])
    assert told["forbidden_action"] == lacking
    assert told["action_mask"].tolist() == info["action_mask"].tolist()
    assert env.step(lacking)[0] == state  # it warns once
    assert "forbidden_action" not in env.step(env.action_space.sample())[4]
    assert "action_mask" not in sj.envs.WorldEnv(Tabular(BY_PAIRS)).reset(seed=0)[1]


def test_a_learner_respects_the_masks() -> None:
    """Driven through Gymnasium, an agent takes only available actions."""
    learner = sj.Learner(sj.envs.WorldEnv(Tabular(EVERY_LAW)), sj.smart, seed=1)
    learner.train(steps=2000)
    assert available(EVERY_LAW)[np.arange(3), learner.policy].all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Tabular(EVERY_LAW, start=3), ValueError, "start is 3; it must be one of 0 to 2"),
        (lambda: Tabular("model"), TypeError, "the model is 'model'; make it an SMDP first"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_get_one_sentence(call: Any, error: Any, message: str) -> None:
    """A start out of bounds, and something that is not a model, are refused by name."""
    with pytest.raises(error, match=message):
        call()


def test_a_world_pickles_and_begins_where_it_is_told() -> None:
    """A world can be pickled, and every episode begins in the state `start`."""
    world = Tabular(EVERY_LAW, start=2)
    assert same(pickle.loads(pickle.dumps(world)), world)
    assert sj.start(world, sj.stream(0))[1] == 2
