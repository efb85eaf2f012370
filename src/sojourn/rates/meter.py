"""A rate estimator that updates itself, and that survives a restart as JSON."""

from __future__ import annotations

import functools
from typing import Any, Generic, TypedDict, get_type_hints

from sojourn.data.files import JsonObject
from sojourn.data.hints import check_kind
from sojourn.data.numbers import Number, at_least_zero, finite, shown
from sojourn.rates.protocol import R, carry, stumbling, update, value
from sojourn.rules.long_run import BatchState, MicroBatches, RateInterval
from sojourn.rules.values import canonical, is_value, validated

_FORMAT, _VERSION = "sojourn rate meter", 1


class MeterState(TypedDict):
    """Everything that a meter knows, as JSON: the estimator's class and its fields, and the run so far."""

    format: str
    version: int
    estimator: dict[str, Any]
    carried: float
    run: BatchState


class RateMeter(Generic[R]):
    """A rate estimator that updates itself, for notebooks and running systems.

    The reward of a step that takes no time counts with the next step that takes time.

    >>> from sojourn.rates.ratio import Exponential
    >>> meter = RateMeter(Exponential(step_size=0.5))
    >>> meter.update(reward=4.0, duration=0.0)
    >>> meter.update(reward=2.0, duration=2.0)
    >>> meter.rate
    3.0
    >>> RateMeter.restored(meter.state()).rate
    3.0
    """

    def __init__(self, estimator: R) -> None:
        if isinstance(estimator, type):
            raise TypeError(
                f"the estimator is the class {estimator.__name__}; make one, {estimator.__name__}(...)"
            )
        value(estimator)  # raises an error if it is not an estimator
        self.estimator = estimator
        self.carried = 0.0  # earned since time last passed
        self._run = MicroBatches()

    def update(self, reward: Number, duration: Number) -> None:
        """Take in one transition."""
        reward, duration = finite("reward", reward), at_least_zero("duration", duration)
        self.estimator, self.carried = carry(self.estimator, self.carried, reward, duration)
        self._run.add(reward, duration)

    @property
    def rate(self) -> float:
        """The estimate: reward per unit time."""
        return float(value(self.estimator))

    def interval(self, level: float = 0.95) -> RateInterval:
        """Return the reward per unit of time over everything so far, with its interval, or the time that one needs.

        This is of the whole run, also for an estimator that forgets, or that estimates something else than the gain.

        >>> from sojourn.rates.ratio import Exponential
        >>> meter = RateMeter(Exponential(step_size=0.5))
        >>> for reward in [1.0, 3.0] * 1500:
        ...     meter.update(reward, 2.0)
        >>> meter.interval()
        RateInterval(rate=1.0, low=1.0, high=1.0, needed=None)
        """
        return self._run.interval(level)

    def state(self) -> JsonObject:
        """Return everything that the meter knows, as JSON; floats in JSON lose no bits."""
        state: Any = MeterState(
            format=_FORMAT,
            version=_VERSION,
            estimator=_described(self.estimator),
            carried=self.carried,
            run=self._run.state(),
        )
        return state  # type: ignore[no-any-return]

    @classmethod
    def restored(cls, state: JsonObject) -> RateMeter[Any]:
        """Return the meter with this state, which goes on with the same bits; classes of your own must be imported before."""
        check_kind(MeterState, state, "the meter")
        data: Any = state
        if (data["format"], data["version"]) != (_FORMAT, _VERSION):
            raise ValueError(f"it holds {shown(data['format'])} of version {shown(data['version'])}")
        estimator = canonical(_made(data["estimator"]))
        try:
            wrong = stumbling(estimator) if update.knows(type(estimator)) else "it has no estimator"
        except (AttributeError, TypeError) as error:
            wrong = f"its estimator has a part of the wrong kind: {error}"
        if wrong:
            raise ValueError(wrong)
        meter = RateMeter(estimator)
        meter.carried = finite("carried", data["carried"])
        meter._run = MicroBatches.restored(data["run"])
        return meter

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_run": MicroBatches(), **state})  # pickles of 0.2 have no run

    def __repr__(self) -> str:
        return f"<RateMeter with {type(self.estimator).__name__}, rate {self.rate:.6g}>"


def _described(thing: Any) -> Any:
    """Return a value as JSON: the name of its class, and its fields."""
    if is_value(thing):
        return {
            "kind": type(thing).__name__,
            **{name: _described(part) for name, part in thing._asdict().items()},
        }
    return thing


def _made(data: Any) -> Any:
    """Return the value that JSON describes, or say what is wrong with it."""
    if not isinstance(data, dict):
        if isinstance(data, bool | int | float):
            return data
        raise ValueError(f"its estimator holds {shown(data)}, which is not a number")
    cls = _classes().get(str(data.get("kind")))
    if cls is None:
        raise ValueError(
            f"its estimator has a part of the kind {shown(data.get('kind'))}, which is not known here; import the module "
            "that defines it"
        )
    fields = {name: _made(part) for name, part in data.items() if name != "kind"}
    try:
        return validated(cls(**fields))
    except TypeError as error:
        raise ValueError(f"its {data['kind']} cannot be made: {error}") from None


def _classes() -> dict[str, type]:
    """Return the classes of estimators and of their parts, by name."""
    import sojourn.rates.catalogue
    import sojourn.rates.scheduled  # noqa: F401 - so that all of ours are registered
    from sojourn.rates.centred import noted

    return _parts((*update.types, *noted.types))


@functools.cache
def _parts(classes: tuple[type, ...]) -> dict[str, type]:
    known: dict[str, type] = {}
    left = list(classes)
    while left:
        cls = left.pop()
        if (
            isinstance(cls, type)
            and issubclass(cls, tuple)
            and hasattr(cls, "_fields")
            and known.get(cls.__name__) is not cls
        ):
            known[cls.__name__] = cls
            left += get_type_hints(cls).values()
    return known
