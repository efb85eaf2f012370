"""How a learner reads its environment: states, durations, action masks."""

from __future__ import annotations

from sojourn.data.numbers import shown
from sojourn.envs.durations import MOST_AT_ONCE, Clock, DurationSource, duration_reader
from sojourn.envs.masks import MaskSource, mask_key, mask_source
from sojourn.envs.protocol import Environment
from sojourn.envs.states import Bins, action_count, first_action, tabulate
from sojourn.envs.tabulation import Tabulation


class Reading:
    """How to read one environment.

    `duration(obs, action, info)` is how long a step took, `mask(obs, info)` the action mask or None, and
    `states.index(obs)` the number of the state. The agent numbers its actions from 0, the
    environment from `first_action`.
    """

    def __init__(
        self,
        env: Environment,
        *,
        source: DurationSource = "duration",
        bins: Bins | Tabulation | None = None,
        action_mask: MaskSource | None = None,
        clock: str | None = None,
    ) -> None:
        self.source = source
        self.states = bins if isinstance(bins, Tabulation) else tabulate(env.observation_space, bins)
        self.num_actions = action_count(env.action_space)
        self.first_action = first_action(env.action_space)
        self.duration = duration_reader(source)
        self.mask_name, self.mask = mask_source(action_mask, source)
        self.mask_key = (
            None if callable(action_mask) else mask_key(action_mask, source)
        )  # None: it is a function
        self.clock_key = clock
        self.clock()  # which checks its key

    def clock(self) -> Clock | None:
        """Return an object that checks the clock of one environment, if there is a clock to check."""
        return None if self.clock_key is None else Clock(self.clock_key)

    def time_must_pass(self, steps: int) -> None:
        """Raise an error if the last `steps` steps, which took no time at all, are too many."""
        time_must_pass(steps, self.source)


def time_must_pass(steps: int, source: DurationSource) -> None:
    """Raise an error if the last `steps` steps, which took no time at all, are too many."""
    if steps >= MOST_AT_ONCE:
        raise ValueError(
            f"the last {steps:,} steps took no time ({shown(source)} is 0); single steps may take none, but a rate "
            "needs time to pass"
        )
