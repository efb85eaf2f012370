"""Things by name: `package.module:name`, imported when it is first asked for."""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


@functools.cache
def found(name: str) -> object:
    """Return what a name such as `package.module:name` stands for, or say in one sentence why it cannot be had.

    >>> found("math:pi")
    3.141592653589793
    """
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute):
        raise ValueError(f"{name!r} is no name of something: write it as package.module:name")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise ValueError(f"{name!r} cannot be found: {error}") from None
    except AttributeError:
        raise ValueError(f"{name!r} cannot be found: the module {module} has no {attribute}") from None


def public_names(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose public names stand in its stub.

    Each name that the `.pyi` file imports is imported from there when it is first used, so that importing
    the package costs nothing.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }

    def get(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = names[name]
        # A module of the package itself is not asked of the package, which would ask here again.
        asks_again = (module, original) == (package, name)
        thing = None if asks_again else getattr(importlib.import_module(module), original, None)
        if thing is None:  # the name is a module itself
            thing = importlib.import_module(f"{module}.{original}")
        setattr(sys.modules[package], name, thing)
        return thing

    return get, lambda: [*vars(sys.modules[package]), *names], sorted(names)


class Catalogue(MutableMapping[str, T], Generic[T]):
    """Things by a short name, each given as itself or by its full name, which is looked up at its first use.

    >>> numbers: Catalogue[float] = Catalogue({"pi": "math:pi"})
    >>> numbers["half"] = 0.5
    >>> list(numbers), numbers["pi"], numbers["half"]
    (['pi', 'half'], 3.141592653589793, 0.5)
    """

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._names: dict[str, str | None] = dict(entries)  # None: it is there already
        self._things: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        full = self._names[name]
        if full is not None and name not in self._things:
            self._things[name] = found(full)  # type: ignore[assignment] # the catalogue's entries say what they are of
        return self._things[name]

    def __setitem__(self, name: str, thing: T) -> None:
        self._names[name], self._things[name] = None, thing

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._things.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
