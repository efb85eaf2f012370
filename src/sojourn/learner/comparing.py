"""Rules compared under the same random numbers, and a search over the parameters of a rule.

Two rules are followed with the same seeds, and their rates are subtracted seed by seed: what both meet alike cancels
(*common random numbers*; A. M. Law, "Simulation Modeling and Analysis", chapter 11). The interval is Student's t over the
seeds. How much cancels depends on the environment: a rule that draws one number more shifts all later ones. In a simulation,
`sim.stream(name)` gives each source of randomness a stream of its own.

The search is **successive halving** over common seeds (Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in
multi-armed bandits", ICML 2013; K. Jamieson and A. Talwalkar, AISTATS 2016): all candidates are followed with few
seeds, the better half with twice as many, and so on until one is left. The candidates fill the ranges evenly, by the points
of J. H. Halton (Numerische Mathematik 2, 1960), shifted at random; a second round searches around the winner of the first. The best
of many noisy figures is too good to be true. So what is reported for the winner was measured with seeds that the
search has not seen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from scipy.special import stdtrit

from sojourn.data.numbers import finite, listed, shown, unmasked, whole, within
from sojourn.envs.protocol import Element
from sojourn.envs.reader import Reader, TableReader
from sojourn.learner.driver import Choose
from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.long_run import MicroBatches


class ActingPolicy(Protocol):
    """A policy that acts, such as one that `load_policy` returns, or a `Learner`."""

    def act(self, obs: Any, action_mask: Any = None) -> Any:
        """Return the action for an observation."""


# A user's rule: a function of the observation, a mapping from observations to actions, an action for each state, or
# anything that acts.
GivenPolicy: TypeAlias = "Callable[[Any], Any] | Mapping[Any, int] | Sequence[int] | Ints | ActingPolicy"
Range: TypeAlias = tuple[int, int] | tuple[float, float]
Parameters: TypeAlias = dict[str, int | float]
Follow: TypeAlias = Callable[..., tuple[MicroBatches, float]]  # a rule, how long, the seed; as `followed`

_PRIMES = (2, 3, 5, 7, 11, 13)
_FIRST = 2  # seeds for every candidate
_AROUND = 1.5  # distances between candidates, on each side of a winner, that the second round searches
_CLOSE = 0.02  # of a range of real numbers, next to its ends


class RuleComparison(NamedTuple):
    """How much more a rule earns per unit time than another one, with the same seeds.

    `rate` and `other` are what they earn, in the mean of the seeds; the `difference` has a confidence interval from
    `low` to `high` at the `level`. `correlation` of the two over the seeds says how much the common seeds have helped: the
    interval is about sqrt(1 - correlation) as wide as with seeds of their own.

    >>> import numpy as np
    >>> paired(np.array([[3.0, 2.0], [4.0, 3.1], [5.0, 3.9]]), level=0.95).sentence
    '+1 per unit time (0.752 to 1.25 at 95 %, 3 common seeds): 4 against 3'
    """

    rate: float
    other: float
    difference: float
    low: float
    high: float
    level: float
    seeds: int
    correlation: float

    @property
    def sentence(self) -> str:
        """The result in words."""
        sides = f"{self.low:.3g} to {self.high:.3g} at {100.0 * self.level:g} %, {self.seeds} common seeds"
        return f"{self.difference:+.3g} per unit time ({sides}): {self.rate:.6g} against {self.other:.6g}"


class Trial(NamedTuple):
    """A candidate of a search: its parameters, with how many seeds it was followed, and what it earned with these."""

    parameters: Parameters
    seeds: int
    rate: float


class RuleSearch(NamedTuple):
    """The best parameters of a rule, and what the rule earns with them on seeds that the search has not seen.

    `policy` is the rule with these `parameters`. `rate` is what it earns per unit time, with a confidence interval from
    `low` to `high` at the `level`. `learned` compares it with the learner's policy, by the same fresh seeds; it is None if the
    learner was not trained. `tried` are all candidates, the winner first; the rates there are those that the search chose
    by, and the best of them are too high. `at_end` names parameters that are at an end of their range.

    >>> import sojourn as sj
    >>> shop = sj.Learner(sj.envs.make("sojourn/AdmissionControl-v0", {"compiled": False}))
    >>> admit = lambda room: lambda jobs: jobs < room
    >>> found = shop.search(admit, {"room": (3, 4)}, duration=1000.0, tries=2, seeds=4)
    >>> found.parameters, [trial.seeds for trial in found.tried], found.at_end
    ({'room': 3}, [2, 2], ('room',))
    """

    parameters: Parameters
    policy: Any
    rate: float
    low: float
    high: float
    level: float
    seeds: int
    learned: RuleComparison | None
    tried: tuple[Trial, ...]
    at_end: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The result in words."""
        best = ", ".join(f"{name} = {number:.6g}" for name, number in self.parameters.items())
        sides = f"{self.low:.6g} to {self.high:.6g} at {100.0 * self.level:g} %, {self.seeds} fresh seeds"
        said = [
            f"{best} earns {self.rate:.6g} per unit time ({sides}), the best of {len(self.tried)} candidates"
        ]
        if self.learned is not None:
            found = self.learned
            said.append(
                f"the learned policy earns {found.other:.6g}; the rule {found.difference:+.3g} ({found.low:.3g} to {found.high:.3g})"
            )
        if self.at_end:
            said.append(f"{listed(self.at_end)} at the end of the range: try a wider one")
        return "; ".join(said)


# --- A user's rule ------------------------------------------------------------------


def chooser(given: GivenPolicy, reader: Reader, name: str = "baseline") -> Choose:
    """Return a user's rule in a form that can be followed, or raise an error that says what is wrong with it."""
    follow: Any = getattr(given, "to_follow", None)  # a learner's best policy has it
    if callable(follow):
        return cast("Choose", follow(0))
    act: Any = getattr(given, "act", None)
    if not isinstance(reader, TableReader):
        if callable(act):
            return cast("Choose", act)
        if not callable(given):
            raise TypeError(
                f"the {name} is {shown(given)}; where observations cannot be listed it must be a function of the "
                "observation"
            )
        return lambda observation, _mask: given(observation)
    first, count, states = reader.first_action, reader.num_actions, reader.states

    def checked(action: int) -> int:
        try:
            number = int(action)
        except (TypeError, ValueError):
            raise TypeError(
                f"the {name}'s action is {shown(action)}; it must be one of {first} to {first + count - 1}"
            ) from None
        return within(f"the {name}'s action", number - first, count) + first

    if callable(act):
        return lambda observation, mask: checked(act(observation, mask))
    if callable(given):
        return lambda observation, _mask: checked(given(observation))
    unmasked(f"the {name}", given)
    if isinstance(given, Mapping):
        return lambda observation, _mask: checked(_looked_up(given, observation, name))
    if not isinstance(given, Iterable):
        raise TypeError(
            f"the {name} is {shown(given)}; give a function of the observation, a mapping from observations to actions, an action "
            "for each state, or a policy or learner that acts"
        )
    actions = [checked(action) for action in given]
    if len(actions) != states.num_states:
        raise ValueError(
            f"the {name} has {len(actions)} actions, but there are {states.num_states} states; give one action for "
            "each state"
        )
    return lambda observation, _mask: actions[states.index(observation)]


def _looked_up(given: Mapping[Any, int], observation: Element, name: str) -> int:
    key = observation
    if isinstance(observation, np.ndarray | np.generic):
        key = observation.tolist() if np.ndim(observation) == 0 else tuple(np.ravel(observation).tolist())
    if key not in given:
        raise ValueError(f"the {name} has no action for the observation {shown(key)}; add one")
    return given[key]


# --- The same seeds -----------------------------------------------------------------


def seeds_of(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds of a comparison: those given, or as many as asked for, from 1."""
    if isinstance(seeds, Iterable):
        listed_seeds = [whole("each of seeds", seed, least=0) for seed in seeds]
        if len(set(listed_seeds)) < len(listed_seeds):
            raise ValueError(f"seeds is {shown(seeds)}; each seed must be there once, or it counts twice")
    else:
        listed_seeds = list(range(1, 1 + whole("seeds", seeds)))
    if len(listed_seeds) < 2:
        raise ValueError("a comparison needs at least 2 seeds, for an interval")
    return listed_seeds


def rates_with(follow: Follow, rules: Sequence[Choose], seeds: Iterable[int], duration: float) -> Floats:
    """Return what each rule earns with each seed, as an array of seeds by rules."""
    return np.array([[rate_with(follow, rule, seed, duration) for rule in rules] for seed in seeds])


def rate_with(follow: Follow, rule: Choose, seed: int, duration: float) -> float:
    """Return what a rule earns per unit time with a seed."""
    run, _ = follow(rule, duration, seed)
    return run.reward / run.duration


def paired(rates: Floats, level: float) -> RuleComparison:
    """Return the comparison of two rules from their rates, an array of seeds by rules."""
    off = rates - rates.mean(axis=0)
    size = math.sqrt(float((off[:, 0] ** 2).sum() * (off[:, 1] ** 2).sum()))
    difference, half = student(rates[:, 0] - rates[:, 1], level)
    return RuleComparison(
        float(rates[:, 0].mean()),
        float(rates[:, 1].mean()),
        difference,
        difference - half,
        difference + half,
        level,
        len(rates),
        float(off[:, 0] @ off[:, 1]) / size if size > 0.0 else 0.0,
    )


def student(values: Floats, level: float) -> tuple[float, float]:
    """Return the mean of independent values, and half the width of Student's interval around it."""
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return float(values.mean()), error * float(stdtrit(len(values) - 1, 0.5 + level / 2.0))


# --- A search -----------------------------------------------------------------------


class Ranges(NamedTuple):
    """The parameters of a rule, and the ends of their ranges; whole numbers stay whole."""

    names: tuple[str, ...]
    low: Floats
    high: Floats
    is_whole: tuple[bool, ...]

    def at(self, share: Floats) -> Parameters:
        """Return the parameters at a point of the unit cube."""
        found: Parameters = {}
        for place, name in enumerate(self.names):
            low, high = float(self.low[place]), float(self.high[place])
            if self.is_whole[place]:
                found[name] = int(min(low + math.floor(share[place] * (high - low + 1.0)), high))
            else:
                found[name] = low + float(share[place]) * (high - low)
        return found

    def around(self, best: Parameters, share: float) -> Ranges:
        """Return ranges around a point that reach so far on each side, as a share of the whole."""
        middle = np.array([float(best[name]) for name in self.names])
        reach = np.maximum(share * (self.high - self.low), np.array(self.is_whole, dtype=np.float64))
        low, high = np.maximum(middle - reach, self.low), np.minimum(middle + reach, self.high)
        low = np.where(self.is_whole, np.ceil(low), low)
        return self._replace(low=low, high=np.where(self.is_whole, np.floor(high), high))

    def at_end(self, point: Parameters) -> tuple[str, ...]:
        """Return the names of parameters that are at an end of their range, or as good as there."""
        gaps = {
            name: 0.0 if self.is_whole[place] else _CLOSE * (self.high[place] - self.low[place])
            for place, name in enumerate(self.names)
        }
        inside = zip(self.names, self.low, self.high, strict=True)
        return tuple(
            name for name, low, high in inside if min(point[name] - low, high - point[name]) <= gaps[name]
        )

    def candidates(self, tries: int, shift: Floats) -> list[Parameters]:
        """Return different points, as many as asked for: all there are, if these are no more, else Halton's."""
        sizes = self.high - self.low + 1.0
        if all(self.is_whole) and sizes.prod() <= tries:
            grid = itertools.product(
                *(range(int(a), int(b) + 1) for a, b in zip(self.low, self.high, strict=True))
            )
            return [dict(zip(self.names, point, strict=True)) for point in grid]
        found: dict[tuple[int | float, ...], Parameters] = {}
        for place in range(20 * tries):
            digits = [_mirrored(place + 1, base) for base in _PRIMES[: len(self.names)]]
            point = self.at((np.array(digits) + shift) % 1.0)
            found.setdefault(tuple(point.values()), point)
            if len(found) == tries:
                break
        return list(found.values())


def ranges(given: Mapping[str, Range]) -> Ranges:
    """Return the ranges of a search, checked.

    >>> ranges({"below": (0, 200), "share": (0.0, 1.0)}).is_whole
    (True, False)
    """
    if not isinstance(given, Mapping) or not 1 <= len(given) <= len(_PRIMES):
        raise ValueError(
            f'the parameters are {shown(given)}; give the ends of 1 to {len(_PRIMES)} ranges by name, such as {{"below": (0, 200)}}'
        )
    low, high, is_whole = [], [], []
    for name, ends in given.items():
        if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
            raise ValueError(f"the range of {name} is {shown(ends)}; give its two ends, such as (0, 200)")
        a, b = (finite(f"an end of the range of {name}", end) for end in ends)
        if not a < b:
            raise ValueError(f"the range of {name} is {shown(ends)}; its first end must be below its second")
        low.append(a)
        high.append(b)
        is_whole.append(all(isinstance(end, int | np.integer) for end in ends))
    return Ranges(tuple(given), np.array(low), np.array(high), tuple(is_whole))


def searched(
    run: Callable[[Parameters, int], float], space: Ranges, tries: int, first_seed: int
) -> tuple[Parameters, tuple[Trial, ...]]:
    """Return the best parameters, and all that were tried; `run` returns what parameters earn with a seed.

    All candidates are followed with the same seeds, from `first_seed`.
    """
    shift = np.random.default_rng(first_seed).random(len(space.names))
    rates: dict[tuple[int | float, ...], list[float]] = {}

    def mean(point: Parameters, seeds: int) -> float:
        seen = rates.setdefault(tuple(point.values()), [])
        seen += [run(point, first_seed + place) for place in range(len(seen), seeds)]
        return math.fsum(seen[:seeds]) / seeds

    def winner(left: list[Parameters]) -> Parameters:
        seeds = _FIRST
        while len(left) > 1:
            worth = [mean(point, seeds) for point in left]
            order = sorted(range(len(left)), key=lambda place: -worth[place])
            left, seeds = [left[place] for place in order[: (len(left) + 1) // 2]], 2 * seeds
        return left[0]

    first = space.candidates(tries, shift)
    best = winner(first)
    if len(first) == tries and tries > 2:
        near = space.around(best, _AROUND * tries ** (-1.0 / len(space.names)))
        others = [point for point in near.candidates(tries // 2, shift) if point != best]
        best = winner([best, *others])
    tried = [
        Trial(dict(zip(space.names, point, strict=True)), len(seen), math.fsum(seen) / len(seen))
        for point, seen in rates.items()
    ]
    tried.sort(key=lambda one: (one.parameters != best, -one.seeds, -one.rate))
    return best, tuple(tried)


def runs_of_search(tries: int) -> int:
    """Return about how many runs a search takes, both rounds together."""
    halvings = math.ceil(math.log2(tries))
    return _FIRST * tries * (halvings + 2) // 2 + _FIRST * (tries // 2) * (halvings + 1) // 2


def _mirrored(number: int, base: int) -> float:
    """Return a number with its digits mirrored at the point: the sequence of van der Corput."""
    found, part = 0.0, 1.0
    while number:
        part /= base
        number, digit = divmod(number, base)
        found += digit * part
    return found
