"""sojourn against the oracle in naive.py, which was written from the definitions alone."""

import math
import random as python_random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import naive
import sojourn as sj
from sojourn.agents.exploration import chance

READINGS = ["action", "draw", "after", "every"]
CONSTANT = naive.Exploration(0.2)
DECAYING = naive.Exploration(0.4, factor=0.99, floor=0.05)  # reaches its floor after 207 steps


# --- Random streams. ---


XOSHIRO_OF_1_2_3_4 = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]
SPLITMIX = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F],
    1234567: [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ],
}


def test_xoshiro_known_answers() -> None:
    """Both generators give the numbers of the reference implementation of xoshiro256++."""
    oracle, stream = naive.Xoshiro([1, 2, 3, 4]), np.array([1, 2, 3, 4], dtype=np.uint64)
    assert [oracle.word() for _ in XOSHIRO_OF_1_2_3_4] == XOSHIRO_OF_1_2_3_4
    assert [int(sj.random.word(stream)) for _ in XOSHIRO_OF_1_2_3_4] == XOSHIRO_OF_1_2_3_4


@pytest.mark.parametrize("seed", SPLITMIX)
def test_splitmix_known_answers(seed: int) -> None:
    """Both generators give the published numbers of SplitMix64."""
    assert [naive.splitmix(seed, i) for i in range(len(SPLITMIX[seed]))] == SPLITMIX[seed]
    assert [int(sj.random.word_at(seed, i)) for i in range(len(SPLITMIX[seed]))] == SPLITMIX[seed]


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_streams_of_a_seed(seed: int) -> None:
    """The streams of the world and of the agent start and go on as the oracle's do."""
    for oracle, stream in zip(naive.streams(seed), sj.random.streams(seed, 2), strict=True):
        for _ in range(100):
            assert sj.random.uniform(stream) == oracle.uniform()


@pytest.mark.parametrize("ties", ["lowest", "random"])
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.2, 1.0])
def test_draws(epsilon: float, ties: str) -> None:
    """An epsilon-greedy draw takes one number of the stream and makes the oracle's action of it."""
    oracle = naive.smart(naive.Settings(3, 7, 0.1, naive.Exploration(epsilon), ties=ties))
    oracle.q = {0: [0.0] * 7, 1: [0.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0], 2: [-1.0] * 6 + [-0.5]}
    agent = sj.smart(num_states=3, num_actions=7, exploration=epsilon, ties=ties)
    agent = agent._replace(values=sj.agents.Table(np.array(list(oracle.q.values()))))
    _, oracle_stream = naive.streams(3)
    _, stream = sj.random.streams(3, 2)
    for i in range(1000):
        assert sj.draw(agent, i % 3, stream) == oracle.draw(i % 3, oracle_stream)


# --- Means. ---


def log_uniform(low: int, high: int) -> st.SearchStrategy[float]:
    """Numbers of every magnitude from 10^low to 10^high alike."""
    return st.builds(lambda x, e: x * 10.0**e, st.floats(1, 10), st.integers(low, high - 1))


ANY_SIZE = log_uniform(-300, 300)
USUAL_SIZE = log_uniform(-30, 30)


def rows(size: st.SearchStrategy[float], columns: int) -> st.SearchStrategy[list[tuple[float, ...]]]:
    return st.lists(st.tuples(*[size] * columns), min_size=1, max_size=30)


def signed(size: st.SearchStrategy[float]) -> st.SearchStrategy[float]:
    return st.builds(lambda sign, x: sign * x, st.sampled_from([1.0, 1.0, 0.0, -1.0, -1.0]), size)


def columns(data: Sequence[tuple[float, ...]]) -> list[list[float]]:
    return [list(column) for column in zip(*data, strict=True)]


def halves(of: Callable[[list[float]], float], values: Sequence[float]) -> float:
    """What `of` would be if its positive and negative parts did not cancel.

    Every mean here is the sum of what it is without the negative and without the positive
    numbers; rounding in either part is what an error can be measured by.
    """
    return of([max(x, 0.0) for x in values]) - of([min(x, 0.0) for x in values])


def assert_few_ulps(actual: float, wanted: float, scale: float | None = None) -> None:
    """At most 4 units in the last place of `scale`, by default of the wanted number."""
    assert abs(actual - wanted) <= 4 * math.ulp(wanted if scale is None else scale)


EXAMPLES: list[tuple[str, list[Any], float]] = [
    ("harmonic_mean", [[20, 40]], 80 / 3),
    ("harmonic_mean", [[-20, 40]], -80),
    ("modified_harmonic_mean", [[1, 1, -1, -4]], -0.3),
    ("modified_harmonic_mean", [[1, -1]], 0),
    ("modified_harmonic_mean", [[1, 0, 0, -4]], -0.75),
    ("modified_harmonic_mean", [[0, 0]], 0),
    ("modified_harmonic_mean", [[-1, -4]], -1.6),
    ("modified_harmonic_mean", [[0, -4]], -2),
    ("modified_harmonic_mean", [[1e-9, 4]], 8 / (4e9 + 1)),
    ("modified_harmonic_mean", [[1, 3]], 1.5),
    ("ratio_of_means", [[1, 3], [1, 1]], 2),
    ("ratio_of_means", [[1, 0], [1, 9]], 0.1),
    ("coupling", [[1, 3], [1, 1]], -1 / 3),
]


@pytest.mark.parametrize(("name", "arguments", "wanted"), EXAMPLES)
def test_worked_examples(name: str, arguments: list[Any], wanted: float) -> None:
    """Both give the worked examples of the definitions."""
    assert_few_ulps(getattr(naive, name)(*arguments), wanted)
    assert_few_ulps(getattr(sj.rates, name)(*arguments), wanted)


def test_nothing_has_no_mean() -> None:
    """The modified harmonic mean of no numbers is an error."""
    with pytest.raises(ValueError, match="mean"):
        naive.modified_harmonic_mean([])
    with pytest.raises(ValueError, match="mean"):
        sj.rates.modified_harmonic_mean([])


@given(st.lists(ANY_SIZE, min_size=1, max_size=30), st.sampled_from([1.0, -1.0]))
def test_harmonic_mean(sizes: list[float], sign: float) -> None:
    """The harmonic mean of numbers of one sign is exact to a few units in the last place."""
    values = [sign * x for x in sizes]
    assert_few_ulps(sj.rates.harmonic_mean(values), naive.harmonic_mean(values))


@given(st.lists(signed(ANY_SIZE), min_size=1, max_size=30))
def test_modified_harmonic_mean(values: list[float]) -> None:
    """The modified harmonic mean is exact to a few units in the last place."""
    scale = halves(naive.modified_harmonic_mean, values)
    assert_few_ulps(sj.rates.modified_harmonic_mean(values), naive.modified_harmonic_mean(values), scale)


def check_weighted(values: list[float], weights: list[float], durations: list[float] | None) -> None:
    def oracle(x: list[float]) -> float:
        return naive.weighted_harmonic_mean(x, weights, durations)

    actual = sj.rates.weighted_harmonic_mean(values, weights, durations)
    assert_few_ulps(actual, oracle(values), halves(oracle, values))


WEIGHTED = st.tuples(signed(USUAL_SIZE), USUAL_SIZE, USUAL_SIZE)


@given(st.lists(WEIGHTED, min_size=1, max_size=30), st.booleans())
def test_weighted_harmonic_mean(data: list[tuple[float, ...]], by_time: bool) -> None:
    """The weighted harmonic mean is exact to a few units in the last place, in both forms."""
    values, weights, durations = columns(data)
    check_weighted(values, weights, durations if by_time else None)


EXTREME = st.tuples(signed(ANY_SIZE), ANY_SIZE, ANY_SIZE)


@given(st.lists(EXTREME, min_size=1, max_size=30), st.booleans())
@example(data=[(1e-200, 1e-200, 1.0), (2e150, 3e150, 1.0)], by_time=False)
def test_weighted_harmonic_mean_of_any_magnitude(data: list[tuple[float, ...]], by_time: bool) -> None:
    """The weighted harmonic mean is as exact for numbers and weights of any magnitude."""
    values, weights, durations = columns(data)
    check_weighted(values, weights, durations if by_time else None)


@given(st.lists(st.tuples(signed(ANY_SIZE), ANY_SIZE), min_size=1, max_size=30))
def test_ratio_of_means(data: list[tuple[float, ...]]) -> None:
    """The ratio of means is exact to a few units in the last place wherever a float can hold it."""
    rewards, durations = columns(data)
    try:
        scale = halves(lambda r: naive.ratio_of_means(r, durations), rewards)
    except OverflowError:
        assume(False)
    assert_few_ulps(
        sj.rates.ratio_of_means(rewards, durations), naive.ratio_of_means(rewards, durations), scale
    )


def check_coupling(rewards: list[float], durations: list[float]) -> None:
    """Errors are measured by the two terms of the difference A(tau) - A(r) A(tau/r)."""
    try:
        wanted = naive.coupling(rewards, durations)
    except OverflowError:
        assume(False)
    mean_duration = naive.ratio_of_means(durations, [1.0] * len(durations))
    scale = max(mean_duration, abs(wanted))
    assert_few_ulps(sj.rates.coupling(rewards, durations), wanted, scale)


@given(rows(USUAL_SIZE, 2), st.sampled_from([1.0, -1.0]))
def test_coupling(data: list[tuple[float, ...]], sign: float) -> None:
    """The coupling is exact to a few units in the last place of its larger term."""
    rewards, durations = columns(data)
    check_coupling([sign * r for r in rewards], durations)


@given(rows(ANY_SIZE, 2), st.sampled_from([1.0, -1.0]))
@example(data=[(1e-200, 1e-200), (1e200, 3e200)], sign=1.0)
def test_coupling_of_any_magnitude(data: list[tuple[float, ...]], sign: float) -> None:
    """The coupling is as exact for any magnitudes, wherever a float can hold it."""
    rewards, durations = columns(data)
    check_coupling([sign * r for r in rewards], durations)


# --- Estimators. ---


class Estimator(NamedTuple):
    sojourn: Callable[..., Any]
    recursion: Callable[..., naive.Rate]
    formula: Callable[..., float]
    has_step_size: bool = True


ESTIMATORS = {
    "Cumulative": Estimator(sj.Cumulative, naive.Cumulative, naive.cumulative_of, has_step_size=False),
    "SmoothedCumulative": Estimator(
        sj.rates.SmoothedCumulative, naive.SmoothedCumulative, naive.smoothed_cumulative_of
    ),
    "Exponential": Estimator(sj.Exponential, naive.Exponential, naive.exponential_of),
    "Harmonic": Estimator(sj.Harmonic, naive.Harmonic, naive.harmonic_of),
    "WeightedHarmonic": Estimator(
        sj.rates.WeightedHarmonic, naive.WeightedHarmonic, naive.weighted_harmonic_of
    ),
    "CumulativeHarmonic": Estimator(
        sj.rates.CumulativeHarmonic,
        naive.CumulativeHarmonic,
        naive.cumulative_harmonic_of,
        has_step_size=False,
    ),
    "CumulativeWeightedHarmonic": Estimator(
        sj.rates.CumulativeWeightedHarmonic,
        naive.CumulativeWeightedHarmonic,
        naive.cumulative_weighted_harmonic_of,
        has_step_size=False,
    ),
    "MeanOfRates": Estimator(
        sj.rates.MeanOfRates, naive.MeanOfRates, naive.mean_of_rates_of, has_step_size=False
    ),
    "TimeSmoothed": Estimator(sj.rates.TimeSmoothed, naive.TimeSmoothed, naive.time_smoothed_of),
    "TimeForgetting": Estimator(sj.rates.TimeForgetting, naive.TimeForgetting, naive.time_forgetting_of),
    "Incremental": Estimator(sj.rates.Incremental, naive.Incremental, naive.incremental_of),
}


def transitions(seed: int, count: int = 80) -> list[tuple[float, float]]:
    """Rewards of both signs, of several magnitudes and often 0; the first few of one kind."""
    rng = python_random.Random(seed)
    first = [0.0, 1.0, -1.0][seed % 3]
    signs = [first] * 5 + [rng.choice([1.0, 1.0, 0.0, -1.0]) for _ in range(count - 5)]
    # a step size up to 1/2 times a duration stays below 1, where Incremental is a mean
    return [(sign * 10 ** rng.uniform(-2, 2), rng.uniform(0.02, 1.9)) for sign in signs]


@pytest.mark.parametrize("step_size", [1e-4, 0.1, 0.5])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimator_after_every_prefix(name: str, seed: int, step_size: float) -> None:
    """An estimator agrees with its recursion and with its formula after every prefix of a stream."""
    kind = ESTIMATORS[name]
    options = {"step_size": step_size} if kind.has_step_size else {}
    rate, recursion = kind.sojourn(**options), kind.recursion(**options)
    assert sj.value(rate) == recursion.value() == 0.0
    history = transitions(seed)
    for i, (reward, duration) in enumerate(history):
        rate = sj.update(rate, reward, duration)
        recursion.update(reward, duration)
        rewards, durations = columns(history[: i + 1])

        def formula(r: list[float], durations: list[float] = durations) -> float:
            return kind.formula(list(zip(r, durations, strict=True)), **options)

        tolerance = 1e-12 * halves(formula, rewards)
        assert abs(sj.value(rate) - recursion.value()) <= tolerance
        assert abs(sj.value(rate) - formula(rewards)) <= tolerance


@pytest.mark.parametrize("arguments", [[], [-1.5]])
def test_fixed_estimator(arguments: list[float]) -> None:
    """A fixed rate stays what it is, 0 by default."""
    rate, oracle = sj.rates.Fixed(*arguments), naive.Fixed(*arguments)
    for reward, duration in transitions(0):
        rate = sj.update(rate, reward, duration)
        oracle.update(reward, duration)
        assert sj.value(rate) == oracle.value()


# --- Agents. ---

AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "smart": ("smart", {}),
    "relaxed_smart": ("relaxed_smart", {"rate_step_size": 0.003}),
    "relaxed_smart, gosavi": ("relaxed_smart", {"rate_step_size": 0.003, "variant": "gosavi"}),
    "harmonic_r": ("harmonic_r", {"rate_step_size": 0.003}),
    "weighted_harmonic_r": ("weighted_harmonic_r", {"rate_step_size": 0.003}),
    # its rate is stable while its step size times the duration, here up to 1,100, stays below 2
    "r_learning": ("r_learning", {"rate_step_size": 0.001}),
    "fixed_rate": ("fixed_rate", {}),
    "fixed_rate, not 0": ("fixed_rate", {"rate": 0.7}),
    "smdp_q_learning": ("smdp_q_learning", {"discount_rate": 0.02}),
    "r_learning, as printed": ("r_learning", {"rate_step_size": 0.001, "durations": "ignored"}),
    "differential_q": ("differential_q", {"rate_step_size": 0.003, "duration_step_size": 0.02}),
    "differential_q, plain means": ("differential_q", {"rate_step_size": 0.003}),
    "rvi_q": ("rvi_q", {"duration_step_size": 0.02}),
    "rvi_q, plain means": ("rvi_q", {}),
    "rvi_q, mean": ("rvi_q", {"duration_step_size": 0.02, "reference": "mean"}),
    "rvi_q, maximum": ("rvi_q", {"duration_step_size": 0.02, "reference": "maximum"}),
}


def given_step_size(size: float | naive.Falling | naive.PerFrequency) -> Any:
    """A step size of the oracle as agents are given it."""
    if isinstance(size, naive.PerFrequency):
        return sj.agents.FrequencyAdjusted(*size)
    return sj.rates.Visits(*size) if isinstance(size, naive.Falling) else size


def both(name: str, options: naive.Settings) -> tuple[Any, naive.Agent]:
    """The agent of this name and the oracle's, made alike."""
    constructor, own = AGENTS[name]
    exploration: Any = (
        sj.agents.Linear if isinstance(options.exploration, naive.Straight) else sj.agents.Decay
    )(*options.exploration)
    agent = getattr(sj.agents, constructor)(
        num_states=options.num_states,
        num_actions=options.num_actions,
        step_size=given_step_size(options.step_size),
        exploration=options.exploration.start if options.exploration == CONSTANT else exploration,
        greedy=options.greedy,
        ties=options.ties,
        initial=options.initial,
        centring=options.centring,
        **own,
    )
    return agent, getattr(naive, constructor)(options, **own)


def assert_same_run(result: sj.runs.Run, wanted: naive.Outcome) -> None:
    # The order of additions and the last bits of sin, cos and powers may differ, nothing else. What is left of large
    # values after they have cancelled has the rounding of the large ones.
    assert_allclose(result.agent.q, wanted.q, rtol=1e-12, atol=1e-15 * float(np.abs(wanted.q).max()))
    for field in ("rate", "reward", "duration", "greedy_reward", "greedy_duration"):
        assert_allclose(getattr(result, field), getattr(wanted, field), rtol=1e-12, err_msg=field)
    assert list(result.policy) == wanted.policy
    assert result.greedy_steps == wanted.greedy_steps


@pytest.mark.parametrize("log_scale", [1e-5, 1e-3, 1e-2])
@pytest.mark.parametrize("exploration", [CONSTANT, DECAYING], ids=["constant", "decaying"])
@pytest.mark.parametrize("greedy", READINGS)
@pytest.mark.parametrize("name", AGENTS)
def test_agent_in_the_two_state_world(
    name: str, greedy: str, exploration: naive.Exploration, log_scale: float
) -> None:
    """A run in the two-state world learns, accepts and adds up what the oracle's run does."""
    for seed in (0, 5):
        agent, oracle = both(name, naive.Settings(2, 2, 0.02, exploration, greedy))
        result = sj.run(sj.worlds.TwoState(log_scale=log_scale), agent, steps=400, episodes=2, seed=seed)
        assert result.steps == 800
        assert_same_run(result, naive.run(oracle, log_scale, steps=400, episodes=2, seed=seed))


@pytest.mark.parametrize("log_scale", [1e-5, 1e-3, 1e-2])
def test_random_agent_in_the_two_state_world(log_scale: float) -> None:
    """The random agent draws the oracle's actions, accepts every step and learns no values."""
    result = sj.run(
        sj.worlds.TwoState(log_scale=log_scale),
        sj.agents.random_agent(num_states=2, num_actions=2),
        steps=400,
        episodes=2,
        seed=5,
    )
    oracle = naive.random_agent(naive.Settings(2, 2, 0.0, CONSTANT))
    assert_same_run(result, naive.run(oracle, log_scale, steps=400, episodes=2, seed=5))
    assert result.greedy_steps == 800


@pytest.mark.parametrize("clock", ["steps", "visits"])
@pytest.mark.parametrize("spread", [0.1, 1.0])  # with 0.1 no duration is ever as short as its floor
@pytest.mark.parametrize("log_scale", [1e-5, 1e-2])
def test_two_state_world_step_by_step(log_scale: float, spread: float, clock: str) -> None:
    """Every step has the oracle's next state, reward and duration, in a second episode too, by either clock."""
    back = 0.0 if clock == "steps" else 1.5
    world = sj.worlds.TwoState(log_scale=log_scale, duration_spread=spread, return_reward=back, clock=clock)
    oracle = naive.TwoState(log_scale, duration_spread=spread, return_reward=back, clock=clock)
    stream, _ = sj.random.streams(11, 2)
    oracle_stream, _ = naive.streams(11)
    rng = python_random.Random(0)
    for _ in range(2):
        world, state = sj.start(world, stream)
        assert state == oracle.start(oracle_stream) == 0
        for _ in range(300):
            action = rng.randrange(2)
            world, after, reward, duration = sj.step(world, state, action, stream)
            wanted_after, wanted_reward, wanted_duration = oracle.step(state, action)
            assert after == wanted_after
            assert_allclose([reward, duration], [wanted_reward, wanted_duration], rtol=1e-14)
            state = after


def assert_same_learning(agent: Any, oracle: naive.Agent, seed: int, at_once: float = 0.0) -> None:
    """Learn a list of random transitions, a share of them in no time, and compare after each of them."""
    rng = python_random.Random(seed)
    num_states, num_actions = oracle.settings.num_states, oracle.settings.num_actions
    ours: list[list[float]] = []
    wanted: list[list[float]] = []
    for reward, usual in transitions(seed, count=400):
        duration = 0.0 if rng.random() < at_once else usual
        state, after = rng.randrange(num_states), rng.randrange(num_states)
        # Half of the actions are greedy, some of them drawn to explore all the same; and
        # some that are not greedy claim not to be explored, which must not be believed.
        action = oracle.best(state) if rng.random() < 0.5 else rng.randrange(num_actions)
        explored = rng.random() < 0.5
        agent = sj.learn(agent, state, action, reward, duration, after, explored=explored)
        oracle.learn(state, action, reward, duration, after, explored)
        assert agent.accepted == oracle.accepted
        assert list(sj.agents.policy(agent)) == oracle.policy()
        ours.append([chance(agent.exploration), sj.value(agent.rate), *agent.q.ravel()])
        wanted.append(
            [oracle.epsilon, oracle.effective_rate(), *(q for row in oracle.q.values() for q in row)]
        )
    # Values and rates are differences of terms of order 10: where they cancel, no relative error can be promised.
    assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12)
    assert_allclose(np.array(ours)[:, 0], np.array(wanted)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("exploration", [CONSTANT, DECAYING], ids=["constant", "decaying"])
@pytest.mark.parametrize("greedy", READINGS)
@pytest.mark.parametrize("name", AGENTS)
def test_agent_learns_transitions(name: str, greedy: str, exploration: naive.Exploration) -> None:
    """Of any transitions between 3 states by 4 actions an agent learns what the oracle learns."""
    for seed in (1, 2):
        agent, oracle = both(name, naive.Settings(3, 4, 0.1, exploration, greedy))
        assert_same_learning(agent, oracle, seed)


AUTHORS: dict[str, tuple[Callable[[], Any], Callable[[], naive.Rate]]] = {
    "SMART": (sj.Cumulative, naive.Cumulative),
    "RelaxedSMART": (lambda: sj.Exponential(0.3), lambda: naive.Exponential(0.3)),
    "SmoothedSMART": (lambda: sj.rates.TimeSmoothed(0.3), lambda: naive.TimeSmoothed(0.3)),
    "Harmonic": (lambda: sj.Harmonic(0.3), lambda: naive.Harmonic(0.3)),
    "WeightedHarmonic": (lambda: sj.rates.WeightedHarmonic(0.3), lambda: naive.WeightedHarmonic(0.3)),
    "CumulativeHarmonic": (sj.rates.CumulativeHarmonic, naive.CumulativeHarmonic),
    "CumulativeWeightedHarmonic": (sj.rates.CumulativeWeightedHarmonic, naive.CumulativeWeightedHarmonic),
    "CumulativeStepRate": (sj.rates.MeanOfRates, naive.MeanOfRates),
}


@pytest.mark.parametrize("greedy", ["action", "every"])
@pytest.mark.parametrize("name", AUTHORS)
def test_the_agents_of_the_authors(name: str, greedy: str) -> None:
    """The paper's authors' tabular agents, and ours with the same rate, have the same Q and rate after every transition.

    Q is updated with the rate as it was, then the rate if the action was greedy before (`with_rho_trick`) or always:
    github.com/erelon/SMDP_Agents, agents/r_learning.py and average_rates.py at 1e0d850, with a learning rate of 0.1 and a
    rate's of 0.3.
    """
    for seed in (1, 2, 3):
        settings = naive.Settings(3, 4, 0.1, CONSTANT, greedy)
        ours, theirs = AUTHORS[name]
        agent = sj.smart(
            3, 4, step_size=0.1, exploration=CONSTANT.start, greedy=greedy, ties="lowest", rate=ours()
        )
        assert_same_learning(agent, naive.Agent(settings, theirs()), seed)


CHOICES: dict[str, dict[str, Any]] = {
    "ties": {"ties": "random"},
    "visits": {"step_size": naive.Falling(1.0, 0.7, 0.05)},
    "one by n": {"step_size": naive.Falling(0.8, 1.0, 0.0)},
    "per frequency": {"step_size": naive.PerFrequency(0.02, 0.3)},
    "linear": {"exploration": naive.Straight(1.0, 0.05, 150)},
    "optimism": {"initial": 20.0},
    "centring": {"centring": 0.1},
}
CHOICES["all"] = {name: choice for choices in CHOICES.values() for name, choice in choices.items()}


@pytest.mark.parametrize("choices", CHOICES)
@pytest.mark.parametrize("name", AGENTS)
def test_agent_with_choices(name: str, choices: str) -> None:
    """With any choice of ties, step sizes, exploration, first values and centring, and steps that take no time."""
    chosen = dict(CHOICES[choices])
    if name.startswith(("smdp_q", "rvi_q")):
        chosen.pop("centring", None)
    settings = naive.Settings(3, 4, 0.1, CONSTANT)._replace(**chosen)
    agent, oracle = both(name, settings)
    assert_same_learning(agent, oracle, seed=4, at_once=0.3)


@pytest.mark.parametrize("name", ["harmonic_r", "rvi_q"])
def test_a_run_with_choices(name: str) -> None:
    """Compiled, a whole run with all choices is the oracle's run, beyond the thousandth step too."""
    chosen = {key: choice for key, choice in CHOICES["all"].items() if name != "rvi_q" or key != "centring"}
    settings = naive.Settings(2, 2, 0.1, CONSTANT)._replace(**chosen)
    agent, oracle = both(name, settings)
    result = sj.run(sj.worlds.TwoState(1e-4), agent, steps=600, episodes=2, seed=5)
    assert_same_run(result, naive.run(oracle, 1e-4, steps=600, episodes=2, seed=5))


@pytest.mark.parametrize(
    "name", ["SmoothedCumulative", "Exponential", "Harmonic", "WeightedHarmonic", "Incremental"]
)
def test_a_scheduled_estimator(name: str) -> None:
    """With a schedule, an estimator is the oracle's with the step size of each update set by hand."""
    kind, falling = ESTIMATORS[name], naive.Falling(1.0, 0.7, 0.05)
    rate, oracle = sj.rates.Scheduled(kind.sojourn(1.0), sj.rates.Visits(*falling)), kind.recursion(1.0)
    for update, (reward, duration) in enumerate(transitions(1)):
        oracle.beta = falling.at(update + 1)  # type: ignore[attr-defined] # all five have it
        oracle.update(reward, duration)
        rate = sj.update(rate, reward, duration)
        assert_allclose(sj.value(rate), oracle.value(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("moving", "cumulative"), [(sj.Exponential, sj.Cumulative), (sj.Harmonic, sj.rates.CumulativeHarmonic)]
)
def test_moving_means_with_1_over_n_are_means_of_all(moving: Any, cumulative: Any) -> None:
    """The moving estimator with the schedule 1/n is the cumulative one of its family."""
    rate, plain = sj.rates.Scheduled(moving(1.0), sj.rates.Visits(1.0, 1.0)), cumulative()
    for reward, duration in transitions(2):
        rate, plain = sj.update(rate, reward, duration), sj.update(plain, reward, duration)
        assert_allclose(sj.value(rate), sj.value(plain), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("name", "oracle_of"), [("smart", naive.Agent), ("r_learning", naive.RLearning)])
def test_any_agent_takes_any_estimator(
    name: str, oracle_of: Callable[[naive.Settings, naive.Rate], naive.Agent], estimator: str
) -> None:
    """An agent with another estimator than its own feeds it the agent's own evidence."""
    kind = ESTIMATORS[estimator]
    options = {"step_size": 0.1} if kind.has_step_size else {}
    agent = getattr(sj.agents, name)(
        num_states=3, num_actions=4, step_size=0.1, ties="lowest", rate=kind.sojourn(**options)
    )
    oracle = oracle_of(naive.Settings(3, 4, 0.1, CONSTANT), kind.recursion(**options))
    assert_same_learning(agent, oracle, seed=3)
