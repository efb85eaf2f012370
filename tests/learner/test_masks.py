from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from smdpfier import Option, SMDPfier

import naive
import sojourn as sj
from small_envs import TAXI, Maze, alike, by_hand, is_by_hand, sentence, values
from sojourn.agents.planning.model import FIRST, SUCCESSOR, TIMES, VISITS
from sojourn.agents.planning.planner import Planner
from sojourn.learner.table_agent import HiddenActions

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about

INF = float("inf")


class Turns(Maze):
    """Two alternating states, two actions; in state 0, action 1 is forbidden from step `begin` until before step `end`."""

    def __init__(self, begin: int, end: int) -> None:
        super().__init__()
        self.observation_space = gym.spaces.Discrete(2)
        self.action_space = gym.spaces.Discrete(2)
        self.begin, self.end = begin, end

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {"action_mask": self.mask()}

    def mask(self) -> list[int]:
        return [1, int(self.t % 2 == 1 or not self.begin <= self.t < self.end)]

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert self.mask()[action], "not allowed"
        self.t += 1
        return self.t % 2, 1.0 + 2.0 * action, False, False, {"duration": 1.0, "action_mask": self.mask()}


# The environment itself raises an error for a forbidden action.


@pytest.mark.parametrize("masks", ["state", "time", "both"])
@pytest.mark.parametrize("exploration", [1.0, 0.1, 0.0])
def test_forbidden_actions_are_never_taken(masks: str, exploration: float) -> None:
    """Only allowed actions are taken, in training with any exploration and in evaluation."""
    learner = sj.Learner(Maze(masks, ends=0.02, cuts=0.02), sj.smart, exploration=exploration, seed=1)
    assert learner.train(2000).steps == 2000
    assert learner.evaluate(duration=500.0).steps > 100
    assert np.isfinite(values(learner)).all()


@pytest.mark.parametrize(
    "constructor",
    [sj.agents.random_agent, sj.r_learning, sj.agents.differential_q, sj.agents.smdp_q_learning],
)
def test_all_agents_respect_masks(constructor: Any) -> None:
    """Every kind of agent draws only allowed actions."""
    learner = sj.Learner(Maze("both", cuts=0.05), constructor, seed=1)
    assert learner.train(1000).steps == 1000


def test_a_planner_counts_only_existing_states(tmp_path: Path) -> None:
    """If the mask changes while the state stays, a planner counts a transition to the state itself; it can be saved."""
    learner = sj.Learner(Maze("time", cuts=0.02), "planner", seed=1)
    learner.train(2000)
    agent = learner.agent
    assert isinstance(agent, Planner)
    pairs, links = agent.counts.pairs, agent.counts.links[: agent.counts.used]
    assert sorted(set(links[:, SUCCESSOR].tolist())) == [0.0, 1.0, 2.0, 3.0]
    assert links[:, TIMES].sum() == pairs[:, :, VISITS].sum() == 2000.0
    stays = sum(count for state, count in self_loops(agent))
    assert stays == pytest.approx(500.0, abs=5.0 * (2000 * 0.25 * 0.75) ** 0.5)  # a quarter on average
    learner.save(tmp_path / "learner")
    assert alike(sj.Learner.load(tmp_path / "learner", Maze("time", cuts=0.02)), learner)


def self_loops(agent: Planner) -> list[tuple[int, float]]:
    """Return how often each pair led back to its own state."""
    found = []
    for state in range(4):
        for action in range(3):
            link = int(agent.counts.pairs[state, action, FIRST])
            while link >= 0:
                to, times, following = agent.counts.links[link].tolist()
                found += [(state, times)] if to == state else []
                link = int(following)
    return found


@pytest.mark.parametrize("masks", ["none", "state", "time", "both"])
@pytest.mark.parametrize(("ends", "cuts"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.1, 0.1)])
@pytest.mark.parametrize("first", [0, 4])
def test_masks_by_hand(masks: str, ends: float, cuts: float, first: int) -> None:
    """Values, rate and totals match plain Python that applies each mask when acting and when looking ahead."""

    def make() -> Maze:
        return Maze(masks, ends=ends, cuts=cuts, first_state=first, first_action=first)

    learner = sj.Learner(make(), sj.smart, step_size=0.1, exploration=0.4, ties="lowest", seed=8)
    learner.train(800)
    expected = by_hand(make(), naive.Cumulative(), 800, step_size=0.1, exploration=0.4, seed=8)
    assert is_by_hand(learner, expected)


def test_masks_by_hand_for_another_rate() -> None:
    """Greedy steps are determined among the allowed actions: the harmonic rate matches, too."""
    learner = sj.Learner(
        Maze("both"), sj.harmonic_r, step_size=0.1, rate_step_size=0.1, ties="lowest", seed=8
    )
    learner.train(800)
    expected = by_hand(Maze("both"), naive.Harmonic(0.1), 800, step_size=0.1, exploration=0.2, seed=8)
    assert is_by_hand(learner, expected)


def test_masks_make_a_difference() -> None:
    """The checks above can fail: with another mask, different values are learned."""
    one, other = (sj.Learner(Maze(masks), sj.smart, seed=8, exploration=0.4) for masks in ("none", "state"))
    one.train(800)
    other.train(800)
    assert not np.allclose(values(one), values(other))


def test_a_hidden_value_comes_back() -> None:
    """A forbidden action has no value; once allowed again, it has its former value."""
    learner = sj.Learner(Turns(200, 400), sj.smart, exploration=0.5, step_size=0.1, seed=1)
    learner.train(199)
    before = float(learner.q[0, 1])
    assert np.isfinite(before)
    assert before != 0.0
    learner.train(101)
    assert learner.q[0, 1] == -INF
    assert values(learner)[0, 1] == before
    assert learner.policy[0] == learner.act(0) == 0
    assert learner.largest_value < INF
    learner.train(100)
    assert learner.totals.steps == 400
    assert learner.q[0, 1] == before
    learner.train(100)
    assert learner.q[0, 1] != before


def test_acting_with_a_mask() -> None:
    """The best allowed action is returned, even if training last saw it forbidden."""
    learner = sj.Learner(Turns(200, 10**9), sj.smart, exploration=0.5, step_size=0.1, seed=1)
    learner.train(301)
    row = values(learner)[0]
    assert row[1] > row[0]
    assert learner.act(0) == 0
    assert learner.act(0, [1, 1]) == 1
    assert learner.act(0, np.array([False, True])) == 1
    assert learner.act(0, [1, 0]) == 0


def test_evaluation_knows_the_values_of_hidden_actions() -> None:
    """Evaluation takes an action that it finds allowed, even if training last saw it forbidden."""
    learner = sj.Learner(Turns(200, 10**9), sj.smart, exploration=0.5, step_size=0.1, seed=1)
    learner.train(301)
    assert learner.evaluate(duration=1000.0, env=Turns(0, 0)).rate == 3.0
    assert learner.evaluate(duration=1000.0, env=Turns(0, 10**9)).rate == 2.0


@pytest.mark.parametrize("constructor", [sj.smart, sj.agents.differential_q])
def test_a_taxi_stays_on_the_road(constructor: Any) -> None:
    """Actions that Taxi's mask marks as useless are never tried."""

    class Strict(gym.Wrapper[Any, Any, Any, Any]):
        mask: Any = None

        def reset(self, **options: Any) -> Any:
            observation, info = self.env.reset(**options)
            self.mask = info["action_mask"]
            return observation, info

        def step(self, action: Any) -> Any:
            assert self.mask[action]
            *first, info = self.env.step(action)
            self.mask = info["action_mask"]
            return (*first, info)

    learner = sj.Learner(Strict(gym.make(TAXI)), constructor, duration=1, exploration=0.5, seed=1)
    learner.train(3000)
    assert (learner.q == -INF).any()
    assert learner.evaluate(duration=300.0).steps == 300


def test_the_mask_beside_the_duration_is_the_one() -> None:
    """With SMDPfier, the mask of the options beside the duration is used, not that of the taxi's actions."""
    moves = [Option([0], "south"), Option([1, 1], "north"), Option([2, 2, 2], "east"), Option([3], "west")]

    def offered(observation: Any, info: Any) -> list[Option]:
        return moves[: 1 + int(observation) % 4]

    def make() -> Any:
        return SMDPfier(gym.make(TAXI), options_provider=offered, max_options=4)

    learner = sj.Learner(make(), sj.smart, duration="smdp.duration", exploration=0.5, seed=1)
    learner.train(500)
    assert learner.totals.duration > 500
    assert (learner.q == -INF).any()
    said = sentence(
        lambda: sj.Learner(make(), sj.smart, duration="smdp.duration", action_mask="action_mask").train(5),
        ValueError,
    )
    assert "for each of the 4 actions" in said


def test_a_mask_can_have_a_name_of_its_own() -> None:
    """`action_mask="key"` names the key of the mask."""

    class Legal(Maze):
        def _info(self) -> dict[str, Any]:
            return {"rules": {"legal": self.mask()}}

    renamed = sj.Learner(Legal("both"), sj.smart, action_mask="rules.legal", exploration=0.5, seed=1)
    plain = sj.Learner(Maze("both"), sj.smart, exploration=0.5, seed=1)
    renamed.train(500)
    plain.train(500)
    assert alike(renamed, plain)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ([0, 0, 0], "allows no action"),
        ([1, 1], "for each of the 3 actions"),
        ([1, 1, 1, 1], "for each of the 3 actions"),
        ([1, 2, 0], "its entries must be 0 or 1"),
        ("101", "for each of the 3 actions"),
        ([[1], [1, 1]], "for each of the 3 actions"),
        (np.ones((3, 3)), "for each of the 3 actions"),
        (1, "for each of the 3 actions"),
    ],
)
def test_a_wrong_mask_names_the_step(mask: Any, words: str) -> None:
    """A wrong mask is reported in one sentence with the step's number, or at the reset."""

    class Wrong(Maze):
        def _info(self) -> dict[str, Any]:
            return {"action_mask": mask if self.t == when else [1, 1, 1]}

    when = 3
    learner = sj.Learner(Wrong(), sj.smart)
    said = sentence(lambda: learner.train(10), ValueError)
    assert said.startswith("step 2: ")
    assert words in said
    when = 0
    assert words in sentence(lambda: learner.train(10), ValueError)
    when = -1
    assert learner.train(10).steps == 12


@pytest.mark.parametrize(("agent", "vector"), [(sj.smart, False), (sj.deep_q, False), (sj.deep_q, True)])
def test_the_mask_after_termination_may_allow_nothing(agent: Any, vector: bool) -> None:
    """After termination no action follows, so the mask may allow nothing."""

    class Game(Maze):
        def step(self, action: Any) -> Any:
            observation, reward, terminated, truncated, info = super().step(action)
            mask = [0, 0, 0] if terminated else [1, 1, 1]
            return observation, reward, terminated, truncated, info | {"action_mask": mask}

    def learner(kind: Any) -> sj.Learner:
        env = gym.vector.SyncVectorEnv([lambda: kind(ends=0.2)] * 2) if vector else kind(ends=0.2)
        return sj.Learner(env, agent, seed=1)

    game, plain = learner(Game), learner(Maze)
    game.train(200)
    plain.train(200)
    assert alike(game, plain) if agent is sj.smart else game.rate == plain.rate


@pytest.mark.parametrize("constructor", [sj.smart, sj.agents.differential_q])
@pytest.mark.parametrize("masks", ["state", "both"])
def test_masks_are_saved(masks: str, constructor: Any, tmp_path: Path) -> None:
    """A learner that is saved and loaded, including hidden values, continues as an uninterrupted one."""
    path = tmp_path / "learner"
    whole = sj.Learner(Maze(masks, cuts=0.02), constructor, exploration=0.3, seed=5)
    parts = sj.Learner(Maze(masks, cuts=0.02), constructor, exploration=0.3, seed=5)
    for steps in (1, 2, 100, 333):
        whole.train(steps)
        parts.train(steps)
        parts.save(path)
        parts = sj.Learner.load(path, Maze(masks, cuts=0.02))
        assert alike(whole, parts)
        assert (parts.q == -INF).any()
    whole.train(500)
    parts.train(500)
    assert alike(whole, parts)


def test_missing_actions_are_not_taken_for_divergence() -> None:
    """An agent with initial values of -inf trains under masks without a divergence warning."""
    agent = sj.smart(4, 3, exploration=1.0)
    agent.q[:, 2] = -INF
    learner = sj.Learner(Maze(), agent, seed=1)
    learner.train(1500)
    assert (learner.q[:, 2] == -INF).all()
    assert np.isfinite(learner.q[:, :2]).all()


def test_hidden_actions_alone() -> None:
    """Masks hide and restore values; any sequence of masks leaves the values unchanged."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3, 4))
    q = table.copy()
    hidden = HiddenActions(q, "action_mask")
    for _ in range(200):
        state, mask = int(rng.integers(3)), rng.integers(2, size=4)
        mask[rng.integers(4)] = 1
        hidden.apply(state, mask)
        assert (np.isfinite(q[state]) == mask.astype(bool)).all()
        assert (hidden.values(state) == table[state]).all()
        assert hidden.is_finite()
    restored = HiddenActions.restored(q.copy(), "action_mask", hidden.to_dict())
    assert restored.is_finite()
    for state in range(3):
        assert (restored.values(state) == table[state]).all()
        restored.apply(state, [1, 1, 1, 1])
    assert (restored.q == table).all()
    q[0, 0] = np.nan
    hidden.apply(0, [1, 1, 1, 1])
    assert not hidden.is_finite() or np.isfinite(q).all()


def test_a_mask_from_a_function(tmp_path: Path) -> None:
    """A mask function of observation and info is equivalent to a key; it is not saved, and loading says so."""

    def legal(obs: int, info: dict[str, Any]) -> list[int]:
        return [1 + obs >> bit & 1 for bit in range(3)]

    by_key, by_function = (
        sj.Learner(Maze("state", ends=0.05, cuts=0.05), "smart", seed=1, action_mask=mask)
        for mask in (None, legal)
    )
    for learner in (by_key, by_function):
        learner.train(300)
    assert alike(by_key, by_function)
    assert by_function.evaluate(duration=50.0) == by_key.evaluate(duration=50.0)
    path = tmp_path / "learner"
    by_function.save(path)
    env = Maze("state", ends=0.05, cuts=0.05)
    assert "pass it again" in sentence(lambda: sj.Learner.load(path, env), ValueError)
    again = sj.Learner.load(path, env, action_mask=legal)
    for learner in (by_key, again):
        learner.train(100)
    assert alike(again, by_key)


@pytest.mark.filterwarnings("ignore:.*does not allow. nothing happened")
@pytest.mark.parametrize("env_id", ["sojourn/TwoChoice-v0", "sojourn/WhackAMole-v0"])
def test_nothing_is_learned_from_a_forbidden_action(env_id: str) -> None:
    """A policy that takes a forbidden action is refused at its first such step, in training and as a baseline."""
    env: Any = gym.make(env_id).unwrapped
    worst = np.array(env.world.available).argmin(axis=1).tolist()
    told = sentence(
        lambda: sj.Learner(env, sj.agents.policy_agent(worst, env.action_space.n)).train(100), ValueError
    )
    assert 'was taken where info["action_mask"] does not allow it' in told
    learner = sj.Learner(gym.make(env_id), sj.smart)
    learner.train(50)
    told = sentence(lambda: learner.verdict(duration=50.0, baseline=worst), ValueError)
    assert 'was taken where info["action_mask"] does not allow it; let the policy, or the baseline,' in told
