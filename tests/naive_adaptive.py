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
        kept = max(0.995, 1 - self.beta)  # 200 transitions, or as long as rewards are remembered
        ages = [kept**age for age in range(len(self.surprises) - 1, -1, -1)]
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
        self.noises: list[
            tuple[float, float]
        ] = []  # what was not expected of each block but the first, and its duration
        self.widest = 0.0
        self.all_squared = 0.0  # of the durations that the longest memory has seen

    def says(self) -> list[float]:
        whole = self.rungs[6]
        # Of four blocks as found at a random time, which each borrows from the next slower one.
        time = 4 * min(self.all_squared / whole.y, whole.y)
        h = [whole.x / whole.y]
        for rung in reversed(self.rungs[:6]):
            h.insert(0, (rung.x + time * h[0]) / (rung.y + time))
        for j in (3, 4):
            n, longer = self.rungs[j].n, self.rungs[j + 1].n
            # A trend is known where the longer memory is longer, and fully where it is three times as long.
            share = min(max((longer / n - 1) / 2, 0), 1)
            h.append(h[j] + 0.5 * share * (h[j] - h[j + 1]))
        return h

    def update(self, reward: float, duration: float) -> None:
        self.block.append((reward, duration))
        if len(self.block) < 2:
            return
        r, t = (math.fsum(part) for part in zip(*self.block, strict=True))
        before = self.rungs[6]
        if self.blocks > 0:
            self.judge(r, t)
        if self.rungs[6] is not before:  # it has begun again
            ages = [(1 - 1 / 300) ** age for age in range(len(self.noises) - 1, -1, -1)]
            late = [
                math.fsum(w * tau**k for w, (_, tau) in zip(ages, self.noises, strict=True)) for k in (1, 2)
            ]
            self.all_squared = late[1] / late[0] * self.rungs[6].y
        self.all_squared += t * t
        for j, (x, y, n) in enumerate(self.rungs):
            f = 1 / (1 + n / (4 * 3**j) ** 2) if j < 6 else 1.0
            self.rungs[j] = Rung(f * x + r, f * y + t, f * n + 1)
        self.block = []
        self.blocks += 1

    def judge(self, r: float, t: float) -> None:
        h = self.says()
        rho = math.fsum(w * x for w, x in zip(self.weights, h, strict=True))
        self.noises.append((r - rho * t, t))
        ages = [(1 - 1 / 300) ** age for age in range(len(self.noises) - 1, -1, -1)]
        a = math.fsum(w * z * z for w, (z, _) in zip(ages, self.noises, strict=True))
        b = math.fsum(w * tau for w, (_, tau) in zip(ages, self.noises, strict=True))
        c = math.fsum(w * tau * tau for w, (_, tau) in zip(ages, self.noises, strict=True))
        scores = [x * x * t / 2 - x * r for x in h]
        self.widest = max(self.widest * self.blocks / (self.blocks + 0.5), max(scores) - min(scores))
        furthest = max(abs(x - rho) for x in h)
        noise = max(a / b, furthest**2 / 4 * c / b, self.widest / 4, 1e-18 * rho * rho * t)
        if noise == 0:
            return
        longest = self.rungs[6].n
        losses = [(score - min(scores)) / noise for score in scores]
        odds = [w * math.exp(-loss) for w, loss in zip(self.weights, losses, strict=True)]
        share = min(5e-5, 0.05 / longest)
        self.weights = [
            (1 - share) * o / math.fsum(odds) + share * p for o, p in zip(odds, self.prior, strict=True)
        ]
        for j in range(6):
            self.leads[j] = max(0.0, self.leads[j] + losses[j + 1] - losses[j])
            if self.leads[j] > max(8, 1.5 * math.log(longest)):
                self.leads[j] = 0.0
                for i in range(j + 1, 7):
                    if self.rungs[i].n > self.rungs[j].n:
                        self.rungs[i], self.leads[i] = self.rungs[j], 0.0

    def value(self) -> float:
        if self.blocks == 0:
            return self.block[0][0] / self.block[0][1] if self.block else 0.0
        return math.fsum(w * x for w, x in zip(self.weights, self.says(), strict=True))
