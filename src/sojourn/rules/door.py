"""Doors: if a public function fails because an argument has the wrong type, one sentence names the argument.

Callers' arguments have passed no type checker. Checking all of them in every call would cost time and refuse what
works, such as NumPy's numbers or a frame of another library. So `told` checks the arguments against the function's
hints only after a call has failed with an error that is not one of our own sentences.
"""

from __future__ import annotations

import functools
import inspect
import opcode
import os
import sys
import types
import typing
import warnings
from pathlib import Path
from typing import Any, TypeVar

from sojourn.data.hints import fits, in_words
from sojourn.data.numbers import shown, unmasked
from sojourn.rules.bridge import F, Function, bridge, explainers

T = TypeVar("T")

_RAISE = opcode.opmap["RAISE_VARARGS"]
_HERE = f"{Path(__file__).parents[1]}{os.sep}"


def told(thing: T) -> T:
    """Decorate a function, or a class's constructor and methods, to name the argument that makes a call fail.

    The fields of a dataclass, which nothing else checks, are checked against their hints before it is created.

    >>> @told
    ... def doubled(count: int) -> int:
    ...     return count << 1
    >>> doubled(2)
    4
    >>> doubled("x")
    Traceback (most recent call last):
    TypeError: count of doubled is 'x'; it must be a whole number
    """
    if not isinstance(thing, type):
        return _door(thing)  # type: ignore[type-var] # a function
    for name, method in list(vars(thing).items()):
        if isinstance(method, types.FunctionType) and (name == "__init__" or not name.startswith("_")):
            is_made = name == "__init__" and method.__code__.co_filename == "<string>"
            setattr(thing, name, _door(method, check_first=is_made))
    return thing


def told_inlined(function: F) -> F:
    """Do the same for a function that kernels call; there it is compiled without its door."""
    door = _door(function, is_formula=True)
    bridge(door, lambda *_: function)
    return door


def _door(function: F, check_first: bool = False, is_formula: bool = False) -> F:
    explain = explained

    def door(*args: Any, **kwargs: Any) -> Any:
        if check_first:
            explain(function, args, kwargs, None)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            explain(function, args, kwargs, error, is_formula)
            raise

    # Its module is that of the function, because doctest skips the examples of imported functions.
    made: Any = types.FunctionType(
        door.__code__, function.__globals__, function.__name__, None, door.__closure__
    )
    functools.update_wrapper(made, function)
    return made  # type: ignore[no-any-return]


def explained(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception | None,
    is_formula: bool = False,
) -> None:
    """Raise an error about the first argument that does not match its hint, unless `error` is already one of our sentences.

    If all arguments match but the arithmetic failed, the error lists them all. A rule, or another short formula,
    can fail only because of its arguments.
    """
    if error is not None and is_sentence(error):
        return
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return  # Python's own message says what is wrong with the call
    hints = _hints(function)
    place = function.__qualname__.replace(".__init__", "").rpartition("<locals>.")[2]
    for name, thing in bound.items():
        unmasked(f"{name} of {place}", thing)
        if not fits(hints.get(name, Any), thing):
            raise TypeError(
                f"{name} of {place} is {shown(thing)}; it must be {in_words(hints[name])}"
            ) from error
    raws = (
        (ArithmeticError, LookupError, MemoryError, ValueError)
        if is_formula
        else (ArithmeticError, MemoryError)
    )
    if isinstance(error, raws) and _last(error).tb_frame.f_code.co_filename.startswith(_HERE):
        given = ", ".join(f"{name} = {shown(thing)}" for name, thing in bound.items() if name != "self")
        sentence = (
            f"{place} cannot compute with {given}; some of it is too large, too small or of the wrong size"
        )
        raise ValueError(sentence) from error


explainers.append(explained)


def warn(sentence: str) -> None:
    """Issue a warning at the user's line, however many of our frames lie in between."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, RuntimeWarning, stacklevel=level)


def is_sentence(error: BaseException) -> bool:
    """Whether an error comes from a `raise` statement of ours, rather than from Python or a library."""
    trace = _last(error)
    code = trace.tb_frame.f_code
    return code.co_filename.startswith(_HERE) and code.co_code[trace.tb_lasti] == _RAISE


def _last(error: BaseException) -> types.TracebackType:
    """Return the innermost traceback entry of a caught error."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


@functools.cache
def _hints(function: Function) -> dict[str, Any]:
    """Return the hints of the parameters; a hint that only a type checker can resolve becomes `Any`."""
    return {name: _resolved(hint, function.__globals__) for name, hint in function.__annotations__.items()}


def _resolved(hint: Any, known: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"it": hint})
    for _ in range(5):
        try:
            return typing.get_type_hints(holder, known)["it"]
        except NameError as error:
            # The name is imported only for the type checker, or its library has not been imported yet.
            known = known | {str(error.name): _our_class(str(error.name))}
        except (TypeError, AttributeError):
            return Any
    return Any


def _our_class(name: str) -> Any:
    """Return our class of this name, if its module has been imported, else `Any`."""
    modules = [module for place, module in list(sys.modules.items()) if place.startswith("sojourn.")]
    found = (getattr(module, "__dict__", {}).get(name) for module in modules)
    return next((one for one in found if isinstance(one, type)), Any)
