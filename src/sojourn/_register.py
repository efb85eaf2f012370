"""Registers Sojourn's environments as soon as Gymnasium is imported, and does not import it before.

Gymnasium has no list of installed packages to ask for environments, and to import it along with
Sojourn would make every command a tenth of a second slower.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any


class AfterGymnasium(MetaPathFinder):
    """Stands in the way of one import, that of Gymnasium, and adds our registration to it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find Gymnasium as Python would, and register when it has been imported."""
        if fullname != "gymnasium":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                if self in sys.meta_path:  # it was found before, perhaps, without being imported
                    sys.meta_path.remove(self)
                execute(module)
                importlib.import_module("sojourn.envs")

            loader.exec_module = execute_and_register
        return spec
