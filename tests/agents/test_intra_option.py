"""Learning about all options from the steps inside one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from small_envs import Maze, sentence
from sojourn.agents.intra_option import Courses
from sojourn.envs import Options
from sojourn.models import Option, from_arrays, from_options
from sojourn.runs.check import check_agent


def model_of(seed: int) -> sj.SMDP:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(4), size=(4, 2))
    return from_arrays(chances, rng.normal(size=(4, 2)), rng.uniform(0.5, 2.0, (4, 2)))


OPTIONS = [
    Option([0, 1, 1, 0], [0.3, 0.5, 1.0, 0.2]),
    Option([0, 0, 1, 1], 0.4, initiation=[True, False, True, False]),
    Option(1, 1.0),
    Option(lambda state: state % 2, 0.25),
]


class Naive:
    """The rule of Wan, Naik and Sutton with durations, over dictionaries, for options whose actions are certain."""

    def __init__(self, alpha: float, eta_alpha: float) -> None:
        self.alpha, self.eta_alpha, self.rate = alpha, eta_alpha, 0.0
        self.q = {(s, o): 0.0 for s in range(4) for o in range(4)}
        self.starts: dict[int, list[int]] = {}

    def see(self, s: int, o: int, reward: float, duration: float, after: int) -> None:
        acts = [[0, 1, 1, 0][s], [0, 0, 1, 1][s], 1, s % 2]
        ends = [[0.3, 0.5, 1.0, 0.2][after], 0.4, 1.0, 0.25]
        top = max(self.q[after, each] for each in self.starts.get(after, range(4)))
        errors = {}
        for each in range(4):
            if acts[each] == acts[o]:
                onward = ends[each] * top + (1.0 - ends[each]) * self.q[after, each]
                errors[each] = reward - self.rate * duration + onward - self.q[s, each]
        for each, error in errors.items():
            self.q[s, each] += self.alpha * error
        self.rate += self.eta_alpha * sum(errors.values())


def test_it_learns_as_the_rule_says() -> None:
    """From the same steps inside options, values and rate are those of a slow program written from the formulas."""
    model = model_of(0)
    env = Options(sj.envs.WorldEnv(sj.worlds.Tabular(model)), OPTIONS)
    learner = sj.Learner(env, "intra-option", step_size=0.1, rate_step_size=0.02, exploration=0.5, seed=3)
    naive, steps, real = Naive(0.1, 0.02), [], env.step

    def step(option: int) -> Any:
        state = env._observation
        found = real(option)
        for frame in found[4]["frames"]:
            steps.append((state, option, frame.reward, frame.duration, frame.observation))
            naive.see(*steps[-1])
            state = frame.observation
        naive.starts[state] = np.flatnonzero(found[4]["action_mask"]).tolist()
        return found

    env.step = step  # type: ignore[assignment,method-assign]
    naive.starts = {state: [0, 1, 2, 3] if state in (0, 2) else [0, 2, 3] for state in range(4)}
    totals = learner.train(400)
    assert totals.steps == len(steps) >= 400
    assert learner.rate == pytest.approx(naive.rate, rel=1e-9)
    for (state, option), value in naive.q.items():
        assert learner.agent.worth.q[state, option] == pytest.approx(value, rel=1e-9, abs=1e-12)
        known = learner.q[state, option]
        assert known == (-np.inf if option == 1 and state in (1, 3) else pytest.approx(value, rel=1e-9))


def test_it_is_the_same_compiled_and_interpreted() -> None:
    """Where every option ends after one step, it may run in a world like any agent, and passes the checker of agents."""
    courses = Courses(np.array([[0, 1, 0]] * 4), np.ones((4, 3)))
    check_agent(sj.agents.intra_option(4, 3, courses=courses, step_size=0.1))


@pytest.mark.parametrize("seed", range(3))
def test_its_values_solve_the_model_of_the_options(seed: int) -> None:
    """With falling step sizes, the rate comes to the gain that `solve` finds for `from_options`, and the policy earns it."""
    model = model_of(seed)
    whole = from_options(model, OPTIONS)
    env = Options(sj.envs.WorldEnv(sj.worlds.Tabular(model)), OPTIONS)
    sizes: dict[str, Any] = {
        "step_size": sj.rates.Visits(1.0, 0.65),
        "rate_step_size": sj.rates.Visits(0.3, 0.7),
    }
    learner = sj.Learner(env, "intra_option", exploration=0.3, seed=seed, **sizes)
    learner.train(60_000)
    best = sj.solve(whole).gain
    assert learner.rate == pytest.approx(best, abs=0.03)
    assert sj.evaluate(whole, learner.policy).gain == pytest.approx(best, abs=1e-6)


def test_any_estimator_of_the_rate_will_do() -> None:
    """With another estimator, the rate is what steps inside options earned that were not chosen to explore."""
    env = Options(sj.envs.WorldEnv(sj.worlds.Tabular(model_of(1))), OPTIONS)
    learner = sj.Learner(env, "intra_option", rate=sj.Cumulative(), exploration=0.0, seed=0)
    totals = learner.train(500)
    assert learner.rate == pytest.approx(totals.reward / totals.duration, rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (lambda: sj.Learner(Maze(), "intra_option"), "intra_option learns from the steps inside options; give Learner an environment of options, sojourn.envs.Options(env, options)"),
        (lambda: sj.Learner(Options(Maze(), [Option(0, steps=3)]), "intra_option"), "option 0 ends after a number of steps; learning inside options needs policies and ends that depend on the state alone"),
        (lambda: sj.Learner(Options(Maze(), [Option(np.full((4, 3), 1 / 3), 0.5)]), "intra_option"), "option 0 draws its actions; learning inside options needs"),
        (lambda: sj.run(sj.worlds.Tabular(model_of(0)), sj.agents.intra_option(4, 2, courses=Courses(np.zeros((4, 2), dtype=np.int64), np.zeros((4, 2)))), steps=5), "IntraOption learns from the steps inside options, which TabularWorld does not show"),
        (lambda: sj.Learner(Maze(), sj.agents.intra_option(4, 3, courses=Courses(np.zeros((4, 3), dtype=np.int64), np.zeros((4, 3))))), "IntraOption learns from the steps inside options; give Learner an environment of options"),
        (lambda: sj.Learner(Options(Maze(), [Option(0, 0.5)]), sj.agents.intra_option(4, 1, courses=Courses(np.zeros((2, 1), dtype=np.int64), np.zeros((4, 1))))), "the agent's action is an array of int64 of the shape (2, 1)"),
    ],
)  # fmt: skip
def test_what_it_cannot_learn_from_is_refused(wrong: Any, expected: str) -> None:
    """An environment without options, ends that depend on time, a world of whole options, tables of another size."""
    assert re.search(re.escape(expected), sentence(wrong))
