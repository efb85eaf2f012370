"""Doors: a public function that fails over an argument of the wrong kind says in one sentence which one it is.

Arguments have passed no type checker. Checking all of them in every call would cost time and refuse what works, such as
NumPy's numbers or a frame of another library. So `told` looks at the arguments only after a call has failed with an error
that is not one of our sentences, and compares them with the hints of the function.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import opcode
import operator
import os
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import shown, unmasked
from sojourn.rules.bridge import Function, bridge, explainers

T = TypeVar("T")
F = TypeVar("F", bound=Function)

_RAISE = opcode.opmap["RAISE_VARARGS"]
_HERE = f"{Path(__file__).parents[1]}{os.sep}"
_WORDS: dict[Any, str] = {
    bool: "True or False", int: "a whole number", float: "a number", str: "a text", type(None): "None", Path: "a path",
}  # fmt: skip


def told(thing: T) -> T:
    """Make a function, or the constructor and the methods of a class, name the argument over which a call fails.

    The fields of a dataclass, which nothing else looks at, are compared with their hints before it is made.

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
    """Do the same for a function that kernels call, where it is compiled without its door."""
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

    # It counts as one of the function's own module: doctest looks for examples in no other.
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
    """Raise a sentence about the first argument that is not of the kind that its hint says, unless the error is one.

    If all are, and numbers were too large to compute with, the sentence has all arguments. A rule or another formula
    of a line or two can fail for no other reason than its arguments.
    """
    if error is not None and is_sentence(error):
        return
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return  # Python has said itself what is wrong with the call
    hints = _hints(function)
    place = function.__qualname__.replace(".__init__", "").rpartition("<locals>.")[2]
    for name, thing in bound.items():
        unmasked(f"{name} of {place}", thing)
        if not fits(hints.get(name, Any), thing):
            raise TypeError(
                f"{name} of {place} is {shown(thing)}; it must be {_words(hints[name])}"
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
    """Give a warning at the user's line, however many of our functions, with their doors, are between."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, RuntimeWarning, stacklevel=level)


def is_sentence(error: BaseException) -> bool:
    """Whether an error was raised by a `raise` of ours, and not by Python or a library while they worked for us."""
    trace = _last(error)
    code = trace.tb_frame.f_code
    return code.co_filename.startswith(_HERE) and code.co_code[trace.tb_lasti] == _RAISE


def _last(error: BaseException) -> types.TracebackType:
    """Return the innermost place of an error that has been caught."""
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


@functools.cache
def _hints(function: Function) -> dict[str, Any]:
    """Return the hints of the parameters; one with a name that only a type checker knows stands for anything."""
    return {name: _resolved(hint, function.__globals__) for name, hint in function.__annotations__.items()}


def _resolved(hint: Any, known: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"it": hint})
    for _ in range(5):
        try:
            return typing.get_type_hints(holder, known)["it"]
        except (
            NameError
        ) as error:  # it is imported for the type checker only, or a library has not been imported yet
            known = known | {str(error.name): _our_class(str(error.name))}
        except (TypeError, AttributeError):
            return Any
    return Any


def _our_class(name: str) -> Any:
    """Return the class of ours that has this name, if its module has been imported, else what stands for anything."""
    modules = [module for place, module in list(sys.modules.items()) if place.startswith("sojourn.")]
    found = (getattr(module, "__dict__", {}).get(name) for module in modules)
    return next((one for one in found if isinstance(one, type)), Any)


# --- What fits a hint -----------------------------------------------------------------


def fits(hint: Any, thing: Any) -> bool:
    """Whether something can stand where a hint is written; more kinds of numbers and lists can than a type checker says.

    >>> import numpy as np
    >>> fits(float, np.float32(1.0)), fits(Sequence[int], range(3)), fits(Sequence[int], [1, "x"]), fits(int | None, 0.5)
    (True, True, False, False)
    """
    while hasattr(hint, "__value__"):  # a name for another hint
        hint = hint.__value__
    if isinstance(hint, TypeVar):
        return hint.__bound__ is None or fits(hint.__bound__, thing)
    if hint in _FITTING:
        return bool(_FITTING[hint](thing))
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        members = set(inner)
        if _array_members() <= members:  # NumPy's ArrayLike, which is a union itself
            return _is_numbers(thing) or any(fits(one, thing) for one in members - _array_members())
        return any(fits(one, thing) for one in inner)
    if origin is Literal:
        return any(type(thing) is type(one) and thing == one for one in inner)
    if origin in (list, tuple, Sequence):
        return _fits_list(origin, inner, thing)
    if origin in (dict, Mapping):
        return isinstance(thing, Mapping) and all(fits(inner[1], part) for part in thing.values())
    if origin is Iterable:
        is_several = (
            hasattr(thing, "__iter__")
            and getattr(thing, "ndim", 1) != 0
            and not isinstance(thing, str | bytes)
        )
        return is_several and (not hasattr(thing, "__len__") or _fits_all(inner, thing))
    if origin is Callable:
        return callable(thing)
    return _fits_class(origin or hint, inner, thing)


def _fits_class(cls: Any, inner: tuple[Any, ...], thing: Any) -> bool:
    if cls is np.ndarray:
        kinds = [kind for kind in get_args(inner[1]) if isinstance(kind, type)] if len(inner) > 1 else []
        is_array = isinstance(thing, np.ndarray) and not isinstance(thing, np.ma.MaskedArray)
        return is_array and all(issubclass(thing.dtype.type, kind) for kind in kinds)
    if typing.is_typeddict(cls):
        return isinstance(thing, Mapping) and set(cls.__annotations__) <= set(thing)
    if getattr(cls, "_is_protocol", False):
        return all(hasattr(thing, name) for name in _members(cls))
    return not isinstance(cls, type) or isinstance(thing, cls)


def _members(protocol: type) -> set[str]:
    """Return what a protocol asks for."""
    parts = [vars(cls) for cls in protocol.__mro__ if getattr(cls, "_is_protocol", False)]
    names = {name for part in parts for name in (*part, *part.get("__annotations__", ()))}
    return {name for name in names if name in ("_fields", "__call__") or not name.startswith("_")}


def _fits_list(origin: Any, inner: tuple[Any, ...], thing: Any) -> bool:
    if isinstance(thing, str | bytes | Mapping) or not (
        hasattr(thing, "__len__") and hasattr(thing, "__getitem__")
    ):
        return False
    if getattr(thing, "ndim", 1) == 0:
        return False
    if origin is tuple and inner and Ellipsis not in inner:
        return len(thing) == len(inner) and all(map(fits, inner, thing))
    return _fits_all(inner, thing)


def _fits_all(inner: tuple[Any, ...], things: Iterable[Any]) -> bool:
    """Whether the first thousand entries of a list are as its hint says."""
    return not inner or all(fits(inner[0], part) for part in itertools.islice(iter(things), 1000))


def _is_number(thing: Any) -> bool:
    if isinstance(thing, str | bytes):
        return False
    try:
        float(thing)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _is_whole(thing: Any) -> bool:
    try:
        operator.index(thing)
    except TypeError:
        return False
    return True


def _is_numbers(thing: Any) -> bool:
    try:
        array = np.asanyarray(thing)
    except (TypeError, ValueError):
        return False
    return array.dtype.kind in "biuf" and not isinstance(array, np.ma.MaskedArray)


_FITTING: dict[Any, Callable[[Any], object]] = {
    Any: lambda _: True,
    object: lambda _: True,
    bool: lambda thing: isinstance(thing, bool | np.bool_),
    int: _is_whole,
    float: _is_number,
    str: lambda thing: isinstance(thing, str),
    type(None): lambda thing: thing is None,
    Path: lambda thing: isinstance(thing, os.PathLike),
}


@functools.cache
def _array_members() -> set[Any]:
    return {ArrayLike} if hasattr(ArrayLike, "__value__") else set(get_args(ArrayLike))


# --- Words ----------------------------------------------------------------------------


def _words(hint: Any) -> str:
    while hasattr(hint, "__value__"):
        hint = hint.__value__
    if hint in _WORDS:
        return _WORDS[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, TypeVar) and hint.__bound__ is not None:
        return _words(hint.__bound__)
    if origin in (Union, types.UnionType):
        arrays = _array_members()
        kinds = ["numbers"] if arrays <= set(inner) else []
        kinds += [_words(one) for one in inner if not kinds or one not in arrays]
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin in (list, tuple, Sequence):
        return "a list" if not inner or get_origin(inner[0]) else f"a list, each entry {_words(inner[0])}"
    if origin in (dict, Mapping):
        return "a dictionary"
    if origin is Iterable:
        return "something to iterate over"
    if origin is Callable:
        return "a function"
    name = getattr(origin or hint, "__name__", "of another kind")
    if name == "ndarray":
        kinds = (
            [kind.__name__ for kind in get_args(inner[1]) if isinstance(kind, type)] if len(inner) > 1 else []
        )
        return f"an array of {kinds[0]}" if kinds else "an array"
    return f"{'an' if name[0] in 'AEIOS' and (name[0] != 'S' or name[1:2].isupper()) else 'a'} {name}"
