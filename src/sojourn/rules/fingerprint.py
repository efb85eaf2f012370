"""Tells whether a user's rules are those that machine code on disk was made from.

Compiled code depends on more than the text of a function: on the functions that it calls, on the
constants that it reads from its module, on closures and defaults, on types that it makes. The
fingerprint is a hash of all of that. If something in it cannot be identified by its content, there is
no fingerprint, and the machine code is not kept. Compiling again costs a second or two, but outdated
machine code would silently give wrong numbers.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import importlib.metadata
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from sojourn.rules.bridge import Function

Thing: TypeAlias = Any  # whatever a function can refer to

# What these packages hold is known by its name and by their versions.
_KNOWN = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator", "sojourn"})
_LARGEST = 1_000_000  # bytes of an array that is compiled in as a constant


class _CannotTellError(Exception):
    """Something that has no fingerprint."""


def fingerprint(classes: Iterable[type], rules: Mapping[type, Sequence[Function]]) -> str | None:
    """Return a hash of everything that compiled code for these classes depends on, or None if it cannot be made.

    `rules` are the functions from outside this package, by the class that they are registered for.
    """
    reader = _Reader(rules)
    try:
        for cls in sorted(classes, key=lambda cls: (cls.__module__, cls.__qualname__)):
            reader.read(cls)
    except _CannotTellError:
        return None
    return reader.digest()


class _Reader:
    """Reads everything that a function can reach, each thing once."""

    def __init__(self, rules: Mapping[type, Sequence[Function]]) -> None:
        self._rules = rules
        self._hash = hashlib.sha256(_versions().encode())
        self._seen: dict[int, Thing] = {}  # by identity; things are held, so that no other gets the same

    def digest(self) -> str:
        return self._hash.hexdigest()[:16]

    def read(self, thing: Thing) -> None:
        """Add a thing, and everything that it refers to."""
        self._add(type(thing).__name__)
        if thing is None or isinstance(thing, bool | int | str | bytes):
            self._add(repr(thing))
        elif isinstance(thing, float | complex | np.generic):
            self._add(np.asarray(thing).tobytes().hex())
        elif id(thing) in self._seen:
            self._add(str(list(self._seen).index(id(thing))))
        else:
            self._seen[id(thing)] = thing
            self._read_new(thing)

    def _read_new(self, thing: Thing) -> None:
        if isinstance(thing, type):
            self._read_class(thing)
        elif isinstance(thing, tuple | list):
            self._add(str(len(thing)))
            if isinstance(thing, tuple) and type(thing) is not tuple:
                self.read(type(thing))
            for item in thing:
                self.read(item)
        elif isinstance(thing, np.ndarray) and thing.dtype.kind in "biufc" and thing.nbytes <= _LARGEST:
            self._add(f"{thing.dtype.str} {thing.shape}")
            self._add(thing.tobytes().hex())
        elif isinstance(thing, CodeType):
            self._read_code(thing)
        elif _is_known(thing):
            self._add(f"{thing.__module__}.{getattr(thing, '__qualname__', thing.__name__)}")
        elif isinstance(thing, FunctionType):
            self._read_function(thing)
        else:
            raise _CannotTellError

    def _read_class(self, cls: type) -> None:
        self._add(f"{cls.__module__}.{cls.__qualname__}")
        if not _is_known(cls):
            if not (issubclass(cls, tuple) and hasattr(cls, "_fields")) or not _can_be_found(cls):
                raise _CannotTellError
            self._add(" ".join(cls._fields))
            for name, default in cls._field_defaults.items():  # type: ignore[attr-defined] # a NamedTuple has it
                self._add(name)
                self.read(default)
        for function in self._rules.get(cls, ()):
            self._add(function.__name__)
            self.read(function)

    def _read_function(self, function: FunctionType) -> None:
        self.read(function.__code__)
        self.read(function.__defaults__)
        self.read(tuple((function.__kwdefaults__ or {}).items()))
        for cell in function.__closure__ or ():
            self.read(cell.cell_contents)
        names = _names(function.__code__)
        reached = [function.__globals__[name] for name in names if name in function.__globals__]
        missing = [name for name in names if name not in function.__globals__ and not hasattr(builtins, name)]
        self._add(" ".join(missing))  # attributes, or globals that are not there yet
        for thing in reached:
            self._read_reached(thing, names)

    def _read_reached(self, thing: Thing, names: Sequence[str]) -> None:
        """Add what a name stands for; if it is a module, everything in it that has one of the function's names."""
        if not isinstance(thing, ModuleType):
            self.read(thing)
        elif id(thing) not in self._seen:
            self._seen[id(thing)] = thing
            self._add(thing.__name__)
            for name in names:
                if hasattr(thing, name):
                    self._read_reached(getattr(thing, name), names)
            del self._seen[id(thing)]  # another function looks for other names in it

    def _read_code(self, code: CodeType) -> None:
        self._add(code.co_code.hex())
        for part in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._add(" ".join(part))
        self._add(f"{code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}")
        self.read(code.co_consts)

    def _add(self, text: str) -> None:
        self._hash.update(f"{len(text)}:{text};".encode())


def _names(code: CodeType) -> list[str]:
    """Return all names that a function uses for globals or attributes, including those of functions inside it."""
    inside = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return sorted({*code.co_names, *inside})


def _is_known(thing: Thing) -> bool:
    """Whether a thing is known by its name, because the version of its package is part of every fingerprint."""
    module = getattr(thing, "__module__", None)
    if isinstance(thing, BuiltinFunctionType | np.ufunc):
        return (module or "numpy").partition(".")[0] in _KNOWN
    return isinstance(module, str) and module.partition(".")[0] in _KNOWN and hasattr(thing, "__name__")


def _can_be_found(cls: type) -> bool:
    """Whether another process finds this class under its name, which Numba's index of machine code requires."""
    try:
        found = functools.reduce(getattr, cls.__qualname__.split("."), sys.modules[cls.__module__])
    except (AttributeError, KeyError):
        return False
    return found is cls  # type: ignore[comparison-overlap] # a class, if all is well


@functools.cache
def _versions() -> str:
    """Return the versions that machine code depends on; that of this package is in the name of its folder."""
    return f"{sys.version} {np.__version__} {importlib.metadata.version('numba')}"
