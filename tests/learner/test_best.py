"""The best policy in the course of a training: which are kept, how it is chosen, what it earns, and files."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
from networks_worlds import Wear
from small_envs import Maze, Running, sentence
from sojourn.learner.best import Past, found_best
from sojourn.rules.long_run import MicroBatches
from sojourn.runs.recording import Totals

SMALL: dict[str, Any] = {"hidden": (4,), "compiled": False}
QUICK: dict[str, dict[str, Any]] = {
    "deep_q": SMALL | {"warm_up": 20, "batch": 4},
    "ppo": SMALL | {"rollout": 16, "batch": 8, "epochs": 2},
    "tile_q": {"tilings": 2},
}

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


class Fake:
    """A driver whose policies are numbers: what each earns per unit time."""

    is_sound = True

    def __init__(self, rates: list[float]) -> None:
        self.rates, self.totals = rates, Totals(steps=1000 * len(rates))
        self.past = Past(kept=[{"steps": 1000 * i, "policy": self.policy(i)} for i in range(1, len(rates))])

    def policy(self, which: int = 0) -> dict[str, Any]:
        return {"rate": self.rates[which - 1]}

    def chooser(self, policy: dict[str, Any], seed: int | None) -> Any:
        return policy["rate"]

    def found(self, seed: int) -> tuple[float, float, float, list[list[int]]]:
        """The rate of the chosen policy: as it is, as it was seen when chosen, and as it was measured; and all episodes."""
        episodes: list[list[int]] = []

        def follow(rate: Any, until: float, episode: int) -> MicroBatches:
            noise = np.random.default_rng([episode, int(1e6 * rate)]).normal() / until**0.5
            seen = MicroBatches()
            seen.add((rate + noise) * until, until)
            episodes.append([episode])
            return seen

        found: Any = found_best(self, self.past, follow, 100.0, seed, [""], 0.95)  # type: ignore[arg-type]
        seen = found.considered.filter(steps=found.steps)["rate"].item()
        return found.policy["rate"], seen, found.evaluation.rate, episodes


def test_what_the_best_earns_is_measured_without_bias() -> None:
    """Of many policies about as good, the one chosen looked too good; measured in other episodes, it does not."""
    fake = Fake([0.001 * i for i in range(12)])
    found = [fake.found(seed) for seed in range(400)]
    true, seen, measured = (np.array([row[i] for row in found]) for i in range(3))
    error = 0.1 / 400**0.5  # of a mean of runs for a time of 100, whose deviation is 0.1
    assert abs((measured - true).mean()) < 4.0 * error
    assert (seen - true).mean() > 8.0 * error
    *chosen, last = found[0][3]
    assert last not in chosen


def test_the_best_is_found_and_the_present_policy_stays_in_the_race() -> None:
    """A policy that is much better than the others is found, wherever it is; of equals the present one is taken."""
    for best in range(9):
        rates = [0.0001 * i for i in range(9)]
        rates[best] = 2.0
        assert {Fake(rates).found(seed)[0] for seed in range(20)} == {2.0}
    fake = Fake([1.0] * 9)
    assert found_best(fake, fake.past, lambda *_: _of(1.0), 10.0, 0, [""], 0.95).steps == 9000  # type: ignore[arg-type]
    # The present policy is nearly the best: what is chosen is not worse beyond noise.
    rates = [0.9, 0.95, 1.1, 1.0, 0.2, 0.3, 1.0, 0.5, 1.05]
    true = np.array([Fake(rates).found(seed)[0] for seed in range(200)])
    assert true.mean() > 1.03


def _of(rate: float) -> MicroBatches:
    seen = MicroBatches()
    seen.add(rate, 1.0)
    return seen


class Bare:
    """An agent in plain Python that learns nothing: it takes the third action for 3,000 steps, and then the first."""

    rate = 0.0

    def __init__(self, spaces: sj.agents.Spaces) -> None:
        self.taken = 0

    def draw(self, observations: Any, allowed: Any) -> tuple[Any, Any]:
        return self.greedy(observations, allowed), np.zeros(len(observations), dtype=bool)

    def greedy(self, observations: Any, allowed: Any) -> Any:
        return np.full(len(observations), 2 if self.taken <= 3000 else 0)

    def learn(self, transitions: sj.agents.Transitions) -> None:
        self.taken += 1

    def state(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def restored(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]


class Forgetful(Bare):
    """The same, with policies that can be kept."""

    def policy(self) -> dict[str, Any]:
        return {"taken": np.array([self.taken])}

    def with_policy(self, policy: dict[str, Any], seed: int | None = None) -> Forgetful:
        other = copy.copy(self)
        other.taken = int(policy["taken"][0])
        return other


class Third(gym.Env[Any, Any]):
    """Earns 1 by its third action, and nothing by the others."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1,))
    action_space: Any = gym.spaces.Discrete(3, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(1, dtype=np.float32), float(action == 3), False, False, {"duration": 1.0}


def test_an_agent_that_forgets_keeps_its_best_policy() -> None:
    """The best policy of an agent that falls apart is one from before; it acts, and is evaluated, as it was then."""
    learner = sj.Learner(Third, Forgetful)
    assert "train the learner first" in sentence(lambda: learner.best, ValueError)
    learner.train(5000)
    best = learner.best
    assert best.steps == 3000
    assert best.evaluation.rate == 1.0
    assert best.act(np.zeros(1), [1, 1, 1]) == 3 != learner.act(np.zeros(1), [1, 1, 1])
    assert learner.evaluate(duration=100.0).rate == 0.0
    assert learner.evaluate(policy=best, duration=100.0).rate == 1.0
    assert learner.agent.taken == 5000
    assert "no table" in sentence(best.table, TypeError)
    bare = sj.Learner(Third, Bare)
    bare.train(10)
    assert "without the methods policy and with_policy" in sentence(lambda: bare.best, ValueError)


@pytest.mark.parametrize("name", ["planner", "ppo", "tile_q"])
def test_an_interrupted_training_keeps_the_same_policies(name: str, tmp_path: Path) -> None:
    """Saved, loaded and trained further, a learner keeps the policies, and finds the best, of an uninterrupted one."""
    options = QUICK.get(name, {})

    def env() -> Any:
        return Maze("state", ends=0.02, cuts=0.02) if name == "planner" else Wear()

    whole, parts = (sj.Learner(env, name, seed=2, **options) for _ in range(2))
    whole.train(2600)
    parts.train(1234)
    parts.save(tmp_path / "learner")
    parts = sj.Learner.load(tmp_path / "learner", env)
    parts.train(1366)
    found = [learner.find_best(duration=150.0) for learner in (whole, parts)]
    assert found[0].steps == found[1].steps
    assert found[0].evaluation == found[1].evaluation
    assert found[0].considered.equals(found[1].considered)
    assert sorted(set(found[0].considered["steps"])) == [1000, 2000, 2600]
    parts.save(tmp_path / "learner")
    again = sj.Learner.load(tmp_path / "learner", env)
    assert again.best.evaluation == found[0].evaluation  # it need not be looked for again
    obs, info = env().reset(seed=5)
    mask = info.get("action_mask")
    assert again.best.act(obs, mask) == found[0].act(obs, mask)


def test_policies_are_kept_at_equal_distances() -> None:
    """However long the training, 7 to 15 policies are kept, at equal distances; large ones are fewer."""
    for numbers, kept in ((1, list(range(2000, 20_001, 2000))), (700_000, [16000])):
        fake, past = Fake([0.0]), Past()
        fake.policy = lambda which=0, n=numbers: {"q": np.zeros(n)}  # type: ignore[method-assign, misc]
        for steps in range(1000, 20_001, 1000):
            fake.totals = Totals(steps=steps)
            past.note(fake)  # type: ignore[arg-type]
        assert [one["steps"] for one in past.kept] == kept


def test_the_policy_of_a_table_is_written(tmp_path: Path) -> None:
    """The best policy of a table is written and loaded as any other, and shown with what had been visited."""
    learner = sj.Learner(Maze("state"), sj.smart, seed=1)
    learner.train(1500)
    best = learner.find_best(duration=200.0)
    best.write(tmp_path / "best.json")
    loaded = sj.load_policy(tmp_path / "best.json")
    assert [loaded.act(state) for state in range(4)] == [best.act(state) for state in range(4)]
    assert best.table()["state_visits"].sum() == best.steps
    assert "table() shows it" in sentence(lambda: best.agent, TypeError)


def test_an_environment_that_can_be_neither_copied_nor_made() -> None:
    """Where no other environment is to be had, one sentence says what to give; a given one is used."""
    learner = sj.Learner(Running(), sj.smart)
    learner.train(1100)
    assert "find_best(env=...)" in sentence(lambda: learner.best, ValueError)
    assert learner.find_best(env=Running, duration=100.0).steps in (1000, 1100)


# --- Policies that draw their actions -------------------------------------------------


def test_a_policy_is_drawn_from_or_acts_by_its_mode() -> None:
    """Actions are drawn with the policy's own probabilities; what was evaluated is said; values have nothing to draw from."""
    learner = sj.Learner(Wear, "ppo", **QUICK["ppo"], entropy=0.5)
    learner.train(400)
    obs, stream = np.array([0.3]), learner.agent.state()["rng"]
    drawn = [learner.act(obs, sample=True) for _ in range(2000)]
    odds = _odds(learner, obs)
    assert abs(np.mean(drawn) - odds) < 4.0 * (odds * (1.0 - odds) / 2000) ** 0.5
    assert {learner.act(obs) for _ in range(9)} == {int(odds > 0.5)}
    assert np.array_equal(learner.agent.state()["rng"], stream)  # training goes on as if nobody had asked
    mode, draws = (learner.evaluate(duration=60.0, sample=sample) for sample in (False, True))
    assert (mode.actions, draws.actions) == ("mode", "drawn")
    assert mode.rate != draws.rate
    assert "by the mode of its policy" in mode.sentence
    assert "with actions drawn from its policy" in draws.sentence
    assert learner.evaluate(duration=60.0, sample=True) == draws
    best = learner.find_best(duration=60.0)
    assert set(best.considered["actions"]) == {"mode", "drawn"}
    assert set(learner.find_best(duration=60.0, sample=True).considered["actions"]) == {"drawn"}
    assert learner.verdict(duration=60.0).evaluation == mode
    values = sj.Learner(Wear, "deep_q", **SMALL)
    assert "deep_q has no policy to draw" in sentence(lambda: values.act(obs, sample=True), ValueError)
    assert values.evaluate(duration=9.0).actions == ""


def _odds(learner: sj.Learner, obs: Any) -> float:
    """The probability of the second action, from the weights by hand."""
    state = learner.agent.state()
    x = np.clip((obs - state["seen.centres"]) / state["seen.units"], -10.0, 10.0)
    weights, here = state["policy.weights"].astype(float), 0
    widths = state["policy.widths"].tolist()
    for layer, (m, n) in enumerate(itertools.pairwise(widths)):
        matrix = weights[here : here + (m + 1) * n].reshape(m + 1, n)
        x, here = x @ matrix[:-1] + matrix[-1], here + (m + 1) * n
        x = np.maximum(x, 0.0) if layer < len(widths) - 2 else x
    return float(1.0 / (1.0 + np.exp(x[0] - x[1])))
