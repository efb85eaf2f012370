"""Looks things up by name, `package.module:name`, and imports them on first use."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from sojourn.data.moved import moved_names

T = TypeVar("T")


def is_users(name: str) -> bool:
    """Whether a name is a user's own, such as `mine:queue`, rather than one from our lists.

    >>> is_users("mine:queue"), is_users("river-swim")
    (True, False)
    """
    return ":" in name


def found(name: str) -> object:
    """Return what a name such as `package.module:name` stands for, or raise an error that says why it cannot be found.

    Modules are looked up on Python's path, then in the current folder.

    >>> found("math:pi")
    3.141592653589793
    """
    module_name, colon, attribute = name.partition(":")
    if not (colon and module_name and attribute):
        raise ValueError(f"{name!r} names nothing; write it as package.module:name")
    module = imported(module_name, name)
    if not hasattr(module, attribute):
        place = getattr(module, "__file__", None)
        close = difflib.get_close_matches(attribute, vars(module), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"{name!r} cannot be found: the module {module_name}{f' ({place})' if place else ''} has no "
            f"{attribute!r}{hint}"
        )
    return getattr(module, attribute)


def users_constructor(name: str) -> Callable[..., Any]:
    """Return the function or class that a user's name stands for; its module must import Sojourn.

    The functions that a sweep file names are called with options from the file. Other modules are refused, so
    that a file cannot call arbitrary functions on the machine.

    >>> users_constructor("subprocess:getoutput")
    Traceback (most recent call last):
    ValueError: 'subprocess:getoutput' is not made for Sojourn: its module does not import sojourn; if it is yours, import sojourn there
    """
    thing = found(name)
    if not callable(thing):
        raise TypeError(f"{name!r} is {str(thing)[:80]!r}; it must be a function or a class")
    modules = (sys.modules.get(module) for module in (name.partition(":")[0], thing.__module__))
    if not any(_uses_sojourn(module) for module in modules if module is not None):
        raise ValueError(
            f"{name!r} is not made for Sojourn: its module does not import sojourn; if it is yours, import sojourn there"
        )
    return thing


def made(name: str, make: Callable[..., T], *sizes: int, **options: Any) -> T:
    """Call a constructor with options; an error in a user's own constructor becomes a ValueError of one sentence."""
    try:
        return make(*sizes, **options)
    except (ValueError, TypeError):
        raise
    except Exception as error:
        if not is_users(name):
            raise
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{name!r} fails with these options ({told})") from error


def _uses_sojourn(module: ModuleType) -> bool:
    origins = (
        getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
        for thing in vars(module).values()
    )
    return any(str(origin).partition(".")[0] == __package__.partition(".")[0] for origin in origins)


def imported(module: str, name: str | None = None) -> ModuleType:
    """Import a module, also from the current folder; error messages mention `name` instead, if given.

    >>> imported("no_such_module")
    Traceback (most recent call last):
    ValueError: 'no_such_module' cannot be found: No module named 'no_such_module'
    """
    name = module if name is None else name
    if module in sys.modules or module.partition(".")[0] == __package__.partition(".")[0]:
        return importlib.import_module(module)
    with contextlib.suppress(OSError):  # the folder may have been deleted
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)  # last, so that nothing in it shadows an installed module
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{name!r} cannot be found: {error}") from None
    except (Exception, SystemExit) as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(
            f"{name!r} cannot be loaded: its module fails when it is imported ({told})"
        ) from error


def public_names(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package whose public names are in its stub.

    Each name in the `.pyi` file is imported on first use, so importing the package costs nothing.
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
            return moved_names(package)(name)
        module, original = names[name]
        thing = None if module == package else getattr(importlib.import_module(module), original, None)
        if thing is None:  # the name is a module itself
            thing = importlib.import_module(f"{module}.{original}")
        vars(sys.modules[package])[name] = thing
        return thing

    class Package(ModuleType):
        """Python makes each imported submodule an attribute of its package; it must not shadow a public name."""

        def __setattr__(self, name: str, value: object) -> None:
            if name not in names or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

    sys.modules[package].__class__ = Package
    return get, lambda: [*vars(sys.modules[package]), *names], sorted(names)


class Catalogue(MutableMapping[str, T], Generic[T]):
    """A mapping from short names to things, given directly or by full names that are looked up on first use.

    >>> numbers: Catalogue[float] = Catalogue({"pi": "math:pi"})
    >>> numbers["half"] = 0.5
    >>> list(numbers), numbers["pi"], numbers["half"]
    (['pi', 'half'], 3.141592653589793, 0.5)
    """

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._names: dict[str, str | None] = dict(entries)  # None: already loaded
        self._things: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        full = self._names[name]
        if full is not None and name not in self._things:
            self._things[name] = found(full)  # type: ignore[assignment] # the catalogue's annotation says what its entries are
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
