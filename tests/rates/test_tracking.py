"""How closely estimators follow rates that change, on streams whose truth is known.

The tracking error is the mean over time of (estimate - truth)^2, without the first 100 steps (or, with rare events, without
all until the third or the tenth), averaged over seeds before ratios are taken. It is compared with that of an `Exponential` whose step size is tuned to the very stream.
The streams of this file were used in no design.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import sojourn as sj
from counting import Counted
from sojourn.rates.protocol import Rate
from sojourn.rates.score import rates_over
from sojourn_paper.drift.streams import (
    MOVEMENTS,
    NAMED,
    Stream,
    named_stream,
    random_stream,
    rare_events,
    scenario,
)

STEP_SIZES = 10.0 ** np.arange(-4.0, -0.2, 0.125)


def error(rate: Rate, stream: Stream, begin: int = 100) -> float:
    """The tracking error of an estimator."""
    off = rates_over(rate, stream.rewards, stream.durations)[begin:] - stream.truth[begin:]
    return float((stream.lasted[begin:] * off**2).sum() / stream.lasted[begin:].sum())


def tuned(streams: list[Stream]) -> npt.NDArray[np.float64]:
    """The mean error of an `Exponential` with each step size."""
    errors = [[error(sj.Exponential(size), one) for size in STEP_SIZES] for one in streams]
    return np.asarray(np.mean(errors, axis=0))


def rare_streams(event: str, chance: float, noise: float, seeds: range) -> tuple[list[Stream], list[int]]:
    """Streams of rare events whose rewards vary by so much, and for each the step after its third event."""
    streams, begins = [], []
    for seed in seeds:
        rng = np.random.default_rng([1906, seed])
        calm = rare_events(rng, event, chance, 20_000)
        shown = calm.durations if event == "long" else -calm.rewards if event == "disaster" else calm.rewards
        begins.append(int(np.flatnonzero(shown == shown.max())[2]) + 1)
        streams.append(
            calm._replace(rewards=calm.rewards * (1.0 + noise * rng.standard_normal(len(calm.rewards))))
        )
    return streams, begins


def relative(make: Callable[[np.random.Generator], Stream], seeds: list[list[int]]) -> float:
    """The error of `AdaptiveRatio` over that of the tuned `Exponential`, both averaged over seeds."""
    streams = [make(np.random.default_rng(seed)) for seed in seeds]
    return float(np.mean([error(sj.rates.AdaptiveRatio(), one) for one in streams]) / tuned(streams).min())


def over_scenarios(count: int, n: int, seeds: int) -> npt.NDArray[np.float64]:
    """The relative error in each of so many random scenarios."""
    found = []
    for place in range(count):
        kind = scenario(np.random.default_rng([19, place]), place)
        found.append(
            relative(
                lambda rng, kind=kind: random_stream(rng, kind, n),  # type: ignore[misc]
                [[1919, place, seed] for seed in range(seeds)],
            )
        )
    return np.array(found)


def test_adaptive_ratio_is_nearly_as_good_as_what_is_tuned() -> None:
    """On one random scenario of each movement: within 1.35 of the tuned one in the geometric mean, within 3 everywhere."""
    found = over_scenarios(len(MOVEMENTS), n=6000, seeds=1)
    assert np.exp(np.log(found).mean()) <= 1.35
    assert found.max() <= 3.0


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("event", ["jackpot", "disaster", "long"])
@pytest.mark.parametrize("chance", [0.1, 0.01, 0.001])
def test_adaptive_ratio_on_rare_events(event: str, chance: float, noise: float) -> None:
    """Within twice the error of the tuned one from step 100 on, and from the third event on, where it was once 125 times that.

    Until there was an event nobody knows the rate, and where steps are long the error of that time hides all that follows.
    """
    streams, third = rare_streams(event, chance, noise, range(12))
    for begins in ([100] * len(streams), [max(100, at) for at in third]):
        both = list(zip(streams, begins, strict=True))
        found = np.mean([error(sj.rates.AdaptiveRatio(), *one) for one in both])
        best = min(np.mean([error(sj.Exponential(size), *one) for one in both]) for size in STEP_SIZES[:16:3])
        assert found <= 2.0 * best, (found / best, begins[0])


@pytest.mark.evidence
def test_adaptive_ratio_on_180_random_scenarios(counted: Counted) -> None:
    """Without a step size: 1.1 of the tuned `Exponential` in the geometric mean, 1.4 in 90 of 100, 2.3 at the worst."""
    found = over_scenarios(180, n=20_000, seeds=5)
    mean, most = np.exp(np.log(found).mean()), np.quantile(found, 0.9)
    counted(
        "random changing streams, tracked without a step size",
        tried=len(found),
        failed=int((found > 2.3).sum()),
    )
    assert mean <= 1.1
    assert most <= 1.4


def test_where_the_condition_of_the_score_fails() -> None:
    """It fails on the three streams with wrong records, and on the two whose policy moves between states; on no other.

    The score is right where E[r | past] = rate x E[duration | past]. Then the differences r - rate x duration have the
    mean 0 and no correlation, and their sum, and that of the products of neighbours, are a few standard deviations at
    most. Where one duration of 500 is recorded as a hundred times its length, the recorded mean is 1 + 99 / 500 times
    the true one: the score aims at a rate too low by this factor, whatever the step size. In "bursty", rich steps
    follow rich ones; in "chain", poor ones, which misleads nobody.
    """
    shifted, correlated = [], []
    for place, name in enumerate(NAMED):
        streams = [
            named_stream(np.random.default_rng([1902, place, seed]), name, 20_000) for seed in range(10)
        ]
        left = [one.rewards - one.truth * one.durations for one in streams]
        products = np.concatenate([one[1:] * one[:-1] for one in left])
        if deviations(np.concatenate(left)) > 6.0:
            shifted.append(name)
        if deviations(products) > 6.0:
            correlated.append((name, products.sum() > 0.0))
        if name == "outlier-duration":
            recorded, true = (
                np.concatenate([getattr(one, part) for one in streams]).mean()
                for part in ("durations", "lasted")
            )
            assert recorded / true == pytest.approx(1.0 + 99.0 / 500.0, abs=0.03)
    assert shifted == ["outlier-duration", "outlier-reward", "missing-duration"]
    assert correlated == [("chain", False), ("bursty", True)]


def deviations(numbers: npt.NDArray[np.float64]) -> float:
    """How many standard deviations a sum is from zero, if its terms have the mean 0 and no correlation."""
    return float(abs(numbers.sum()) / np.sqrt((numbers**2).sum()))


@pytest.mark.evidence
def test_step_sizes_chosen_by_score_on_all_named_streams(counted: Counted) -> None:
    """The step size of least score has at most 1.15 times the error of the one tuned by the truth, but on four streams.

    On these four the theorem's condition fails, as the test above shows. On three of them records are wrong, so that what is
    scored is not what happened: at most 1.25 there. On "bursty" one policy stays in rich and poor states for long, and
    the choice is wrong by far.
    """
    ratios = {}
    for place, name in enumerate(NAMED):
        streams = [
            named_stream(np.random.default_rng([1901, place, seed]), name, 20_000) for seed in range(10)
        ]
        scores = [
            [sj.rates.rate_score(sj.Exponential(size), one.rewards, one.durations) for size in STEP_SIZES]
            for one in streams
        ]
        errors = tuned(streams)
        ratios[name] = errors[np.argmin(np.sum(scores, axis=0))] / errors.min()
    assert ratios.pop("bursty") > 10.0
    wrong = [ratios.pop(name) for name in ("outlier-duration", "outlier-reward", "missing-duration")]
    assert max(wrong) <= 1.25
    failed = sum(one > 1.15 for one in ratios.values())
    counted("step sizes chosen by score", tried=len(ratios), failed=failed)
