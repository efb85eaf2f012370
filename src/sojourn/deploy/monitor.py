"""Watches what a policy earns, and says when that has left the interval that was promised: a sequential test.

Steps are taken together in batches of about the same time. With R and T the reward and the time of a batch, D = R - low T is at
least 0 on average as long as the rate is not below `low`. Let s^2 be the variance of D, and lambda a stake. Then

    e = f(-lambda D / s) / (1 + lambda^2 / 2),    f(x) = 1 + x + x^2 / 2 for x >= 0,    1 / (1 - x + x^2 / 2) for x < 0

is at most 1 on average, as f(x) <= 1 + x + x^2 / 2 for all x: a fair bet that the rate is below `low`. The f is Catoni's, and
keeps single batches with a large reward from deciding (Wang and Ramdas 2023). Bets are placed from each batch on, as nobody knows
when the rate will leave the interval (Shin, Ramdas and Rinaldo 2024), with the k-th share of the money, w(k) = 1 / (k (k + 1)):

    M(k) = e(k) (M(k - 1) + w(k)).

M(k) plus the money not yet placed is a supermartingale that begins at 1. So the probability that M ever reaches 1 / alpha is at most
alpha, however long one watches (Ville 1939), and a change late is found nearly as soon as one early, since log 1 / w(k) grows
slowly. M is the mean over seven stakes, from 1 to 1/64, for changes of different sizes. The same is done for
D = high T - R; both sides share alpha.

The variance is not known, but taken from the batches before, at least from the first 50, which only calibrate, times 1.3, and times
(1 + c) / (1 - c) for a correlation c of neighbouring batches. So the bound on false alarms holds exactly only for a known
variance. `docs/production.md` has the rates measured, also where they are above alpha: where batches are much shorter than what the
system remembers, where rewards have no variance, and where the first 50 batches do not show what rare rewards are like.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Self, TypedDict

from sojourn.data.files import JsonObject, load_json, write_json
from sojourn.data.hints import check_kind
from sojourn.data.numbers import Number, as_float, at_least_zero, finite, positive, proper_fraction, whole
from sojourn.rules.door import told

_FORMAT, _VERSION = "sojourn monitor", 1
_STAKES = tuple(0.5**j for j in range(7))
_WIDER = 1.3  # than the variance of the batches so far
_MOST_CORRELATED = 0.9
_ROUNDING = 1e-9  # deviations this small relative to rewards count as 0
_MOST = 1e300


class Bet(TypedDict):
    """The bets with one stake: their worth, and what was earned since they last began to win."""

    worth: float
    winning: float  # the logarithm of what was won since then
    reward: float
    duration: float


class SideState(TypedDict):
    """What is known of the batches' deviations from one bound, and all bets on that side."""

    count: int
    mean: float
    squares: float
    products: float  # of neighbours
    last: float
    scale: float  # the mean size of what is compared, for rounding
    bets: list[Bet]


class MonitorState(TypedDict):
    """Everything that a monitor knows, as JSON; a bound of null is infinite."""

    format: str
    version: int
    low: float | None
    high: float | None
    batch: float
    false_alarms: float
    calibration: int
    steps: int
    reward: float
    duration: float
    open_reward: float
    open_duration: float
    below: SideState | None
    above: SideState | None
    alarm: str


def _new_side() -> SideState:
    bets: list[Bet] = [{"worth": 0.0, "winning": 0.0, "reward": 0.0, "duration": 0.0} for _ in _STAKES]
    return {
        "count": 0, "mean": 0.0, "squares": 0.0, "products": 0.0, "last": 0.0, "scale": 0.0, "bets": bets,
    }  # fmt: skip


@told
class Monitor:
    """Watches whether what is earned per unit of time stays between `low` and `high`; either may be infinite.

    `batch` is a time in which the system forgets where it was, and in which what matters happens several times: a hundredth of
    the time that `Learner.evaluate` took for its interval is a good choice, and `Monitor.of` takes it. `false_alarms` is the
    probability of ever raising an alarm while the promise is kept. The first `calibration` batches only measure how much
    batches differ.

    Steps earn 1 or 3 in a time of 2, and then 0 or 2:

    >>> import random
    >>> coin, monitor = random.Random(0), Monitor(low=0.95, high=1.05, batch=10.0)
    >>> any(monitor.update(coin.choice([1.0, 3.0]), 2.0) for _ in range(5000))
    False
    >>> steps = 0
    >>> while not monitor.update(coin.choice([0.0, 2.0]), 2.0):
    ...     steps += 1
    >>> steps, monitor.alarm.partition(";")[0]
    (119, 'for a time of about 240, 0.533333 has been earned per unit of time, which is below what was promised, 0.95 to 1.05')
    """

    def __init__(
        self,
        low: float,
        high: float = math.inf,
        *,
        batch: Number,
        false_alarms: Number = 0.01,
        calibration: int = 50,
    ) -> None:
        low, high = as_float("low", low), as_float("high", high)
        if not low <= high or (math.isinf(low) and math.isinf(high)) or low == math.inf:
            raise ValueError(
                f"the promise is {low} to {high}; low must not be above high, and one must be finite"
            )
        self._state: MonitorState = {
            "format": _FORMAT,
            "version": _VERSION,
            "low": low if math.isfinite(low) else None,
            "high": high if math.isfinite(high) else None,
            "batch": positive("batch", batch),
            "false_alarms": proper_fraction("false_alarms", false_alarms),
            "calibration": whole("calibration", calibration, least=10),
            "steps": 0,
            "reward": 0.0,
            "duration": 0.0,
            "open_reward": 0.0,
            "open_duration": 0.0,
            "below": _new_side() if math.isfinite(low) else None,
            "above": _new_side() if math.isfinite(high) else None,
            "alarm": "",
        }

    @classmethod
    def of(cls, evaluation: Any, *, false_alarms: Number = 0.01) -> Self:
        """Watch what an evaluation promised: its interval, in batches of a hundredth of its time."""
        if not all(hasattr(evaluation, name) for name in ("low", "high", "duration")):
            raise TypeError(
                f"{type(evaluation).__name__} has no interval with the time it was measured in; an evaluation of a learner has, and "
                "else give the promise and the time of a batch, Monitor(low, high, batch=...)"
            )
        if evaluation.low is None or evaluation.high is None:
            raise ValueError(
                "the evaluation has no interval to promise; evaluate for as long as it says is needed"
            )
        return cls(
            evaluation.low, evaluation.high, batch=evaluation.duration / 100.0, false_alarms=false_alarms
        )

    @property
    def alarm(self) -> str:
        """What has happened, in one sentence; empty as long as nothing has. It stays until `reset`."""
        return self._state["alarm"]

    @property
    def rate(self) -> float:
        """What has been earned per unit of time since the monitor was made; 0 before any time has passed."""
        state = self._state
        return state["reward"] / state["duration"] if state["duration"] else 0.0

    @property
    def batches(self) -> int:
        """How many batches have been seen."""
        side = self._state["below"] or self._state["above"]
        assert side is not None
        return side["count"]

    @property
    def is_calibrated(self) -> bool:
        """Whether enough batches have been seen to judge others."""
        return self.batches >= self._state["calibration"]

    def update(self, reward: Number, duration: Number) -> str:
        """Take in one step, which may take no time, and return the alarm, or an empty text."""
        state = self._state
        reward, duration = finite("reward", reward), at_least_zero("duration", duration)
        state["steps"] += 1
        state["reward"] += reward
        state["duration"] += duration
        state["open_reward"] += reward
        state["open_duration"] += duration
        if state["open_duration"] >= state["batch"]:
            self._close()
        return state["alarm"]

    def reset(self) -> None:
        """Forget the alarm and all bets, such as after a repair; what was calibrated stays."""
        self._state["alarm"] = ""
        for side in (self._state["below"], self._state["above"]):
            if side is not None:
                side["bets"] = _new_side()["bets"]

    def _close(self) -> None:
        """Place the bets on the batch that is complete."""
        state = self._state
        reward, duration = state["open_reward"], state["open_duration"]
        state["open_reward"] = state["open_duration"] = 0.0
        sides = [(state["below"], state["low"], 1.0, "below"), (state["above"], state["high"], -1.0, "above")]
        shares = sum(side is not None for side, *_ in sides)
        for side, bound, sign, word in sides:
            if side is None or bound is None:
                continue
            deviation = sign * (reward - bound * duration)
            if side["count"] >= state["calibration"] and not state["alarm"]:
                _bet(side, deviation, reward, duration, side["count"] - state["calibration"] + 1)
                if sum(bet["worth"] for bet in side["bets"]) / len(_STAKES) >= shares / state["false_alarms"]:
                    state["alarm"] = self._sentence(side, word)
            _take_in(side, deviation, abs(reward) + abs(bound) * duration)

    def _sentence(self, side: SideState, word: str) -> str:
        state, best = self._state, max(side["bets"], key=lambda bet: bet["worth"])
        promised = (
            f"{state['low']:.6g} to {state['high']:.6g}"
            if state["low"] is not None and state["high"] is not None
            else f"at least {state['low']:.6g}" if state["low"] is not None else f"at most {state['high']:.6g}"
        )  # fmt: skip
        return (
            f"for a time of about {best['duration']:.4g}, {best['reward'] / best['duration']:.6g} has been earned per unit of time, "
            f"which is {word} what was promised, {promised}; if the promise were kept, an alarm would ever come with a "
            f"probability of at most {100.0 * state['false_alarms']:g} %"
        )

    # --- Files ---

    def state(self) -> JsonObject:
        """Return everything that the monitor knows, as JSON; floats in JSON lose no bits."""
        copy: JsonObject = json.loads(json.dumps(self._state))
        return copy

    @classmethod
    def restored(cls, state: JsonObject) -> Self:
        """Return the monitor with this state, which goes on with the same bits."""
        check_kind(MonitorState, state, "the monitor")
        data: Any = json.loads(json.dumps(state))
        if (data["format"], data["version"]) != (_FORMAT, _VERSION):
            raise ValueError(f"it holds {data['format']!r} of version {data['version']!r}")
        low, high = (data["low"], data["high"])
        monitor = cls(
            -math.inf if low is None else low,
            math.inf if high is None else high,
            batch=data["batch"],
            false_alarms=data["false_alarms"],
            calibration=data["calibration"],
        )
        for name in ("below", "above"):
            side, own = data[name], monitor._state[name]
            if (side is None) != (own is None) or (side is not None and not _is_sound(side)):
                raise ValueError(f"what it knows of rates {name} the promise does not fit together")
        monitor._state = data
        return monitor

    def save(self, path: str | Path) -> None:
        """Write the state as a JSON file, atomically."""
        write_json(Path(path), self.state())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the state from a JSON file, and go on."""
        try:
            return cls.restored(load_json(Path(path)))
        except (TypeError, ValueError) as error:
            if str(error).startswith(str(path)):
                raise
            raise ValueError(f"{path} is not the state of a monitor: {error}") from None

    def __repr__(self) -> str:
        state = self._state
        return f"<Monitor of {state['low']} to {state['high']}, {self.batches} batches, {'alarm' if self.alarm else 'no alarm'}>"


def _is_sound(side: SideState) -> bool:
    numbers = [side["mean"], side["squares"], side["products"], side["last"], side["scale"]]
    for bet in side["bets"]:
        numbers += [bet["worth"], bet["winning"], bet["reward"], bet["duration"]]
    return (
        len(side["bets"]) == len(_STAKES)
        and side["count"] >= 0
        and side["squares"] >= 0.0
        and all(map(math.isfinite, numbers))
        and all(bet["worth"] >= 0.0 for bet in side["bets"])
    )


def _bet(side: SideState, deviation: float, reward: float, duration: float, k: int) -> None:
    """Place the bets on one batch, the k-th that is not only for calibration."""
    variance = _WIDER * side["squares"] / side["count"]
    together = side["products"] / side["squares"] if side["squares"] > 0.0 else 0.0
    correlation = min(max(together + 1.0 / side["count"], 0.0), _MOST_CORRELATED)
    variance *= (1.0 + correlation) / (1.0 - correlation)
    spread = max(math.sqrt(variance), _ROUNDING * side["scale"])
    if spread == 0.0:
        spread = 1.0  # all rewards so far and the bound are 0
    placed = 1.0 / (k * (k + 1.0))
    for bet, stake in zip(side["bets"], _STAKES, strict=True):
        x = min(-stake * deviation / spread, 1e100)
        won = 1.0 + x + x * x / 2.0 if x >= 0.0 else 1.0 / (1.0 - x + x * x / 2.0)
        won /= 1.0 + stake * stake / 2.0
        bet["worth"] = min(won * (bet["worth"] + placed), _MOST)
        if bet["winning"] <= 0.0:
            bet["reward"] = bet["duration"] = 0.0
        bet["winning"] = max(0.0, bet["winning"] + math.log(max(won, 1e-300)))
        bet["reward"] += reward
        bet["duration"] += duration


def _take_in(side: SideState, deviation: float, size: float) -> None:
    """Take a batch into what is known of deviations (Welford 1962)."""
    off = deviation - side["mean"]
    if side["count"]:
        side["products"] += off * (side["last"] - side["mean"])
    side["count"] += 1
    side["last"] = deviation
    side["mean"] += off / side["count"]
    side["squares"] += off * (deviation - side["mean"])
    side["scale"] += (size - side["scale"]) / side["count"]
