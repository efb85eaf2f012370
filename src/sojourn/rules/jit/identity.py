"""Hashes of what machine code and numbers depend on besides this package: users' rules and users' files.

    fingerprint(classes)       everything that a user's rules reach; names a kernel in the cache
    rules_digest(values)       all source that decides what values do
    source_of("mine:queue")    the source behind a user's name; part of a cell's identity

Nothing here imports Numba.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from sojourn.data.names import found
from sojourn.rules.bridge import PACKAGE, Function
from sojourn.rules.jit.cache import hash_of_files, source_digest
from sojourn.rules.rule import is_from_user, users_rules
from sojourn.rules.values import Field, classes

# --- What determines the numbers -----------------------------------------------------


def rules_digest(values: Iterable[Field], makers: Iterable[Function]) -> str:
    """Return a hash of all source that determines what values do: this package, and the files of users' own rules.

    `makers` are the functions that made the values. The versions of Python, NumPy and Numba are not part of it,
    because the numbers do not depend on them; `rules/elementary.py` and the tests of equal numbers see to that.
    """
    users = {function for cls in classes(tuple(values)) for function in users_rules().get(cls, ())}
    users |= {make for make in map(inspect.unwrap, makers) if is_from_user(make)}
    return "-".join([source_digest(), *sorted({_file_digest(function) for function in users})])


@functools.cache
def _file_digest(function: Function) -> str:
    """Return a hash of the file that defines a function, or of the function if there is no file."""
    file = Path(function.__code__.co_filename)
    source = file.read_bytes() if file.is_file() else function.__code__.co_code
    return hashlib.sha256(source).hexdigest()[:16]


# --- What a user's rules reach: machine code on disk was made from the same ------------------
#
# Compiled code depends on more than the text of a function: the functions that it calls, the constants that it reads from its
# module, closures and defaults, the types that it creates. The fingerprint is a hash of all of that. If something
# in it cannot be hashed by its content, there is no fingerprint, and the machine code is not cached. Compiling
# again costs a second or two, but stale machine code would silently give wrong numbers.

Thing: TypeAlias = Any  # anything that a function can refer to

_PARSES = 10  # of one file, until an error counts

# The contents of these packages are identified by name and version.
_KNOWN = frozenset({"builtins", "cmath", "math", "numba", "numpy", "operator", "sojourn"})
_LARGEST = 1_000_000  # the largest array, in bytes, that is compiled in as a constant


def fingerprint(classes: Iterable[type], rules: Mapping[type, Sequence[Function]]) -> str | None:
    """Return a hash of everything that compiled code for these classes depends on, or None if there can be none.

    `rules` are the functions from outside this package, by the class that they are registered for.
    """
    reader = _Fingerprint(rules)
    try:
        for cls in sorted(classes, key=lambda cls: (cls.__module__, cls.__qualname__)):
            reader.read(cls)
    except NotImplementedError:
        return None
    return reader.digest()


class _Fingerprint:
    """Hashes everything reachable from a function, each object once."""

    def __init__(self, rules: Mapping[type, Sequence[Function]]) -> None:
        self._rules = rules
        self._hash = hashlib.sha256(_versions().encode())
        self._seen: dict[int, Thing] = {}  # by id; objects are kept alive, so that no other gets the same id

    def digest(self) -> str:
        return self._hash.hexdigest()[:16]

    def read(self, thing: Thing) -> None:
        """Add an object, and everything that it refers to."""
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
            raise NotImplementedError(f"a {type(thing).__name__} has no fingerprint")

    def _read_class(self, cls: type) -> None:
        self._add(f"{cls.__module__}.{cls.__qualname__}")
        if not _is_known(cls):
            if not (issubclass(cls, tuple) and hasattr(cls, "_fields")) or not _can_be_found(cls):
                raise NotImplementedError(f"{cls.__name__} has no fingerprint")
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
        self._add(" ".join(missing))  # attributes, or globals that are not defined yet
        for thing in reached:
            self._read_reached(thing, names)

    def _read_reached(self, thing: Thing, names: Sequence[str]) -> None:
        """Add what a name refers to; for a module, everything in it that the function's names may refer to."""
        if not isinstance(thing, ModuleType):
            self.read(thing)
        elif id(thing) not in self._seen:
            self._seen[id(thing)] = thing
            self._add(thing.__name__)
            for name in sorted(set(names) & set(dir(thing))):  # looking up a moved name would warn
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
    """Return all names of globals and attributes that a function uses, including in nested functions."""
    inside = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return sorted({*code.co_names, *inside})


def _is_known(thing: Thing) -> bool:
    """Whether an object is identified by its name, because its package's version is part of every fingerprint."""
    module = getattr(thing, "__module__", None)
    if isinstance(thing, BuiltinFunctionType | np.ufunc):
        return (module or "numpy").partition(".")[0] in _KNOWN
    return isinstance(module, str) and module.partition(".")[0] in _KNOWN and hasattr(thing, "__name__")


def _can_be_found(cls: type) -> bool:
    """Whether another process can import this class by name, which Numba's index of machine code requires."""
    try:
        found = functools.reduce(getattr, cls.__qualname__.split("."), sys.modules[cls.__module__])
    except (AttributeError, KeyError):
        return False
    return found is cls  # type: ignore[comparison-overlap] # it is this class, if all is well


@functools.cache
def _versions() -> str:
    """Return the versions that machine code depends on; this package's own is in the name of the cache folder."""
    return f"{sys.version} {np.__version__} {importlib.metadata.version('numba')}"


# --- The source behind a user's name such as `mine:queue` -------------------------------------
#
# It covers the file of the named module, all of the user's files that it imports, directly or indirectly, and the files with rules for
# classes defined in any of these. It does not cover Python itself or installed packages, except the package that
# the name is in.

# By module: the module object that was hashed, and the hash of its source.
_seen: dict[str, tuple[object, str]] = {}


def source_of(name: str) -> str:
    """Return the hash of the source behind a user's name, as it was when this process first asked for it."""
    found(name)
    module = sys.modules[name.partition(":")[0]]
    spec, digest = _seen.get(module.__name__, (None, ""))
    if not digest or spec is not module.__spec__:  # or the module was reloaded
        digest = _users_digest(name, module)
        _refuse_if_edited(name, module)
        _seen[module.__name__] = module.__spec__, digest
    return digest


def check_unedited(name: str) -> None:
    """Refuse a name whose source was edited after it was imported: the running code is not what the files say."""
    digest = source_of(name)
    module = sys.modules[name.partition(":")[0]]
    if _users_digest(name, module) != digest:
        raise _edited(name)


def _users_digest(name: str, module: ModuleType) -> str:
    files = _files(module)
    if not files:
        raise ValueError(
            f"{name!r} is not in a file, so nobody could tell which version of it was run; put it in a file"
        )
    return hash_of_files(files)


def _files(first: ModuleType) -> dict[str, Path]:
    """Return the files of a module and of all the user's modules reachable from it, by module name."""
    top = first.__name__.partition(".")[0]
    files: dict[str, Path] = {}
    waiting = [first.__name__]
    while waiting:
        name = waiting.pop()
        path = None if name in files else _file(name)
        if path is not None and (name.partition(".")[0] == top or not _is_installed(path)):
            files[name] = path
            waiting += _imports(name, path)
            rules = [
                rule for cls, some in list(users_rules().items()) if cls.__module__ == name for rule in some
            ]
            waiting += [rule.__module__ for rule in rules]
    return files


def _file(name: str) -> Path | None:
    """Return the file of a module, unless it has none or is ours."""
    module = sys.modules.get(name)
    place = getattr(module, "__file__", None)
    if module is None:  # it may be imported later, inside a function
        outer = name.rpartition(".")[0]
        above = _file(outer) if outer else None
        if outer and (above is None or _is_installed(above)):
            return None  # accessing its attributes would import it
        with contextlib.suppress(ImportError, AttributeError, ValueError):
            spec = importlib.util.find_spec(name)
            place = spec.origin if spec is not None and spec.has_location else None
    path = Path(place).resolve() if place else None
    return path if path is not None and path.is_file() and PACKAGE not in path.parents else None


def _is_installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package, which have their own versions."""
    if {"site-packages", "dist-packages"} & set(path.parts):
        return True
    return any(Path(sysconfig.get_path(kind)).resolve() in path.parents for kind in ("stdlib", "platstdlib"))


def _imports(name: str, path: Path) -> Iterator[str]:
    """Yield the names of all modules that a module may import, anywhere in it."""
    if path.suffix != ".py":
        return
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[: count + 1]) for count in range(len(parts)))
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _parsed(path: Path) -> ast.AST:
    """Parse a file; in Python 3.11 this now and then fails while other threads parse, too (python/cpython#106905)."""
    for _ in range(_PARSES):
        with contextlib.suppress(SystemError):
            return ast.parse(path.read_bytes())
    return ast.parse(path.read_bytes())


def _refuse_if_edited(name: str, module: ModuleType) -> None:
    """Refuse a module whose functions differ from those in its file, because it was edited after it was imported."""
    path = _file(module.__name__)
    if path is None or type(module.__loader__) is not SourceFileLoader:
        return  # pytest, for one, rewrites the modules that it loads
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
