"""Keeps policies from the course of training, finds the best of them, and measures what it earns.

An agent that goes on learning may get worse, so the last policy need not be the best. A policy is kept after every
1,000 steps; whenever there are too many, every other one is dropped and the distance doubles. The best is found by
halving: all candidates are followed for a while in the same held-out episodes, the better half for longer in further
ones, and so on. Of many candidates the winner has probably also been lucky, so what it earns is measured once more, in
episodes that had no part in the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sojourn.agents.networks.protocol import Memory
from sojourn.data.hints import check_kind
from sojourn.deploy.interface import About
from sojourn.envs.places import exact_model
from sojourn.envs.protocol import Element
from sojourn.learner.driver import Choose, Driver, TableDriver
from sojourn.learner.evaluation import Evaluation, evaluation
from sojourn.learner.policy import LearnedPolicy, about, observing_policy, policy_of
from sojourn.rules.long_run import MicroBatches

_FIRST_DISTANCE = 1000  # steps
_MOST, _LEAST = 16, 2  # policies that are kept
_BYTES = 8_000_000  # for all of them, if that leaves two
_SHARE = 2.0  # a round of choosing takes this many times as long as measuring the best

# Follows a policy for a time from a seed; returns what it earned.
Follow = Callable[[Choose, float, int], MicroBatches]


class EarlierPolicy(TypedDict):
    """A policy after some steps of training."""

    steps: int
    policy: Memory


class ChosenPolicy(NamedTuple):
    """Which policy is the best, and how that was found; `considered` has a row for each candidate."""

    steps: int
    policy: Memory
    evaluation: Evaluation
    considered: pl.DataFrame
    trained: int  # steps of training when it was found


class SavedPast(TypedDict):
    """The policies that are kept, in a file."""

    due: int
    distance: int
    kept: list[EarlierPolicy]
    best: dict[str, Any] | None
    leader: EarlierPolicy | None


@dataclass
class Past:
    """Policies from the course of training, and the best of them if it was looked for."""

    due: int = _FIRST_DISTANCE  # the step at which the next one is kept
    distance: int = _FIRST_DISTANCE
    kept: list[EarlierPolicy] = field(default_factory=list)
    choice: ChosenPolicy | None = None
    leader: EarlierPolicy | None = None  # the policy of the best evaluation in training, if there were any

    def note(self, driver: Driver) -> None:
        """Keep the present policy, if that is due."""
        steps = driver.totals.steps
        if steps < self.due:
            return
        policy = driver.policy() if driver.is_sound else None
        if policy is not None:
            self.kept.append({"steps": steps, "policy": policy})
            if len(self.kept) >= max(_LEAST, min(_MOST, _BYTES // max(_size(policy), 1))):
                self.kept = self.kept[1::2]
                self.distance *= 2
        self.due = (steps // self.distance + 1) * self.distance

    def candidates(self, driver: Driver) -> list[EarlierPolicy]:
        """Return the policies to choose from; the last of them is the present one, if it is sound."""
        now, found = driver.totals.steps, list(self.kept)
        if self.choice is not None:
            found.append({"steps": self.choice.steps, "policy": self.choice.policy})
        if self.leader is not None:
            found.append(self.leader)
        found = list({one["steps"]: one for one in found}.values())
        found = sorted((one for one in found if one["steps"] < now), key=lambda one: one["steps"])
        policy = driver.policy()
        if policy is None:
            raise ValueError(
                f"{type(driver.agent).__name__} is an agent of yours without the methods policy and with_policy, so its "
                "policies cannot be kept; sojourn.agents.ObservingAgent says what they return"
            )
        if driver.is_sound:
            found.append({"steps": now, "policy": policy})
        if not now or not found:
            raise ValueError("there is no policy to choose from yet; train the learner first")
        return found

    def saved(self) -> SavedPast:
        """Return what a file holds."""
        best = None
        if self.choice is not None:
            best = {
                **self.choice._asdict(),
                "evaluation": self.choice.evaluation._asdict(),
                "considered": self.choice.considered.to_dict(as_series=False),
            }
        return {
            "due": self.due,
            "distance": self.distance,
            "kept": self.kept,
            "best": best,
            "leader": self.leader,
        }

    @classmethod
    def restored(cls, saved: Any, driver: Driver) -> Past:
        """Return what a file holds, or say what is wrong with it; files of older versions hold nothing."""
        if saved is None:
            return cls(due=(driver.totals.steps // _FIRST_DISTANCE + 1) * _FIRST_DISTANCE)
        check_kind(SavedPast, saved, "the past policies")
        choice, best = None, saved["best"]
        leader = saved["leader"]
        for one in saved["kept"] + ([] if leader is None else [leader]):
            driver.chooser(one["policy"])  # or says why it does not fit
        if best is not None:
            fields = {name: best[name] for name in ChosenPolicy._fields}
            fields |= {"evaluation": Evaluation(**best["evaluation"])}
            fields |= {"considered": pl.DataFrame(best["considered"], schema=_COLUMNS)}
            choice = ChosenPolicy(**fields)
            driver.chooser(choice.policy)
        if min(saved["due"], saved["distance"]) < 1:
            raise ValueError("its past policies have impossible steps")
        return cls(saved["due"], saved["distance"], saved["kept"], choice, leader)


class BestPolicy:
    """The best policy that a learner had in the course of its training; `Learner.best` makes one.

    `steps` says after how many steps of training the learner had it. `evaluation` is what it earns per unit time, in
    other episodes than those by which it was chosen. `considered` has a row for each candidate: the steps of training,
    how it took its actions, and what it earned in how long, which for the best is usually too good.

    A policy that can draw its actions is tried both ways: with actions drawn, and with the likeliest ones
    (`evaluation.actions` says which was better); `act` takes them in the better way.

    >>> import sojourn as sj
    >>> learner = sj.Learner(sj.envs.make("sojourn/LongReturn-v0", {"compiled": False}), seed=0)
    >>> totals = learner.train(1500)
    >>> best = learner.best
    >>> best.act(0), round(best.evaluation.rate, 2), best.considered["steps"].to_list()
    (0, 10.0, [1000, 1500])
    """

    def __init__(self, driver: Driver, choice: ChosenPolicy, seed: int = 0) -> None:
        self._driver, self._choice = driver, choice
        drawn = choice.evaluation.actions == "drawn"
        self._choose = driver.chooser(choice.policy, seed) if drawn else driver.acting(choice.policy)

    def to_follow(self, seed: int) -> Choose:
        """Return the policy as it is followed in an evaluation."""
        drawn = self.evaluation.actions == "drawn"
        return self._driver.chooser(self._choice.policy, seed if drawn else None)

    @property
    def steps(self) -> int:
        """The steps of training after which the learner had this policy."""
        return self._choice.steps

    @property
    def evaluation(self) -> Evaluation:
        """What the policy earns, in other episodes than those by which it was chosen."""
        return self._choice.evaluation

    @property
    def considered(self) -> pl.DataFrame:
        """The candidates, and what each earned while the best was chosen."""
        return self._choice.considered

    @property
    def agent(self) -> Any:
        """An agent of observations that acts by this policy."""
        if isinstance(self._driver, TableDriver):
            raise TypeError(
                "this policy is that of an agent with a table; table() shows it, and write(path) writes it"
            )
        return self._driver.agent_of(self._choice.policy)

    def act(self, obs: Element, action_mask: ArrayLike | None = None) -> Any:
        """Return the policy's action for an observation, one of those that a mask allows."""
        return self._choose(obs, action_mask)

    def __call__(self, obs: Element) -> Any:
        """Act where no mask is known."""
        return self.act(obs)

    def table(self) -> pl.DataFrame:
        """Return a row for each state that had been visited, as `Learner.policy_table` does."""
        return self._learned().table(exact_model(self._driver.env))

    def write(self, path: str | Path) -> None:
        """Write the policy as `Learner.write_policy` does: to a .json file, which `load_policy` reads, or in other forms."""
        driver = self._driver
        if isinstance(driver, TableDriver):
            self._learned().write(path, exact_model(driver.env))
        else:
            observing_policy(self.agent, *driver.reader.forms(), self._about()).write(path)

    def _about(self) -> About:
        """Return the facts of this policy; time and reward of its training were not kept."""
        facts: About = {**about(self._driver, None), "steps": self.steps}
        del facts["duration"], facts["reward"]
        return facts

    def _learned(self) -> LearnedPolicy:
        driver = self._driver
        if not isinstance(driver, TableDriver):
            raise TypeError(
                "this policy is that of an agent that observes, and has no table of states; `agent` acts by it"
            )
        reader = driver.reader
        return policy_of(
            reader.states, reader.first_action, *driver.table_of(self._choice.policy), self._about()
        )

    def __repr__(self) -> str:
        return f"<the policy after {self.steps:,} steps of training: {self.evaluation.sentence}>"


_COLUMNS = {"steps": pl.Int64, "actions": pl.String, "rate": pl.Float64, "duration": pl.Float64}


def _size(policy: Memory) -> int:
    return sum(part.nbytes for part in policy.values() if isinstance(part, np.ndarray))


class _Candidate:
    """A policy that may be the best, acting in one way, and what it has earned so far."""

    def __init__(self, one: EarlierPolicy, actions: str, choose: Choose) -> None:
        self.steps, self.policy, self.actions, self.choose = one["steps"], one["policy"], actions, choose
        self.reward = self.duration = 0.0

    @property
    def rate(self) -> float:
        return (
            self.reward / self.duration if self.duration else math.nan
        )  # the only candidate is not followed


def found_best(
    driver: Driver, past: Past, follow: Follow, duration: float, seed: int, ways: Sequence[str], level: float
) -> ChosenPolicy:
    """Find the best of the kept policies and the present one, and measure it for the time `duration`."""
    seeds = np.random.SeedSequence([seed, 33])  # unlike those that people give to other evaluations
    kept = past.candidates(driver)
    rivals = [
        _Candidate(one, way, driver.chooser(one["policy"], seed if way == "drawn" else None))
        for one in kept
        for way in ways
    ]
    everyone = list(rivals)
    last = [one for one in everyone if one.steps == kept[-1]["steps"]]
    while len(rivals) > 1:
        until, episode = _SHARE * duration / len(rivals), _next(seeds)
        for one in rivals:
            earned = follow(one.choose, until, episode)
            one.reward += earned.reward
            one.duration += earned.duration
        if len(rivals) == 2:
            break
        # The better half goes on, and so does the present policy. Of equals, the later is taken.
        order = sorted(rivals, key=lambda one: (one.rate, one.steps), reverse=True)
        present = next(one for one in order if one in last)
        rivals = order[: (len(order) + 1) // 2]
        if present not in rivals:
            rivals[-1] = present
    best = max(rivals, key=lambda one: (one.rate, one.steps))
    measured = evaluation(follow(best.choose, duration, _next(seeds)), level, best.actions)
    rows = [(one.steps, one.actions, one.rate, one.duration) for one in everyone]
    considered = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    return ChosenPolicy(best.steps, best.policy, measured, considered, driver.totals.steps)


def time_needed(driver: Driver, past: Past, duration: float, ways: Sequence[str]) -> float:
    """Return how long all policies are followed together."""
    rivals, rounds = len(past.candidates(driver)) * len(ways), 0
    while rivals > 1:
        rivals, rounds = (rivals + 1) // 2, rounds + 1
    return duration * (1.0 + _SHARE * rounds)


def _next(seeds: np.random.SeedSequence) -> int:
    return int(seeds.spawn(1)[0].generate_state(1)[0])
