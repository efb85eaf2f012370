"""Average-reward reinforcement learning in semi-Markov decision processes.

The public names stand in `__init__.pyi`, beside this file, by the module that defines them.
A module is imported when one of its names is first used, so that `import sojourn` and the
command line start at once.
"""

import ast
import importlib
import sys
from pathlib import Path

from sojourn._register import AfterGymnasium

__version__ = "0.1.0"


def _public_names() -> dict[str, str]:
    """Return the module of every name that the stub imports."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.name: statement.module or ""
        for statement in ast.parse(stub).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


_MODULES = _public_names()
__all__ = sorted(_MODULES)  # noqa: PLE0605 - the stub has the list that type checkers read


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    # A name imported from the package itself is one of its modules.
    thing = (
        importlib.import_module(f"sojourn.{name}") if module.__name__ == __name__ else getattr(module, name)
    )
    globals()[name] = thing
    return thing


def _register_with_gymnasium() -> None:
    """Make `gymnasium.make("sojourn/...")` work, whichever of the two packages is imported first."""
    if "gymnasium" in sys.modules:
        importlib.import_module("sojourn.envs")
    else:
        sys.meta_path.insert(0, AfterGymnasium())


_register_with_gymnasium()


def __dir__() -> list[str]:
    return [*globals(), *__all__]
