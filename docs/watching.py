"""Measures how often a monitor raises a false alarm, and how soon a true one; `python docs/watching.py` stores it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sojourn.deploy import Monitor

DATA = Path(__file__).resolve().parent / "data" / "watching.json"
ALPHA, RUNS, BATCHES = 0.05, 200, 800
DELAYS = ((100, 0.25), (100, 0.5), (100, 1.0), (800, 0.25), (800, 0.5), (800, 1.0))
LATEST = 3000  # batches after a change at which a run that has raised no alarm is given up

Draw = Callable[[np.random.Generator, int], np.ndarray[Any, Any]]


class Stream(NamedTuple):
    """Rewards with a mean of 0 in steps that take an exponential time of 1, and how many steps a batch has."""

    name: str
    draw: Draw
    batch: int = 10
    sound: bool = True  # whether false alarms should stay within their share


def _autoregressive(memory: float) -> Draw:
    keep = math.exp(-1.0 / memory)

    def draw(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
        noise = rng.normal(size=count) * math.sqrt(1.0 - keep**2)
        noise[0] = rng.normal()
        for i in range(1, count):
            noise[i] += keep * noise[i - 1]
        return noise

    return draw


def _rare(chance: float, sign: float) -> Draw:
    return lambda rng, count: (
        sign * ((rng.random(count) < chance) - chance) * 10.0 / chance**0.5 + rng.normal(size=count)
    )


def _pareto(shape: float, sign: float) -> Draw:
    return lambda rng, count: sign * (rng.pareto(shape, count) - 1.0 / (shape - 1.0))


def _lognormal(sign: float) -> Draw:
    return lambda rng, count: sign * (rng.lognormal(0.0, 1.5, count) - math.exp(1.125))


STREAMS = (
    Stream("normal rewards", lambda rng, count: rng.normal(size=count)),
    Stream("exponential gains", lambda rng, count: rng.exponential(size=count) - 1.0),
    Stream("lognormal gains, shape 1.5", _lognormal(1.0)),
    Stream("lognormal losses, shape 1.5", _lognormal(-1.0)),
    Stream("Pareto gains, shape 2.5", _pareto(2.5, 1.0)),
    Stream("Pareto losses, shape 2.5", _pareto(2.5, -1.0)),
    Stream("a memory of 10 steps, batches of 100", _autoregressive(10.0), 100),
    Stream("a memory of 10 steps, batches of 10", _autoregressive(10.0)),
    Stream("rare losses, one in 5 batches", _rare(0.02, -1.0)),
    Stream("rare gains, one in 5 batches", _rare(0.02, 1.0)),
    Stream("a memory of 100 steps, batches of 10", _autoregressive(100.0), sound=False),
    Stream("rare losses, one in 100 batches", _rare(0.001, -1.0), sound=False),
    Stream("rare gains, one in 100 batches", _rare(0.001, 1.0), sound=False),
    Stream("Pareto gains, shape 1.5 (no variance)", _pareto(1.5, 1.0), sound=False),
    Stream("Pareto losses, shape 1.5 (no variance)", _pareto(1.5, -1.0), sound=False),
)


def alarm_after(stream: Stream, seed: int, batches: int, change: int = 0, size: float = 0.0) -> int | None:
    """Return how many batches after a change an alarm comes, at the very edge of the promise; None if none comes.

    About from the batch `change` on, the rate is lower, by `size` deviations of a batch.
    """
    rng = np.random.default_rng([seed, 7])
    count = batches * stream.batch
    durations = rng.exponential(size=count)
    rewards = 1.0 * durations + stream.draw(rng, count)
    if size:
        whole = (
            (rewards - durations)[: count // stream.batch * stream.batch]
            .reshape(-1, stream.batch)
            .sum(axis=1)
        )
        rewards[change * stream.batch :] -= size * whole.std() / stream.batch
    monitor = Monitor(1.0, batch=float(stream.batch), false_alarms=ALPHA)
    at = 0
    for step, (reward, duration) in enumerate(zip(rewards.tolist(), durations.tolist(), strict=True)):
        if step == change * stream.batch:
            at = monitor.batches
        if monitor.update(reward, duration):
            return monitor.batches - at
    return None


def measured(runs: int = RUNS, batches: int = BATCHES) -> dict[str, Any]:
    """Return the share of false alarms on each stream, and the median delays of true ones on three of them."""
    rows = []
    for stream in STREAMS:
        found = [alarm_after(stream, seed, batches) for seed in range(runs)]
        false = sum(one is not None for one in found)
        rows.append({"name": stream.name, "sound": stream.sound, "runs": runs, "alarms": false})
        print(rows[-1], flush=True)  # noqa: T201 - it takes minutes
    delays = []
    for stream in (STREAMS[0], STREAMS[3], STREAMS[7]):
        for change, size in DELAYS:
            ends = [alarm_after(stream, seed, change + LATEST, change, size) for seed in range(30)]
            after = sorted(math.inf if one is None else one for one in ends)
            middle = after[len(after) // 2]
            delays.append(
                {
                    "name": stream.name,
                    "change": change,
                    "size": size,
                    "delay": None if middle == math.inf else middle,
                }
            )
            print(delays[-1], flush=True)  # noqa: T201
    return {"alpha": ALPHA, "runs": runs, "batches": batches, "false": rows, "delays": delays}


# --- For the page ---------------------------------------------------------------------


def places() -> dict[str, Callable[[], str]]:
    """Return the places in the page, each with the function that makes its content."""
    return {
        "<!-- watching: false alarms -->": false_table,
        "<!-- watching: delays -->": delay_table,
        "<!-- watching: size -->": size,
    }


def read() -> dict[str, Any]:
    """Return what was measured last."""
    return json.loads(DATA.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def size() -> str:
    """Say what was tried."""
    found = read()
    return (
        f"{found['runs']} runs of {found['batches']:,} batches on each stream, at the very edge of the promise, with a "
        f"false-alarm probability of {100 * found['alpha']:g} %"
    )


def false_table() -> str:
    """Return the table of false alarms."""
    rows = [
        f"| {row['name']} | {100.0 * row['alarms'] / row['runs']:.1f} % | {'' if row['sound'] else 'do not rely on it'} |"
        for row in read()["false"]
    ]
    return "\n".join(["| what is earned | runs with a false alarm | |", "|---|--:|---|", *rows])


def delay_table() -> str:
    """Return the table of delays."""
    rows = []
    found = read()["delays"]
    for name in dict.fromkeys(row["name"] for row in found):
        cells = [
            "more" if row["delay"] is None else str(row["delay"]) for row in found if row["name"] == name
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    heads = [f"{size:g} of a deviation after {change}" for change, size in DELAYS]
    return "\n".join([f"| the rate falls by | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}", *rows])


if __name__ == "__main__":
    DATA.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
