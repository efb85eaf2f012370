"""Average-reward reinforcement learning in semi-Markov decision processes.

The public names stand in `__init__.pyi`, beside this file, by the module that defines them.
A module is imported when one of its names is first used, so that `import sojourn` and the
command line start at once.
"""

import ast
import importlib
from pathlib import Path

__version__ = "0.1.0"


def _public_names() -> dict[str, tuple[str, str]]:
    """Return, for every name that the stub imports, the module it is imported from and its name there."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in ast.parse(stub).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


_MODULES = _public_names()
__all__ = sorted(_MODULES)  # noqa: PLE0605 - the stub has the list that type checkers read


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    module, original = _MODULES[name]
    thing = getattr(importlib.import_module(module), original, None)
    if thing is None:  # the name is a module itself
        thing = importlib.import_module(f"{module}.{original}")
    globals()[name] = thing
    return thing


def __dir__() -> list[str]:
    return [*globals(), *__all__]
