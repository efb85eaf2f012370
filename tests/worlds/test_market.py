"""The market world, mostly against the oracle in naive.py, which implements the definition independently."""

import random as python_random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import naive
import sojourn as sj
from sojourn.rules.values import same
from sojourn.worlds.market.world import Market

RULES = ["random", "scaled", "scaled-magnitude"]
STEP_SIZE = 0.001
EXPLORATION = naive.Exploration(0.2, factor=0.999)
REAL = Path(__file__).parents[2] / "../shared/data/btcusd_1min.parquet"


# --- Agents: ours and the oracle's. ---


class HarmonicByShares(naive.Harmonic):
    """The same estimate, with each block multiplied by its share, as Sojourn does.

    naive.Harmonic divides by the whole at the end, which differs in the last bit. Where every
    minute earns the same rate, r - rho tau is nothing but last bits, and they choose the action.
    """

    def value(self) -> float:
        total = self.plus + self.minus + self.zero
        blocks = [(self.plus, self.p), (self.minus, self.n)]
        return sum(naive.ratio(share, total) * naive.ratio(share, mean) for share, mean in blocks)


def both(
    name: str, state_size: int, rate_step_size: float, exploration: naive.Exploration = EXPLORATION
) -> tuple[Any, naive.Agent]:
    """The agent of this name and the oracle's, with the same settings."""
    has_step_size = name in ("relaxed_smart", "harmonic_r")
    own = {"rate_step_size": rate_step_size} if has_step_size else {}
    start, factor, floor = exploration
    agent = getattr(sj.agents, name)(
        num_states=2**state_size,
        num_actions=2,
        step_size=STEP_SIZE,
        exploration=sj.agents.Decay(start=start, factor=factor, floor=floor),
        ties="lowest",
        **own,
    )
    settings = naive.Settings(2**state_size, 2, STEP_SIZE, exploration)
    if name == "harmonic_r":
        return agent, naive.Agent(settings, HarmonicByShares(rate_step_size))
    return agent, getattr(naive, name)(settings, **own)


AGENTS = ["smart", "relaxed_smart", "harmonic_r", "fixed_rate"]


def assert_same_run(result: sj.runs.Run, wanted: naive.Outcome, curve: Sequence[float]) -> None:
    """Check that everything is equal to the last bit, since both add in the order of steps."""
    assert result.policy.tolist() == wanted.policy
    assert result.greedy_steps == wanted.greedy_steps
    assert result.curve.greedy_reward.tolist() == curve
    assert result.agent.q.tolist() == wanted.q
    for field in ("rate", "reward", "duration", "greedy_reward", "greedy_duration"):
        assert getattr(result, field) == getattr(wanted, field), field


def compare(
    name: str,
    opens: Sequence[float] | None,
    closes: Sequence[float],
    *,
    seed: int,
    rate_step_size: float = 0.05,
    exploration: naive.Exploration = EXPLORATION,
    steps: int | None = None,
    episodes: int = 1,
    **options: Any,
) -> sj.runs.Run:
    """Run both through a segment, and check that they agree."""
    steps = steps or len(closes)
    agent, oracle = both(name, options.get("state_size", 3), rate_step_size, exploration)
    points = sj.runs.evenly_spaced(steps * episodes, 20)
    world = Market(opens, closes, **options)
    result = sj.run(world, agent, steps=steps, episodes=episodes, seed=seed, record=points)
    wanted, curve = naive.run_market(
        oracle,
        naive.Market(opens or [None] * len(closes), closes, **options),
        steps=steps,
        episodes=episodes,
        seed=seed,
        points=points.tolist(),
    )
    assert_same_run(result, wanted, curve)
    return result


# --- Segments. ---


class Segment(NamedTuple):
    opens: list[float]
    closes: list[float]


def segment(kind: str, seed: int, count: int = 500) -> Segment:
    """Minutes of a market, in cents, of a given kind."""
    rng = python_random.Random(seed)
    price, asleep, prices = 10_000.0, False, [10_000.0]
    for _ in range(count):
        asleep ^= rng.random() < 0.02
        move = rng.gauss(0, 1) / max(1e-3, abs(rng.gauss(0, 1)))  # a truncated Cauchy law
        if kind == "flat" or (kind == "flat stretches" and asleep):
            move = 0.0
        elif kind == "rising":
            move = abs(move)
        elif kind == "even":
            move = 0.25
        price = round(max(0.01, price + move), 2)
        prices.append(price)
    return Segment(prices[:-1], prices[1:])


KINDS = ["heavy tails", "flat stretches", "flat", "rising", "even"]


# --- Runs against the oracle. ---


@pytest.mark.parametrize("state_size", [1, 3, 12])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", AGENTS)
def test_run_through_a_segment(name: str, kind: str, rule: str, state_size: int) -> None:
    """A run agrees with the oracle's to the last bit in what it learns, accepts and adds up."""
    for seed, beta in ((0, 0.01), (5, 0.1)):
        opens, closes = segment(kind, seed)
        compare(name, opens, closes, seed=seed, rate_step_size=beta, duration=rule, state_size=state_size)


prices = st.one_of(
    st.integers(min_value=1, max_value=40).map(lambda n: n / 4),  # so that moves repeat and are often 0
    st.floats(min_value=0.01, max_value=1e6),
)
bars = st.lists(st.tuples(prices, prices), min_size=1, max_size=40)
bounds = st.none() | st.tuples(*[st.floats(min_value=-20, max_value=20)] * 2).map(sorted)
seconds = st.tuples(*[st.floats(min_value=0.5, max_value=120)] * 3).map(sorted)


@given(
    bars=bars,
    with_opens=st.booleans(),
    name=st.sampled_from(AGENTS),
    rule=st.sampled_from(RULES),
    state_size=st.integers(min_value=1, max_value=6),
    seconds=st.just([5.0, 45.0, 60.0]) | seconds,
    bounds=bounds,
    rate_step_size=st.sampled_from([0.01, 0.05, 0.1, 1.0]),
    epsilon=st.sampled_from([0.0, 0.2, 1.0]),
    laps=st.integers(min_value=1, max_value=3),
    episodes=st.integers(min_value=1, max_value=2),
    seed=st.integers(min_value=0, max_value=2**32),
)
def test_run_through_any_segment(
    bars: list[tuple[float, float]],
    with_opens: bool,
    name: str,
    rule: str,
    state_size: int,
    seconds: list[float],
    bounds: list[float] | None,
    rate_step_size: float,
    epsilon: float,
    laps: int,
    episodes: int,
    seed: int,
) -> None:
    """Whatever the bars and the settings, a run equals the oracle's to the last bit."""
    shortest, longest, interval = seconds
    lowest, highest = bounds or (None, None)
    compare(
        name,
        [opening for opening, _ in bars] if with_opens else None,
        [close for _, close in bars],
        seed=seed,
        rate_step_size=rate_step_size,
        exploration=naive.Exploration(epsilon, factor=0.999),
        steps=laps * len(bars),
        episodes=episodes,
        duration=rule,
        state_size=state_size,
        shortest=shortest,
        longest=longest,
        interval=interval,
        lowest=lowest,
        highest=highest,
    )


@pytest.mark.skipif(not REAL.exists(), reason="the recorded minutes are not part of the project")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", AGENTS)
def test_run_through_recorded_minutes(name: str, rule: str) -> None:
    """On any 3,000 of the recorded minutes, a run equals the oracle's to the last bit."""
    table = pl.scan_parquet(REAL)
    total = table.select(pl.len()).collect().item()
    first = python_random.Random(f"{name} {rule}").randrange(total - 3000)
    stretch = table.slice(first, 3000).collect()
    compare(name, stretch["open"].to_list(), stretch["close"].to_list(), seed=first, duration=rule)


@pytest.mark.parametrize("name", AGENTS)
def test_mean_and_deviation_over_seeds(name: str) -> None:
    """Curves of several seeds have the oracle's mean and sample deviation at every point."""
    opens, closes = segment("heavy tails", 1)
    runs = [compare(name, opens, closes, seed=seed) for seed in range(4)]
    curves = [run.curve.greedy_reward for run in runs]
    table = pl.concat(
        pl.DataFrame({"step": run.curve.step, "reward": run.curve.greedy_reward}) for run in runs
    )
    by_step = table.group_by("step", maintain_order=True)
    got = by_step.agg(mean=pl.col("reward").mean(), deviation=pl.col("reward").std())
    wanted = [naive.mean_and_deviation(rewards) for rewards in zip(*curves, strict=True)]
    assert_allclose(got["mean"], [mean for mean, _ in wanted], rtol=1e-12)
    assert_allclose(got["deviation"], [deviation for _, deviation in wanted], rtol=1e-9)


# --- By hand. ---


def walk(world: Any, actions: Sequence[int], seed: int = 0) -> list[tuple[int, float, float]]:
    """The next state, reward and duration of every action."""
    rng = sj.stream(seed)
    world, state = sj.start(world, rng)
    seen = []
    for action in actions:
        world, state, reward, duration = sj.step(world, state, action, rng)
        seen.append((state, reward, duration))
    return seen


OPENS, CLOSES = [10.0, 12.0, 11.0], [12.0, 11.0, 11.0]  # moves +2, -1 and 0


def test_scaled_by_hand() -> None:
    """With its sign, the largest gain takes 45 s, the largest loss 5 s and no move 25 s."""
    world = Market(OPENS, CLOSES, duration="scaled", state_size=2)
    assert walk(world, [0, 0, 0]) == [(1, 0.5, 45.0), (2, -0.75, 15.0), (0, 0.0, 25.0)]
    assert walk(world, [1, 1, 1]) == [(1, -2.0 * (1 - 5 / 60), 5.0), (2, 1 - 35 / 60, 35.0), (0, 0.0, 25.0)]


def test_scaled_magnitude_by_hand() -> None:
    """Without its sign, the largest move takes 45 s either way and no move 5 s."""
    world = Market(OPENS, CLOSES, duration="scaled-magnitude", state_size=2)
    factor = 1 - 25 / 60
    assert walk(world, [0, 0, 0]) == [(1, 0.5, 45.0), (2, -factor, 25.0), (0, 0.0, 5.0)]
    assert walk(world, [1, 1, 1]) == [(1, -0.5, 45.0), (2, factor, 25.0), (0, 0.0, 5.0)]


@pytest.mark.parametrize("rule", ["scaled", "scaled-magnitude"])
def test_flat_segment(rule: str) -> None:
    """Where nothing moves, every action takes 25 s and earns nothing."""
    world = Market([7.0] * 3, [7.0] * 3, duration=rule)
    assert walk(world, [0, 1, 0]) == [(0, 0.0, 25.0)] * 3


def test_random_durations() -> None:
    """Random durations fill 5 to 45 s evenly, and do not depend on the actions."""
    opens, closes = segment("heavy tails", 2, count=4000)
    bought, sold = (
        [duration for _, _, duration in walk(Market(opens, closes), [action] * 4000)] for action in (0, 1)
    )
    assert bought == sold
    assert 5.0 < min(bought) < 5.1
    assert 44.9 < max(bought) < 45.0
    # the standard error of the mean is 40 / sqrt(12 * 4000) = 0.18
    assert np.mean(bought) == pytest.approx(25.0, abs=0.75)


@pytest.mark.parametrize("rule", RULES)
def test_actions_do_not_move_the_market(rule: str) -> None:
    """The same states follow whatever the actions, with the latest direction in the lowest bit."""
    opens, closes = segment("heavy tails", 3, count=40)
    world = Market(opens, closes, duration=rule, state_size=3)
    rng = python_random.Random(4)
    drawn = [state for state, _, _ in walk(world, [rng.randrange(2) for _ in range(40)])]
    ups = [int(close > opening) for opening, close in zip(opens, closes, strict=True)]
    padded = [0, 0, *ups]
    assert drawn == [4 * a + 2 * b + c for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)]
    assert drawn == [state for state, _, _ in walk(world, [0] * 40)]


@pytest.mark.parametrize("rule", RULES)
def test_first_bar_follows_the_last(rule: str) -> None:
    """The first bar follows the last, and the directions are kept; a new episode resets them."""
    world = Market([1.0, 3.0], [3.0, 4.0], duration=rule, state_size=4)
    assert world.num_steps == 2
    assert [state for state, _, _ in walk(world, [0] * 5)] == [1, 3, 7, 15, 15]
    opens, closes = segment("flat stretches", 6, count=70)
    compare("harmonic_r", opens, closes, seed=1, steps=180, duration=rule)
    compare("harmonic_r", opens, closes, seed=1, steps=100, episodes=3, duration=rule)


def test_missing_opens() -> None:
    """Without opening prices a bar opens at the preceding close, and the first does not move."""
    assert Market(None, [5.0, 7.0, 6.0]).moves.tolist() == [0.0, 2.0, -1.0]


def test_given_bounds_clip() -> None:
    """A move beyond the given bounds takes as long as one at the bound, but earns its own reward."""
    world = Market([100.0] * 3, [110.0, 90.0, 102.5], duration="scaled", lowest=-5.0, highest=5.0)
    assert walk(world, [0, 0, 0]) == [
        (1, 2.5, 45.0),
        (2, -10.0 * (1 - 5 / 60), 5.0),
        (5, 1.0416666666666665, 35.0),
    ]
    world = Market([100.0] * 2, [110.0, 97.5], duration="scaled-magnitude", highest=5.0)
    assert walk(world, [0, 1]) == [(1, 2.5, 45.0), (2, 2.5 * (1 - 25 / 60), 25.0)]


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("rule", ["scaled", "scaled-magnitude"])
def test_given_bounds_against_the_oracle(name: str, rule: str) -> None:
    """With bounds inside the range of moves, or one-sided, a run still equals the oracle's."""
    opens, closes = segment("heavy tails", 8)
    for lowest, highest in ((-1.0, 2.0), (0.5, None), (None, 0.25), (1.0, 1.0)):
        compare(name, opens, closes, seed=2, duration=rule, lowest=lowest, highest=highest)


def test_no_duration_is_above_the_longest() -> None:
    """The largest move takes at most 45 s, although 40 x / x may exceed 40 in the last bit."""
    rng = python_random.Random(9)
    sizes = [rng.uniform(1, 2) for _ in range(200)]
    assert any(5 + 40 * (2 * x) / (2 * x) > 45 for x in sizes)
    assert all(walk(Market([0.0], [x], duration="scaled"), [0])[0][2] <= 45 for x in sizes)


# --- The rules for worlds. ---


@pytest.mark.parametrize("kind", ["heavy tails", "flat"])
@pytest.mark.parametrize("rule", RULES)
def test_market_passes_the_checker(rule: str, kind: str) -> None:
    """The market passes the checker, even in a segment shorter than the checker's run."""
    for count in (1, 50, 500):
        opens, closes = segment(kind, 0, count)
        sj.check_world(Market(opens, closes, duration=rule))
        sj.check_world(Market(None, closes, duration=rule, state_size=5))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", AGENTS)
def test_interpreted_equals_compiled(name: str, rule: str) -> None:
    """A run gives the same bits interpreted and compiled."""
    opens, closes = segment("flat stretches", 4, count=300)
    agent, _ = both(name, 3, 0.05)
    fast, slow = (
        sj.run(Market(opens, closes, duration=rule), agent, steps=400, seed=3, compiled=compiled)
        for compiled in (True, False)
    )
    assert same(fast, slow)


def test_prices_are_not_changed() -> None:
    """A market neither modifies the arrays it was given nor is affected by later changes to them."""
    opens, closes = (np.array(column) for column in segment("heavy tails", 0, 50))
    world = Market(opens, closes)
    before = world.moves.copy()
    agent, _ = both("smart", 3, 0.05)
    sj.run(world, agent, steps=100)
    assert (closes - opens == before).all()
    closes[:] = 1.0
    assert (world.moves == before).all()


REFUSALS: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (ValueError, "close must be a flat sequence", {"open": [], "close": []}),
    (ValueError, "close must be a flat sequence", {"close": [[1.0, 2.0]]}),
    (ValueError, "open must be a flat sequence", {"open": [[1.0, 2.0]]}),
    (TypeError, "close must be a flat sequence", {"close": ["one", "two"]}),
    (TypeError, "open must be a flat sequence", {"open": object()}),
    (ValueError, "close is nan at bar 1", {"close": [1.0, np.nan]}),
    (ValueError, "open is inf at bar 0", {"open": [np.inf, 1.0]}),
    (ValueError, "1 opening and 2 closing prices", {"open": [1.0]}),
    (ValueError, "more than a float can hold", {"open": [-1.7e308, 0.0], "close": [1.7e308, 0.0]}),
    (ValueError, "duration is 'slow'; it must be one of", {"duration": "slow"}),
    (ValueError, "lowest is nan", {"lowest": np.nan}),
    (ValueError, "highest is inf", {"highest": np.inf}),
    (ValueError, "lowest is 2.0; it must not be above highest", {"lowest": 2.0, "highest": 1.0}),
    (ValueError, "lowest is 9.0; it must not be above highest", {"lowest": 9.0}),
    (ValueError, "shortest is 0.0", {"shortest": 0.0}),
    (ValueError, "longest is nan", {"longest": np.nan}),
    (ValueError, "interval is -60.0", {"interval": -60.0}),
    (ValueError, "shortest must not be above longest", {"shortest": 46.0}),
    (ValueError, "longest above the interval", {"longest": 61.0}),
    (ValueError, "state_size is 0", {"state_size": 0}),
    (ValueError, "state_size is 21; it must be at most 20", {"state_size": 21}),
    (TypeError, "state_size is 1.5", {"state_size": 1.5}),
    (TypeError, "lowest", {"lowest": "low"}),
]


@pytest.mark.parametrize(("kind", "words", "options"), REFUSALS)
def test_refusals(kind: type[Exception], words: str, options: dict[str, Any]) -> None:
    """Invalid arguments are refused in one sentence that says what is wrong."""
    arguments: dict[str, Any] = {"open": [1.0, 2.0], "close": [2.0, 1.0], **options}
    with pytest.raises(kind, match=words) as refusal, np.errstate(over="ignore"):
        Market(**arguments)
    message = str(refusal.value)
    assert "\n" not in message
    assert ". " not in message
    assert not message.endswith(".")
