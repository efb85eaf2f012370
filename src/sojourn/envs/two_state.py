"""The two-state family as a Gymnasium environment."""

from __future__ import annotations

from sojourn.envs.worlds import WorldEnv
from sojourn.worlds.two_state import TwoState


class TwoStateEnv(WorldEnv):
    """`sojourn/TwoState-v0`: the simulation study of the Harmonic R-Learning paper.

    ## Description
    One state offers a choice, and the other leads back. The reward of A grows linearly with the
    step t of the episode; the reward and the duration of B grow exponentially. If `log_scale` is small,
    A is the better action from about step 20 on, until B passes it: the smaller `log_scale`, the later.

    ## Observation space
    `Discrete(2)`: 0 is the state with the choice, 1 the way back.

    ## Action space
    `Discrete(2)`: 0 is A, 1 is B. In state 1 they do the same.

    ## Rewards
    In state 0, `slope * t` for A and `(sin t + offset) * 10**(log_scale * t)` for B; in state 1, `return_reward`, by default 0.

    ## Durations
    In state 0, normal with `duration_mean` and `duration_spread` for A, and
    `(cos t + offset) * 10**(log_scale * t / 2)` for B, neither below `duration_floor`; in state 1, 1.
    The noise depends on the seed and on t alone. With `clock="visits"`, t counts visits to state 0, except in B's
    durations, where it counts how often B was chosen.

    ## Episode end
    Never. The paper's episodes have 1,000 steps: `gymnasium.make(..., max_episode_steps=1000)`.

    ## Arguments
    Those of `sojourn.TwoState`, and `compiled` of `sojourn.WorldEnv`.

    ## Source
    The paper's simulation study; `sojourn reproduce robustness` runs it.

    >>> env = TwoStateEnv(log_scale=0.1, compiled=False)
    >>> env.reset(seed=0)
    (0, {'clock': 0.0})
    >>> env.step(0)[:2]
    (1, 0.0)
    """

    def __init__(
        self,
        log_scale: float = 1e-3,
        *,
        slope: float = 0.05,
        offset: float = 10.0,
        duration_mean: float = 1.0,
        duration_spread: float = 0.1,
        duration_floor: float = 0.001,
        return_reward: float = 0.0,
        clock: str = "steps",
        compiled: bool = True,
    ) -> None:
        world = TwoState(
            log_scale=log_scale,
            slope=slope,
            offset=offset,
            duration_mean=duration_mean,
            duration_spread=duration_spread,
            duration_floor=duration_floor,
            return_reward=return_reward,
            clock=clock,
        )
        super().__init__(world, compiled=compiled)
