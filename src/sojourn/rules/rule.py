"""Rules: functions of one transition, dispatched on the type of their first argument.

A rule is written once for each type of value, in plain Python: called directly, it runs interpreted, line by line, in
any debugger. In a kernel (`sojourn.rules.kernel`) it is compiled.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, overload

from sojourn.rules.bridge import F, Function, G, Numba, bridge, explainers, is_ours
from sojourn.rules.values import Field, classes

Check: TypeAlias = Callable[..., tuple[Field, ...]]

_users: dict[type, list[Function]] = {}  # rules from outside this package, by type
_compiled: dict[type, int] = {}  # types for which kernels were compiled, and the number of the last time
_times = itertools.count(1)  # of compiling, and of making a rule


class Rule(Generic[F]):
    """A function with a definition for each type of its first argument.

    Calling a rule checks the arguments first. `bare` skips the checks, for use inside other rules, whose
    arguments have been checked already. Compiled code never checks.
    """

    bare: F

    def __init__(self, generic: F, check: Check, compiled: bool, fallback: bool) -> None:
        self._generic = generic
        self._fallback = generic if fallback else None
        self._check = check
        self._is_compiled = compiled
        self._made = next(_times)  # nothing that was compiled before calls it
        self._registered: dict[type, Function] = {}
        self._arity = len(inspect.signature(generic).parameters)
        functools.update_wrapper(self, generic)
        self.name: str = generic.__name__
        registered = self._registered

        def bare(value: Field, *args: Field) -> Field:
            return registered.get(type(value), generic)(value, *args)

        bare.__qualname__ = f"{generic.__qualname__}.bare"  # identifies it in a fingerprint
        bare.__module__ = generic.__module__
        self.bare = bare  # type: ignore[assignment]
        bridge(self, self._resolve)
        bridge(bare, self._resolve)

    if TYPE_CHECKING:
        __call__: F
    else:

        def __call__(self, value: Field, *args: Field, **kwargs: Field) -> Field:
            """Check the arguments, and call the function for the value's type."""
            function = self._registered.get(type(value), self._generic)
            try:
                if function is self._generic:
                    return function(value, *args, **kwargs)
                return function(*self._check(value, *args, **kwargs))
            except Exception as error:
                for explain in explainers:
                    explain(self._generic, (value, *args), kwargs, error, is_formula=True)
                raise

    @overload
    def register(self, function: type, *others: type) -> Callable[[G], G]: ...
    @overload
    def register(self, function: G) -> G: ...
    def register(self, function: Function, *others: type) -> Function:
        """Register a function for the type of its first argument.

        Use it as `@rule.register`, which reads the annotation of the first argument, or as
        `@rule.register(Type, ...)`, for one type or several.
        """
        if isinstance(function, type):
            return functools.partial(self._register, (function, *others))
        first = next(iter(inspect.signature(function, eval_str=True).parameters.values()), None)
        if first is None or not isinstance(first.annotation, type) or first.annotation is first.empty:
            raise TypeError(
                f"{function.__name__} does not say which class it is for; annotate its first argument "
                f"with a class, or use @{self.name}.register(Class)"
            )
        return self._register((first.annotation,), function)

    def _register(self, types: tuple[type, ...], function: G) -> G:
        for cls in types:
            self._check_for(cls, function)
        for cls in types:
            if is_from_user(function):
                _users.setdefault(cls, []).append(function)
            self._registered[cls] = function
        return function

    def _check_for(self, cls: type, function: Function) -> None:
        """Refuse to register a function for a class if calls would fail or never reach it."""
        name = self.name
        if not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            raise TypeError(f"{cls.__name__} is not a NamedTuple, so {name} cannot be registered for it")
        arity = len(inspect.signature(function).parameters)
        if arity != self._arity:
            raise TypeError(
                f"{function.__name__} takes {arity} arguments, but {name} is called with {self._arity}: "
                f"{', '.join(inspect.signature(self._generic).parameters)}"
            )
        if self._is_compiled and _compiled.get(cls, 0) > self._made:
            raise TypeError(
                f"{cls.__name__} has been compiled already, so its {name} can no longer change; "
                "define the class again, or start a new process"
            )

    def knows(self, cls: type) -> bool:
        """Whether a function is registered for `cls`."""
        return cls in self._registered

    @property
    def types(self) -> list[type]:
        """The classes that a function is registered for."""
        return list(self._registered)

    def _resolve(self, value: Numba, *_: Numba) -> Function | None:
        return self._registered.get(getattr(value, "instance_class", None), self._fallback)  # type: ignore[arg-type]


def rule(
    check: Check | None = None, *, compiled: bool = True, fallback: bool = False
) -> Callable[[F], Rule[F]]:
    """Turn a function into a rule; its body handles types for which no function is registered.

    With `fallback` the body does something useful, in compiled code too; otherwise it raises an error.

    `check` receives the arguments of every outside call and returns them converted; rules that only other rules
    call need none. A rule that kernels never call has `compiled=False`; it can be registered for a type at any
    time.
    """
    return lambda generic: Rule(generic, check or _unchecked, compiled, fallback)


def _unchecked(*arguments: Field) -> tuple[Field, ...]:
    return arguments


def no_rule(name: str, value: Field) -> TypeError:
    """Return the error for a value whose type lacks this rule."""
    return TypeError(
        f"there is no {name} rule for {type(value).__name__}: pass one of Sojourn's own values, "
        f"or register yours with @sojourn.{name}.register"
    )


def first_meeting(*values: Field) -> bool:
    """Whether these values have user-defined rules that have not been compiled yet."""
    types = set(classes(values))
    return not types.isdisjoint(_users) and not types <= _compiled.keys()


def is_ours_alone(types: Iterable[type]) -> bool:
    """Whether no user has registered a rule for any of these classes."""
    return _users.keys().isdisjoint(types)


def users_rules() -> Mapping[type, Sequence[Function]]:
    """Return all rules that users have registered, by class."""
    return _users


def is_from_user(function: Function) -> bool:
    """Whether a function is from outside this package; anything but a plain function counts as ours."""
    return hasattr(function, "__code__") and not is_ours(function)


def mark_compiled(types: Iterable[type]) -> None:
    """Record that a kernel is compiled for values of these classes, so their rules can no longer change."""
    _compiled.update(dict.fromkeys(types, next(_times)))
