"""The estimators of changing rates once more, slowly: from their description alone, with lists, without sojourn."""

import math
from typing import NamedTuple


def cut(x: float, most: float) -> float:
    return max(-most, min(most, x))


class ClippedExponential:
    """The discounted ratio, rewards cut at two deviations of what is remembered once ten have been seen."""

    def __init__(self, step_size: float) -> None:
        self.beta = step_size
        self.kept: list[tuple[float, float]] = []  # rewards as they were taken, and durations
        self.surprises: list[tuple[float, float]] = []  # of all transitions but the first

    def memory(self) -> tuple[float, float]:
        ages = [(1 - self.beta) ** age for age in range(len(self.kept) - 1, -1, -1)]
        return tuple(math.fsum(w * k[i] for w, k in zip(ages, self.kept, strict=True)) for i in (0, 1))  # type: ignore[return-value]

    def noise(self) -> tuple[float, float]:
        ages = [0.995**age for age in range(len(self.surprises) - 1, -1, -1)]
        a = math.fsum(w * z * z for w, (z, _) in zip(ages, self.surprises, strict=True))
        return a, math.fsum(w * tau for w, (_, tau) in zip(ages, self.surprises, strict=True))

    def update(self, reward: float, duration: float) -> None:
        x, y = self.memory()
        expected = x / y * duration if self.kept else 0.0
        a, b = self.noise()
        z = taken = reward - expected
        if len(self.kept) >= 10 and a > 0:
            z, taken = cut(z, 2 * math.sqrt(a)), cut(taken, 2 * math.sqrt(a / b * y))
        if self.kept:
            self.surprises.append((z, duration))
        self.kept.append((expected + taken, duration))

    def value(self) -> float:
        x, y = self.memory()
        return x / y if self.kept else 0.0


class Rung(NamedTuple):
    x: float = 0.0
    y: float = 0.0
    n: float = 0.0


class AdaptiveRatio:
    """Seven ratios and two trends, weighted by their scores on every two transitions."""

    def __init__(self) -> None:
        total = sum(3**j for j in range(7))
        self.prior = [0.9 * 3**j / total for j in range(7)] + [0.1 * 1 / 4, 0.1 * 3 / 4]
        self.weights = list(self.prior)
        self.rungs = [Rung() for _ in range(7)]
        self.leads = [0.0] * 7
        self.block: list[tuple[float, float]] = []
        self.blocks = 0
        self.squares = self.time = 0.0

    def says(self, reward: float, duration: float) -> list[float]:
        h = [(x + reward) / (y + duration) for x, y, _ in self.rungs]
        for j in (3, 4):
            n, longer = self.rungs[j].n, self.rungs[j + 1].n
            # A trend is known where the longer memory is longer, and fully where it is three times as long.
            share = min(max((longer / n - 1) / 2, 0), 1) if n > 0 else 0.0
            h.append(h[j] + 0.5 * share * (h[j] - h[j + 1]))
        return h

    def update(self, reward: float, duration: float) -> None:
        self.block.append((reward, duration))
        if len(self.block) < 2:
            return
        r, t = (math.fsum(part) for part in zip(*self.block, strict=True))
        cutting = self.blocks >= 6 and self.squares > 0
        if self.blocks > 0:
            self.judge(r, t, cutting)
        variance = self.squares / self.time if cutting else math.inf
        for j, (x, y, n) in enumerate(self.rungs):
            f = 1 / (1 + n / (4 * 3**j) ** 2) if j < 6 else 1.0
            e = r if self.blocks == 0 else x / y * t + cut(r - x / y * t, 2 * math.sqrt(variance * y))
            self.rungs[j] = Rung(f * x + e, f * y + t, f * n + 1)
        self.block = []
        self.blocks += 1

    def judge(self, r: float, t: float, cutting: bool) -> None:
        h = self.says(0.0, 0.0)
        rho = math.fsum(w * x for w, x in zip(self.weights, h, strict=True))
        z = r - rho * t
        if cutting:
            z = cut(z, 2 * math.sqrt(self.squares))
        self.squares = (1 - 1 / 300) * self.squares + z**2
        self.time = (1 - 1 / 300) * self.time + t
        if self.squares == 0:
            return
        # The score 1/2 T h^2 - R h of each, with the reward as it was cut.
        scores = [(x * x * t / 2 - x * (rho * t + z)) / (self.squares / self.time) for x in h]
        losses = [min(score - min(scores), 2.0) for score in scores]
        odds = [w * math.exp(-loss) for w, loss in zip(self.weights, losses, strict=True)]
        self.weights = [
            (1 - 5e-5) * o / math.fsum(odds) + 5e-5 * p for o, p in zip(odds, self.prior, strict=True)
        ]
        for j in range(6):
            self.leads[j] = max(0.0, self.leads[j] + losses[j + 1] - losses[j])
            if self.leads[j] > 8:
                self.leads[j] = 0.0
                for i in range(j + 1, 7):
                    if self.rungs[i].n > self.rungs[j].n:
                        self.rungs[i], self.leads[i] = self.rungs[j], 0.0

    def value(self) -> float:
        r, t = (math.fsum(part) for part in zip(*self.block, strict=True)) if self.block else (0.0, 0.0)
        if self.blocks == 0 and not self.block:
            return 0.0
        return math.fsum(w * x for w, x in zip(self.weights, self.says(r, t), strict=True))
