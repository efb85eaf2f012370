"""Learner: an agent that learns in a Gymnasium environment.

    learner = Learner(env, sojourn.harmonic_r, step_size=0.01, rate_step_size=0.01, seed=0)
    learner.train(100_000)
    learner.evaluate(duration=10_000.0)

Each step takes a time of its own, which `duration` says where to find. The task goes on for
ever: when an episode is truncated, the agent learns from the last observation as from any
other, and goes on from the reset; when one is terminated, the reset's first observation is
what the last action led to. With the same seed, a learner in a world's environment and `run`
in the world come to the same agent, bit for bit.
"""

from __future__ import annotations

import contextlib
import copy
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.agents.protocol import policy
from sojourn.agents.values.protocol import sizes
from sojourn.envs.states import action_count, tabulate
from sojourn.envs.tabulation import Tabulation
from sojourn.learner.archive import read_archive, write_archive
from sojourn.learner.driver import Driver, check_env
from sojourn.learner.held import SIZE, Totals
from sojourn.learner.interrupt import interruptible
from sojourn.learner.verdict import BatchMeans, Evaluation
from sojourn.learner.watch import Seen
from sojourn.rules.numbers import positive, proper_fraction, shown, whole, within
from sojourn.rules.random import check_stream
from sojourn.runs.progress import progress as progress_bar

FORMAT, VERSION = "sojourn learner", 2
_BLOCK = 1000  # steps between two looks at callbacks, progress and warnings
_INF = math.inf

Callback = Callable[["Learner"], object]


class Learner(Driver):
    """An agent that learns in an environment.

    `agent` is one of Sojourn's constructors, which then gets the further options, or an agent.
    `duration` says how long a step took: a key of info ("duration", "smdp.duration"), a
    function of (obs, action, info), or a number. `zero_duration` is "error", or "skip": a step
    that took no time is then passed over, neither learned from nor counted. `bins` cuts
    continuous observations (see `sojourn.envs.states.tabulate`). A mask of allowed actions
    beside the duration in info, or at the key `action_mask`, is respected when acting and when
    looking ahead (a `policy_agent` alone follows its policy whatever is allowed).

    >>> import gymnasium, sojourn
    >>> env = gymnasium.make("sojourn/TwoState-v0", log_scale=1e-3, max_episode_steps=1000)
    >>> learner = Learner(env, sojourn.harmonic_r, step_size=0.01, rate_step_size=0.01, seed=0)
    >>> learner.train(4000).steps
    4000
    >>> learner.policy
    array([0, 1])
    """

    # --- Reading ---

    @property
    def agent(self) -> Any:
        """The agent as it is now, a value of its own."""
        return self._held.agent

    @property
    def q(self) -> Any:
        """The values of states by actions; -inf where an action is not allowed at present."""
        view = self._held.q[: self.states.num_states].view()
        view.flags.writeable = False
        return view

    @property
    def rate(self) -> float:
        """The learned rate: reward per unit time."""
        return self._held.rate

    @property
    def policy(self) -> Any:
        """The greedy action of every state."""
        return policy(self._held.agent) + self._first_action

    @property
    def skipped(self) -> int:
        """Steps that took no time and were passed over."""
        return self._skipped

    @property
    def largest_value(self) -> float:
        """The largest |Q|."""
        return float(np.abs(self.q[np.isfinite(self.q)]).max(initial=0.0))

    def act(self, obs: Any, action_mask: Any = None) -> int:
        """Return the best action for an observation, of those that a mask allows."""
        row = self._held.q[self.states(obs)]
        if action_mask is not None:
            row = self._hidden.seen_through(self.states(obs), action_mask)
        return int(row.argmax()) + self._first_action

    # --- Learning ---

    def train(
        self,
        steps: int | None = None,
        *,
        duration: float | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        progress: bool = False,
    ) -> Totals:
        """Learn for so many steps, or until so much time of the environment has passed; return the totals.

        Callbacks are called with the learner after every 1,000 steps and at the end; one that
        returns True ends the training. Ctrl-C ends it too, between two steps: the learner can
        be used, saved and trained further. `progress` shows a bar on a terminal, lines elsewhere.
        """
        if (steps is None) == (duration is None):
            raise TypeError("train takes either a number of steps or a duration")
        before = self.totals
        last = _INF if steps is None else before.steps + self._skipped + whole("steps", steps)
        until = _INF if duration is None else before.duration + positive("duration", duration)
        called = [callbacks] if callable(callbacks) else list(callbacks)
        total: float = until - before.duration if steps is None else steps
        unit = "steps" if duration is None else "time"
        shown_by = progress_bar("training", total, unit) if progress else contextlib.nullcontext()
        with shown_by as advance, interruptible() as asked:
            self._begin()
            while not asked and not self._is_over(last, until):
                seen, taken = self.totals, self.totals.steps + self._skipped
                self._block(min(last, taken + _BLOCK), until, asked)
                now = self.totals
                if advance is not None:
                    done = (
                        now.duration - seen.duration if steps is None else now.steps + self._skipped - taken
                    )
                    note = f"rate {self.rate:.4g}, |Q| {self.largest_value:.3g}"
                    advance(done, note=note)
                self._warn(now)
                wishes = [callback(self) for callback in called]  # all of them are called
                if any(isinstance(wish, bool | np.bool_) and wish for wish in wishes):
                    break
        if asked:
            raise KeyboardInterrupt
        return self.totals

    def _is_over(self, last: float, until: float) -> bool:
        now = self.totals
        return now.steps + self._skipped >= last or now.duration >= until

    def _warn(self, now: Totals) -> None:
        sound = math.isfinite(self.rate) and self._hidden.is_finite()
        seen = Seen(now, self.q, self.rate, self._held.surplus, sound)
        for sentence in self._watcher.look(seen):
            warnings.warn(sentence, RuntimeWarning, stacklevel=3)

    # --- What it is worth ---

    def evaluate(
        self,
        *,
        duration: float,
        env: Any = None,
        seed: int = 1,
        level: float = 0.95,
    ) -> Evaluation:
        """Return what the greedy policy earns per unit time, with a confidence interval by batch means.

        It is followed, without learning, for this much time, in a copy of the environment or
        in `env`; the learner stays as it is. See `sojourn.learner.verdict` for the interval.
        """
        until, level = positive("duration", duration), proper_fraction("level", level)
        if env is None:
            env = _copied(self.env)
        elif env.unwrapped is self.env.unwrapped:
            raise ValueError(
                "env is the learner's own environment; pass another one, or none for a copy of it"
            )
        means, read, index = BatchMeans(), self._read, self.states.index
        best = self.q.copy()
        greedy = [int(row.argmax()) for row in best]
        observation, info = env.reset(seed=whole("seed", seed, least=0))
        while means.duration < until:
            state, mask = index(observation), self._mask(info)
            action = greedy[state]
            if mask is not None:
                action = int(self._hidden.seen_through(state, mask).argmax())
            action += self._first_action
            observation, reward, terminated, truncated, info = env.step(action)
            taken, reward = read(observation, action, info), float(reward)
            if taken > 0.0 and -_INF < reward < _INF:
                means.add(reward, taken)
            elif taken > 0.0 or self.zero_duration == "error":
                self._odd_step(taken, reward)
            if terminated or truncated:
                observation, info = env.reset()
        return means.evaluation(level)

    # --- Files ---

    def save(self, path: str | Path) -> None:
        """Write all that is needed to go on: the agent, its random stream, and where the environment stands.

        The file holds data only. A `duration` that is a function is not saved; give it again
        to `load`.
        """
        spec = getattr(self.env, "spec", None)
        contents = {
            "agent": self.agent,
            "stream": self._held.rng,
            "now": self._held.now,
            "seed": self.seed,
            "state": self._state,
            "drawn": list(self._drawn),
            "skipped": self._skipped,
            "hidden": self._hidden.to_dict(),
            "states": self.states.to_dict(),
            "first_action": self._first_action,
            "duration": None if callable(self.duration) else self.duration,
            "zero_duration": self.zero_duration,
            "action_mask": self._hidden.key,
            "place": self._trace.place() if self._state is not None else None,
            "env": {"id": spec.id, "kwargs": _plain(spec.kwargs), "max_episode_steps": spec.max_episode_steps}
            if spec is not None
            else None,
        }
        write_archive(Path(path), FORMAT, VERSION, contents)

    @classmethod
    def load(cls, path: str | Path, env: Any, *, duration: Any = None) -> Learner:
        """Return a learner as it was saved, in an environment like the one it was trained in.

        If that is the same environment, training goes on as if it had never been interrupted;
        otherwise it begins a new episode.
        """
        check_env(env)
        contents = read_archive(Path(path), FORMAT, VERSION)
        try:
            return cls._restored(contents, env, duration)
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise ValueError(
                f"{path} is damaged: {type(error).__name__} {error}; it cannot be used"
            ) from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _restored(cls, contents: dict[str, Any], env: Any, duration: Any) -> Learner:
        states = Tabulation.from_dict(contents["states"])
        if not _fits(states, env.observation_space):
            raise ValueError(
                f"it was trained with {states.describe()}; this environment observes "
                f"{shown(env.observation_space)}"
            )
        count = sizes(contents["agent"].values)[1]
        if action_count(env.action_space) != count or env.action_space.start != contents["first_action"]:
            raise ValueError(
                f"it was trained with {count} actions; this environment has {shown(env.action_space)}"
            )
        saved = contents["duration"]
        if duration is None and saved is None:
            raise ValueError(
                "its duration was a function, which is not saved; pass it again: load(..., duration=...)"
            )
        learner = cls(
            env,
            contents["agent"],
            duration=saved if duration is None else duration,
            zero_duration=contents["zero_duration"],
            bins=states,
            action_mask=contents["action_mask"],
            seed=contents["seed"],
        )
        learner._held.rng[:] = check_stream(contents["stream"])
        now = np.asarray(contents["now"], dtype=np.float64)
        if now.shape != (SIZE,) or not np.isfinite(now).all():
            raise ValueError("its totals are not numbers")
        learner._held.now[:] = now
        learner._skipped = whole("skipped", contents["skipped"], least=0)
        learner._hidden.restore(contents["hidden"])
        shown_there = learner._trace.go_to(contents["place"])
        if shown_there is not None and learner._at(*shown_there) == contents["state"]:
            action, explored = contents["drawn"]
            learner._state, learner._drawn = (
                contents["state"],
                (within("action", action, count), bool(explored)),
            )
        return learner


def saved_environment(path: str | Path) -> dict[str, Any] | None:
    """Return the id and the options of the environment that a saved learner was trained in, if they are known."""
    saved = read_archive(Path(path), FORMAT, VERSION).get("env")
    return saved if isinstance(saved, dict) and {"id", "kwargs", "max_episode_steps"} <= set(saved) else None


def _fits(states: Tabulation, space: Any) -> bool:
    """Whether a space is the one that was numbered; of continuous parts only the shape can be told."""
    try:
        return tabulate(space) == states
    except (TypeError, ValueError):
        try:
            return 0 <= states(copy.deepcopy(space).sample()) < states.num_states
        except (TypeError, ValueError, IndexError, KeyError):
            return False


def _copied(env: Any) -> Any:
    try:
        return copy.deepcopy(env)
    except Exception as error:  # noqa: BLE001 - whatever an environment cannot copy
        raise ValueError(
            f"the environment cannot be copied ({type(error).__name__}); pass another one: evaluate(..., env=...)"
        ) from None


def _plain(options: dict[str, Any]) -> dict[str, Any] | None:
    """Return options that a file can hold, or None if some cannot be held."""
    kinds = (bool, int, float, str, type(None))
    return dict(options) if all(isinstance(choice, kinds) for choice in options.values()) else None
