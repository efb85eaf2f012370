from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
import sojourn.envs
from small_envs import Maze, alike, sentence
from sojourn.learner.archive import read_archive, write_archive
from sojourn.learner.saved import FORMAT, VERSION
from sojourn.rules.values import same


def env() -> Any:
    return gym.make("sojourn/TwoState-v0", log_scale=1e-3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A saved learner after a short training."""
    learner = sj.Learner(env(), sj.smart, seed=1)
    learner.train(25)
    learner.save(tmp_path / "learner")
    return tmp_path / "learner"


@pytest.fixture
def differential(tmp_path: Path) -> Path:
    """A saved learner with two tables."""
    learner = sj.Learner(env(), sj.agents.differential_q, seed=1)
    learner.train(25)
    learner.save(tmp_path / "differential")
    return tmp_path / "differential"


Edit = Callable[[dict[str, Any], dict[str, Any]], object]


def edited(path: Path, edit: Edit) -> Path:
    """Rewrite the archive after an edit of its contents and its arrays, or the bytes of some."""
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    data = json.loads(parts.pop("contents.json"))
    arrays: dict[str, Any] = {name: np.load(io.BytesIO(part)) for name, part in parts.items()}
    edit(data, arrays)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("contents.json", json.dumps(data))
        for name, array in arrays.items():
            part = io.BytesIO()
            if isinstance(array, bytes):
                part.write(array)
            else:
                np.lib.format.write_array(part, array, allow_pickle=True)
            archive.writestr(name, part.getvalue())
    return path


def contents(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["contents"]["dict"]
    return found


def field(name: str, array: Any) -> Edit:
    """Replace an array in a field of the agent."""

    def edit(data: dict[str, Any], arrays: dict[str, Any]) -> None:
        fields = contents(data)["agent"]["fields"]
        table = fields["values"] if name == "q" else fields["method"]["fields"][name]
        arrays[table["fields"]["q"]["array"]] = array

    return edit


def entry(name: str, thing: Any) -> Edit:
    """Replace an entry at the top level."""

    def edit(data: dict[str, Any], arrays: dict[str, Any]) -> None:
        if isinstance(thing, np.ndarray):
            arrays[contents(data)[name]["array"]] = thing
        else:
            contents(data)[name] = thing

    return edit


def place(name: str, thing: Any) -> Edit:
    """Replace the saved position of the world."""
    return lambda data, _: contents(data)["place"]["dict"]["place"]["dict"].__setitem__(name, thing)


def header(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    part = io.BytesIO()
    np.lib.format.write_array_header_1_0(part, {"descr": kind, "fortran_order": False, "shape": shape})
    return part.getvalue()


def refused(path: Path) -> str:
    return sentence(lambda: sj.Learner.load(path, env()), ValueError)


# --- What is in a file --------------------------------------------------------------


def test_a_file_holds_numbers_and_text_only(differential: Path) -> None:
    """A file is a zip of JSON and .npy, with nothing pickled or compressed."""
    with zipfile.ZipFile(differential) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            part = archive.read(info)
            assert info.compress_type == zipfile.ZIP_STORED
            if info.filename == "contents.json":
                json.loads(part)
            else:
                assert info.filename.endswith(".npy")
                assert np.load(io.BytesIO(part), allow_pickle=False).dtype.kind in "biuf"
            with pytest.raises(Exception):  # noqa: B017, PT011 - whatever unpickling raises
                pickle.loads(part)
    assert b"|O" not in differential.read_bytes()


def test_the_same_learner_is_the_same_bytes(tmp_path: Path) -> None:
    """Saving is deterministic across times and processes."""
    for name in ("one", "two"):
        learner = sj.Learner(Maze("state"), sj.smart, seed=1)
        learner.train(100)
        learner.save(tmp_path / name)
        learner.save(tmp_path / "again")
        assert (tmp_path / name).read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    learner.train(1)
    learner.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


def test_contents_survive_a_round_trip(tmp_path: Path) -> None:
    """Values, arrays, lists, dictionaries and numbers survive a round trip at any depth, bit for bit."""
    thing: dict[str, Any] = {
        "agent": sj.smart(2, 3),
        "list": [1, -0.5, True, None, "text\n", [np.arange(3), {"deep": sj.Harmonic(0.5)}]],
        "large": 2**127 + 1,
        "inf": [float("inf"), -float("inf"), 5e-324, 0.1],
        "empty": [{}, [], np.zeros((0, 2))],
        "value": {"value": "no class", "fields": 3, "array": "no array", "dict": {}},
    }
    write_archive(tmp_path / "archive", "a test", 3, thing)
    found = read_archive(tmp_path / "archive", "a test", 3)
    assert same(found.pop("agent"), thing.pop("agent"))
    deep, expected = found["list"].pop(), thing["list"].pop()
    assert same(deep[0], expected[0])
    assert same(deep[1]["deep"], expected[1]["deep"])
    assert found["empty"].pop().shape == thing["empty"].pop().shape
    assert found == thing


def test_unsupported_contents_are_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    """A function or any other object is refused by name."""
    target = tmp_path / "archive"
    write_archive(target, "a test", 1, {"a": 1})
    before = target.read_bytes()
    assert "cannot be saved" in sentence(lambda: write_archive(target, "a test", 1, {"a": [len]}))
    assert sentence(lambda: write_archive(target, "a test", 1, {"a": np.array([None])}), Exception)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


# --- Written whole or not at all ----------------------------------------------------


@pytest.mark.parametrize(("place", "broken"), [(os, "fsync"), (Path, "replace")])
def test_a_write_that_fails_leaves_the_old_file(
    path: Path, place: Any, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk leaves the old file intact, and no partial file."""
    before = path.read_bytes()
    learner = sj.Learner.load(path, env())
    learner.train(100)

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(place, broken, fail)
    with pytest.raises(OSError, match="No space"):
        learner.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["learner"]
    learner.save(path)
    assert alike(sj.Learner.load(path, env()), learner)


def test_a_place_that_cannot_be_written_gets_one_sentence(tmp_path: Path) -> None:
    """Saving to a folder, or into a missing one, gets one sentence."""
    learner = sj.Learner(Maze(), sj.smart)
    assert "is a folder" in sentence(lambda: learner.save(tmp_path), OSError)
    assert "no folder" in sentence(lambda: learner.save(tmp_path / "a" / "b"), OSError)
    learner.save(str(tmp_path / "text"))
    assert sj.Learner.load(str(tmp_path / "text"), Maze()).totals.steps == 0


# --- Damaged and foreign files ------------------------------------------------------


def test_a_file_that_is_cut_is_refused(path: Path) -> None:
    """A truncated file is refused, wherever it is cut."""
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert str(path) in refused(path)


def test_a_byte_that_is_flipped_is_noticed_or_harmless(path: Path) -> None:
    """Flipped bytes in 200 places and in all of the zip's headers give one sentence, or the same learner."""
    whole = path.read_bytes()
    original = sj.Learner.load(path, env())
    rng = np.random.default_rng(0)
    flips = [(int(rng.integers(len(whole))), int(rng.integers(1, 256))) for _ in range(200)]
    starts = [i for mark in (b"PK\1\2", b"PK\3\4", b"PK\5\6") for i in _all(whole, mark)]
    headers = [start + offset for start in starts for offset in range(46) if start + offset < len(whole)]
    flips += [(index, 1 << number % 8) for number, index in enumerate(headers)]
    flips += [(start + offset, 1) for start in starts for offset in (6, 8)]  # the zip's flag for encryption
    read = 0
    for number, (index, bits) in enumerate(flips):
        damaged = bytearray(whole)
        damaged[index] ^= bits
        path.write_bytes(damaged)
        try:
            found = read_archive(path, FORMAT, VERSION)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - there is another valid outcome
            assert str(path) in str(error)  # noqa: PT017
        else:
            read += 1
            assert same(found["agent"], original.agent)
            if number < 200:
                assert alike(sj.Learner.load(path, env()), original)
    assert 0 < read < len(flips) / 2


def _all(whole: bytes, mark: bytes) -> list[int]:
    found, index = [], whole.find(mark)
    while index >= 0:
        found.append(index)
        index = whole.find(mark, index + 1)
    return found


def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path) -> None:
    """A missing file, an empty one, a folder, text, a foreign zip and a pickle are refused."""
    target = tmp_path / "target"
    assert "is not a file" in refused(target)
    assert "is not a file" in refused(tmp_path)
    for content in (b"", b"hello", b"PK", pickle.dumps(sj.smart(2, 2)), b"\0" * 1000):
        target.write_bytes(content)
        assert "was not saved by sojourn" in refused(target)
    for members in ({}, {"a.txt": "hello"}, {"contents.json": "hello"}, {"contents.json": "[1, 2]"}):
        with zipfile.ZipFile(target, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        assert str(target) in refused(target)
    np.savez(target.with_suffix(".npz"), q=np.zeros((2, 2)))
    assert "was not saved by sojourn" in refused(target.with_suffix(".npz"))


def test_compressed_parts_are_refused(path: Path) -> None:
    """Compressed parts are refused, so that a file cannot expand beyond its size."""
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    parts["bomb.npy"] = header((10_000_000,)) + bytes(80_000_000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    assert "not stored as sojourn stores it" in refused(path)


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("which", ["q", "extra"])
def test_pickled_objects_are_refused(path: Path, which: str) -> None:
    """An array of Python objects, in the agent or elsewhere, is not unpickled."""
    bomb = np.empty(4, dtype=object)
    trace = path.with_name("was-here")
    bomb[:] = Evil(trace)
    edited(path, field("q", bomb.reshape(2, 2)) if which == "q" else lambda _, arrays: arrays.update(x=bomb))
    assert "is not an array of numbers as sojourn saves them" in refused(path)
    assert not trace.exists()


def test_another_version_or_format_is_named(path: Path) -> None:
    """For a newer file the error says to update, for an older one its version and what to do, for another format what it is."""
    whole = path.read_bytes()
    edited(path, lambda data, _: data.update(version=VERSION + 1))
    assert "newer sojourn; update" in refused(path)
    path.write_bytes(whole)
    edited(path, lambda data, _: data.update(version=1))
    assert refused(path) == (
        f"{path} was saved by an older sojourn, in version 1 of the format; this one reads version {VERSION}: "
        "load it with the sojourn that saved it, or train and save it again"
    )
    for change in ({"version": 0}, {"version": "1"}, {"format": "sojourn sweep"}, {"format": None}):
        path.write_bytes(whole)
        edited(path, lambda data, _, change=change: data.update(change))  # type: ignore[misc]
        assert str(path) in refused(path)


def test_an_unknown_class_is_named(path: Path) -> None:
    """Classes are looked up by name only among those with rules."""
    whole = path.read_bytes()
    for name in ("RatAgent", "Path", "os.system", "", 3, None, ["LearningAgent"]):
        path.write_bytes(whole)
        edited(path, lambda data, _, name=name: contents(data)["agent"].update(value=name))  # type: ignore[misc]
        assert str(path) in refused(path)
        if isinstance(name, str):
            assert f"it holds a {name}, but there is no class of that name here" in refused(path)


@pytest.mark.parametrize(
    "edit",
    [
        lambda data, _: contents(data)["agent"]["fields"].pop("accepted"),
        lambda data, _: contents(data)["agent"]["fields"].update(more=1),
        lambda data, _: contents(data)["agent"]["fields"]["values"]["fields"].update(q={"array": "9.npy"}),
        lambda data, _: contents(data)["agent"]["fields"].update(rate=0.0),
        lambda data, _: contents(data)["agent"]["fields"].update(rate=contents(data)["agent"]["fields"]["ties"]),
        lambda data, _: contents(data)["agent"]["fields"].update(ties=contents(data)["agent"]["fields"]["rate"]),
        lambda data, _: contents(data)["agent"]["fields"].update(exploration=2.0),
        lambda data, _: contents(data)["agent"]["fields"].update(exploration="often"),
        lambda data, _: contents(data)["agent"]["fields"]["exploration"]["fields"].update(start=2.0),
        lambda data, _: contents(data)["agent"]["fields"].update(greedy=9),
        lambda data, _: contents(data)["agent"]["fields"]["step_size"]["fields"].update(size=-1.0),
        *(lambda data, _, name=name: contents(data).pop(name) for name in ("agent", "stream", "now", "seed", "state")),
        *(lambda data, _, name=name: contents(data).pop(name) for name in ("drawn", "hidden", "states", "place")),
        field("q", np.zeros((3, 2))),
        field("q", np.zeros((2, 3))),
        field("q", np.zeros(4)),
        field("q", np.zeros((2, 2, 2))),
        field("q", np.zeros((0, 0))),
        field("q", np.zeros((2, 2), dtype="complex128")),
        field("q", np.zeros((2, 2), dtype="M8[s]")),
        field("q", np.zeros((2, 2), dtype="U3")),
        field("q", np.zeros((2, 2), dtype="V8")),
        field("q", np.zeros((2, 2), dtype=[("a", "f8")])),
        field("q", header((2, 2), "<q99")),
        field("q", header((2, 2), "nonsense")),
        field("q", header((2, 2))),
        field("q", header((-1, 2))),
        field("q", header((10**7, 10**8))),
        field("q", b""),
        field("q", b"\x93NUMPY"),
        field("mean_duration", np.ones((1, 1))),
        field("mean_duration", np.ones(4)),
        field("mean_duration", np.ones((2, 3))),
        entry("now", np.zeros(7)),
        entry("now", np.zeros(1)),
        entry("now", np.full(4, np.nan)),
        entry("now", np.zeros(4, dtype="U3")),
        entry("totals", None),
        entry("totals", {"dict": {"steps": 3, "others": 4}}),
        entry("totals", {"dict": {"steps": 3.5}}),
        entry("totals", {"dict": {"steps": -1}}),
        entry("totals", {"dict": {"reward": "much"}}),
        entry("totals", {"dict": {"duration": float("nan")}}),
        entry("now", None),
        entry("stream", np.zeros(4, dtype=np.uint64)),
        entry("stream", np.ones(4)),
        entry("stream", np.ones(3, dtype=np.uint64)),
        entry("stream", [1, 2, 3, 4]),
        entry("seed", -1),
        entry("seed", "one"),
        entry("drawn", [2, False]),
        entry("drawn", [-1, False]),
        entry("drawn", []),
        entry("drawn", None),
        entry("hidden", None),
        entry("hidden", {"dict": {}}),
        entry("states", None),
        entry("states", {"dict": {"kind": "ring"}}),
        entry("states", {"dict": {"kind": "discrete", "count": 3, "start": 0}}),
        entry("states", {"dict": {"kind": "discrete", "count": "2", "start": 0}}),
        entry("first_action", 1),
        entry("duration", -1),
        entry("duration", [1]),
        entry("action_mask", 3),
    ],
)  # fmt: skip
def test_an_inconsistent_file_gets_one_sentence(edit: Edit, differential: Path) -> None:
    """Whatever is missing or inconsistent, the error names the file, and nothing is executed or written."""
    edited(differential, edit)
    assert str(differential) in refused(differential)


@pytest.mark.parametrize(
    "edit",
    [
        entry("state", None),
        entry("state", 1.5),
        entry("state", 7),
        entry("place", None),
        entry("place", 3),
        entry("place", {"dict": {}}),
        entry("place", {"dict": {"kind": "world"}}),
        entry("place", {"dict": {"kind": "replay", "generator": None, "actions": []}}),
        place("stream", [-1, 0, 0, 1]),
        place("stream", [1, 2]),
        place("stream", [0, 0, 0, 0]),
        place("stream", None),
        place("state", 7),
        place("state", None),
        place("now", ["a"] * 5),
        place("now", [1.0] * 4),
        place("now", [1.0]),
        place("now", [1e6, 0.0, 0.0, 0.0, 0.0]),
        place("now", [float("nan")] * 5),
        place("held", []),
        place("held", ["x"] * 20),
        place("held", None),
        place("world", "another"),
        place("world", None),
    ],
)
def test_a_wrong_place_is_refused_or_left_for_a_new_episode(edit: Edit, path: Path) -> None:
    """A nonsensical position of the environment gives one sentence, or a new episode with the saved agent."""
    whole = sj.Learner.load(path, env())
    edited(path, edit)
    try:
        loaded = sj.Learner.load(path, env())
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017 - either way is right
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert same(loaded.agent, whole.agent)
        assert loaded.train(10).steps == whole.totals.steps + 10


@pytest.mark.parametrize("actions", [[9], [-1], [0.5], [[1]], [0] * 4 + [3], ["go"]], ids=str)
def test_an_episode_of_invalid_actions_is_not_replayed(actions: Any, tmp_path: Path) -> None:
    """A saved episode that cannot be replayed is refused, or a new one begins."""
    path = tmp_path / "learner"
    learner = sj.Learner(Maze(), sj.smart)
    learner.train(5)
    learner.save(path)

    def edit(data: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[contents(data)["place"]["dict"]["actions"]["array"]] = np.array(actions)

    edited(path, edit)
    try:
        loaded = sj.Learner.load(path, Maze())
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017 - either way is right
    else:
        assert loaded.train(5).steps == 10
        assert len(loaded._table.trace._actions) == 5  # of a new episode


# --- Classes of a user's ------------------------------------------------------------


class Inner(NamedTuple):
    weight: float


class Middle(NamedTuple):
    inner: Inner
    seen: int


class MedianOfTwo(NamedTuple):
    """A user's estimator, with values inside: the mean of the last two rates."""

    middle: Middle
    last: float = 0.0


@sj.update.register
def update_median(rate: MedianOfTwo, reward: float, duration: float) -> MedianOfTwo:
    middle = Middle(inner=Inner(weight=rate.last), seen=rate.middle.seen + 1)
    return MedianOfTwo(middle=middle, last=reward / duration)


@sj.value.register
def value_median(rate: MedianOfTwo) -> float:
    return (rate.last + rate.middle.inner.weight) / 2.0


def test_a_users_estimator_is_saved_by_its_name(tmp_path: Path) -> None:
    """A user's class is found again by name, with its nested values."""
    rate = MedianOfTwo(Middle(Inner(0.0), 0))
    learner = sj.Learner(Maze(), sj.smart, rate=rate)
    learner.train(100)
    learner.save(tmp_path / "learner")
    loaded = sj.Learner.load(tmp_path / "learner", Maze())
    assert isinstance(loaded.agent.rate, MedianOfTwo)
    assert loaded.agent.rate.middle.seen > 50
    learner.train(100)
    loaded.train(100)
    assert alike(loaded, learner)


class Twin(NamedTuple):
    seen: int = 0


def another_twin() -> type:
    class Twin(NamedTuple):  # the same name again
        seen: int = 0

    return Twin


def test_two_classes_of_one_name_are_not_confused(tmp_path: Path) -> None:
    """Saving or loading with several classes of a name is an error rather than a guess."""
    for cls in (Twin, another_twin()):
        sj.update.register(cls)(lambda rate, reward, duration: rate)
        sj.value.register(cls)(lambda rate: 0.0)

    def save_and_load() -> None:
        write_archive(tmp_path / "archive", "a test", 1, {"rate": Twin()})
        read_archive(tmp_path / "archive", "a test", 1)

    assert "several classes" in sentence(save_and_load, ValueError)


def namesake() -> type:
    class TimeForgetting(NamedTuple):  # the name of one of Sojourn's estimators
        step_size: float = 0.5
        reward: float = 0.0
        duration: float = 0.0

    return TimeForgetting


def test_a_users_class_may_be_called_as_one_of_ours(tmp_path: Path) -> None:
    """A user's class and ours of the same name both survive a file, and are never confused."""
    mine = namesake()
    sj.update.register(mine)(lambda rate, reward, duration: rate)
    sj.value.register(mine)(lambda rate: 0.0)
    path = tmp_path / "archive"
    for rate in (mine(0.25), sj.rates.TimeForgetting(0.25)):
        write_archive(path, "a test", 1, {"rate": rate})
        found = read_archive(path, "a test", 1)["rate"]
        assert type(found) is type(rate)
        assert found == rate


def test_a_file_says_which_module_to_import(tmp_path: Path) -> None:
    """The error for a class of an unimported module names the module, even if we have a class of that name."""
    path = tmp_path / "archive"
    write_archive(path, "a test", 1, {"rate": sj.Cumulative()})
    edited(path, lambda data, _: contents(data)["rate"].update(module="queues.mine"))
    told = sentence(lambda: read_archive(path, "a test", 1), ValueError)
    assert told == (
        f"{path} holds a Cumulative from your module queues.mine, which a file may not import by itself; import it "
        "first, or add --module queues.mine to the command"
    )
    edited(path, lambda data, _: contents(data)["rate"].update(module="rm -rf; mine"))
    assert "rm -rf" not in sentence(lambda: read_archive(path, "a test", 1), ValueError)


class Unknown(NamedTuple):
    seen: int = 0


def test_values_that_could_not_be_loaded_are_not_saved(tmp_path: Path) -> None:
    """A value of a class without rules is refused before anything is written."""
    path = tmp_path / "archive"
    assert "Unknown" in sentence(lambda: write_archive(path, "a test", 1, {"a": Unknown()}))
    assert not path.exists()
