"""A hash of the source behind a user's name such as `mine:queue`, which changes with every line of it.

It covers the file of the named module, all of the user's files that it imports, directly or not, and the files
with rules for classes that are defined in any of these. It does not cover Python itself or installed packages,
except the package that the name is in.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from sojourn.data.names import found
from sojourn.rules.compile import rules_from_outside
from sojourn.rules.machine_code import PACKAGE

_seen: dict[
    str, tuple[object, str]
] = {}  # by module: which import of it was seen, and the hash of its source


def source_of(name: str) -> str:
    """Return the hash of the source behind a user's name, as it was when this process first asked for it."""
    found(name)
    module = sys.modules[name.partition(":")[0]]
    spec, digest = _seen.get(module.__name__, (None, ""))
    if not digest or spec is not module.__spec__:  # or it was imported again
        digest = _digest(name, module)
        _refuse_if_edited(name, module)
        _seen[module.__name__] = module.__spec__, digest
    return digest


def check_unedited(name: str) -> None:
    """Refuse a name whose source was edited after it was imported: the code that runs is not that in the files."""
    digest = source_of(name)
    module = sys.modules[name.partition(":")[0]]
    if _digest(name, module) != digest:
        raise _edited(name)


def _digest(name: str, module: ModuleType) -> str:
    files = _files(module)
    if not files:
        raise ValueError(
            f"{name!r} is not in a file, so nobody could tell which version of it was run; put it in a file"
        )
    digest = hashlib.sha256()
    for module_name, path in sorted(files.items()):
        digest.update(module_name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _files(first: ModuleType) -> dict[str, Path]:
    """Return the files of a module and of all the user's modules that it reaches, by the names of the modules."""
    top = first.__name__.partition(".")[0]
    files: dict[str, Path] = {}
    waiting = [first.__name__]
    while waiting:
        name = waiting.pop()
        path = None if name in files else _file(name)
        if path is not None and (name.partition(".")[0] == top or not _is_installed(path)):
            files[name] = path
            waiting += _imports(name, path)
            waiting += [rule.__module__ for cls, rule in rules_from_outside() if cls.__module__ == name]
    return files


def _file(name: str) -> Path | None:
    """Return the file of a module, if it has one and is not ours."""
    module = sys.modules.get(name)
    place = getattr(module, "__file__", None)
    if module is None:  # it may be imported later, inside a function
        outer = name.rpartition(".")[0]
        above = _file(outer) if outer else None
        if outer and (above is None or _is_installed(above)):
            return None  # looking inside would import it
        with contextlib.suppress(ImportError, AttributeError, ValueError):
            spec = importlib.util.find_spec(name)
            place = spec.origin if spec is not None and spec.has_location else None
    path = Path(place).resolve() if place else None
    return path if path is not None and path.is_file() and PACKAGE not in path.parents else None


def _is_installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package, which have versions of their own."""
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(Path(sysconfig.get_path(kind)).resolve() in path.parents for kind in ("stdlib", "platstdlib"))


def _imports(name: str, path: Path) -> Iterator[str]:
    """Yield the names of all modules that a module may import, anywhere in it."""
    if path.suffix != ".py":
        return
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[: count + 1]) for count in range(len(parts)))
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _refuse_if_edited(name: str, module: ModuleType) -> None:
    """Refuse a module whose functions are not those of its file, since it was edited after it was imported."""
    path = _file(module.__name__)
    if (
        path is None or type(module.__loader__) is not SourceFileLoader
    ):  # pytest, for one, rewrites what it loads
        return
    written = set(_codes(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
    own = [thing for thing in vars(module).values() if isinstance(thing, FunctionType)]
    if any(Path(one.__code__.co_filename) == path and one.__code__ not in written for one in own):
        raise _edited(name)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _edited(name: str) -> ValueError:
    return ValueError(
        f"the source behind {name!r} was edited after it was imported, and the old one is still in memory; "
        "start a new process"
    )
