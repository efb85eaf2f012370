r"""Risk in single steps: constant relative risk aversion of rates, and the mean of the worst rewards.

**Aversion.** A step of reward r and duration tau has the rate r / tau. With the utility of constant relative risk aversion
(CRRA), u(x) = x^(1 - theta) / (1 - theta), or log x if theta is 1, give the step the reward tau u(r / tau). The best policy
of this model has the largest certain rate

    (E[tau x^(1 - theta)] / E[tau])^(1 / (1 - theta)),     x = r / tau

which is the mean of rates weighted by durations: the plain mean (and so the gain) for theta = 0, geometric for 1, harmonic for
2, quadratic for -1. It depends on how time is cut into steps, and the gain does not: 1 and 9, earned in one step of duration 2,
are a rate of 5 for every theta; in two steps of duration 1 they are 1.8 for theta = 2. (The utility is J. W. Pratt's, Econometrica
32, 1964; its use for the rates of steps is from the authors of Harmonic R-Learning.)

**The worst rewards.** CVaR at a level is the mean of that share of all steps in which the reward is lowest. It is the largest
value of q - E[max(0, q - r)] / level over all q, and is attained where q is the quantile at the level (Rockafellar and Uryasev,
Journal of Risk 2, 2000). Durations do not count, unless it is asked for per unit of time: then it is the largest
q - E[max(0, q tau - r)] / (level E[tau]).

Without a law, a reward or duration is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from sojourn.data.numbers import Number, finite, proper_fraction
from sojourn.exact.policies import evaluate
from sojourn.models import laws
from sojourn.models.chain import PolicyLike, pair_shares
from sojourn.models.laws import CONSTANT, TWO_POINT, FlatLaws
from sojourn.models.smdp import SMDP, check_model
from sojourn.models.validation import offsets_of
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.door import told

# --- Constant relative risk aversion --------------------------------------------------------


@told
def crra(model: SMDP, theta: Number) -> SMDP:
    """Return the model in which every step is worth its duration times the utility of its rate.

    `theta` is the aversion to risk: 0 for none, below 0 for seeking it. Rewards and durations are constants, two points or
    outcomes; each becomes a row of its own. All rates must be above 0, or at least 0 if theta is below 1; if theta is 0, the
    model stays what it is, and any rates do.

    Rates of 1 and 15, equally likely, against a sure 6:

    >>> import sojourn as sj
    >>> rides = sj.models.from_transitions([
    ...     (0, "wild", 0, 0.5, 2.0, 2.0), (0, "wild", 0, 0.5, 30.0, 2.0), (0, "calm", 0, 1.0, 6.0, 1.0),
    ... ])
    >>> averse = sj.solve(crra(rides, theta=2))
    >>> averse.policy.tolist(), round(certain_rate(averse.gain, theta=2), 6)
    ([1], 6.0)
    >>> round(certain_rate(sj.evaluate(crra(rides, theta=2), {0: "wild"}).gain, theta=2), 6)  # 2 / (1 + 1/15)
    1.875
    """
    check_model(model)
    theta = finite("theta", theta)
    reward, duration, _ = model.flat_laws()
    pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    rewards, with_reward = _two_values(model, "rewards", reward, pair)
    durations, with_duration = _two_values(model, "durations", duration, pair)
    # Four outcomes for each row, of which those of probability 0 are left out.
    share = (with_reward[:, :, None] * with_duration[:, None, :]).reshape(len(pair), 4)
    row, place = np.nonzero(share)
    earned, lasting = rewards[row, place // 2], durations[row, place % 2]
    count = np.zeros(model.num_pairs, dtype=np.int64)
    np.add.at(count, pair[row], 1)
    return model._with(  # noqa: SLF001 - the rows change, and all else stays
        row_offsets=offsets_of(count),
        successor=model.successor[row],
        probability=model.probability[row] * share[row, place],
        row_reward=_worth(model, pair[row], earned, lasting, theta),
        row_duration=lasting,
        **dict.fromkeys(("reward", "duration", "reward_law", "duration_law")),
    )


@told
def certain_rate(gain: Number, theta: Number) -> float:
    """Return the sure rate that is worth as much as this gain of a model from `crra`.

    >>> round(certain_rate(math.log(3.0), theta=1), 12), certain_rate(-0.5, theta=2)  # -0.5 = -1 / x
    (3.0, 2.0)
    """
    gain, power = finite("gain", gain), 1.0 - finite("theta", theta)
    if power in (0.0, 1.0):
        return gain if power else math.exp(gain)
    if power * gain < 0.0 or (gain == 0.0 and power < 0.0):
        raise ValueError(f"gain is {gain:g}; no rate has this utility if theta is {1.0 - power:g}")
    return float((power * gain) ** (1.0 / power))


def _two_values(
    model: SMDP, name: str, given: FlatLaws, pair: Ints, taken: Flags | bool = True
) -> tuple[Floats, Floats]:
    """Return two values of every row and their probabilities, the second is 0 for a constant; laws of rows not taken may be any."""
    at = pair if len(given) != model.num_rows else np.arange(model.num_rows)
    kind, (low, high, chance) = given.kind[at], given.parameters[at].T
    smooth = np.flatnonzero((kind != CONSTANT) & (kind != TWO_POINT) & taken)
    if smooth.size:
        law = given.law(int(at[smooth[0]]))
        raise ValueError(
            f"{model.place(int(pair[smooth[0]]))}: a law of the {name} is {law}; this takes constants, TwoPoint and Outcomes"
        )
    chance = np.where(kind == TWO_POINT, chance, 0.0)
    return np.column_stack([low, high]), np.column_stack([1.0 - chance, chance])


def _worth(model: SMDP, pair: Ints, earned: Floats, lasting: Floats, theta: float) -> Floats:
    """Return the duration times the utility of the rate; nothing earned in no time is worth nothing."""
    power = 1.0 - theta
    if power == 1.0:
        return earned
    nothing = (lasting == 0.0) & (earned == 0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rate = np.where(nothing, 1.0, earned / lasting)
        wrong = np.flatnonzero(~np.isfinite(rate) | (rate < 0.0) | ((rate == 0.0) & (power <= 0.0)))
        if wrong.size:
            place, least = wrong[0], "at least 0" if power > 0.0 else "above 0"
            raise ValueError(
                f"{model.place(int(pair[place]))}: a step earns {earned[place]:g} in a time of {lasting[place]:g}; "
                f"with theta {theta:g} all rates must be finite and {least}"
            )
        utility = np.log(rate) if power == 0.0 else rate**power / power
        worth = np.asarray(np.where(nothing, 0.0, lasting * utility))
    if not np.isfinite(worth).all():
        raise ValueError(
            f"theta is {theta:g}; utilities of these rates are too large for floats, so take another unit or theta"
        )
    return worth


# --- The mean of the worst rewards ----------------------------------------------------------


@told
def cvar(model: SMDP, policy: PolicyLike, level: float, *, per: str = "steps") -> float:
    """Return the mean reward of the worst steps in the long run: of this share of them, the level.

    With `per="duration"` it is the reward per unit of time in the worst share of the time, where a step counts with its rate for
    as long as it lasts. This depends on how time is cut into steps. Durations must then be constants, two points or outcomes.

    Half of the steps earn 4 and half earn nothing, so of the worst three quarters a third earns 4:

    >>> import sojourn as sj
    >>> coin = sj.models.from_transitions([(0, 0, 0, 0.5, 4.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0)])
    >>> round(cvar(coin, [0], 0.75), 12), cvar(coin, [0], 0.5)
    (1.333333333333, 0.0)

    Steps of 1 earn 6 and steps of 3 earn nothing. In the worst half of the steps nothing is earned; of the worst nine tenths of
    the time a sixth is spent at a rate of 6:

    >>> turns = sj.models.from_transitions([(0, 0, 1, 1.0, 6.0, 1.0), (1, 0, 0, 1.0, 0.0, 3.0)])
    >>> cvar(turns, [0, 0], 0.5), round(cvar(turns, [0, 0], 0.9, per="duration"), 12)
    (0.0, 1.0)
    """
    check_model(model)
    level = proper_fraction("level", level)
    if per not in ("steps", "duration"):
        raise ValueError(f"per is {per!r}; it must be 'steps' or 'duration'")
    steps = evaluate(model, policy).stationary[model.state_of_pair()] * pair_shares(model, policy)
    pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    weight, lengths = steps[pair] * model.probability, np.ones(model.num_rows)
    given, lasting, by_rows = model.flat_laws()
    at = np.arange(model.num_rows) if by_rows else pair
    if per == "duration":
        both, chance = _two_values(model, "durations", lasting, pair, weight > 0.0)
        weight, lengths, at = (weight[:, None] * chance).ravel(), both.ravel(), np.repeat(at, 2)
    met = weight > 0.0
    lengths, given = lengths[met], FlatLaws(given.kind[at[met]], given.parameters[at[met]])
    weight = weight[met] / (weight[met] @ lengths)

    def below(rate: float) -> tuple[float, float]:
        """Return the share of what is at most this rate, and the mean of how much it lacks."""
        share, lack = _below(given, rate * lengths)
        return float((weight * lengths) @ share), float(weight @ lack)

    low, high = _around(given, lengths, below, level)
    for _ in range(1100):
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            break
        low, high = (middle, high) if below(middle)[0] < level else (low, middle)
    return max(q - below(q)[1] / level for q in (low, high))


def _around(
    given: FlatLaws, lengths: Floats, below: Callable[[float], tuple[float, float]], level: float
) -> tuple[float, float]:
    """Return two numbers with the quantile at the level between them."""
    at = lengths > 0.0
    centre, reach = (
        laws.means(given)[at] / lengths[at],
        float((laws.sizes(given)[at] / lengths[at]).max()) or 1.0,
    )
    low, high = float(centre.min()) - reach, float(centre.max()) + reach
    while below(low)[0] >= level:
        low, reach = low - reach, 2.0 * reach
    while below(high)[0] < level:
        high, reach = high + reach, 2.0 * reach
    return low, high


def _below(given: FlatLaws, q: Floats) -> tuple[Floats, Floats]:
    """Return P(X <= q) and E[max(0, q - X)] of every law, with a q for each."""
    mirrored = _is_mirrored(given)
    below, gap = _plain_below(given, np.where(mirrored, -q, q))
    # If X = -Y, then max(0, q - X) = max(0, Y + q) = Y + q + max(0, -q - Y).
    return np.where(mirrored, 1.0 - below, below), np.where(mirrored, gap + q - laws.means(given), gap)


def _is_mirrored(given: FlatLaws) -> Floats:
    kind, (a, b, _) = given.kind, given.parameters.T
    at_first = (kind == laws.EXPONENTIAL) | (kind == laws.LOGNORMAL)
    at_second = (kind == laws.GAMMA) | (kind == laws.WEIBULL)
    return np.asarray((at_first & (a < 0.0)) | (at_second & (b < 0.0)))


def _plain_below(given: FlatLaws, q: Floats) -> tuple[Floats, Floats]:
    """Return P(X <= q) and E[max(0, q - X)] of every law, or of its mirror image above 0."""
    kind, (a, b, c) = given.kind, given.parameters.T
    below, gap = np.where(a <= q, 1.0, 0.0), np.maximum(q - a, 0.0)  # of constants
    at = kind == TWO_POINT
    below[at] = (1.0 - c[at]) * (a <= q)[at] + c[at] * (b <= q)[at]
    gap[at] = (1.0 - c[at]) * gap[at] + c[at] * np.maximum(q - b, 0.0)[at]
    at = kind == laws.UNIFORM
    first, last = np.minimum(a, b)[at], np.maximum(a, b)[at]
    inside = np.clip(q[at], first, last) - first
    width = np.where(last > first, last - first, 1.0)
    below[at] = np.where(q[at] >= last, 1.0, inside / width)
    gap[at] = inside * inside / (2.0 * width) + np.maximum(q[at] - last, 0.0)
    at = kind == laws.FLOORED
    z, floor = (np.maximum(q, c) - a)[at] / b[at], (c - a)[at] / b[at]
    below[at] = np.where((q >= c)[at], special.ndtr(z), 0.0)
    gap[at] = b[at] * (_rise(z) - _rise(floor))
    at = kind == laws.LOGNORMAL
    with np.errstate(divide="ignore"):
        z = np.log(np.maximum(q[at] / np.abs(a[at]), 0.0)) / b[at]
    mean = np.abs(a[at]) * np.exp(b[at] ** 2 / 2.0)
    below[at], gap[at] = special.ndtr(z), q[at] * special.ndtr(z) - mean * special.ndtr(z - b[at])
    for one, shape, scale in (
        (laws.EXPONENTIAL, np.ones_like(a), np.abs(a)),
        (laws.GAMMA, a, np.abs(b)),
        (laws.WEIBULL, a, np.abs(b)),
    ):
        at = kind == one
        x, k, size = np.maximum(q[at], 0.0) / scale[at], shape[at], scale[at]
        if one == laws.WEIBULL:
            below[at] = -np.expm1(-(x**k))
            gap[at] = size * (
                x * below[at] - special.gamma(1.0 + 1.0 / k) * special.gammainc(1.0 + 1.0 / k, x**k)
            )
        else:
            below[at] = special.gammainc(k, x)
            gap[at] = size * (x * below[at] - k * special.gammainc(k + 1.0, x))
    return below, gap


def _rise(z: Floats) -> Floats:
    """Return the integral of the normal distribution up to z."""
    return np.asarray(z * special.ndtr(z) + np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi))
