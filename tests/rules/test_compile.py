from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.rules import bridge
from sojourn.rules import rule as _rule
from sojourn.rules.jit import cache, compiler, identity
from sojourn.rules.kernel import kernel
from sojourn.rules.values import canonical, put, same, stacked, take


class Unwritten(NamedTuple):
    x: float = 0.0


def test_one_function_is_registered_for_several_types() -> None:
    """`register(A, B)` registers the function for both types; each must be a NamedTuple."""

    class One(NamedTuple):
        x: float

    class Other(NamedTuple):
        x: float

    @_doubled.register(One, Other)
    def twice(value: One | Other) -> float:
        return 2.0 * value.x

    assert _doubled(One(1.5)) == _doubled(Other(1.5)) == 3.0
    with pytest.raises(TypeError, match="int is not a NamedTuple, so _doubled cannot be registered for it"):
        _doubled.register(One, int)(twice)


def test_registering_asks_for_a_type() -> None:
    """A rule without an annotation, for something other than a NamedTuple, or with the wrong arguments is refused at once."""
    with pytest.raises(TypeError, match="annotate its first argument"):

        @sj.update.register
        def nothing(rate, reward, duration):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
            return rate

    with pytest.raises(TypeError, match="int is not a NamedTuple"):

        @sj.value.register
        def number(rate: int) -> float:
            return rate

    with pytest.raises(TypeError, match="takes 1 arguments, but update is called with 3: rate"):

        @sj.update.register(Unwritten)
        def short(rate: Any) -> Any:
            return rate


def test_a_compiled_type_cannot_change_its_rule() -> None:
    """Registering a rule again after compilation would leave the old machine code in use, so it is refused."""
    sj.run(sj.worlds.TwoState(log_scale=1e-3), sj.smart(2, 2), steps=10)
    with pytest.raises(TypeError, match="Cumulative has been compiled already"):

        @sj.value.register
        def other(rate: sj.Cumulative) -> float:
            return 0.0


def test_a_rule_made_after_compilation_may_be_registered() -> None:
    """No machine code calls it yet; once a kernel has been compiled for the type since, this rule cannot change either."""
    _rule.mark_compiled([Unwritten])

    @_rule.rule()
    def later(value: Any) -> Any:
        raise NotImplementedError

    @later.register
    def doubled(value: Unwritten) -> float:
        return 2.0 * value.x

    assert later(Unwritten(2.0)) == 4.0
    _rule.mark_compiled([Unwritten])
    with pytest.raises(TypeError, match="so its later can no longer change"):
        later.register(doubled)


def test_all_of_sojourn_can_be_imported_after_compilation() -> None:
    """Modules are imported when they are needed, also after a run has compiled rules for classes that they know."""
    code = (
        "import importlib, pkgutil, sojourn as sj\n"
        "from sojourn.rules import rule as rules\n"
        "agent = sj.smart(1, 2)\n"
        "sj.run(sj.worlds.Tabular(sj.problems.long_shot()), agent, steps=10)\n"
        "rules.mark_compiled(rules.classes([agent]))\n"
        "for one in pkgutil.walk_packages(sj.__path__, 'sojourn.'): importlib.import_module(one.name)\n"
        "print(sj.Learner.__name__)\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "Learner\n"
    )


class Introspective(NamedTuple):
    """A world whose step cannot be compiled."""

    num_states: int = 1
    num_actions: int = 1


@sj.start.register
def start_introspective(world: Introspective, rng: Any) -> tuple[Introspective, int]:
    return world, 0


@sj.step.register
def step_introspective(
    world: Introspective, state: int, action: int, rng: Any
) -> tuple[Introspective, int, float, float]:
    return world, 0, float(len(vars(state))) if hasattr(state, "__dict__") else 1.0, 1.0


class Text(NamedTuple):
    name: str = "x"
    num_states: int = 1
    num_actions: int = 1


@sj.start.register
def start_text(world: Text, rng: Any) -> tuple[Text, int]:
    return world, 0


@sj.step.register
def step_text(world: Text, state: int, action: int, rng: Any) -> tuple[Text, int, float, float]:
    return world, 0, 1.0, 1.0


def test_what_cannot_be_compiled_gets_one_sentence() -> None:
    """Instead of a Numba traceback, one sentence says what cannot be compiled, and that Python can still run it."""
    agent = sj.smart(1, 1)
    with pytest.raises(TypeError, match="the rules for Introspective cannot be compiled") as caught:
        sj.run(Introspective(), agent, steps=10)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert sj.run(Introspective(), agent, steps=10, compiled=False).reward == 10.0
    with pytest.raises(TypeError, match=r"Text\.name is 'x'; a value holds only numbers"):
        sj.run(Text(), agent, steps=10)


class Slip(NamedTuple):
    """A world whose rules make one mistake, chosen by `kind`."""

    kind: int
    level: float = 0.0
    num_states: int = 1
    num_actions: int = 1


@sj.start.register
def start_slip(world: Slip, rng: Any) -> Any:
    return 0 if world.kind == 0 else (world, 0)


@sj.step.register
def step_slip(world: Slip, state: int, action: int, rng: Any) -> Any:
    if world.kind == 1:
        return world, 0, 1.0
    if world.kind == 2:
        return world, 0, "much", 1.0
    if world.kind == 3:
        return Slip(world.kind, 1, world.num_states, world.num_actions), 0, 1.0, 1.0
    if world.kind == 4:
        return world, 0.0, 1.0, 1.0
    return world.level, 0, 1.0, 1.0


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (0, r"start of Slip returned 0; it must return \(world, state\)"),
        (1, r"it must return \(world, next_state, reward, duration\)"),
        (2, "step of Slip returned 'much' as the reward; it must be a number"),
        (3, "step of Slip returned level=1, an int, where level was a float"),
        (4, "step of Slip returned 0.0 as the next_state; it must be a whole number"),
        (5, "step of Slip returned 0.0; it must return a new Slip"),
    ],
)
def test_mistakes_in_a_users_rules_are_named(kind: int, message: str) -> None:
    """Mistakes are found by interpreted steps before compilation, and the error names the rule and the field."""
    with pytest.raises(TypeError, match=message):
        sj.run(Slip(kind), sj.smart(1, 1), steps=10)


def test_importing_needs_no_numba() -> None:
    """Importing the package does not import Numba; calling a kernel does."""
    code = "import sys, sojourn; assert 'numba' not in sys.modules; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


CHILD = """
import sys
import threading
from pathlib import Path
import sojourn as sj
from sojourn.rules.jit import cache
sj.agents.policy(sj.smart(2, 2))  # the kernel that takes least time to compile
from sojourn.agents import protocol
(jit,) = protocol._policy._dispatchers.values()
print(sum(jit.stats.cache_hits.values()), sum(jit.stats.cache_misses.values()), cache.cache_folder().name)
"""


def child(cache: Path, package: Path | None = None) -> list[str]:
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(cache)}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    out = subprocess.run(
        [sys.executable, "-c", CHILD], check=True, capture_output=True, text=True, env=environment
    )
    return out.stdout.split()


def test_machine_code_is_cached_for_exactly_this_source(tmp_path: Path) -> None:
    """A second process compiles nothing; editing a rule, in any file, causes a new compilation."""
    import shutil

    package = tmp_path / "copy"
    shutil.copytree(
        Path(sj.__file__).parent, package / "sojourn", ignore=shutil.ignore_patterns("__pycache__")
    )
    cold = child(tmp_path / "cache", package)
    warm = child(tmp_path / "cache", package)
    assert (cold[0], warm[:2]) == ("0", ["1", "0"])
    rates = package / "sojourn" / "rates" / "ratio.py"
    rates.write_text(rates.read_text() + "\n# edited\n")
    edited = child(tmp_path / "cache", package)
    assert edited[0] == "0"
    assert edited[2] != warm[2] == cold[2]


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    """Without a writable cache the command compiles and runs, and one warning says what to do."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = "import sojourn as sj; print(sj.agents.policy(sj.smart(10, 2)).size)"
    out = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "SOJOURN_CACHE_DIR": str(blocked / "cache")},
    )
    assert out.stdout.strip() == "10"
    assert out.stderr.count("Warning: machine code cannot be kept") == out.stderr.count("Warning") == 1


def test_the_cache_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new cache folder is private; one that other users own or can write to is refused, with advice."""
    root = tmp_path / "cache"
    monkeypatch.setenv("SOJOURN_CACHE_DIR", str(root))
    folder = cache.cache_folder.__wrapped__()
    assert [place.stat().st_mode & 0o777 for place in (root, folder)] == [0o700, 0o700]
    for place, mode, refused in (
        (folder, 0o770, True),
        (folder, 0o702, True),
        (folder, 0o755, False),
        (root, 0o777, True),
        (root, 0o1777, False),  # as /tmp is
        (root, 0o755, False),
    ):
        place.chmod(mode)
        if refused:
            with pytest.raises(cache.SharedFolderError, match="by others, so machine code is not cached"):
                cache.cache_folder.__wrapped__()
            place.chmod(0o700)
        else:
            assert cache.cache_folder.__wrapped__() == folder
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(cache.SharedFolderError, match="belongs to another user"):
        cache.cache_folder.__wrapped__()
    elsewhere = root.rename(tmp_path / "elsewhere") / folder.name
    root.mkdir()
    folder.symlink_to(elsewhere)
    with pytest.raises(cache.SharedFolderError, match="belongs to another user"):
        cache.cache_folder.__wrapped__()


def test_a_shared_cache_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that others may have planted are not unpickled: the kernel is compiled without a cache, and a warning says so."""
    place = tmp_path / "cache"
    place.mkdir()
    place.chmod(0o777)
    monkeypatch.setenv("SOJOURN_CACHE_DIR", str(place))
    monkeypatch.setattr(cache, "cache_folder", cache.cache_folder.__wrapped__)
    monkeypatch.setattr(cache, "_warned", threading.Event())

    class Jit:
        py_func, _cache = cache.cache_folder, None

    def compile_it() -> bool:
        with cache.kept_on_disk():
            cache.keep(Jit)
            return cache.can_be_kept(cache.cache_folder, ())

    with pytest.warns(RuntimeWarning, match=f"^{place} can be written to by others.*SOJOURN_CACHE_DIR"):
        assert not compile_it()
    assert Jit._cache is None
    assert not list(place.iterdir())
    place.chmod(0o700)
    assert compile_it()
    assert Jit._cache is not None


def numba_typeof() -> Any:
    from numba import typeof

    return typeof


def test_only_our_own_parts_are_cached() -> None:
    """Parts that contain a user's rule or type, however deep, are never cached."""
    from rates.test_rates import Last

    typeof = numba_typeof()
    ours = sj.smart(1, 1)
    theirs = ours._replace(rate=Last())
    part = sj.learn._registered[type(ours)]
    with cache.kept_on_disk():
        assert cache.can_be_kept(part, (typeof(ours), typeof(0)))
        assert not cache.can_be_kept(part, (typeof(theirs), typeof(0)))
        assert not cache.can_be_kept(part, (typeof(ours), typeof(Introspective())))
        assert not cache.can_be_kept(step_introspective, (typeof(0),))
    assert not cache.can_be_kept(part, (typeof(ours), typeof(0)))  # nothing needs compiling


def test_each_signature_has_its_own_file() -> None:
    """Two processes that compile one function for different types concurrently write to different files."""
    typeof = numba_typeof()
    part = sj.learn._registered[type(sj.smart(1, 1))]
    agents = (sj.smart(1, 1), sj.harmonic_r(1, 1), sj.smart(1, 1, step_size=sj.rates.Visits(1.0, 0.7)))
    names = [cache.named_copy(part, (typeof(agent),), "part").__qualname__ for agent in agents]
    names.append(cache.named_copy(part, (typeof(agents[0]),), "kernel").__qualname__)
    assert len(set(names)) == 4
    assert names[0] == cache.named_copy(part, (typeof(sj.smart(2, 3)),), "part").__qualname__


def test_a_loop_serves_as_a_kernel_and_as_a_part(tmp_path: Path) -> None:
    """The same loop works as a kernel and as a part: a run after a batch, and a batch after a run, both cached."""
    code = "import sojourn as sj; w = sj.worlds.TwoState(log_scale=1e-3)\n"
    one, many = (
        "sj.run(w, sj.agents.random_agent(2, 2), steps=10)\n",
        "sj.run_many(w, sj.agents.random_agent(2, 2), steps=10, seeds=range(2))\n",
    )
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path / "cache")}
    for order in (many + one, one + many):
        subprocess.run([sys.executable, "-c", code + order], check=True, env=environment)


def test_other_rules_have_another_hash(tmp_path: Path) -> None:
    """A user's rule is identified by its file's name and content."""
    from rates.test_rates import Last

    ours = identity.rules_digest((sj.Harmonic(0.1),), ())
    assert ours == cache.source_digest()
    theirs = identity.rules_digest((sj.Harmonic(0.1), Last()), ())
    assert theirs.startswith(ours)
    assert theirs != ours
    made: list[str] = []
    for text in ("def make(): return 1", "def make(): return 2", "def make(): return 1"):
        file = tmp_path / f"{len(made)}.py"
        file.write_text(text)
        namespace: dict[str, Any] = {}
        exec(compile(text, str(file), "exec"), namespace)  # noqa: S102 - as an import does
        made.append(identity.rules_digest((), [namespace["make"]]))
    assert made[0] == made[2] != made[1]


def test_users_types_are_recognised() -> None:
    """A type with rules outside the package counts as a user's, whose machine code is cached under its fingerprint."""
    from rates.test_rates import Last

    assert Last in _rule._users
    assert sj.Harmonic not in _rule._users


def test_the_cache_folder_depends_on_all_compiled_source() -> None:
    """The cache folder's name is a hash of every file with a function that kernels can call, and not of the commands."""
    import pkgutil
    from importlib import import_module

    import sojourn

    for module in pkgutil.walk_packages(sojourn.__path__, "sojourn."):
        import_module(module.name)
    called = {inspect.unwrap(getattr(callee, "_generic", callee)) for callee, _, _ in bridge._listed}
    rules = [callee for callee, _, _ in bridge._listed if isinstance(callee, _rule.Rule)]
    called |= {function for one in rules for function in one._registered.values()}
    files = {Path(function.__code__.co_filename).resolve() for function in called}
    ours = {file for file in files if bridge.PACKAGE in file.parents}
    known = cache.compiled_files()
    assert len(ours) > 20
    assert ours <= known
    assert bridge.PACKAGE / "data" / "numbers.py" in known, "imported by rules"
    assert not any(path.parent.name == "cli" for path in known)


def test_a_slow_compile_prints_one_notice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a prompt, a slow compile prints one notice; a quick one, or one whose output goes to a log, prints none."""
    import time

    told = threading.Event()
    monkeypatch.setattr(compiler, "_noticed", told)
    with compiler.notice_if_slow(0.01):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""  # not a terminal
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with compiler.notice_if_slow(30.0):
        pass
    assert not told.is_set()
    for _ in range(2):
        with compiler.notice_if_slow(0.001):
            assert told.wait(30.0)
            time.sleep(0.01)
    assert capsys.readouterr().err.count("sojourn: compiling") == 1


@_rule.rule()
def _doubled(value: Any) -> float:
    raise _rule.no_rule("doubled", value)


_doubled_bare = _doubled.bare


@bridge.inlined
def _inlined(value: Any) -> float:
    return _doubled_bare(value)


@bridge.compiled_apart
def _apart(value: Any) -> float:
    return _doubled_bare(value) + _inlined(value)


@kernel
def _sixfold(value: Any) -> float:
    return _doubled_bare(value) + _apart(value)


def test_a_part_is_compiled_once_whoever_calls_it() -> None:
    """A rule called by kernels, inlined functions and others is compiled once, without machine code of its own."""
    from numba.core import event

    class Local(NamedTuple):  # local, so that nothing is found on disk
        x: float

    def doubled(value: Local) -> float:
        return 2.0 * value.x

    _doubled.register(Local)(doubled)
    names: list[str] = []

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            names.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        assert _sixfold(Local(1.5)) == 9.0
    assert sorted(names) == ["_apart", "_inlined", "_sixfold", "doubled"]


@kernel
def _moved(stack: Any, value: Any) -> None:
    put(stack, 1, take(stack, 0))
    put(stack, 0, value)


class Pair(NamedTuple):
    """A value with all kinds of fields: an array, an int, a bool, and a nested value."""

    table: Any
    number: int
    known: bool
    inside: Unwritten


def test_stacks_are_read_and_written_alike_interpreted_and_compiled() -> None:
    """`take` and `put` copy arrays, numbers and nested values, in Python and in compiled code."""
    values = [Pair(np.arange(6.0).reshape(2, 3) + i, i, i == 0, Unwritten(0.5 * i)) for i in range(3)]
    stacks = []
    for move in (_moved, _moved.python):
        stack = stacked(values[:2])
        move(stack, values[2])
        stacks.append(stack)
        assert same(canonical(take(stack, 1)), values[0])
        assert same(canonical(take(stack, 0)), values[2])
    assert same(*stacks)


def test_an_array_of_another_shape_is_not_written_into_a_stack() -> None:
    """Compiled code raises an error instead of writing out of bounds."""
    values = [Pair(np.zeros((2, 3)), 0, False, Unwritten()) for _ in range(2)]
    with pytest.raises(ValueError, match="an array of another shape"):
        _moved(stacked(values), Pair(np.zeros((3, 2)), 0, False, Unwritten()))


def test_our_rules_reach_classes_that_were_compiled_before_their_file_was_imported() -> None:
    """A class of ours that a kernel has been compiled for can be in a rule whose file is imported only then."""
    code = (
        "from sojourn.agents.exploration import Decay; from sojourn.rules.rule import mark_compiled; import sys; "
        "mark_compiled([Decay]); assert 'sojourn.agents.renewal' not in sys.modules; import sojourn.agents.renewal"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
