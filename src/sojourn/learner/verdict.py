"""A verdict on what was learned: what the policy earns, and the reasons not to trust it.

The greedy policy is followed for a while without learning. What it earns is compared with the learned rate, with the
exact answer if there is one, and with a user's own policy. Whether it has converged is judged by how often the
actions in the states that it visits were tried, and by what the policy from halfway through the training earns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from sojourn.agents.red_cvar import aim_of
from sojourn.data.names import users_constructor
from sojourn.envs.places import exact_model
from sojourn.envs.protocol import Environment
from sojourn.envs.reader import TableReader
from sojourn.exact.policies import evaluate
from sojourn.exact.solve import solve
from sojourn.learner.comparing import Follow, GivenPolicy, chooser, paired, rates_with
from sojourn.learner.driver import Choose, Driver, ObservingDriver, TableDriver
from sojourn.learner.evaluation import Evaluation, Trail, evaluation, followed, paced
from sojourn.learner.watch import rate_is_learned, step_size_of
from sojourn.rules.arrays import Flags, Floats
from sojourn.worlds.tabular import available

Compare: TypeAlias = "Callable[[Choose], Baseline | None]"  # of the greedy policy

_REPLICATIONS = 10  # paired runs of both policies
_APART = 0.25  # tolerance of the learned rate, relative to what is earned
_MOVES = 0.1  # tolerance of what the earlier policy earns, relative to what is earned
_THIN = 1.0 / 3.0  # of the steps may be in states with hardly tried actions
_GUESSED = 0.01  # of the steps may take a never tried action
_BELOW = 0.05  # of the best gain may be missing


class Visited(NamedTuple):
    """The coverage of training: how many states were seen, the share of their pairs that were tried, and how often."""

    states: int
    share: float
    least: int
    median: float


class Baseline(NamedTuple):
    """What a user's policy earns, and how much more the learned policy earns, with the same seeds."""

    rate: float
    difference: float
    low: float
    high: float


class Verdict(NamedTuple):
    """What a learned policy earns, and the reasons not to trust it.

    `evaluation` is what the greedy policy earns when it is followed, `learned_rate` is the agent's estimate.
    `visited` says how many pairs were tried in training; `thin` is the share of the evaluation's steps in states
    where some action was hardly tried. `moved` is how much more the policy earns than the policy from about
    halfway through the training, with the same seed: 0 if both act alike wherever it went, None if that policy
    was not stored. `gain` is the exact gain of the policy and `best_gain` that of the best one, if the
    environment has a model, and `deviation` how far what the policy earns strays from its gain, per root of time
    (`sojourn.exact.PolicyValue.deviation`). `aim` says what `learned_rate` is if the agent aims at something other
    than the rate, such as the worst rewards. `baseline` compares the policy with your own. `warnings` are sentences;
    none if all is well. An agent of observations, such as a network, has no pairs and no earlier policies: its
    `visited`, `thin`, `moved`, `gain` and `memory` are None; so is `memory` where states are bins of observations.

    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.envs.make("sojourn/LongReturn-v0", {"compiled": False}))
    >>> totals = learner.train(500)
    >>> verdict = learner.verdict(duration=4000.0, baseline=[1, 0])
    >>> verdict.gain, verdict.best_gain, verdict.warnings
    (10.0, 10.0, ())
    """

    evaluation: Evaluation
    learned_rate: float
    visited: Visited | None = None
    thin: float | None = None
    moved: float | None = None
    gain: float | None = None
    best_gain: float | None = None
    baseline: Baseline | None = None
    warnings: tuple[str, ...] = ()
    deviation: float | None = None
    aim: str = ""
    memory: dict[str, float] | None = None

    @property
    def sentence(self) -> str:
        """The verdict in words, without the warnings."""
        found = [
            f"the policy earns {self.evaluation.sentence}",
            f"learned {self.aim or 'rate'} {self.learned_rate:.6g}",
        ]
        if self.gain is not None:
            strays = (
                "" if self.deviation is None else f", deviation {self.deviation:.3g} times the root of time"
            )
            found.append(f"exact gain {self.gain:.6g}, of the best policy {self.best_gain:.6g}{strays}")
        elif self.best_gain is not None:
            found.append(f"exact gain of the best policy {self.best_gain:.6g}")
        if self.baseline is not None:
            sides = f"{self.baseline.low:.3g} to {self.baseline.high:.3g}"
            found.append(
                f"{self.baseline.difference:+.3g} against the baseline's {self.baseline.rate:.6g} ({sides})"
            )
        seen = self.visited
        if seen is not None:
            found.append(
                f"{seen.share:.0%} of the pairs in {seen.states:,} states tried, {seen.median:.0f} times in the median"
            )
        return "; ".join(found)

    def _repr_html_(self) -> str:
        return str(users_constructor("sojourn.answers.notebook:verdict_html")(self))

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"warning: {each}" for each in self.warnings or ())])


def judged(
    driver: Driver,
    env: Environment,
    duration: float,
    seed: int,
    *,
    level: float = 0.95,
    baseline: GivenPolicy | None = None,
    progress: bool = False,
) -> Verdict:
    """Return the verdict on what a driver's agent has learned, from following its policy in another environment."""
    given = None if baseline is None else chooser(baseline, driver.reader)
    runs = 1 + isinstance(driver, TableDriver) + 2 * (given is not None)
    with paced(runs * duration, progress) as pacer:
        follow: Follow = partial(followed, env, driver.reader, pacer)
        run = partial(follow, until=duration, seed=seed)

        def compare(greedy: Choose) -> Baseline | None:
            return None if given is None else _compared(follow, (greedy, given), duration, seed, level)

        if isinstance(driver, TableDriver):
            skip = partial(pacer.advance, duration, earlier=True)
            return _of_table(driver, env, level, run, compare, skip)
        return _of_observer(driver, env, level, run, compare)


def _of_table(
    driver: TableDriver,
    env: Environment,
    level: float,
    run: Follow,
    compare: Compare,
    skip: Callable[[], None],
) -> Verdict:
    agent, rate, visits = driver.agent, driver.rate, driver.table.visits
    reader, greedy, watcher = driver.reader, driver.greedy(), driver.watcher
    trail = None if reader.states.has_bins else Trail()
    seen, size = run(greedy, trail=trail)
    found = evaluation(seen, level)
    states = np.fromiter(greedy.asked, dtype=np.int64)
    times = np.fromiter(greedy.asked.values(), dtype=np.float64)
    guessed = sum(count for pair, count in greedy.taken.items() if visits[pair] == 0.0) / times.sum()
    few = 1.0 / step_size_of(agent) if hasattr(agent, "step_size") else 1.0
    open_pairs = (driver.q != -np.inf) | (visits > 0.0)
    hardly = ((visits < few) & open_pairs)[states].any(axis=1)
    actions, earlier = watcher.policy_before(driver.totals.steps), found
    if actions is not None and (actions[states] != np.array(greedy.actions)[states]).any():
        earlier = evaluation(run(greedy.otherwise(actions.tolist()))[0], level)
    else:
        skip()  # it need not be followed
    past = None if trail is None else trail.check()
    gain, best_gain, deviation = _exact(env, reader, driver.q, int(states[0]))
    verdict = Verdict(
        evaluation=found,
        learned_rate=rate,
        visited=_visited(visits, open_pairs),
        thin=float(times[hardly].sum() / times.sum()),
        moved=None if actions is None else found.rate - earlier.rate,
        gain=gain,
        best_gain=best_gain,
        baseline=compare(greedy),
        deviation=deviation,
        aim=aim_of(agent.method) if hasattr(agent, "method") else "",
        memory=None if past is None else past.memory,
    )
    scale = max(size / found.duration, abs(found.rate), abs(rate))
    warnings = [
        *watcher.said,
        *_impossible(driver),
        *_warnings(verdict, rate if rate_is_learned(agent) else None, scale, few),
    ]
    warnings += [*_still_moving(found, earlier, scale), *_unseen(verdict, guessed, reader.states.num_states)]
    if past is not None and past.left_out:
        warnings.append(past.left_out)
    return verdict._replace(warnings=tuple(warnings))


def _visited(visits: Floats, open_pairs: Flags) -> Visited:
    seen = visits.sum(axis=1) > 0.0
    pairs = visits[seen][open_pairs[seen]]
    if not pairs.size:
        return Visited(0, 0.0, 0, 0.0)
    return Visited(int(seen.sum()), float((pairs > 0.0).mean()), int(pairs.min()), float(np.median(pairs)))


def _exact(
    env: Environment, reader: TableReader, q: Floats, start: int
) -> tuple[float | None, float | None, float | None]:
    """Return the exact gains of the greedy policy and of the best one, and the deviation of the former, if there is a model.

    The gains are those from the state `start`.
    """
    model = exact_model(env)
    if model is None or reader.source != "duration" or q.shape != (model.num_states, model.num_actions):
        return None, None, None
    policy = np.where(available(model), q, -np.inf).argmax(axis=1)
    worth = evaluate(model, policy)
    one = len(worth.classes) == 1 and math.isfinite(worth.deviation)
    return float(worth.gains[start]), float(solve(model).gains[start]), worth.deviation if one else None


def _of_observer(
    driver: ObservingDriver, env: Environment, level: float, run: Follow, compare: Compare
) -> Verdict:
    """Return the verdict on an agent of observations, which has neither pairs to count nor a table."""
    way = "mode" if driver.is_stochastic else ""
    found, rate = evaluation(run(driver.act)[0], level, way), driver.rate
    best = getattr(env.unwrapped, "gain", None)
    verdict = Verdict(
        evaluation=found,
        learned_rate=rate,
        best_gain=best if isinstance(best, float) else None,
        baseline=compare(driver.act),
    )
    more = _warnings(verdict, rate, max(abs(found.rate), abs(rate)), 1.0)
    return verdict._replace(warnings=(*driver.warnings(), *_impossible(driver), *more))


def _compared(
    follow: Follow, policies: tuple[Choose, Choose], duration: float, seed: int, level: float
) -> Baseline:
    """Return how much more the learned policy earns than a given one, from paired runs with the same seeds."""
    seeds = range(seed, seed + _REPLICATIONS)
    found = paired(rates_with(follow, policies, seeds, duration / _REPLICATIONS), level)
    return Baseline(found.other, found.difference, found.low, found.high)


# --- Reasons not to trust it --------------------------------------------------------


def _warnings(found: Verdict, rate: float | None, scale: float, few: float) -> list[str]:
    """Return the reasons not to trust it; `scale` is the mean absolute reward per unit time."""
    earned, warnings = found.evaluation, []
    if earned.needed is not None:
        warnings.append(
            f"the policy was followed for too short a time to say what it earns; duration={earned.needed:.2g} would be enough"
        )
    low, high = _sides(earned)
    if rate is not None and max(low - rate, rate - high) > _APART * scale:
        why = (
            "it may get stuck where only exploring helps, or its values have not settled"
            if rate > high
            else "the estimate of the rate is biased, or has not caught up"
        )
        warnings.append(f"the learned rate is {rate:.3g}, but the policy earns {earned.rate:.3g}: {why}")
    if found.thin is not None and found.thin > _THIN:
        warnings.append(
            f"in {found.thin:.0%} of its steps the policy was in states where some action had "
            + ("never been tried" if few <= 1.0 else f"been tried fewer than {few:.0f} times")
            + ", so it is a guess there; train longer, or use fewer states"
        )
    reached = high if found.gain is None else found.gain
    if (
        found.best_gain is not None
        and not found.aim
        and found.best_gain - reached > _BELOW * abs(found.best_gain)
    ):
        this = f"earns {earned.rate:.3g}" if found.gain is None else f"{found.gain:.6g}"
        warnings.append(f"the best policy has a gain of {found.best_gain:.6g}, this one {this}")
    if found.baseline is not None and found.baseline.high < 0.0:
        warnings.append(
            f"the baseline earns more: {found.baseline.rate:.3g}, and the learned policy {-found.baseline.difference:.3g} less"
        )
    return warnings


def _impossible(driver: Driver) -> list[str]:
    sentence = driver.limits.sentence(driver.rate)
    return [sentence] if sentence else []


def _unseen(found: Verdict, guessed: float, num_states: int) -> list[str]:
    """Return warnings if training saw one state only, or if the policy takes actions that were never tried."""
    warnings = []
    if found.visited is not None and found.visited.states <= 1 < num_states:
        warnings.append(
            f"training saw only one of {num_states:,} states, so nothing is known about the others; train longer, or check "
            "that actions can lead there"
        )
    if guessed > _GUESSED:
        warnings.append(
            f"in {guessed:.0%} of its steps the policy took an action that had never been tried there; train longer, or use "
            "fewer states"
        )
    return warnings


def _still_moving(now: Evaluation, earlier: Evaluation, scale: float) -> list[str]:
    """Return a warning if the earlier policy earns clearly more or less than the current one."""
    (low, high), (low_then, high_then) = _sides(now), _sides(earlier)
    if abs(now.rate - earlier.rate) <= _MOVES * scale or (low <= high_then and low_then <= high):
        return []
    return [
        f"the policy still changes: the one from about halfway through the training earns {earlier.rate:.3g}, the present one {now.rate:.3g}; "
        "train longer"
    ]


def _sides(found: Evaluation) -> tuple[float, float]:
    """Return the interval, or the rate twice if there is none."""
    return (found.rate if found.low is None else found.low, found.rate if found.high is None else found.high)
