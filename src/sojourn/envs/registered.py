"""The classes of Sojourn's environments: the paper's two, and one for each further world and problem.

For every entry of `sojourn.models.problems.PROBLEMS` and `sojourn.worlds.catalogue.WORLDS` there is a class here:
`LongShotEnv` for "long-shot". It is made when it is first asked for, and has the docstring of its problem or
world under fixed headings.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from sojourn.data.hints import fitted
from sojourn.envs.catalogue import class_name, title
from sojourn.envs.world_vector import WorldVectorEnv
from sojourn.envs.worlds import WorldEnv
from sojourn.exact.solve import solve
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.models.smdp import SMDP
from sojourn.worlds.catalogue import WORLDS
from sojourn.worlds.market.instruments import synthetic_bars
from sojourn.worlds.market.world import Market
from sojourn.worlds.tabular import Tabular
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
    Those of `sojourn.worlds.TwoState`, and `compiled` of `sojourn.envs.WorldEnv`.

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


class MarketEnv(WorldEnv):
    """`sojourn/Market-v0`: at every bar of an instrument, buy or sell.

    ## Description
    Each step is one bar of prices. The action takes a part of the bar's interval, and earns the
    price's move from then to the close. States and bars do not depend on the actions.

    ## Observation space
    `Discrete(2**state_size)`: the directions of the last `state_size` bars, the latest in the
    lowest bit, 1 for up.

    ## Action space
    `Discrete(2)`: 0 buys, 1 sells.

    ## Rewards
    The bar's move, with the opposite sign for a sale, times `1 - duration / interval`.

    ## Durations
    Between `shortest` and `longest`: uniform for `duration="random"`. For `"scaled"` they grow with the
    bar's move (with the opposite sign for a sale), for `"scaled-magnitude"` with its size.

    ## Episode end
    Never; after the last bar the first one follows.

    ## Arguments
    Those of `sojourn.worlds.market.world.Market`, and `compiled` of `sojourn.envs.WorldEnv`. If neither
    `open` nor `close` is given, the prices are `num_bars` synthetic ones, the same each time.

    ## Source
    The Bitcoin study of the Harmonic R-Learning paper.
    """

    def __init__(
        self,
        open: ArrayLike | None = None,  # noqa: A002 - the usual name
        close: ArrayLike | None = None,
        *,
        num_bars: int = 350_000,
        compiled: bool = True,
        **options: Any,
    ) -> None:
        if close is None:
            if open is not None:
                raise ValueError("open is given without close; give both, or neither for synthetic prices")
            bars = synthetic_bars(num_bars)
            open, close = bars.open, bars.close  # noqa: A001 - as above
        super().__init__(Market(open, close, **options), compiled=compiled)


class ProblemEnv(WorldEnv):
    """A finite model as a Gymnasium environment.

    The model is `env.unwrapped.model`. Where some of its states lack some actions,
    `info["action_mask"]` has a 1 for each action that the state has; any other changes nothing (see `sojourn.envs.WorldEnv`).

    >>> from sojourn.models.problems import two_choice
    >>> env = ProblemEnv(two_choice(), compiled=False)
    >>> env.reset(seed=0)[1]["action_mask"], env.step(1)[4]["action_mask"]
    (array([1, 1], dtype=int8), array([1, 0], dtype=int8))
    """

    def __init__(self, model: SMDP, *, start: int = 0, compiled: bool = True) -> None:
        self.model = model
        super().__init__(Tabular(model, start), compiled=compiled)

    @property
    def gain(self) -> float:
        """The exact gain of the model."""
        return solve(self.model).gain


# --- Classes that are made when they are asked for ------------------------------------


def __getattr__(name: str) -> Any:
    """Return the class of a problem's or a world's environment, such as `LongShotEnv`, or what makes a vector of them.

    >>> import sojourn.envs.registered
    >>> sojourn.envs.registered.LongShotVectorEnv(num_envs=3, compiled=False).num_envs
    3
    """
    if name.endswith("VectorEnv"):
        alone = f"{name.removesuffix('VectorEnv')}Env"
        return functools.partial(_vector_of, globals().get(alone) or __getattr__(alone))
    for problem in PROBLEMS:
        if class_name(problem) == name:
            return _of_problem(problem, PROBLEMS[problem])
    for world in WORLDS:
        if class_name(world) == name:
            return _of_world(world)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *map(class_name, PROBLEMS)]


def _vector_of(
    make: type[WorldEnv], num_envs: int, max_episode_steps: int | None = None, **options: Any
) -> WorldVectorEnv:
    """Return a vector of the environments that a class makes with these options."""
    one = make(**options)
    return WorldVectorEnv(one.world, num_envs, compiled=one.compiled, max_episode_steps=max_episode_steps)


@functools.cache
def _of_problem(name: str, problem: Callable[..., SMDP]) -> type[WorldEnv]:
    """Return the class of a problem's environment, which takes the arguments of the problem."""

    def __init__(  # noqa: N807 - of the class that is made below
        self: ProblemEnv, *, start: int = 0, compiled: bool = True, **parameters: Any
    ) -> None:
        ProblemEnv.__init__(self, problem(**parameters), start=start, compiled=compiled)

    return _made(name, ProblemEnv, __init__, headed(name, problem, "`start=0`, the first state; and "))


@functools.cache
def _of_world(name: str) -> type[WorldEnv]:
    """Return the class of a world's environment, which takes the arguments of the world."""
    world = WORLDS[name]

    def __init__(self: WorldEnv, *, compiled: bool = True, **options: Any) -> None:  # noqa: N807 - likewise
        made = world.make(**fitted(world.make, options, besides=world.not_options))
        WorldEnv.__init__(self, made, compiled=compiled)

    doc = f"`sojourn/{title(name)}-v0`: {world.about}.\n"
    if "States:" in (world.make.__doc__ or ""):
        doc = f"{doc}\n{headed(name, world.make).partition(chr(10) * 2)[2]}"
    return _made(name, WorldEnv, __init__, doc)


def _made(name: str, base: type[WorldEnv], init: Callable[..., None], doc: str) -> type[WorldEnv]:
    return type(class_name(name), (base,), {"__init__": init, "__doc__": doc, "__module__": __name__})


# --- Their docstrings -----------------------------------------------------------------

_PARAGRAPHS = {
    "States": "Observation space",
    "Actions": "Action space",
    "Rewards": "Rewards",
    "Durations": "Durations",
}
# Packages whose names are shown in place of those of their modules.
_OURS = ("sojourn.models.problems", "sojourn.worlds.changes", "sojourn.worlds.continuous")


def headed(name: str, maker: Callable[..., object], more: str = "") -> str:
    """Return the docstring of a function that makes a problem or a world, under the headings of an environment.

    A user's own docstring may lack some of the paragraphs. `more` names arguments that the maker does not have.
    """
    first_line, *paragraphs = inspect.cleandoc(maker.__doc__ or "").split("\n\n")
    paragraphs = [each for each in paragraphs if not each.startswith(">>>")]
    first = first_line or f"the problem {name}."
    said = {
        label: rest.strip() for label, colon, rest in (each.partition(":") for each in paragraphs) if colon
    }
    labelled = [number for number, each in enumerate(paragraphs) if each.startswith("States:")]
    parts = {
        "Description": "\n\n".join(paragraphs[: labelled[0] if labelled else None]),
        **{heading: said.get(label, "Not described.") for label, heading in _PARAGRAPHS.items()},
        "Episode end": "Never.",
        "Arguments": _arguments(maker, more),
        "Source": said.get("Source", "Not given."),
    }
    parts["Action space"] += (
        " To take an action that the state lacks changes nothing; see `sojourn.envs.WorldEnv`."
    )
    body = "\n\n".join(f"## {heading}\n{text}" for heading, text in parts.items())
    return f"`sojourn/{title(name)}-v0`: {first[:1].lower()}{first[1:]}\n\n{body}\n"


def _arguments(maker: Callable[..., object], more: str) -> str:
    module = next((room for room in _OURS if maker.__module__.startswith(f"{room}.")), maker.__module__)
    defaults = ", ".join(
        f"`{each.name}={_short(each.default)}`" for each in inspect.signature(maker).parameters.values()
    )
    function = getattr(maker, "__qualname__", type(maker).__qualname__)
    own = f"{defaults}: those of `{module}.{function}`; " if defaults else ""
    return f"{own}{more}`compiled` of `sojourn.envs.WorldEnv`."


def _short(default: Any) -> str:
    text = repr(default)
    return text if len(text) <= 40 else "..."
