"""What a log answers: what its behaviour earns, what a policy would earn, and a policy that is very probably better."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sojourn.data.names import users_constructor
from sojourn.deploy.interface import About, version
from sojourn.deploy.tables import LabelPolicy
from sojourn.exact.logs.amounts import AmountRate
from sojourn.exact.logs.cycles import Weighted
from sojourn.rules.door import told

Label: TypeAlias = Hashable
ASSUMED = (
    "if the states are Markov, the log is stationary and has seen all that matters, and past actions had no reasons that "
    "the states leave out"
)


class Behaviour(NamedTuple):
    """What the behaviour that made the log earns per unit time in the long run: about `rate`, between `low` and `high`.

    `amounts` has the further amounts of the log, per unit of time. `observed` is the reward of the log divided by its time. It differs from `rate` if the log begins or ends in unusual states,
    as when every machine in it begins new. Outside the interval, it says that the log has not reached its long run.

    >>> import sojourn as sj
    >>> log = sj.read_log({"state": [0, 0, 0], "action": [0, 1, 0], "reward": [1, 5, 1], "duration": [1, 2, 1]})
    >>> log.behaviour.rate  # 6 in a time of 3; the last row is left out, since its next state is not known
    2.0
    """

    rate: float
    low: float
    high: float
    level: float
    rows: int
    duration: float
    observed: float
    per: str = "unit time"
    amounts: dict[str, AmountRate] = {}  # noqa: RUF012 - it is never changed

    @property
    def reached_long_run(self) -> bool:
        """Whether the log's own reward per unit time lies in the interval."""
        slack = 1e-9 * (abs(self.low) + abs(self.high))
        return self.low - slack <= self.observed <= self.high + slack

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        inside = f"{100.0 * self.level:g} % interval {self.low:.6g} to {self.high:.6g} ({self.rows:,} rows, {ASSUMED})"
        if self.reached_long_run:
            return f"the log earned {self.rate:.6g} per {self.per}, {inside}"
        return (
            f"going on as in the log would earn {self.rate:.6g} per {self.per}, {inside}; the log itself earned "
            f"{self.observed:.6g}, so it has not reached its long run"
        )


class LogEvaluation(NamedTuple):
    """What a policy would earn per unit time according to the model of a log: about `gain`, between `low` and `high`.

    `rests_on` is the smallest count among the pairs that make up at least a thousandth of the policy's steps. `weighted` is
    an answer that uses the probabilities of the actions and no model. It is None if the log does not have them, or if too
    little of the log fits the policy, or if rows are censored. `amounts` has the further amounts of the log, per unit of time.

    >>> import sojourn as sj
    >>> log = sj.read_log({
    ...     "state": [0] * 9, "action": ["a", "b", "b"] * 3, "reward": [1, 5, 7] * 3, "duration": [1.0, 2.0, 2.0] * 3,
    ... })
    >>> log.evaluate({0: "b"}).gain  # 5, 7, 5, 7, 5 in a time of 2 each; the next state of the last row is not known
    2.9
    """

    gain: float
    low: float
    high: float
    level: float
    rests_on: int
    weighted: Weighted | None
    per: str = "unit time"
    amounts: dict[str, AmountRate] = {}  # noqa: RUF012 - it is never changed

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        return (
            f"the policy would earn {self.gain:.6g} per {self.per}, {100.0 * self.level:g} % interval {self.low:.6g} to "
            f"{self.high:.6g} (it rests on pairs seen at least {self.rests_on:,} times, {ASSUMED})"
        )


class Improvement(NamedTuple):
    """A policy that very probably earns more than the log did, or the advice to go on as before.

    `policy` has an action for each state. It would earn about `gain` per unit time, and at least `low` with the probability
    `level`; both allow for the fact that it was chosen on the same rows. `beats_behaviour` is the probability that it earns
    more than the behaviour did. `counts` is how often the log takes the policy's action in each state, and `visits` the share
    of its steps that the policy would spend there. `adds` is what following the policy in each state, rather than the
    behaviour, adds to the gain of the log's model; its sum is the whole difference, luck included. `amounts` has what there would
    be of the log's further amounts, per unit of time. The policy keeps each of the `limits` with the probability `level`. If nothing is clearly better, `kept` is true, and the advice is to go on
    as before: `gain` and `low` are then those of the behaviour, `beats_behaviour` is 0, and `policy` only lists the
    commonest action of each state.

    >>> import sojourn as sj
    >>> log = sj.read_log({
    ...     "state": [0] * 90, "action": ["a", "b", "b"] * 30, "reward": [1, 5, 7] * 30, "duration": [1.0, 2.0, 2.0] * 30,
    ... })
    >>> better = log.improve()
    >>> better.policy, better.counts, better.beats_behaviour > 0.99, log.behaviour.rate < better.low < better.gain < 3.0
    ({0: 'b'}, {0: 59}, True, True)
    """

    policy: dict[Label, Label]
    gain: float
    low: float
    level: float
    beats_behaviour: float
    behaviour: Behaviour
    kept: bool
    counts: dict[Label, int]
    visits: dict[Label, float]
    adds: dict[Label, float]
    amounts: dict[str, AmountRate] = {}  # noqa: RUF012 - it is never changed
    limits: tuple[str, ...] = ()

    @told
    def write_policy(self, path: str | Path) -> None:
        """Write the policy to a .json file, for `sojourn.deploy.load_policy`: an action's label for each state's label."""
        about: About = {
            "agent": "the advice of a log",
            "options": {"level": self.level},
            "steps": sum(self.counts.values()),
            "rate": self.gain,
            "sojourn": version(),
        }
        LabelPolicy(self.policy, about).write(path)

    def _repr_html_(self) -> str:
        return str(users_constructor("sojourn.answers.notebook:improvement_html")(self))

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        limited = "".join(f", with {limit}" for limit in self.limits)
        if self.kept:
            return (
                f"nothing in the log{limited} is clearly better than what was done, which earned {self.behaviour.rate:.6g} per "
                f"{self.behaviour.per}; keep it ({ASSUMED})"
            )
        said = f"it is better with a probability of {100.0 * min(self.beats_behaviour, 0.999):.1f} %"
        if self.limits and self.beats_behaviour < 0.5:  # only since what was done keeps no limits
            said = "what was done does not keep to that"
        return (
            f"this policy would earn {self.gain:.6g} per {self.behaviour.per}, at least {self.low:.6g} with a probability of "
            f"{100.0 * self.level:g} %, against {self.behaviour.rate:.6g} in the log{limited}; {said} ({ASSUMED})"
        )
