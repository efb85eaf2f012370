"""The verdict on a training: its warnings about one that failed, and its silence about one that succeeded."""

from __future__ import annotations

import signal
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
import sojourn.envs
from small_envs import Fleet, Gamble, Maze, Running, alike, sentence
from sojourn.models.problems.catalogue import PROBLEMS

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


def trained(env: Any, agent: str | None, steps: int, **options: Any) -> tuple[sj.Learner, list[str]]:
    """Return a trained learner, and its warnings."""
    learner = sj.Learner(env, agent, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.train(steps)
    return learner, [str(each.message) for each in caught]


def mend_the_worst(wear: Any) -> int:
    """A rule for the fleet: mend the most worn machine once half its life is over."""
    return int(wear.argmax()) + 1 if wear.max() > 0.5 else 0


# --- A training that failed ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_a_fleet_that_was_not_learned_causes_warnings(seed: int) -> None:
    """The learned rate is 1.3 while the policy gets stuck; training warns after 10,000 steps, and the verdict says why."""
    learner, warned = trained(Fleet(), "smart", 12_000, bins=5, seed=seed)
    assert len(warned) == 1
    assert warned[0].startswith("the greedy policy earns less by itself than the learned rate")
    found = learner.verdict(duration=2000.0, baseline=mend_the_worst)
    assert learner.rate > found.evaluation.rate + 0.5
    said = " ".join(found.warnings)
    assert warned[0] in found.warnings
    assert f"the learned rate is {learner.rate:.3g}, but the policy earns {found.evaluation.rate:.3g}" in said
    assert "had been tried fewer than 100 times" in said
    assert "the baseline earns more: " in said
    assert found.baseline is not None
    assert found.baseline.rate == pytest.approx(2.62, abs=0.1)  # which it is known to earn
    assert found.baseline.high < -1.0
    assert (found.gain, found.best_gain) == (None, None)
    assert found.visited is not None
    assert found.visited.share < 0.75
    assert str(found).count("\nwarning: ") == len(found.warnings)
    shown = found._repr_html_()  # in a notebook
    assert 'src="data:image/png;base64,' in shown
    assert shown.count("<p>warning: ") == len(found.warnings)


def test_a_policy_that_is_not_the_best_is_told_by_the_model() -> None:
    """The verdict on an agent that never leaves the near bank of the river gives its exact gain, 5, and the best one, 668.8."""
    learner, warned = trained(gym.make("sojourn/RiverSwim-v0"), "smart", 5000, step_size=0.05)
    found = learner.verdict(duration=5000.0)
    best = sj.solve(sj.problems.river_swim())
    assert warned == []
    assert found.gain == pytest.approx(5.0)
    assert found.best_gain == pytest.approx(best.gain)
    assert [each for each in found.warnings if "the best policy has a gain of 668.807, this one 5" in each]


def test_a_rate_that_is_not_what_the_policy_earns() -> None:
    """The harmonic mean of 1 and 9 is 1.8, where 5 is earned; the policy is optimal, and the verdict calls the rate wrong."""
    learner, _ = trained(Gamble(), "harmonic_r", 5000, step_size=0.05, rate_step_size=0.01)
    found = learner.verdict(duration=2000.0)
    assert found.evaluation.rate == pytest.approx(5.0, abs=0.5)
    (said,) = found.warnings
    assert said.startswith(f"the learned rate is {learner.rate:.3g}, but the policy earns ")
    assert said.endswith("the estimate of the rate is biased, or has not caught up")


def test_a_policy_that_still_changes() -> None:
    """The verdict compares the policy with the one from halfway through the training, using the same seed."""
    learner, _ = trained(
        Gamble(noisy=False), "fixed_rate", 1000, rate=5.0, step_size=0.1, initial=[[1.0, 0.0]]
    )
    assert learner.policy.tolist() == [0]
    assert learner.verdict(duration=500.0).moved is None  # nothing is stored before 1,000 steps
    learner.train(1000)
    settled = learner.verdict(duration=500.0)
    assert settled.moved == 0.0
    assert not any("still changes" in each for each in settled.warnings)
    learner._table.table.q[0] = [0.0, 1.0]  # as if it had just learned to take the other action
    found = learner.verdict(duration=500.0)
    assert found.moved == pytest.approx(3.0 - 5.0)
    assert "the one from about halfway through the training earns 5, the present one 3" in " ".join(
        found.warnings
    )


def test_one_state_seen() -> None:
    """A learner that never admits anybody has seen one state of 21, and never tried the other action: it warns of both."""
    never = [[0.0, -1.0]] * 21
    learner, _ = trained(
        gym.make("sojourn/AdmissionControl-v0"), "smart", 2000, exploration=0.0, initial=never, step_size=1.0
    )
    said = " ".join(learner.verdict(duration=1000.0).warnings)
    assert "in 100% of its steps the policy was in states where some action had never been tried" in said
    assert "training saw only one of 21 states" in said


def test_actions_that_were_never_tried() -> None:
    """A policy that takes an untried action in a few of its steps causes a warning."""
    learner, _ = trained(gym.make("sojourn/RiverSwim-v0"), None, 10_000, seed=1)
    assert learner.verdict(duration=5000.0).warnings == ()
    held, state = learner._table.table, 3
    held.visits[state, learner.policy[state]] = 0.0  # as if it were a guess
    (said,) = learner.verdict(duration=5000.0).warnings
    assert said.endswith(
        "the policy took an action that had never been tried there; train longer, or use fewer states"
    )


def test_too_short_a_time() -> None:
    """A verdict without an interval says how long would suffice."""
    learner, _ = trained(Maze(), None, 1000)
    found = learner.verdict(duration=20.0)
    assert found.evaluation.needed is not None
    assert f"duration={found.evaluation.needed:.2g} would be enough" in " ".join(found.warnings)


# --- A training that went well ------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("name", "steps"), [("Gosavi", 3000), ("TijmsMaintenance", 20_000), ("LongShot", 3000), ("Jobs", 3000)]
)
def test_a_training_that_went_well_gets_no_warning(name: str, steps: int, seed: int) -> None:
    """With defaults there is no warning, neither during training nor in the verdict; gains are the model's."""
    learner, warned = trained(gym.make(f"sojourn/{name}-v0"), None, steps, seed=seed)
    totals = learner.totals
    found = learner.verdict(duration=3000 * totals.duration / totals.steps)
    assert warned == []
    assert found.warnings == ()
    model = learner.env.unwrapped.model  # type: ignore[attr-defined] # a problem's environment has it
    assert found.gain == pytest.approx(sj.evaluate(model, learner.policy).gains[0])
    assert found.best_gain == pytest.approx(float(np.max(sj.solve(model).gains)))
    assert found.visited is not None
    assert found.visited.states == model.num_states
    assert "\n" not in str(found)
    assert f"exact gain {found.gain:.6g}" in found.sentence


@pytest.mark.parametrize(
    ("agent", "options"), [("smart", {"step_size": 0.1}), ("r_learning", {"step_size": 0.1})]
)
def test_other_agents_that_did_well_get_no_warning(agent: str, options: dict[str, Any]) -> None:
    """There is no warning if the better of two actions is found, and all were tried often enough."""
    for seed in range(3):
        learner, warned = trained(Gamble(), agent, 6000, seed=seed, **options)
        assert warned == []
        assert learner.verdict(duration=2000.0).warnings == ()


# --- What it is made of -------------------------------------------------------------


def test_visits_are_those_of_the_training() -> None:
    """Visits and the share of tried pairs match counts made in the environment."""
    taken: list[tuple[int, int]] = []

    class Noted(Maze):
        def step(self, action: Any) -> Any:
            taken.append((self.state, int(action)))
            return super().step(action)

    learner = sj.Learner(Noted("state", cuts=0.1), "smart", seed=1)
    learner.train(60)
    allowed = [(state, action) for state in range(4) for action in range(3) if 1 + state >> action & 1]
    counts = [taken.count(pair) for pair in allowed if any(state == pair[0] for state, _ in taken)]
    found = learner.verdict(duration=20.0).visited
    assert found is not None
    assert sum(counts) == 60
    assert (found.states, found.least) == (4, min(counts))
    assert found.share == pytest.approx(np.mean([count > 0 for count in counts]))
    assert found.median == pytest.approx(np.median(counts))


def test_the_evaluation_is_that_of_evaluate() -> None:
    """The verdict's evaluation is that of `evaluate`, and the learner does not change, though several policies are followed."""
    learner, twin = (sj.Learner(Maze("both", cuts=0.05), "smart", seed=4) for _ in range(2))
    for each in (learner, twin):
        each.train(1200)
    found = learner.verdict(duration=60.0, baseline=lambda _: 0, env=Maze(cuts=0.05), seed=7)
    assert found.evaluation == learner.evaluate(duration=60.0, env=Maze(cuts=0.05), seed=7)
    assert alike(learner, twin)
    learner.train(100)
    twin.train(100)
    assert alike(learner, twin)


def test_the_baseline_on_common_seeds() -> None:
    """A policy compared with itself differs by exactly 0, in each form that a policy may have."""
    learner = sj.Learner(Maze(first_state=2, first_action=5), "smart", seed=1)
    learner.train(500)
    policy = learner.policy
    same: Any
    for same in (
        policy,
        policy.tolist(),
        {state + 2: int(action) for state, action in enumerate(policy)},
        lambda observation: policy[observation - 2],
    ):
        found = learner.verdict(duration=100.0, baseline=same).baseline
        assert found is not None
        assert found[1:] == (0.0, 0.0, 0.0)


def test_the_baselines_difference_by_hand() -> None:
    """The difference is the mean over ten runs of a tenth of the time, with consecutive seeds and Student's interval."""
    learner = sj.Learner(Gamble(), "smart", seed=1, step_size=0.1)
    learner.train(2000)
    assert learner.policy.tolist() == [0]
    found = learner.verdict(duration=200.0, baseline=[1], seed=3).baseline
    differences, rates = [], []
    for seed in range(3, 13):
        earned = []
        for action in (0, 1):
            env, reward, duration = Gamble(), 0.0, 0.0
            env.reset(seed=seed)
            while duration < 20.0:
                _, gained, _, _, info = env.step(action)
                reward, duration = reward + gained, duration + info["duration"]
            earned.append(reward / duration)
        differences.append(earned[0] - earned[1])
        rates.append(earned[1])
    half = (
        2.2621571628 * np.std(differences, ddof=1) / 10**0.5
    )  # Student's quantile of 9 degrees, from a table
    mean = np.mean(differences)
    assert found == pytest.approx((np.mean(rates), mean, mean - half, mean + half))


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        ([0, 1], "the baseline has 2 actions, but there are 4 states; give one action for each state"),
        ([0, 1, 2, 3], "the baseline's action is 3"),
        (lambda _: 7, "the baseline's action is 7"),
        ({0: 1}, "the baseline has no action for the observation"),
    ],
)
def test_a_baseline_that_does_not_fit(baseline: Any, words: str) -> None:
    """A baseline that does not fit is refused in one sentence that says why."""
    learner = sj.Learner(Maze(), "smart")
    assert words in sentence(lambda: learner.verdict(duration=10.0, baseline=baseline))


def test_a_model_counts_only_where_nothing_changes_it() -> None:
    """The model is ignored if a wrapper, such as a time limit or another reward, changes the problem."""
    bare = gym.make("sojourn/LongReturn-v0")
    for env, known in [
        (bare, True),
        (gym.make("sojourn/LongReturn-v0", max_episode_steps=50), False),
        (gym.wrappers.TransformReward(bare, lambda reward: 2.0 * float(reward)), False),
    ]:
        learner = sj.Learner(env, "planner")
        learner.train(200)
        assert (learner.verdict(duration=500.0).gain is not None) == known
    assert sj.Learner(bare, "planner", duration=1.0).verdict(duration=500.0).gain is None


def test_an_environment_that_is_made_is_judged() -> None:
    """A verdict works with a factory, for environments that cannot be copied."""
    learner = sj.Learner(lambda: Running("state"), seed=1)
    learner.train(500)
    assert learner.verdict(duration=50.0, baseline=None).evaluation.steps > 0


# --- A verdict that takes long --------------------------------------------------------


class Interrupting(Maze):
    """A maze in which Ctrl-C is pressed in the middle of a given step."""

    patience = 300

    def step(self, action: Any) -> Any:
        """Press it, and finish the step."""
        self.patience -= 1
        if self.patience == 0:
            signal.raise_signal(signal.SIGINT)
        finished = super().step(action)
        self.last = self.patience
        return finished


@pytest.mark.parametrize("agent", ["smart", "deep-q"])
@pytest.mark.parametrize("baseline", [None, lambda _: 0])
def test_a_verdict_without_end_is_interrupted_between_two_steps(agent: str, baseline: Any) -> None:
    """Ctrl-C ends a verdict, but never in the middle of a step, which could be in machine code; the learner is unchanged."""
    env = Interrupting()
    learner = sj.Learner(Maze(), agent)
    learner.train(100)
    with pytest.raises(KeyboardInterrupt):
        learner.verdict(duration=200.0 if baseline else 2.0**31, env=env, baseline=baseline)
    assert env.last == 0, "the step was finished, and it was the last"
    assert learner.train(100).steps == 200


def test_a_verdict_shows_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Progress covers everything that is followed: the policy, the one from halfway, and the comparison."""
    learner = sj.Learner(Maze(), "smart")
    learner.train(200)
    learner.evaluate(duration=50.0)
    learner.verdict(duration=50.0)
    assert capsys.readouterr().err == ""
    learner.evaluate(duration=50.0, progress=True)
    assert "evaluating: 100 % of 50 units of time" in capsys.readouterr().err
    learner.verdict(duration=50.0, baseline=lambda _: 0, progress=True)
    shown = capsys.readouterr().err
    assert "evaluating: 100 % of 200 units of time" in shown
    assert "0 s left, rate " in shown


# --- What the state hides -----------------------------------------------------------


class Burst(gym.Env[Any, Any]):
    """One state, whose steps last 1 or 3; with `sticky` the length before is likely to come again, which the state hides."""

    observation_space, action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(2)

    def __init__(self, sticky: bool, cut: int | None = None) -> None:
        self.sticky, self.cut, self.length, self.t = sticky, cut, 1.0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.t += 1
        if self.np_random.random() < (0.3 if self.sticky else 0.5):
            self.length = 4.0 - self.length
        return 0, 1.0, False, bool(self.cut and self.t % self.cut == 0), {"duration": self.length}


@pytest.mark.parametrize("cut", [None, 7])
def test_what_the_state_hides_is_told(cut: int | None) -> None:
    """Where long steps come in bursts the verdict says what to add to the state; where they do not, it is silent."""
    learner, _ = trained(Burst(sticky=True, cut=cut), "smart", 100)
    found = learner.verdict(duration=1000.0)
    said = [each for each in found.warnings if "leave something out" in each]
    assert [each.partition(" (p = ")[0] for each in said] == [
        "the states leave something out: the duration depends on the duration before"
    ]
    assert found.memory is not None
    assert found.memory["the duration depends on the duration before"] < 1e-9
    plain = learner.verdict(duration=2000.0, env=Burst(sticky=False, cut=cut))
    assert not any("leave something out" in each for each in plain.warnings)


def test_a_cut_episode_does_not_lead_to_the_next_one() -> None:
    """What follows a reset is not held against the state before it: with episodes of one step, there is no past at all."""
    learner, _ = trained(Burst(sticky=True, cut=1), "smart", 100)
    assert learner.verdict(duration=1000.0).memory == {}


def test_bins_are_not_accused_of_hiding_where_in_the_bin() -> None:
    """With bins, a state is not the observation, so the past says nothing about what that hides; the check is left out."""
    learner, _ = trained(Fleet(), "smart", 500, bins=3)
    assert learner.verdict(duration=500.0).memory is None
    assert learner.states.has_bins


def false_alarms(names: list[str], seeds: range, steps: int) -> tuple[int, int]:
    """In how many verdicts on problems whose states hide nothing something is said to be hidden, and of how many."""
    told = asked = 0
    for name in names:
        env = sj.envs.WorldEnv(sj.worlds.Tabular(PROBLEMS[name]()))
        for seed in seeds:
            learner, _ = trained(env, "smart", steps // 4, seed=seed)
            step = learner.totals.duration / learner.totals.steps
            found = learner.verdict(duration=steps * step, seed=100 + seed)
            told += any("leave something out" in each for each in found.warnings)
            asked += bool(found.memory)
    return told, asked


def test_it_seldom_says_so_without_a_reason() -> None:
    """Of 40 verdicts on a state that hides nothing, at most 2 (5 %) say that it does."""
    learner, _ = trained(Burst(sticky=False), "smart", 100)
    found = [learner.verdict(duration=600.0, seed=seed) for seed in range(40)]
    assert all(each.memory for each in found)
    assert sum("leave something out" in " ".join(each.warnings) for each in found) <= 2


@pytest.mark.evidence
@pytest.mark.compiled
def test_it_seldom_says_so_in_any_problem(counted: Any) -> None:
    """The same in all problems of up to 2,000 states."""
    small = [name for name, make in PROBLEMS.items() if make().num_states <= 2000]
    told, asked = false_alarms(small, range(20), 4000)
    counted("verdicts on states that hide nothing, with a warning", tried=asked, failed=told)
    assert told <= 0.05 * asked
