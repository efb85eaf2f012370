"""Deep Q, PPO and SAC once more, slowly: plain NumPy in float64, gradients by complex steps, straight from the formulas.

Only random numbers are drawn by Sojourn's own generator, in the documented order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sojourn.rules.random import integer, normal, stream, uniform


def outputs(weights: Any, widths: tuple[int, ...], inputs: Any) -> Any:
    """A network's outputs; of complex numbers only the real part decides what ReLU does."""
    at, units = 0, inputs
    for layer in range(len(widths) - 1):
        size = widths[layer] * widths[layer + 1]
        matrix = weights[at : at + size].reshape(widths[layer], widths[layer + 1])
        units = units @ matrix + weights[at + size : at + size + widths[layer + 1]]
        at += size + widths[layer + 1]
        if layer < len(widths) - 2:
            units = np.where(np.real(units) > 0.0, units, 0.0)
    return units


def slope(loss: Callable[[Any], Any], weights: Any) -> Any:
    """The gradient of a loss by complex steps, exact to the last digits."""
    found = np.zeros(len(weights))
    for i in range(len(weights)):
        moved = weights.astype(complex)
        moved[i] += 1e-30j
        found[i] = np.imag(loss(moved)) / 1e-30
    return found


class Adam:
    def __init__(self, count: int) -> None:
        self.m, self.v, self.t = np.zeros(count), np.zeros(count), 0

    def moved(self, weights: Any, gradient: Any, step_size: float, longest: float) -> Any:
        gradient = gradient / max(1.0, float(np.linalg.norm(gradient)) / longest)
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.999 * self.v + 0.001 * gradient**2
        root = np.sqrt(self.v / (1 - 0.999**self.t))
        return weights - step_size * (self.m / (1 - 0.9**self.t)) / (root + 1e-8)


class Units:
    """Observations in units of their deviation, rewards in units of r - rho tau, and the rate: Exponential, centred.

    The units in use are those of the last renewal; for fewer than ten thousand steps nothing is forgotten.
    """

    def __init__(self, beta: float, kappa: float) -> None:
        self.beta, self.kappa = beta, kappa
        self.observations: list[Any] = []
        self.r = self.tau = self.level = self.square = 0.0
        self.durations: list[float] = []
        self.estimates: list[float] = []  # of the rate, at the beginning of each step
        self.steps = 0
        self.centre, self.deviation, self.widest, self.scale = 0.0, 1.0, 0.0, 1.0  # type: Any, Any, Any, float

    @property
    def estimate(self) -> float:
        return self.r / self.tau if self.tau else 0.0

    @property
    def rate(self) -> float:
        return float(np.mean(self.estimates[1:]) + self.kappa * self.level / np.mean(self.durations[:-1]))

    def earn(self, reward: float, duration: float, accepted: bool) -> None:
        self.steps += 1
        self.durations.append(duration)
        self.estimates.append(self.estimate)
        left = (reward - self.estimate * duration) ** 2
        self.square += (left - self.square) / self.steps
        if accepted:
            self.r += self.beta * (reward - self.r)
            self.tau += self.beta * (duration - self.tau)

    def normalised(self, observations: Any) -> Any:
        return np.clip((np.array(observations) - self.centre) / self.deviation, -10.0, 10.0)

    def renewed(self, *networks: tuple[Any, tuple[int, ...], bool]) -> list[Any]:
        """Go over to the units of today; return the weights with which each network says what it said before.

        A network comes with its widths, and whether its outputs are in units of rewards. Inputs beyond the observation
        stay as they are.
        """
        seen = np.array(self.observations)
        centre, deviation, scale = seen.mean(axis=0), seen.std(axis=0), math.sqrt(self.square)
        self.widest = np.maximum(self.widest, deviation)
        deviation = np.maximum(deviation, 0.01 * self.widest)
        refitted = []
        for given, widths, has_values in networks:
            weights, size = given.copy(), widths[0] * widths[1]
            first, more = given[:size].reshape(widths[0], widths[1]), widths[0] - seen.shape[1]
            shift = np.append((centre - self.centre) / self.deviation, np.zeros(more))
            weights[size : size + widths[1]] += shift @ first
            weights[:size] = (first.T * np.append(deviation / self.deviation, np.ones(more))).T.ravel()
            if has_values:
                weights[-(widths[-2] + 1) * widths[-1] :] *= self.scale / scale
            refitted.append(weights)
        self.centre, self.deviation, self.scale = centre, deviation, scale
        return refitted


def first_weights(widths: tuple[int, ...], rng: Any, last: float = 1.0) -> Any:
    parts = []
    for layer in range(len(widths) - 1):
        deviation = math.sqrt(2 / widths[layer])
        if layer == len(widths) - 2:
            deviation *= last / math.sqrt(2)
        count = widths[layer] * widths[layer + 1]
        parts += [deviation * normal(rng) for _ in range(count)] + [0.0] * widths[layer + 1]
    return np.array(parts)


class NaiveDeepQ:
    """Double deep Q with a replay of everything, one batch after each step from the `warm_up`-th on."""

    def __init__(
        self,
        widths: tuple[int, ...],
        *,
        batch: int,
        warm_up: int,
        renewal: int,
        exploration: float,
        lookahead: int,
        hold: int,
        seed: int,
    ) -> None:
        self.widths, self.batch, self.warm_up, self.exploration = widths, batch, warm_up, exploration
        self.renewal, self.lookahead, self.hold = renewal, lookahead, hold
        self.held: tuple[int, int] = 0, 0  # the action that explores, and for how many more steps
        self.rng = stream(seed)
        self.weights = first_weights(widths, self.rng)
        self.target, self.adam = self.weights.copy(), Adam(len(self.weights))
        self.units, self.replay = Units(0.001, 0.1), []  # type: ignore[var-annotated]

    def draw(self, observation: Any, allowed: Any) -> tuple[int, bool]:
        q = outputs(self.weights, self.widths, self.units.normalised([observation]))[0]
        greedy = int(np.where(allowed, q, -np.inf).argmax())
        action, left = self.held
        if left and allowed[action]:
            self.held = action, left - 1
            return action, action != greedy
        self.held = 0, 0
        mean = sum(1 / n for n in range(1, self.hold + 1))
        begins = self.exploration / (self.exploration + (1 - self.exploration) * mean)
        u = uniform(self.rng)
        if u >= begins:
            return greedy, False
        action = int(np.flatnonzero(allowed)[int(u / begins * sum(allowed))])
        self.held = action, min(int(1 / uniform(self.rng)), self.hold) - 1
        return action, action != greedy

    def returned(self, first: int) -> tuple[Any, ...]:
        """The step `first`, with the reward, the duration and the end of the greedy steps after it, up to `lookahead`."""
        o, a, r, tau, o2, allowed2, cut, _ = self.replay[first]
        for step in self.replay[first + 1 : first + self.lookahead]:
            if cut or step[7]:
                break
            r, tau, (o2, allowed2, cut) = r + step[2], tau + step[3], step[4:7]
        return o, a, r, tau, o2, allowed2

    def learn(
        self, o: Any, a: int, r: float, tau: float, o2: Any, allowed2: Any, cut: bool, explored: bool
    ) -> None:
        self.replay.append((o, a, r, tau, o2, allowed2, cut, explored))
        self.units.observations.append(o)
        self.units.earn(r, tau, not explored)
        if len(self.replay) < self.warm_up:
            return
        if len(self.replay) == self.warm_up:
            self.units.renewed()
        elif len(self.replay) % self.renewal == 0:
            self.weights, self.target = self.units.renewed(
                (self.weights, self.widths, True), (self.target, self.widths, True)
            )
        chosen = [self.returned(integer(self.rng, len(self.replay))) for _ in range(self.batch)]
        here = self.units.normalised([one[0] for one in chosen])
        there = self.units.normalised([one[4] for one in chosen])
        masked = np.where([one[5] for one in chosen], outputs(self.weights, self.widths, there), -np.inf)
        best = masked.argmax(axis=1)
        ahead = outputs(self.target, self.widths, there)[np.arange(self.batch), best]
        surplus = np.array([one[2] - self.units.rate * one[3] for one in chosen])
        aims = surplus / self.units.scale + ahead
        actions = [one[1] for one in chosen]

        def loss(weights: Any) -> Any:
            q = outputs(weights, self.widths, here)[np.arange(self.batch), actions]
            return ((q - aims) ** 2).sum() / (2 * self.batch)

        self.weights = self.adam.moved(self.weights, slope(loss, self.weights), self._step_size, 10.0)
        self.target += 0.005 * (self.weights - self.target)
        self.units.level += 0.01 * (ahead.mean() * self.units.scale - self.units.level)

    @property
    def _step_size(self) -> float:
        """From 0.001 to 0.00005 in 150,000 steps."""
        return 0.001 - 0.00095 * len(self.replay) / 150_000


class NaivePPO:
    """PPO with batches of half a rollout; the first rollout only measures."""

    def __init__(
        self, widths: tuple[int, ...], *, rollout: int, epochs: int, dimensions: int, seed: int
    ) -> None:
        self.rollout, self.epochs, self.dimensions = rollout, epochs, dimensions
        self.widths, self.critic_widths = widths, (*widths[:-1], 1)
        self.rng = stream(seed)
        self.policy = np.append(first_weights(widths, self.rng, 0.01), [-0.7] * dimensions)
        self.critic = first_weights(self.critic_widths, self.rng)
        self.adams = Adam(len(self.policy)), Adam(len(self.critic))
        self.units, self.steps, self.rollouts = Units(0.001, 0.1), [], 0  # type: ignore[var-annotated]

    def draw(self, observation: Any, allowed: Any) -> Any:
        out = outputs(self.policy, self.widths, self.units.normalised([observation]))[0]
        if self.dimensions:
            deviations = np.exp(self.policy[-self.dimensions :])
            return [float(m + s * normal(self.rng)) for m, s in zip(out, deviations, strict=True)]
        p = np.where(allowed, np.exp(out - out.max()), 0.0)
        return int((np.cumsum(p / p.sum()) <= uniform(self.rng)).sum())

    def log_chance(self, weights: Any, inputs: Any, steps: list[Any]) -> Any:
        out = outputs(weights, self.widths, inputs)
        if self.dimensions:
            logs = weights[-self.dimensions :]
            z = (np.array([one[1] for one in steps]) - out) * np.exp(-logs)
            return (-0.5 * z * z - logs - 0.5 * math.log(2 * math.pi)).sum(axis=1)
        e = np.exp(out) * np.array([one[6] for one in steps])
        return np.log(e[np.arange(len(steps)), [one[1] for one in steps]] / e.sum(axis=1))

    def learn(self, o: Any, a: Any, r: float, tau: float, o2: Any, cut: bool, allowed: Any) -> None:
        self.steps.append((o, a, r, tau, o2, cut, allowed))
        self.units.earn(r, tau, True)
        if len(self.steps) < self.rollout:
            return
        if self.rollouts:
            self._improve()
        self.units.observations += [one[0] for one in self.steps]
        networks = (self.policy, self.widths, False), (self.critic, self.critic_widths, True)
        if self.rollouts:
            self.policy, self.critic = self.units.renewed(*networks)
        else:
            self.units.renewed()
        self.steps, self.rollouts = [], self.rollouts + 1

    def _improve(self) -> None:
        steps, units = self.steps, self.units
        here = units.normalised([one[0] for one in steps])
        values = outputs(self.critic, self.critic_widths, here)[:, 0]
        following = outputs(self.critic, self.critic_widths, units.normalised([one[4] for one in steps]))[
            :, 0
        ]
        rate, advantages = units.rate, np.zeros(len(steps))
        for i in reversed(range(len(steps))):
            _, _, r, tau, _, cut, _ = steps[i]
            advantages[i] = (r - rate * tau) / units.scale + following[i] - values[i]
            if not cut and i + 1 < len(steps):
                advantages[i] += 0.8 * advantages[i + 1]
        aims = values + advantages - 0.8 * advantages.mean()
        units.level = float(values.mean()) * units.scale
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        old = self.log_chance(self.policy, here, steps)
        order = list(range(len(steps)))
        for _ in range(self.epochs):
            for last in range(len(steps) - 1, 0, -1):
                other = integer(self.rng, last + 1)
                order[last], order[other] = order[other], order[last]
            half = len(steps) // 2
            for at in (np.array(order[:half]), np.array(order[half:])):
                self._one_batch(here[at], [steps[i] for i in at], advantages[at], old[at], aims[at])

    def _one_batch(self, inputs: Any, steps: list[Any], advantages: Any, old: Any, aims: Any) -> None:
        def loss(weights: Any) -> Any:
            ratio = np.exp(self.log_chance(weights, inputs, steps) - old)
            held = np.where(np.real(ratio) > 1.2, 1.2, np.where(np.real(ratio) < 0.8, 0.8, ratio))
            plain, clipped = ratio * advantages, held * advantages
            return -np.where(np.real(plain) <= np.real(clipped), plain, clipped).mean()

        def miss(weights: Any) -> Any:
            return ((outputs(weights, self.critic_widths, inputs)[:, 0] - aims) ** 2).mean() / 2

        step_size = 0.001 - 0.00095 * self.units.steps / 400_000
        policy_slope, critic_slope = slope(loss, self.policy), slope(miss, self.critic)
        self.policy = self.adams[0].moved(self.policy, policy_slope, step_size, 0.5)
        self.critic = self.adams[1].moved(self.critic, critic_slope, step_size, 0.5)


class NaiveSAC:
    """Soft actor-critic with a replay of everything, one batch after each step from the `warm_up`-th on.

    `bounded` says in which dimensions of an action there are bounds.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        *,
        bounded: Any,
        batch: int,
        warm_up: int,
        renewal: int,
        most_resets: float,
        seed: int,
    ) -> None:
        self.bounded = np.array(bounded)
        self.dimensions = len(self.bounded)
        self.widths = (*widths, 2 * self.dimensions)
        self.critic_widths = (widths[0] + self.dimensions, *widths[1:], 1)
        self.batch, self.warm_up, self.renewal, self.most_resets = batch, warm_up, renewal, most_resets
        self.rng = stream(seed)
        self.actor = first_weights(self.widths, self.rng, 0.01)
        self.critics = [first_weights(self.critic_widths, self.rng) for _ in range(2)]
        self.targets = [critic.copy() for critic in self.critics]
        self.adams = [
            Adam(len(self.actor)),
            *(Adam(len(critic)) for critic in self.critics),
            Adam(1),
            Adam(1),
        ]
        self.log_alpha, self.cost = np.array([math.log(0.1)]), np.zeros(1)
        self.resets = self.time = 0.0  # moving means
        self.units, self.replay = Units(0.001, 0.1), []  # type: ignore[var-annotated]

    def draw(self, observation: Any) -> Any:
        return self.drawn(self.actor, self.units.normalised([observation]), self.noise(1))[0][0]

    def noise(self, rows: int) -> Any:
        return np.array([[normal(self.rng) for _ in range(self.dimensions)] for _ in range(rows)])

    def drawn(self, actor: Any, inputs: Any, noise: Any) -> Any:
        """Actions, and the logarithms of their densities by the change of variables."""
        out = outputs(actor, self.widths, inputs)
        mean, wide = out[:, : self.dimensions], out[:, self.dimensions :]
        u = mean + np.exp(wide) * noise
        density = np.exp(-((u - mean) ** 2) / (2 * np.exp(2 * wide))) / np.exp(wide) / math.sqrt(2 * math.pi)
        density = np.where(self.bounded, density / (1 - np.tanh(u) ** 2), density)
        return np.where(self.bounded, np.tanh(u), u), np.log(density).sum(axis=1)

    def value(self, critics: Any, inputs: Any, points: Any) -> Any:
        both = [outputs(w, self.critic_widths, np.column_stack([inputs, points]))[:, 0] for w in critics]
        return np.where(np.real(both[0]) <= np.real(both[1]), both[0], both[1])

    def learn(self, o: Any, a: Any, r: float, tau: float, o2: Any, ended: bool) -> None:
        self.replay.append((o, a, r, tau, o2, ended))
        self.units.observations.append(o)
        self.units.earn(r, tau, True)
        self.resets += 0.001 * (ended - self.resets)
        self.time += 0.001 * (tau - self.time)
        if len(self.replay) < self.warm_up:
            return
        if len(self.replay) == self.warm_up:
            self.units.renewed()
        elif len(self.replay) % self.renewal == 0:
            scale, of_critics = self.units.scale, (self.critic_widths, True)
            self.actor, *renewed = self.units.renewed(
                (self.actor, self.widths, False), *((w, *of_critics) for w in (*self.critics, *self.targets))
            )
            self.critics, self.targets = renewed[:2], renewed[2:]
            self.log_alpha = self.log_alpha + math.log(scale / self.units.scale)
            self.cost = self.cost * scale / self.units.scale
        chosen = [self.replay[integer(self.rng, len(self.replay))] for _ in range(self.batch)]
        here = self.units.normalised([one[0] for one in chosen])
        there = self.units.normalised([one[4] for one in chosen])
        points = np.array([one[1] for one in chosen])
        alpha, wanted = math.exp(self.log_alpha[0]), -1.0 * self.dimensions
        following, logs = self.drawn(self.actor, there, self.noise(self.batch))
        ahead = self.value(self.targets, there, following) - alpha * (logs + wanted)
        rewards, taus, ends = (np.array([one[k] for one in chosen]) for k in (2, 3, 5))
        aims = (rewards - self.units.rate * taus) / self.units.scale + ahead
        aims -= self.cost * (ends - self.most_resets * taus)
        self.units.level += 0.01 * (ahead.mean() * self.units.scale - self.units.level)
        squares = []
        for k in range(2):

            def miss(weights: Any) -> Any:
                q = outputs(weights, self.critic_widths, np.column_stack([here, points]))[:, 0]
                return ((q - aims) ** 2).mean() / 2

            squares.append(2 * miss(self.critics[k]))
            gradient = slope(miss, self.critics[k])
            self.critics[k] = self.adams[1 + k].moved(self.critics[k], gradient, 0.001, 10.0)
        self.error = math.sqrt(sum(squares) / 2)
        noise = self.noise(self.batch)

        def loss(weights: Any) -> Any:
            again, logs = self.drawn(weights, here, noise)
            return (alpha * logs - self.value(self.critics, here, again)).mean()

        surplus = (self.drawn(self.actor, here, noise)[1] + wanted).mean()
        self.actor = self.adams[0].moved(self.actor, slope(loss, self.actor), 0.001, 10.0)
        self.log_alpha = self.adams[3].moved(self.log_alpha, np.array([-surplus]), 0.001, math.inf)
        excess = np.array([self.resets / self.time - self.most_resets])
        self.cost = np.maximum(self.adams[4].moved(self.cost, -excess, 0.001, math.inf), 0.0)
        both = zip(self.targets, self.critics, strict=True)
        self.targets = [target + 0.005 * (critic - target) for target, critic in both]
