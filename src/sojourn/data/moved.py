"""Old names: modules and names that have moved since version 0.2 keep working until 1.0; each warns once.

`moved.toml`, next to this file, says what has moved where.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.machinery
import sys
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


def moved_names(module: str) -> Callable[[str], object]:
    """Return a module's `__getattr__`, which resolves names that the module once held.

    >>> moved_names("sojourn")("no_such_name")
    Traceback (most recent call last):
    AttributeError: module 'sojourn' has no attribute 'no_such_name'
    """

    def get(name: str) -> object:
        place, _, new = _table()["names"].get(f"{module}:{name}", "").partition(":")
        if not new:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name} is now {place}.{new}")
        thing = getattr(importlib.import_module(place), new)
        setattr(sys.modules[module], name, thing)
        return thing

    return get


class MovedModules:
    """Finds modules of this package under their old names; Python asks it last.

    It is a finder and a loader, but does not inherit from `importlib.abc`, which takes as long to import as all the rest.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec if this is a module's old name."""
        if not fullname.startswith("sojourn.") or fullname not in _table()["modules"]:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type] # see above

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Let Python make the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Make the module resolve its names in the modules that hold them now."""
        old, places = module.__name__, _table()["modules"][module.__name__]

        def get(name: str) -> object:
            if f"{old}:{name}" in _table()["names"]:
                return moved_names(old)(name)
            for place in places:
                with contextlib.suppress(AttributeError):
                    return getattr(importlib.import_module(place), name)
            raise AttributeError(f"module {old!r} has no attribute {name!r}")

        module.__getattr__ = get  # type: ignore[method-assign]
        _warn(f"{old} has moved to {' and '.join(places) or 'other modules'}")


@functools.cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    """Return the removed modules, each with its successors, and the names that were moved or renamed."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _warn(what: str) -> None:
    warnings.warn(f"{what}; the old name works until 1.0", DeprecationWarning, stacklevel=3)
