"""The answer of an audit: a record that is written to `audit.json` and read back."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.data.files import Json, JsonObject
from sojourn.data.hints import as_json, check_lengths, read_record

FILE = "audit.json"


@dataclass(frozen=True)
class Limit:
    """The limit of one estimator of the rate; `sojourn.Limit` says what each entry means.

    A number that is not finite, or does not exist, is None.
    """

    estimator: str
    agents: tuple[str, ...]
    rate: float | None
    error: float | None
    keeps_optimum: bool | None
    greedy_gain: float | None
    drift: float | None
    settled_gain: float | None


@dataclass(frozen=True)
class Kept:
    """A self-confirming policy; `sojourn.SelfConfirming` says what each entry means."""

    policy: tuple[int, ...]
    gain: float
    rate: float
    drift: float
    margin: float | None
    trap: bool


@dataclass(frozen=True)
class LockIn:
    """The policies that a learner with one estimator keeps; `known` is false if the estimator has no finite limit."""

    estimator: str
    known: bool
    policies: tuple[Kept, ...]

    @property
    def gains(self) -> list[tuple[float, bool, int]]:
        """The different gains, the largest first, each with whether its policies are traps and how many there are."""
        found: dict[tuple[float, bool], int] = {}
        for kept in self.policies:
            key = float(f"{kept.gain:.9g}") + 0.0, kept.trap
            found[key] = found.get(key, 0) + 1
        return [(gain, trap, count) for (gain, trap), count in found.items()]


@dataclass(frozen=True)
class Frontier:
    """The corners of F over the rate, and the gain of the policy that is greedy to the right of each."""

    rate: tuple[float, ...]
    value: tuple[float, ...]
    gain: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check that each corner has one of each."""
        check_lengths(self, "rate", "value", "gain")


@dataclass(frozen=True)
class Audited:
    """The limit of every estimator under a policy, and the rates for which an optimal policy is greedy.

    These rates go from `low` to `high`; None means that there is no bound. With `exploration`, a learner that follows
    the policy keeps it at the rates from `held_low` to `held_high`, or at none if `held` is false. `self_confirming` has
    the policies that a learner with each estimator keeps: all of them if `complete`, out of `num_policies` policies.
    """

    name: str
    states: int
    policy: tuple[int, ...]
    gain: float
    best_gain: float
    low: float | None
    high: float | None
    estimators: tuple[Limit, ...]
    frontier: Frontier
    exploration: float
    held: bool
    held_low: float | None
    held_high: float | None
    num_policies: float
    complete: bool
    self_confirming: tuple[LockIn, ...]

    def __getitem__(self, estimator: str) -> Limit:
        return {limit.estimator: limit for limit in self.estimators}[estimator]

    def groups(self) -> list[tuple[Limit, ...]]:
        """Return the estimators, grouped by their limits."""
        found: dict[tuple[float | None, bool | None], list[Limit]] = {}
        for limit in self.estimators:
            rate = None if limit.rate is None else float(f"{limit.rate:.9g}") + 0.0  # no minus zero
            found.setdefault((rate, limit.keeps_optimum), []).append(limit)
        return [tuple(group) for group in found.values()]


@dataclass(frozen=True)
class Made:
    """What an audit by name was made with: the options of the model, and the version of Sojourn."""

    options: JsonObject
    version: str


@dataclass(frozen=True)
class Answer:
    """The audit of a model by name, and what it was made with."""

    audited: Audited
    made: Made

    def as_json(self) -> dict[str, Json]:
        """Return the answer as one object, as it is written to `audit.json`."""
        return {"name": self.audited.name, **as_json(self.made), **as_json(self.audited)}


def read_answer(given: dict[str, Json]) -> Answer:
    """Return the answer that `audit.json` holds."""
    return Answer(read_record(Audited, given), read_record(Made, given))
