"""Rules and kernels: everything that Numba compiles goes through here.

A *rule* is a function of one transition, written once for each type of value and looked up
by the type of its first argument. A *kernel* is a loop that calls rules. Both are plain
Python: a rule, or `kernel.python`, runs interpreted, line by line, in any debugger. A kernel
that is called runs compiled instead: where Numba meets a rule in the kernel's source, it asks the
bridge (`sojourn.rules.bridge`) for the function registered for that type, and inlines it.

Numba is imported only when the first kernel is called, so `import sojourn` is cheap.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from sojourn.rules.bridge import Connect, Function, bridge, explainers, is_plain, open_bridge
from sojourn.rules.fingerprint import fingerprint
from sojourn.rules.machine_code import (
    can_be_kept,
    copy_for,
    found_again,
    garbage_left,
    is_on_disk,
    is_ours,
    kept_on_disk,
    name_on_disk,
    open_folder,
    remove_oldest,
    source_digest,
    told_if_long,
    warn_once,
)
from sojourn.rules.values import Field, classes

Numba: TypeAlias = Any  # its types and dispatchers: Numba ships no types

Signature: TypeAlias = tuple[Numba, ...]  # the types of all arguments
Check: TypeAlias = Callable[..., tuple[Field, ...]]

F = TypeVar("F", bound=Function)
G = TypeVar("G", bound=Function)

_USE = "kernel"  # the name on disk for machine code that can be run by itself

_lock = threading.Lock()
_foreign: dict[type, list[Function]] = {}  # rules from outside this package, by the type that they are for
_compiled: set[type] = set()  # types that some kernel has been called with


class Rule(Generic[F]):
    """A function with a definition for each type of its first argument.

    Calling a rule checks the arguments first. `bare` is the same without checks, for use
    inside other rules, where the arguments have been checked already. In compiled code
    there is no difference between the two.
    """

    bare: F

    def __init__(self, generic: F, check: Check, compiled: bool, fallback: bool) -> None:
        self._generic = generic
        self._fallback = generic if fallback else None
        self._check = check
        self._is_compiled = compiled
        self._registered: dict[type, Function] = {}
        self._arity = len(inspect.signature(generic).parameters)
        functools.update_wrapper(self, generic)
        self.name: str = generic.__name__
        registered = self._registered

        def bare(value: Field, *args: Field) -> Field:
            return registered.get(type(value), generic)(value, *args)

        bare.__qualname__ = f"{generic.__qualname__}.bare"  # by which a fingerprint knows it
        bare.__module__ = generic.__module__
        self.bare = bare  # type: ignore[assignment]
        bridge(self, self._resolve)
        bridge(bare, self._resolve)

    if TYPE_CHECKING:
        __call__: F
    else:

        def __call__(self, value: Field, *args: Field, **kwargs: Field) -> Field:
            """Check the arguments, and call the function for the value's type."""
            function = self._registered.get(type(value), self._generic)
            try:
                if function is self._generic:
                    return function(value, *args, **kwargs)
                return function(*self._check(value, *args, **kwargs))
            except Exception as error:
                for explain in explainers:
                    explain(self._generic, (value, *args), kwargs, error, is_formula=True)
                raise

    @overload
    def register(self, function: type) -> Callable[[G], G]: ...
    @overload
    def register(self, function: G) -> G: ...
    def register(self, function: Function) -> Function:
        """Register a function for the type of its first argument.

        Use it as `@rule.register`, which reads the annotation of the first argument, or as
        `@rule.register(Type)`.
        """
        if isinstance(function, type):
            return functools.partial(self._register, function)
        first = next(iter(inspect.signature(function, eval_str=True).parameters.values()), None)
        if first is None or not isinstance(first.annotation, type) or first.annotation is first.empty:
            raise TypeError(
                f"{function.__name__} does not say which class it is for; annotate its first argument "
                f"with a class, or use @{self.name}.register(Class)"
            )
        return self._register(first.annotation, function)

    def _register(self, cls: type, function: G) -> G:
        name = self.name
        if not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            raise TypeError(f"{cls.__name__} is not a NamedTuple, so {name} cannot be registered for it")
        arity = len(inspect.signature(function).parameters)
        if arity != self._arity:
            raise TypeError(
                f"{function.__name__} takes {arity} arguments, but {name} is called with {self._arity}: "
                f"{', '.join(inspect.signature(self._generic).parameters)}"
            )
        if self._is_compiled and cls in _compiled:
            raise TypeError(
                f"{cls.__name__} has been compiled already, so its {name} can no longer change; "
                "define the class again, or start a new process"
            )
        if _is_foreign(function):
            _foreign.setdefault(cls, []).append(function)
        self._registered[cls] = function
        return function

    def knows(self, cls: type) -> bool:
        """Whether a function is registered for `cls`."""
        return cls in self._registered

    @property
    def types(self) -> list[type]:
        """The classes that a function is registered for."""
        return list(self._registered)

    def _resolve(self, value: Numba, *_: Numba) -> Function | None:
        return self._registered.get(getattr(value, "instance_class", None), self._fallback)  # type: ignore[arg-type]


def rule(
    check: Check | None = None, *, compiled: bool = True, fallback: bool = False
) -> Callable[[F], Rule[F]]:
    """Turn a function into a rule; its body is what happens for types that no function is registered for.

    With `fallback` the body does something useful, in compiled code too; otherwise it raises an error.

    `check` gets the arguments of every call from outside and returns them, cleaned; rules that
    only other rules call need none. A rule that no kernel ever calls has `compiled=False`; it can be registered
    for a type at any time.
    """
    return lambda generic: Rule(generic, check or _as_they_are, compiled, fallback)


def _as_they_are(*arguments: Field) -> tuple[Field, ...]:
    return arguments


def no_rule(name: str, value: Field) -> TypeError:
    """Return the error for a value whose type has no such rule."""
    return TypeError(
        f"there is no {name} rule for {type(value).__name__}: pass one of Sojourn's own values, "
        f"or register yours with @sojourn.{name}.register"
    )


def first_meeting(*values: Field) -> bool:
    """Whether these values have a user's own rules that no kernel has met yet."""
    types = set(classes(values))
    return not types.isdisjoint(_foreign) and not types <= _compiled


def is_ours_alone(types: Iterable[type]) -> bool:
    """Whether no user has registered a rule for any of these classes."""
    return _foreign.keys().isdisjoint(types)


class Kernel(Generic[F]):
    """A loop over rules: `kernel(...)` runs it compiled, `kernel.python(...)` interpreted."""

    def __init__(self, python: F) -> None:
        self.python = python
        self._dispatchers: dict[Signature, Numba] = {}
        functools.update_wrapper(self, python)

    if TYPE_CHECKING:
        __call__: F
    else:

        def __call__(self, *args: Field) -> Field:
            """Run the loop, compiled for arguments of these types."""
            return self._dispatcher(args)(*args)

    def prepared(self, *args: Field) -> F:
        """Return the compiled function for arguments like these, without running it.

        This is for kernels so short that looking up the types in every call would cost more
        than the work. It may be called only with arguments of exactly these types.
        """
        # The machine code itself: Numba's dispatcher would look at the types of all arguments in
        # every call, which takes three times as long as the call.
        dispatcher: Numba = self._dispatcher(args)
        if is_plain("entry"):
            return dispatcher  # type: ignore[no-any-return]
        (entry,) = (found.entry_point for found in dispatcher.overloads.values())
        function: F = entry
        return function

    def is_at_hand(self, *args: Field) -> bool:
        """Whether the function for arguments like these has been compiled already, or is on disk."""
        if not self._dispatchers and not is_on_disk(self.python):
            return False  # known without the compiler, which takes a while to import
        signature = _signature(args)
        return signature in self._dispatchers or is_on_disk(copy_for(self.python, signature, _USE))

    def _dispatcher(self, args: tuple[Field, ...]) -> Numba:
        """Return a dispatcher for the types of these arguments alone, compiled."""
        signature = _signature(args)
        return self._dispatchers.get(signature) or self._compile(signature, set(classes(args)))

    def _compile(self, signature: Signature, types: set[type]) -> Numba:
        import numba

        _compiled.update(types)
        options: Numba = {"nogil": True, "error_model": "numpy"}
        if not is_plain("entry"):
            options["no_cfunc_wrapper"] = True
        with _lock, garbage_left(), told_if_long(), kept_on_disk():
            open_bridge(_connect())
            known = "" if types.isdisjoint(_foreign) else fingerprint(types, _foreign)
            use = f"{_USE}-of-users-{known}" if known else _USE
            jit: Numba = numba.njit(**options)(copy_for(self.python, signature, use))
            if known is not None:
                _keep(jit, users=bool(known))
            try:
                with found_again(types):
                    jit.compile(signature)
            except Exception as error:
                if not type(error).__module__.startswith("numba."):
                    raise
                raise _cannot_compile(types, error) from None
            return self._dispatchers.setdefault(signature, jit)


def _signature(args: tuple[Field, ...]) -> Signature:
    from numba import typeof as numba_typeof

    typeof: Numba = numba_typeof
    return tuple(typeof(argument) for argument in args)


def kernel(function: F) -> Kernel[F]:
    """Turn a function into a kernel."""
    return Kernel(function)


def _cannot_compile(types: set[type], error: Exception) -> TypeError:
    names = ", ".join(sorted(cls.__name__ for cls in types & _foreign.keys())) or "these values"
    return TypeError(
        f"the rules for {names} cannot be compiled: {_reason(error)} (with compiled=False they run in Python)"
    )


def _reason(error: Exception) -> str:
    """Return the innermost sentence of a Numba error, which says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    layers = [index for index, line in enumerate(lines) if "mode pipeline (step:" in line]
    innermost = lines[layers[-1] + 1 :] if layers else lines
    return innermost[0].rstrip(".") if innermost else type(error).__name__


def _connect() -> Connect:
    """Return what makes functions callable from kernels: as parts of them, or else as Numba's public interface does it."""
    if is_plain("parts"):
        return _overload
    from sojourn.rules.parts import connect

    return functools.partial(connect, _kept_part, _keep)


def _overload(callee: Function, resolve: Function, inline: bool) -> None:
    from numba import extending

    options: Numba = {"forceinline": inline, "error_model": "numpy"}
    overloaded: Numba = extending.overload(callee, jit_options=options, strict=False)
    overloaded(resolve)


def _kept_part(function: Function, signature: Signature) -> Function | None:
    """Return a part under its name on disk, or None if it is not ours alone.

    With the parts on disk, a new agent or world compiles in half the time.
    """
    kept = can_be_kept(function, signature) and not is_plain("files")
    return copy_for(function, signature, "part") if kept else None


def _keep(jit: Numba, users: bool = False) -> None:
    """Let Numba keep the machine code of a function of ours, if there is a folder; with users' rules, only the newest is kept."""
    folder, function = open_folder(), jit.py_func
    if folder is None or not is_ours(function) or is_plain("files"):
        return
    from sojourn.rules.code_files import CodeFile

    jit._cache = CodeFile(function, lambda key: folder / name_on_disk(function, key), warn_once)  # noqa: SLF001 - Numba has no other way
    if users:
        remove_oldest(folder)


# --- What decides numbers ------------------------------------------------------------


def rules_digest(values: Iterable[Field], makers: Iterable[Function]) -> str:
    """Return a hash of all source that decides what values do: this package, and the files of users' own rules.

    `makers` are the functions that made the values. The versions of Python, NumPy and Numba are not part of it: the
    numbers that rules give do not depend on them, which `rules/elementary.py` and the tests of equal numbers ensure.
    """
    foreign = {function for cls in classes(tuple(values)) for function in _foreign.get(cls, ())}
    foreign |= {make for make in map(inspect.unwrap, makers) if _is_foreign(make)}
    return "-".join([source_digest(), *sorted({_file_digest(function) for function in foreign})])


def rules_from_outside() -> Iterator[tuple[type, Function]]:
    """Yield all rules that users have registered, with the class that each is for."""
    for cls, functions in list(_foreign.items()):
        yield from ((cls, function) for function in functions)


def _is_foreign(function: Function) -> bool:
    """Whether a function is from outside this package; anything but a plain function counts as ours."""
    return hasattr(function, "__code__") and not is_ours(function)


@functools.cache
def _file_digest(function: Function) -> str:
    """Return a hash of the file that a function is from, or of the function if there is no file."""
    file = Path(function.__code__.co_filename)
    source = file.read_bytes() if file.is_file() else function.__code__.co_code
    return hashlib.sha256(source).hexdigest()[:16]
