"""The mathematics once more, slowly: what sojourn is compared with.

Written from the definitions alone and without sojourn, in plain Python. Whatever can be said
in two ways is: the estimators as recursions, and as formulas over the whole history.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple, Protocol

from numpy.random import SeedSequence

Number = float | Fraction
History = Sequence[tuple[float, float]]  # (reward, duration), the oldest first

# --- Batch operators: exact on the floats they are given, rounded once at the end. ---


def exact(numbers: Sequence[Number]) -> list[Fraction]:
    return [Fraction(x) for x in numbers]


def harmonic_mean(values: Sequence[Number]) -> float:
    xs = exact(values)
    return float(len(xs) / sum(1 / x for x in xs))


def exact_block(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    """Weighted harmonic mean of numbers of one sign; nothing at all has the mean 0."""
    if not values:
        return Fraction(0)
    return sum(weights, Fraction(0)) / sum(w / x for w, x in zip(weights, values, strict=True))


def weighted_harmonic_mean(
    values: Sequence[Number], weights: Sequence[Number], durations: Sequence[Number] | None = None
) -> float:
    """Each sign's weighted harmonic mean, combined by the signs' counts or by their durations."""
    if not values:
        raise ValueError("the mean of nothing is not defined")
    shares = [Fraction(1)] * len(values) if durations is None else exact(durations)
    data = list(zip(exact(values), exact(weights), shares, strict=True))
    total = Fraction(0)
    for block in ([d for d in data if d[0] > 0], [d for d in data if d[0] < 0]):
        share = sum((d[2] for d in block), Fraction(0))
        total += share * exact_block([d[0] for d in block], [d[1] for d in block])
    return float(total / sum(shares))


def modified_harmonic_mean(values: Sequence[Number]) -> float:
    return weighted_harmonic_mean(values, [1.0] * len(values))


def ratio_of_means(rewards: Sequence[Number], durations: Sequence[Number]) -> float:
    return float(sum(exact(rewards)) / sum(exact(durations)))


def coupling(rewards: Sequence[Number], durations: Sequence[Number]) -> float:
    """A(tau) - A(r) A(tau/r), with A the arithmetic mean."""
    r, tau = exact(rewards), exact(durations)
    n = len(r)
    reciprocal = sum(t / x for x, t in zip(r, tau, strict=True))
    return float(Fraction(sum(tau), n) - Fraction(sum(r), n) * reciprocal / n)


# --- Online estimators, as recursions. ---


class Rate(Protocol):
    def update(self, reward: float, duration: float) -> None: ...
    def value(self) -> float: ...


def ratio(x: float, y: float) -> float:
    """The ratio x / y, and 0 before there is any evidence."""
    return x / y if y != 0 else 0.0


class Cumulative:
    def __init__(self) -> None:
        self.x = self.y = 0.0

    def update(self, reward: float, duration: float) -> None:
        self.x += reward
        self.y += duration

    def value(self) -> float:
        return ratio(self.x, self.y)


class SmoothedCumulative:
    def __init__(self, step_size: float) -> None:
        self.beta, self.x, self.y, self.rho = step_size, 0.0, 0.0, 0.0

    def update(self, reward: float, duration: float) -> None:
        self.x += reward
        self.y += duration
        self.rho += self.beta * (self.x / self.y - self.rho)

    def value(self) -> float:
        return self.rho


class Exponential:
    def __init__(self, step_size: float) -> None:
        self.beta, self.r, self.tau = step_size, 0.0, 0.0

    def update(self, reward: float, duration: float) -> None:
        self.r += self.beta * (reward - self.r)
        self.tau += self.beta * (duration - self.tau)

    def value(self) -> float:
        return ratio(self.r, self.tau)


class Harmonic:
    def __init__(self, step_size: float) -> None:
        self.beta = step_size
        self.p = self.n = 0.0
        self.plus = self.minus = self.zero = 0.0

    def update(self, reward: float, duration: float) -> None:
        q = duration / reward if reward != 0 else 0.0
        self.p += self.beta * ((q if reward > 0 else 0.0) - self.p)
        self.n += self.beta * ((q if reward < 0 else 0.0) - self.n)
        self.plus += self.beta * ((reward > 0) - self.plus)
        self.minus += self.beta * ((reward < 0) - self.minus)
        self.zero += self.beta * ((reward == 0) - self.zero)

    def value(self) -> float:
        mean_plus, mean_minus = ratio(self.plus, self.p), ratio(self.minus, self.n)
        return ratio(self.plus * mean_plus + self.minus * mean_minus, self.plus + self.minus + self.zero)


class WeightedHarmonic:
    """As `Harmonic`, but each sign's mean is sum(w) / sum(w tau/r) with w = |r|, discounted alike."""

    def __init__(self, step_size: float) -> None:
        self.beta = step_size
        self.top = {+1: 0.0, -1: 0.0}
        self.bottom = {+1: 0.0, -1: 0.0}
        self.share = {+1: 0.0, -1: 0.0, 0: 0.0}

    def update(self, reward: float, duration: float) -> None:
        for sign in (+1, -1):
            hit = reward * sign > 0
            weight = abs(reward) if hit else 0.0
            self.top[sign] += self.beta * (weight - self.top[sign])
            # |r| tau/r is tau with the sign of r, whatever the size of r
            self.bottom[sign] += self.beta * ((sign * duration if hit else 0.0) - self.bottom[sign])
            self.share[sign] += self.beta * (hit - self.share[sign])
        self.share[0] += self.beta * ((reward == 0) - self.share[0])

    def value(self) -> float:
        blocks = sum(self.share[s] * ratio(self.top[s], self.bottom[s]) for s in (+1, -1))
        return ratio(blocks, sum(self.share.values()))


class CumulativeHarmonic:
    def __init__(self) -> None:
        self.counts = {+1: 0, -1: 0, 0: 0}
        self.sums = {+1: 0.0, -1: 0.0}

    def update(self, reward: float, duration: float) -> None:
        sign = (reward > 0) - (reward < 0)
        self.counts[sign] += 1
        if sign != 0:
            self.sums[sign] += duration / reward

    def value(self) -> float:
        blocks = sum(self.counts[s] * ratio(self.counts[s], self.sums[s]) for s in (+1, -1))
        return ratio(blocks, sum(self.counts.values()))


class CumulativeWeightedHarmonic:
    """Each sign's mean is sum(w) / sum(w tau/r) with w = |r|, over all events; the signs combined by their counts."""

    def __init__(self) -> None:
        self.counts = {+1: 0, -1: 0, 0: 0}
        self.weights, self.times = {+1: 0.0, -1: 0.0}, {+1: 0.0, -1: 0.0}

    def update(self, reward: float, duration: float) -> None:
        sign = (reward > 0) - (reward < 0)
        self.counts[sign] += 1
        if sign != 0:
            self.weights[sign] += abs(reward)
            self.times[sign] += sign * duration  # |r| tau/r

    def value(self) -> float:
        blocks = sum(self.counts[s] * ratio(self.weights[s], self.times[s]) for s in (+1, -1))
        return ratio(blocks, sum(self.counts.values()))


class TimeSmoothed:
    def __init__(self, step_size: float) -> None:
        self.decay, self.rho, self.weight = -math.log1p(-step_size), 0.0, 0.0

    def update(self, reward: float, duration: float) -> None:
        forget = -math.expm1(-self.decay * duration)  # 1 - e^(-x) itself loses digits for small x
        self.rho = math.exp(-self.decay * duration) * self.rho + forget * reward / duration
        self.weight = math.exp(-self.decay * duration) * self.weight + forget

    def value(self) -> float:
        return ratio(self.rho, self.weight)


class MeanOfRates:
    def __init__(self) -> None:
        self.rates: list[float] = []

    def update(self, reward: float, duration: float) -> None:
        self.rates.append(reward / duration)

    def value(self) -> float:
        return ratio(math.fsum(self.rates), len(self.rates))


class PowerMean:
    """Everything seen, with the weights that are left of it."""

    def __init__(self, step_size: float, exponent: float = 0.0, weight: str = "unit") -> None:
        self.beta, self.exponent, self.weight = step_size, exponent, weight
        self.seen: list[tuple[float, float, float]] = []

    def update(self, reward: float, duration: float) -> None:
        self.seen = [(r, tau, kept * (1 - self.beta)) for r, tau, kept in self.seen]
        self.seen.append((reward, duration, self.beta))

    def value(self) -> float:
        return power_mean(self.seen, self.exponent, self.weight) if self.seen else 0.0


def power_mean(law: Sequence[tuple[float, float, float]], exponent: float, weight: str) -> float:
    """The power mean of rates with a probability or another weight besides each; the signs are averaged apart."""
    total = 0.0
    for sign in (1, -1):
        side = [(sign * r, tau, p) for r, tau, p in law if sign * r > 0 and p > 0]
        weights = [p * {"unit": 1.0, "reward": r, "duration": tau}[weight] for r, tau, p in side]
        if not side:
            continue
        if exponent == 0:
            logs = math.fsum(w * math.log(r / tau) for w, (r, tau, _) in zip(weights, side, strict=True))
            mean = math.exp(logs / math.fsum(weights))
        else:
            powers = math.fsum(
                w * (r / tau) ** exponent for w, (r, tau, _) in zip(weights, side, strict=True)
            )
            mean = (powers / math.fsum(weights)) ** (1 / exponent)
        total += sign * mean * math.fsum(p * (tau if weight == "duration" else 1.0) for _, tau, p in side)
    return total / math.fsum(p * (tau if weight == "duration" else 1.0) for _, tau, p in law)


class TimeForgetting:
    def __init__(self, step_size: float) -> None:
        self.decay, self.x, self.y = -math.log1p(-step_size), 0.0, 0.0

    def update(self, reward: float, duration: float) -> None:
        kept = math.exp(-self.decay * duration)
        self.x = kept * self.x + reward
        self.y = kept * self.y + duration

    def value(self) -> float:
        return ratio(self.x, self.y)


class Incremental:
    def __init__(self, step_size: float) -> None:
        self.beta, self.rho = step_size, 0.0

    def update(self, reward: float, duration: float) -> None:
        self.rho += self.beta * (reward - self.rho * duration)

    def value(self) -> float:
        return self.rho


class Fixed:
    def __init__(self, rate: float = 0.0) -> None:
        self.rate = rate

    def update(self, reward: float, duration: float) -> None:
        pass

    def value(self) -> float:
        return self.rate


# --- The same estimates as formulas over a history that is not empty. ---


def cumulative_of(history: History) -> float:
    return ratio_of_means([r for r, _ in history], [tau for _, tau in history])


def event_weights(n: int, step_size: float) -> list[float]:
    """The weights beta (1 - beta)^(n - i) for i = 1, ..., n."""
    return [step_size * (1 - step_size) ** (n - i) for i in range(1, n + 1)]


def smoothed_cumulative_of(history: History, step_size: float) -> float:
    terms = []
    for i, weight in enumerate(event_weights(len(history), step_size)):
        seen = history[: i + 1]
        terms.append(weight * math.fsum(r for r, _ in seen) / math.fsum(tau for _, tau in seen))
    return math.fsum(terms)


def exponential_of(history: History, step_size: float) -> float:
    weights = event_weights(len(history), step_size)
    top = math.fsum(w * r for w, (r, _) in zip(weights, history, strict=True))
    return top / math.fsum(w * tau for w, (_, tau) in zip(weights, history, strict=True))


def harmonic_of(history: History, step_size: float, *, weighted: bool = False) -> float:
    """Blocks of one sign, each a harmonic mean of rates, combined by their shares of the events."""
    events = list(zip(event_weights(len(history), step_size), history, strict=True))
    total = 0.0
    for sign in (+1, -1):
        block = [(w, r, tau) for w, (r, tau) in events if r * sign > 0]
        if block:
            size = [w * abs(r) if weighted else w for w, r, _ in block]
            rates = [r / tau for _, r, tau in block]
            mean = math.fsum(size) / math.fsum(s / x for s, x in zip(size, rates, strict=True))
            total += math.fsum(w for w, _, _ in block) * mean
    return total / math.fsum(w for w, _ in events)


def weighted_harmonic_of(history: History, step_size: float) -> float:
    return harmonic_of(history, step_size, weighted=True)


def cumulative_harmonic_of(history: History) -> float:
    return modified_harmonic_mean([Fraction(r) / Fraction(tau) for r, tau in history])


def cumulative_weighted_harmonic_of(history: History) -> float:
    rates = [Fraction(r) / Fraction(tau) for r, tau in history]
    return weighted_harmonic_mean(rates, [abs(Fraction(r)) for r, _ in history])


def time_smoothed_of(history: History, step_size: float) -> float:
    """Each rate with the weight of its own time, discounted by the time that came after it, over all weights."""
    decay = -math.log1p(-step_size)
    terms, weights = [], []
    for i, (r, tau) in enumerate(history):
        later = math.fsum(t for _, t in history[i + 1 :])
        weights.append(-math.expm1(-decay * tau) * math.exp(-decay * later))
        terms.append(weights[-1] * r / tau)
    return math.fsum(terms) / math.fsum(weights)


def mean_of_rates_of(history: History) -> float:
    return float(sum((Fraction(r) / Fraction(tau) for r, tau in history), Fraction(0)) / len(history))


def power_mean_of(history: History, step_size: float, exponent: float = 0.0, weight: str = "unit") -> float:
    kept = [step_size * (1 - step_size) ** age for age in reversed(range(len(history)))]
    return power_mean([(r, tau, k) for (r, tau), k in zip(history, kept, strict=True)], exponent, weight)


def time_forgetting_of(history: History, step_size: float) -> float:
    """Each reward and each duration, discounted by the time that came after it."""
    decay = -math.log1p(-step_size)
    weights = [math.exp(-decay * math.fsum(tau for _, tau in history[i + 1 :])) for i in range(len(history))]
    top = math.fsum(w * r for w, (r, _) in zip(weights, history, strict=True))
    return top / math.fsum(w * tau for w, (_, tau) in zip(weights, history, strict=True))


def incremental_of(history: History, step_size: float) -> float:
    """The sum over i of beta x_i times the product of (1 - beta tau_j) over the later j."""
    terms = []
    for i, (x, _) in enumerate(history):
        terms.append(step_size * x * math.prod(1 - step_size * tau for _, tau in history[i + 1 :]))
    return math.fsum(terms)


# --- Random streams. ---

MASK = 2**64 - 1


def rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & MASK


class Xoshiro:
    """xoshiro256++ (Blackman and Vigna 2021)."""

    def __init__(self, state: Sequence[int]) -> None:
        self.s = list(state)

    def word(self) -> int:
        a, b, c, d = self.s
        answer = (rotate((a + d) & MASK, 23) + a) & MASK
        c ^= a
        d ^= b
        # the shifted word is the second one as it was, before its own update below
        self.s = [a ^ d, b ^ c, c ^ ((b << 17) & MASK), rotate(d, 45)]
        return answer

    def uniform(self) -> float:
        return unit(self.word())


def splitmix(key: int, index: int) -> int:
    """Number `index`, from 0, of SplitMix64 (Steele, Lea and Flood 2014) started at `key`."""
    z = (key + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def unit(word: int) -> float:
    return ((word >> 12) + 0.5) / 2**52


def streams(seed: int) -> tuple[Xoshiro, Xoshiro]:
    """The world's stream and the agent's."""
    world, agent = (
        Xoshiro([int(w) for w in child.generate_state(4, "uint64")]) for child in SeedSequence(seed).spawn(2)
    )
    return world, agent


# --- Agents. ---


class Exploration(NamedTuple):
    start: float
    factor: float = 1.0
    floor: float = 0.0

    def after(self, steps: int) -> float:
        """Epsilon after so many steps, multiplied once for each."""
        epsilon = self.start
        for _ in range(steps):
            epsilon = max(self.floor, epsilon * self.factor)
        return epsilon


class Straight(NamedTuple):
    start: float
    end: float
    steps: int

    def after(self, steps: int) -> float:
        """Epsilon after so many steps, by the formula of a straight line."""
        return self.start + (self.end - self.start) * min(1.0, steps / self.steps)


class Falling(NamedTuple):
    """A step size by visits n: max(floor, first / n^power)."""

    first: float
    power: float
    floor: float

    def at(self, visit: int) -> float:
        return max(self.floor, self.first / math.pow(visit, self.power))


class PerFrequency(NamedTuple):
    """A step size over the share of all steps in which the pair was visited, up to a largest one."""

    size: float
    largest: float

    def at(self, visit: int, steps: int) -> float:
        return min(self.largest, self.size / (visit / steps))


class Settings(NamedTuple):
    num_states: int
    num_actions: int
    step_size: float | Falling | PerFrequency
    exploration: Exploration | Straight
    greedy: str = "action"  # or "draw", or "after", or "every"
    ties: str = "lowest"  # or "random"
    initial: float = 0.0
    centring: float = 0.0


class Agent:
    """Tabular Q with a rate: SMART and its relatives, which differ in the rate alone."""

    def __init__(self, settings: Settings, rate: Rate) -> None:
        self.settings = settings
        self.rate = rate
        self.q = {s: [settings.initial] * settings.num_actions for s in range(settings.num_states)}
        self.epsilon = settings.exploration.start
        self.accepted = False  # whether the last step counts as greedy
        self.visits: dict[tuple[int, int], int] = {}
        self.durations: list[float] = []
        self.estimates: list[float] = []  # of the rate, at the beginning of each step
        self.mean_duration = 0.0
        self.level = 0.0
        self.unpaid: list[float] = []  # evidence for which no time has passed

    def best(self, state: int) -> int:
        values = self.q[state]
        return values.index(max(values))  # the first of equals

    def tied(self, state: int) -> list[int]:
        values = self.q[state]
        return [action for action, value in enumerate(values) if value == max(values)]

    def is_best(self, state: int, action: int) -> bool:
        return action == self.best(state) if self.settings.ties == "lowest" else action in self.tied(state)

    def policy(self) -> list[int]:
        return [self.best(s) for s in self.q]

    def draw(self, state: int, stream: Xoshiro) -> tuple[int, bool]:
        """The next action, and whether it was drawn to explore; one number, whatever happens."""
        u = stream.uniform()
        if u < self.epsilon:
            return int(u / self.epsilon * self.settings.num_actions), True
        if self.settings.ties == "lowest":
            return self.best(state), False
        tied = self.tied(state)
        return tied[int((u - self.epsilon) / (1 - self.epsilon) * len(tied))], False

    def learn(self, s: int, a: int, r: float, tau: float, after: int, explored: bool) -> None:
        was_greedy = self.is_best(s, a)
        next_value = max(self.q[after])  # kept, because the update changes it if after == s
        self.see(self.passed(tau))
        error = self.error(s, a, r, tau, next_value)
        self.level += 0.01 * (next_value - self.level)
        self.q[s][a] += self.step_size(s, a) * error
        self.accepted = {
            "action": was_greedy,
            "draw": was_greedy and not explored,
            "after": self.is_best(s, a),
            "every": True,
        }[self.settings.greedy]
        self.learn_rate(s, r, tau, next_value, error)
        if isinstance(self.settings.exploration, Straight):
            self.epsilon = self.settings.exploration.after(len(self.durations))
        else:
            _, factor, floor = self.settings.exploration
            self.epsilon = max(floor, self.epsilon * factor)

    def step_size(self, s: int, a: int) -> float:
        self.visits[s, a] = self.visits.get((s, a), 0) + 1
        size, visits = self.settings.step_size, self.visits[s, a]
        if isinstance(size, PerFrequency):
            return size.at(visits, sum(self.visits.values()))
        return size.at(visits) if isinstance(size, Falling) else size

    beta: float | None = None
    length: Mapping[int, list[float]] = {}

    def unit(self, s: int, a: int) -> float:
        """What errors are divided by: the mean duration, a tenth of the mean over all steps, or 1 if both are 0."""
        return max(self.length[s][a], self.mean_duration / 10) or 1.0

    def duration_step(self, s: int, a: int) -> float:
        """The step size of a pair's mean duration; a plain mean of up to 10,000 visits if there is none."""
        return max(0.0001, 1.0 / (self.visits.get((s, a), 0) + 1)) if self.beta is None else self.beta

    def see(self, tau: float) -> None:
        """The mean duration: plain at first, and from the thousandth step on a moving one."""
        self.durations.append(tau)
        self.estimates.append(self.rate.value())
        if len(self.durations) <= 1000:
            self.mean_duration = math.fsum(self.durations) / len(self.durations)
        else:
            self.mean_duration += 0.001 * (tau - self.mean_duration)

    def effective_rate(self) -> float:
        """The rate in the error: the estimate, or with centring the mean of all before, and the level per mean duration."""
        if not self.settings.centring or len(self.durations) < 2:
            return self.rate.value()
        before = len(self.durations) - 1
        guess, unit = math.fsum(self.estimates[1:]) / before, math.fsum(self.durations[:-1]) / before
        return guess + ratio(self.settings.centring * self.level, unit)

    def error(self, s: int, a: int, r: float, tau: float, next_value: float) -> float:
        return r - self.effective_rate() * tau + next_value - self.q[s][a]

    def passed(self, tau: float) -> float:
        """The time that passed, as far as the agent knows."""
        return tau

    def learn_rate(self, s: int, r: float, tau: float, next_value: float, error: float) -> None:
        if self.accepted:
            self.unpaid.append(self.evidence(s, r, next_value))
            if self.passed(tau) > 0:
                self.rate.update(sum(self.unpaid), self.passed(tau))
                self.unpaid.clear()

    def evidence(self, s: int, r: float, next_value: float) -> float:
        return r


class RLearning(Agent):
    def evidence(self, s: int, r: float, next_value: float) -> float:
        return r + next_value - max(self.q[s])


class Stepwise(RLearning):
    """R-Learning as printed: every step counts for a time of 1."""

    def passed(self, tau: float) -> float:
        return 1.0

    def error(self, s: int, a: int, r: float, tau: float, next_value: float) -> float:
        return super().error(s, a, r, 1.0, next_value)


class Discounted(Agent):
    """Its values are discounted; its rate only measures the accepted steps."""

    def __init__(self, settings: Settings, rate: Rate, discount_rate: float) -> None:
        super().__init__(settings, rate)
        self.kappa = discount_rate

    def error(self, s: int, a: int, r: float, tau: float, next_value: float) -> float:
        return r + math.exp(-self.kappa * tau) * next_value - self.q[s][a]


class Differential(Agent):
    """Errors are divided by the action's mean duration, and every one of them moves the rate."""

    def __init__(
        self, settings: Settings, rate_step_size: float, duration_step_size: float | None = None
    ) -> None:
        self.own_rate = Incremental(rate_step_size)
        super().__init__(settings, self.own_rate)
        self.beta = duration_step_size
        self.length = {s: [1.0] * settings.num_actions for s in range(settings.num_states)}

    def error(self, s: int, a: int, r: float, tau: float, next_value: float) -> float:
        self.length[s][a] += self.duration_step(s, a) * (tau - self.length[s][a])
        return super().error(s, a, r, tau, next_value) / self.unit(s, a)

    def learn_rate(self, s: int, r: float, tau: float, next_value: float, error: float) -> None:
        self.unpaid.append(error)
        if tau > 0:
            self.own_rate.rho += self.own_rate.beta * sum(self.unpaid)
            self.unpaid.clear()


class Relative(Agent):
    """The rate is a function f of all values, and errors are divided by the action's mean duration."""

    def __init__(
        self, settings: Settings, duration_step_size: float | None = None, reference: str = "first"
    ) -> None:
        super().__init__(settings, Fixed())
        self.beta, self.reference = duration_step_size, reference
        self.length = {s: [1.0] * settings.num_actions for s in range(settings.num_states)}
        self.first: tuple[int, int] | None = None

    def f(self) -> float:
        every = [value for values in self.q.values() for value in values]
        if self.reference == "first":
            return self.q[self.first[0]][self.first[1]] if self.first else 0.0
        return max(every) if self.reference == "maximum" else math.fsum(every) / len(every)

    def error(self, s: int, a: int, r: float, tau: float, next_value: float) -> float:
        self.first = self.first or (s, a)
        self.length[s][a] += self.duration_step(s, a) * (tau - self.length[s][a])
        length = self.length[s][a]
        return (r + next_value - self.q[s][a] - length * self.f()) / self.unit(s, a)

    def learn_rate(self, s: int, r: float, tau: float, next_value: float, error: float) -> None:
        self.rate = Fixed(self.f())


class WorstRewards(Agent):
    """The worst rewards: values of what rewards lack of a quantile, per step or per unit of time."""

    def __init__(
        self, settings: Settings, rate: Rate, level: float, step_size: float, per: str, variant: str
    ) -> None:
        super().__init__(settings, rate)
        self.worst, self.size, self.per, self.variant = level, step_size, per, variant
        self.quantile = 0.0
        self.spread = 0.0

    def passed(self, tau: float) -> float:
        return tau if self.per == "duration" else 1.0

    def error(self, s: int, a: int, r: float, tau: float, next_value: float) -> float:
        length = self.passed(tau)
        if self.variant == "gradient" and length > 0 and not any(self.durations[:-1]):
            self.quantile = r / length
        is_bad = r < length * self.quantile
        lack = length * self.quantile - r
        worth = length * self.quantile - (lack / self.worst if is_bad else 0.0)
        found = super().error(s, a, worth, length, next_value)
        if self.variant == "published":
            weight = -self.worst / (1 - self.worst) if is_bad else 1.0
            self.quantile += self.size * (weight * found + self.effective_rate() - self.quantile)
            return found
        self.spread += self.size * (abs(lack) - self.spread)
        if self.mean_duration:
            share = min(self.size * length / self.mean_duration, 1.0)
            slope = self.worst - 1 if is_bad else self.worst
            self.quantile += share * self.spread * slope / self.mean_duration
        return found

    def learn_rate(self, s: int, r: float, tau: float, next_value: float, error: float) -> None:
        length = self.passed(tau)
        self.unpaid.append(error + self.rate.value() * length)
        if length > 0:
            self.rate.update(sum(self.unpaid), length)
            self.unpaid.clear()


class HLearner(Agent):
    """A model from all steps so far; after each step, every tried action of the state left is worked out from it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Cumulative())
        self.steps: dict[tuple[int, int], list[tuple[float, float, int]]] = {}

    def learn(self, s: int, a: int, r: float, tau: float, after: int, explored: bool) -> None:
        self.accepted = self.is_best(s, a)
        worth = {state: max(values) for state, values in self.q.items()}
        self.steps.setdefault((s, a), []).append((r, tau, after))
        if self.accepted:
            self.unpaid.append(r + worth[after] - worth[s])
            if tau > 0:
                self.rate.update(sum(self.unpaid), tau)
                self.unpaid.clear()
        rho = self.rate.value()
        for u in range(self.settings.num_actions):
            seen = self.steps.get((s, u), [])
            if seen:
                self.q[s][u] = math.fsum(x - rho * t + worth[to] for x, t, to in seen) / len(seen)


class Bandit(Agent):
    """Each pair's own reward over its own time, which is at least a tenth of the mean over all steps."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Cumulative())
        self.steps: dict[tuple[int, int], list[tuple[float, float]]] = {}

    def learn(self, s: int, a: int, r: float, tau: float, after: int, explored: bool) -> None:
        self.accepted = self.is_best(s, a)
        self.see(tau)
        self.steps.setdefault((s, a), []).append((r, tau))
        seen = self.steps[s, a]
        reward, time = (math.fsum(column) / len(seen) for column in zip(*seen, strict=True))
        self.q[s][a] = ratio(reward, max(time, self.mean_duration / 10))
        self.learn_rate(s, r, tau, 0.0, 0.0)


class Uniform(Agent):
    """Draws all actions alike, learns no values, and measures the rate of every step."""

    def draw(self, state: int, stream: Xoshiro) -> tuple[int, bool]:
        return int(stream.uniform() * self.settings.num_actions), True

    def learn(self, s: int, a: int, r: float, tau: float, after: int, explored: bool) -> None:
        self.accepted = True
        self.rate.update(r, tau)


def smart(settings: Settings) -> Agent:
    return Agent(settings, Cumulative())


def relaxed_smart(settings: Settings, rate_step_size: float, variant: str = "paper") -> Agent:
    if variant == "gosavi":
        return Agent(settings, SmoothedCumulative(rate_step_size))
    return Agent(settings, Exponential(rate_step_size))


def harmonic_r(settings: Settings, rate_step_size: float) -> Agent:
    return Agent(settings, Harmonic(rate_step_size))


def weighted_harmonic_r(settings: Settings, rate_step_size: float) -> Agent:
    return Agent(settings, WeightedHarmonic(rate_step_size))


def r_learning(settings: Settings, rate_step_size: float, durations: str = "known") -> Agent:
    kind = Stepwise if durations == "ignored" else RLearning
    return kind(settings, Incremental(rate_step_size))


def fixed_rate(settings: Settings, rate: float = 0.0) -> Agent:
    return Agent(settings, Fixed(rate))


def smdp_q_learning(settings: Settings, discount_rate: float) -> Agent:
    return Discounted(settings, Cumulative(), discount_rate)


def differential_q(
    settings: Settings, rate_step_size: float, duration_step_size: float | None = None
) -> Agent:
    return Differential(settings, rate_step_size, duration_step_size)


def rvi_q(settings: Settings, duration_step_size: float | None = None, reference: str = "first") -> Agent:
    return Relative(settings, duration_step_size, reference)


def red_cvar(
    settings: Settings,
    rate_step_size: float,
    quantile_step_size: float,
    level: float = 0.25,
    per: str = "steps",
    variant: str = "gradient",
) -> Agent:
    rate = Incremental(rate_step_size) if variant == "published" else Exponential(rate_step_size)
    return WorstRewards(settings, rate, level, quantile_step_size, per, variant)


def random_agent(settings: Settings) -> Agent:
    return Uniform(settings, Cumulative())


# --- The two-state world, and a run in it. ---


class TwoState:
    """States s1 = 0 and s2 = 1, actions A = 0 and B = 1."""

    def __init__(
        self, log_scale: float, duration_spread: float = 0.1, return_reward: float = 0.0, clock: str = "steps"
    ) -> None:
        self.v = log_scale
        self.spread = duration_spread
        self.back = return_reward
        self.by_visits = clock == "visits"
        self.key: int | None = None
        self.t = self.visits = self.chosen = 0

    def start(self, stream: Xoshiro) -> int:
        if self.key is None:  # every episode has the noise of the first
            self.key = (stream.word() >> 2) + 1
        self.t = self.visits = self.chosen = 0
        return 0

    def step(self, state: int, action: int) -> tuple[int, float, float]:
        """The next state, the reward and the duration; t counts every step, in s2 too, or visits to s1 and choices of B."""
        t, self.t = self.t, self.t + 1
        if state == 1:
            return 0, self.back, 1.0
        s = t
        if self.by_visits:
            t, s = self.visits, self.chosen
            self.visits, self.chosen = self.visits + 1, self.chosen + action
        if action == 0:
            return 1, 0.05 * t, max(0.001, 1 + self.spread * self.noise(t))
        return 1, (math.sin(t) + 10) * 10 ** (self.v * t), (math.cos(s) + 10) * 10 ** (self.v * s / 2)

    def noise(self, t: int) -> float:
        if self.key is None:
            raise ValueError("no episode has started")
        return NormalDist().inv_cdf(unit(splitmix(self.key, t)))


class Outcome(NamedTuple):
    q: list[list[float]]
    policy: list[int]
    rate: float
    reward: float
    duration: float
    greedy_reward: float
    greedy_duration: float
    greedy_steps: int


def run(agent: Agent, log_scale: float, *, steps: int, episodes: int, seed: int) -> Outcome:
    """Train `agent` in the two-state world; what it has learned lives through all episodes."""
    world = TwoState(log_scale)
    world_stream, agent_stream = streams(seed)
    seen: list[tuple[float, float, bool]] = []
    for _ in range(episodes):
        state = world.start(world_stream)
        for _ in range(steps):
            action, explored = agent.draw(state, agent_stream)
            after, reward, duration = world.step(state, action)
            agent.learn(state, action, reward, duration, after, explored)
            seen.append((reward, duration, agent.accepted))
            state = after
    greedy = [(reward, duration) for reward, duration, accepted in seen if accepted]
    return Outcome(
        q=list(agent.q.values()),
        policy=agent.policy(),
        rate=agent.effective_rate(),
        reward=math.fsum(reward for reward, _, _ in seen),
        duration=math.fsum(duration for _, duration, _ in seen),
        greedy_reward=math.fsum(reward for reward, _ in greedy),
        greedy_duration=math.fsum(duration for _, duration in greedy),
        greedy_steps=len(greedy),
    )


# --- The market world, and a run in it. ---


class Market:
    """Minutes of a market: buy = 0 or sell = 1 in each, the state is how the last ones moved."""

    def __init__(
        self,
        opens: Sequence[float | None],  # None where it is missing
        closes: Sequence[float],
        *,
        state_size: int = 3,
        duration: str = "random",  # or "scaled", or "scaled-magnitude"
        interval: float = 60,
        shortest: float = 5,
        longest: float = 45,
        lowest: float | None = None,
        highest: float | None = None,
    ) -> None:
        self.moves = []
        previous = closes[0]  # without an open the first minute does not move
        for opening, close in zip(opens, closes, strict=True):
            self.moves.append(close - (previous if opening is None else opening))
            previous = close
        largest = max(abs(move) for move in self.moves)
        self.lowest = -largest if lowest is None else lowest
        self.highest = largest if highest is None else highest
        if duration == "scaled-magnitude":
            self.lowest = 0.0
        self.size, self.rule = state_size, duration
        self.interval, self.shortest, self.longest = interval, shortest, longest
        self.start()

    def start(self) -> int:
        self.minute = 0
        self.ups = [False] * self.size  # the oldest first
        return self.state()

    def state(self) -> int:
        return int("".join("1" if up else "0" for up in self.ups), 2)

    def step(self, action: int, stream: Xoshiro) -> tuple[int, float, float]:
        """The next state, the reward and the duration; after the last minute the first comes again."""
        move = self.moves[self.minute % len(self.moves)]
        self.minute += 1
        self.ups = [*self.ups[1:], move > 0]
        raw = move if action == 0 else -move
        tau = self.duration(raw, stream)
        return self.state(), raw * (1 - tau / self.interval), tau

    def duration(self, raw: float, stream: Xoshiro) -> float:
        width = self.longest - self.shortest
        if self.rule == "random":
            return self.shortest + width * stream.uniform()
        span = self.highest - self.lowest
        if span <= 0:  # nothing ever moves
            return (self.shortest + self.longest) / 2
        size = abs(raw) if self.rule == "scaled-magnitude" else raw
        tau = self.shortest + width * (size - self.lowest) / span
        # For moves beyond the bounds; but 40 x / x can be above 40 by a last bit, too.
        return min(max(tau, self.shortest), self.longest)


def run_market(
    agent: Agent, world: Market, *, steps: int, seed: int, points: Sequence[int], episodes: int = 1
) -> tuple[Outcome, list[float]]:
    """Train `agent` in a market: what came of it, and the greedy reward after so many steps each."""
    world_stream, agent_stream = streams(seed)
    reward = duration = greedy_reward = greedy_duration = 0.0
    greedy_steps = done = 0
    curve = []
    for _ in range(episodes):
        state = world.start()
        for _ in range(steps):
            action, explored = agent.draw(state, agent_stream)
            after, r, tau = world.step(action, world_stream)
            agent.learn(state, action, r, tau, after, explored)
            reward += r
            duration += tau
            if agent.accepted:
                greedy_reward += r
                greedy_duration += tau
                greedy_steps += 1
            done += 1
            if done in points:
                curve.append(greedy_reward)
            state = after
    outcome = Outcome(
        q=list(agent.q.values()),
        policy=agent.policy(),
        rate=agent.effective_rate(),
        reward=reward,
        duration=duration,
        greedy_reward=greedy_reward,
        greedy_duration=greedy_duration,
        greedy_steps=greedy_steps,
    )
    return outcome, curve


def mean_and_deviation(numbers: Sequence[float]) -> tuple[float, float]:
    """The mean and the sample standard deviation, as over the seeds of an experiment."""
    xs = exact(numbers)
    mean = sum(xs, Fraction(0)) / len(xs)
    return float(mean), math.sqrt(sum(((x - mean) ** 2 for x in xs), Fraction(0)) / (len(xs) - 1))
