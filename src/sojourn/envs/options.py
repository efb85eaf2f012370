"""Options around any environment: actions that are policies of their own, followed until they end.

An option has a policy, an end and a set of states in which it can begin (Sutton, Precup and Singh, Artificial Intelligence
112, 1999). To an agent outside it is one action that takes time: whoever can learn when actions take time can learn which
option to choose (*inter-option* learning). An agent that is shown the steps inside can learn about all options that would
have taken the same action (*intra-option* learning, `sojourn.agents.intra_option`). An option may also be interrupted as
soon as another is worth more.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike, NDArray

from sojourn.agents.intra_option import Courses
from sojourn.data.numbers import probability, shown, within
from sojourn.deploy.tabulation import Tabulation
from sojourn.envs.epochs import Act, Epochs, Outcome, as_flag, most_steps
from sojourn.envs.protocol import Environment, Space, element_reader
from sojourn.envs.reader import DurationSource, MaskSource, is_listed
from sojourn.envs.states import elements_of, tabulate
from sojourn.envs.worlds import AllowedActions, Masks
from sojourn.models.option_models import Option, option_label
from sojourn.rules.door import told

Chance: TypeAlias = Callable[[Any], float]  # of ending on arrival at an observation
# The value of each option at every state [state, option], or a function of the observation that returns them.
OptionValues: TypeAlias = ArrayLike | Callable[[Any], ArrayLike]


class _Ready(NamedTuple):
    """An option in the form in which it is followed."""

    label: str
    act: Act
    stops: Chance
    knows: Callable[[Any], bool] | None  # where its policy has an action; None: everywhere
    begins: Callable[[Any], bool] | None  # where it can begin
    most: float  # steps
    kind: str  # "plain": its action depends on the observation alone; "masked": on the mask, too; "drawn": on chance


class Options(Epochs, RecordConstructorArgs):
    """An environment whose actions are options: policies that are followed until they end.

    ## Description
    `options` is a list of `sojourn.models.Option`. The policy of an option may be an action, a table, a function of the
    observation, or anything with a method `act`, such as a saved policy or a learner. With `primitives`, the actions of the
    environment come first, as options of one step.

    ## Observation space
    That of the environment.

    ## Action space
    `Discrete`: the number of an option. Where some options cannot begin, `info["action_mask"]` has a 1 for each that can.
    If another one is taken nevertheless, nothing happens and no time passes, as in `sojourn.envs.WorldEnv`. A primitive
    action can begin where the environment's own mask allows it.

    ## Rewards
    The sum of the rewards of the steps inside, minus `price`, which is paid for every decision.

    ## Durations
    `info["duration"]` is the sum of the durations of the steps inside. A step takes what its info says in "duration" or, in
    an environment that never says, 1. `duration` and `action_mask` say where these are, as in `sojourn.Learner`.
    `info["clock"]` is the sum since the reset, and `info["steps"]` the number of steps inside.

    ## Interruption
    With `interrupt`, values of options [state, option] or a function of the observation that returns a value for each
    option, an option ends as soon as another one that can begin has a larger value. `env.interrupt` can be set at any
    time, for example to `learner.q`, which goes on changing while the learner learns. Where an option cannot begin, its value
    there is -inf, so it ends.

    ## Episode end
    That of the environment, which also ends an option.

    >>> import sojourn as sj
    >>> from sojourn.models import Option, from_arrays
    >>> corridor = from_arrays([[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]], rewards=[[1.0], [5.0], [0.0]])
    >>> inside = sj.envs.WorldEnv(sj.worlds.Tabular(corridor), compiled=False)
    >>> env = Options(inside, [Option(policy=0, termination=lambda cell: cell == 2)])
    >>> env.reset(seed=0)
    (0, {'clock': 0.0})
    >>> env.step(0)
    (2, 6.0, False, False, {'duration': 2.0, 'clock': 2.0, 'steps': 2})
    """

    @told
    def __init__(
        self,
        env: Environment,
        options: Sequence[Option],
        *,
        primitives: bool = False,
        interrupt: OptionValues | None = None,
        price: float = 0.0,
        duration: DurationSource | None = None,
        action_mask: MaskSource | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,  # a policy may be a learner, which not everyone can copy
            options=options,
            primitives=primitives,
            interrupt=interrupt,
            price=price,
            duration=duration,
            action_mask=action_mask,
        )
        super().__init__(env, duration, action_mask, price)
        self._tabulation: Tabulation | None = None
        space = env.action_space
        self._first = int(space.start) if isinstance(space, Discrete) else None
        self._read_action = element_reader(space)
        listed = [*_one_step_each(space), *options] if primitives else list(options)
        if not listed:
            raise ValueError("there are no options; give at least one, or primitives=True")
        self._listed = listed
        self._options = self._all_ready()
        self._starts_anywhere = all(option.begins is None for option in self._options)
        self._known: dict[int, Masks] = {}  # masks that depend on the observation alone
        self.action_space = AllowedActions(len(listed))
        self.interrupt = interrupt

    # --- Gymnasium ---

    def step(self, action: Any) -> Outcome:
        """Follow an option until it ends."""
        self._must_have_begun()
        number = within("action", action, len(self._options))
        if self._allowed is not None and not self._allowed[number]:
            return self._stayed(number)
        option, rng = self._options[number], self.np_random

        def ends(observation: Any) -> bool:
            chance = option.stops(observation)
            if chance > 0.0 and (chance >= 1.0 or rng.random() < chance):
                return True
            return self.interrupt is not None and self._is_interrupted(number, observation)

        return self._followed(option.act, ends, option.most)

    def _allowed_at(self, observation: Any, mask: ArrayLike | None) -> Masks | None:
        """Return which options can begin: where their initiation says so, and their first action is allowed."""
        if mask is None and self._starts_anywhere:
            return None
        if mask is None and type(observation) is int and observation in self._known:
            return self._known[observation]
        allowed: Masks = np.array(
            [self._can_begin(each, observation, mask) for each in self._options], np.int8
        )
        if not allowed.any():
            raise ValueError(
                f"no option can begin at the observation {shown(observation)}; give one that can, or primitives=True"
            )
        if mask is None and type(observation) is int:
            self._known[observation] = allowed
        return allowed

    def _can_begin(self, option: _Ready, observation: Any, mask: ArrayLike | None) -> bool:
        if option.begins is not None and not option.begins(observation):
            return False
        if mask is None or option.kind != "plain" or self._first is None:
            return True
        return bool(np.asarray(mask)[option.act(observation, mask) - self._first])

    def _is_interrupted(self, number: int, observation: Any) -> bool:
        """Whether another option that can begin has a larger value."""
        values = self.interrupt
        given = values(observation) if callable(values) else np.asarray(values)[self._state(observation)]
        row = np.asarray(given, dtype=np.float64)
        if row.shape != (len(self._options),):
            raise ValueError(
                f"interrupt gives {shown(given)} at the observation {shown(observation)}; it must give a value for each of "
                f"the {len(self._options)} options"
            )
        allowed = self._allowed_at(observation, self._mask)
        best = row.max() if allowed is None else row[allowed > 0].max()
        return bool(best > row[number])

    # --- Making options ready ---

    def __deepcopy__(self, memo: dict[int, Any]) -> Options:
        """Return a copy that draws from its own generator; policies are shared, as not everyone can copy them."""
        copied = Options.__new__(type(self))
        memo[id(self)] = copied
        shared = ("_listed", "_options", "_saved_kwargs")
        for name, part in self.__dict__.items():
            copied.__dict__[name] = part if name in shared else copy.deepcopy(part, memo)
        copied._options = copied._all_ready()  # noqa: SLF001 - of the same class
        return copied

    def _all_ready(self) -> list[_Ready]:
        return [self._ready(option_label(*each), each[1]) for each in enumerate(self._listed)]

    def _state(self, observation: Any) -> int:
        if self._tabulation is None:
            self._tabulation = tabulate(self.observation_space)
        return self._tabulation.index(observation)

    def _ready(self, label: str, option: Option) -> _Ready:
        if not isinstance(option, Option):
            raise TypeError(f"{label} is {shown(option)}; it must be a sojourn.models.Option")
        act, kind, has_action = self._policy(label, option.policy)
        given = option.initiation
        begins: Callable[[Any], bool] | None = has_action
        if callable(given):
            begins = lambda seen: as_flag(f"the initiation of {label}", given(seen))  # noqa: E731
        elif given is not None:
            table = self._by_state(f"the initiation of {label}", given)
            begins = lambda seen: as_flag(f"the initiation of {label}", table[self._state(seen)])  # noqa: E731
        stops, most = self._stops(label, option.termination), most_steps(f"steps of {label}", option.steps)
        return _Ready(label, act, stops, has_action, begins, most, kind)

    def _by_state(self, what: str, given: Any) -> NDArray[Any]:
        """Return a table with a row for each state."""
        table = np.asarray(given)
        if not is_listed(self.observation_space):
            raise ValueError(
                f"{what} is a table, but the observations are of {shown(self.observation_space)} and cannot be listed; "
                "give a function of the observation"
            )
        count = tabulate(self.observation_space).num_states
        if len(table) != count:
            raise ValueError(f"{what} has {len(table)} rows; it must have one for each of {count} states")
        return table

    def _policy(self, label: str, given: Any) -> tuple[Act, str, Callable[[Any], bool] | None]:
        """Return how an option acts, the kind of its policy, and where it has an action if not everywhere."""
        what, read = f"the policy of {label}", self._read_action
        method = getattr(given, "act", None)
        if callable(method):
            known = getattr(given, "known", None)
            knows = None if known is None or not _has_states(given) else known
            if _takes_masks(method):
                return lambda seen, mask: self._taken(what, method(seen, mask), seen), "masked", knows
            return lambda seen, _mask: self._taken(what, method(seen), seen), "plain", knows
        if callable(given):
            return lambda seen, _mask: self._taken(what, given(seen), seen), "plain", None
        constant = read(given)
        if constant is not None:
            return lambda _seen, _mask: constant, "plain", None
        if self._first is None or np.ndim(given) not in (1, 2):
            raise ValueError(
                f"{what} is {shown(given)}; it must be one of the actions, {shown(self.env.action_space)}, a table of them, or a "
                "function of the observation"
            )
        table = self._by_state(what, given)
        if table.ndim == 2:
            return self._drawn(what, table)
        first, last = self._first, self._first + int(self.env.action_space.n) - 1  # type: ignore[attr-defined] # of a Discrete
        wrong = (table != np.rint(table)) | ((table < first) & (table != -1)) | (table > last)
        if wrong.any():
            raise ValueError(
                f"{what} has the action {table[wrong][0]}; the actions are {first} to {last}, and -1 for none"
            )
        rows: list[int] = [int(entry) for entry in table]

        def act(seen: Any, _mask: ArrayLike | None) -> int:
            action = rows[self._state(seen)]
            if action < first:
                self._taken(what, None, seen)  # raises an error that says where
            return action

        return act, "plain", None if min(rows) >= first else lambda seen: rows[self._state(seen)] >= first

    def _drawn(self, what: str, table: NDArray[Any]) -> tuple[Act, str, Callable[[Any], bool] | None]:
        """Return how an option acts by probabilities [state, action]."""
        count = int(self.env.action_space.n)  # type: ignore[attr-defined] # of a Discrete
        sums = table.sum(axis=1)
        if (
            table.shape[1] != count
            or (table < 0.0).any()
            or not ((abs(sums - 1.0) < 1e-8) | (sums == 0.0)).all()
        ):
            raise ValueError(
                f"{what} must have a probability for each of {count} actions, and rows that sum to 1, or 0 for none"
            )
        limits, first = table.cumsum(axis=1), self._first or 0

        def act(seen: Any, _mask: ArrayLike | None) -> int:
            row = limits[self._state(seen)]
            if row[-1] == 0.0:
                self._taken(what, None, seen)  # raises an error that says where
            return first + int(np.searchsorted(row, self.np_random.random() * row[-1], side="right"))

        return act, "drawn", None if sums.all() else lambda seen: bool(sums[self._state(seen)])

    def _taken(self, what: str, given: Any, observation: Any) -> Any:
        """Return what a policy gave as an action of the environment, or say what is wrong with it."""
        action = None if given is None else self._read_action(given)
        if action is None:
            gives = "no action" if given is None else shown(given)
            raise ValueError(
                f"{what} gives {gives} at the observation {shown(observation)}; the actions are {shown(self.env.action_space)}"
            )
        return action

    def _stops(self, label: str, given: Any) -> Chance:
        what = f"the termination of {label}"
        if callable(given):
            return lambda seen: probability(what, given(seen))
        if np.ndim(given) == 0:
            chance = probability(what, given)
            return lambda _seen: chance
        rows: list[float] = [probability(what, entry) for entry in self._by_state(what, given).tolist()]
        return lambda seen: rows[self._state(seen)]

    # --- For agents that learn inside options ---

    def courses(self) -> Courses:
        """Return what every option does in every state, or say why that cannot be listed."""
        if not is_listed(self.observation_space):
            raise ValueError(
                f"the observations are of {shown(self.observation_space)} and cannot be listed; learning inside options needs "
                "a table"
            )
        seen = elements_of(self.observation_space)
        action = np.full((len(seen), len(self._options)), -1, dtype=np.int64)
        ending = np.ones(action.shape)
        for number, option in enumerate(self._options):
            if option.kind == "drawn" or (option.most < np.inf and option.most > 1.0) or self._first is None:
                what = "draws its actions" if option.kind == "drawn" else "ends after a number of steps"
                raise ValueError(
                    f"{option.label} {what}; learning inside options needs policies and ends that depend on the state alone"
                )
            for state, observation in enumerate(seen):
                if option.knows is None or option.knows(observation):
                    action[state, number] = option.act(observation, None) - self._first
                    ending[state, number] = 1.0 if option.most == 1.0 else option.stops(observation)
        return Courses(action, ending)


def options_of(env: Any) -> Options | None:
    """Return the options around an environment, if there are any."""
    while env is not None and not isinstance(env, Options):
        env = getattr(env, "env", None)
    return env


def _has_states(policy: Any) -> bool:
    """Whether a policy can say which states it knows; that of a network cannot."""
    try:
        getattr(policy, "states", None)
    except TypeError:
        return False
    return True


def _takes_masks(act: Callable[..., Any]) -> bool:
    """Whether a policy takes the mask of allowed actions after the observation."""
    try:
        inspect.signature(act).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def _one_step_each(space: Space) -> list[Option]:
    """Return every action as an option of one step."""
    if not isinstance(space, Discrete):
        raise TypeError(
            f"the action space is {shown(space)}; only Discrete actions can be options of one step, so leave primitives out"
        )
    return [Option(int(space.start) + place, 1.0) for place in range(int(space.n))]
