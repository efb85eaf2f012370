"""Doors: one sentence names the argument of the wrong type."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import pytest
from numpy.typing import ArrayLike

import sojourn as sj
from sojourn.data.hints import fits
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told
from sojourn.rules.values import Value


class Place(TypedDict):
    at: int


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [1, np.int64(1), True], [0.5, "1", None, [1]]),
        (float, [1, 0.5, np.float32(0.5)], ["1", None, 1j, [1.0, 2.0], 10**400]),
        (bool, [True, np.bool_(False)], [1, "yes"]),
        (str | None, ["x", None], [b"x", 1]),
        (str | Path, ["x", Path("x")], [1, b"x"]),
        (Literal["a", "b"], ["a"], ["c", np.array(["a", "b"])]),
        (ArrayLike, [[1, 2], 0.5, np.zeros((2, 2)), range(3)], ["x", [1, [2, 3]], np.ma.masked_array([1.0], [True]), [None]]),
        (ArrayLike | None, [None, [1.0]], ["x", {}]),
        (Floats, [np.zeros(2)], [[0.0], np.zeros(2, dtype=np.int64), np.ma.zeros(2)]),
        (Sequence[float], [[1.0], (1, 2), np.zeros(2), range(3)], ["ab", {1.0: 2}, [1.0, "x"], np.array(1.0), 5]),
        (tuple[int, int], [(1, 2)], [(1,), (1, "x")]),
        (Mapping[str, int], [{}, {"a": 1}], [[], {"a": "b"}]),
        (Iterable[int], [iter([1]), [1]], [5, "ab", ["x"], np.array(1)]),
        (Callable[[int], int], [abs], [5]),
        (Place, [{"at": 1}], [{}, 5]),
        (Value, [sj.Cumulative()], [(1, 2), 5]),
        (Any, [None, 5], []),
    ],
)  # fmt: skip
def test_what_fits_a_hint(hint: Any, good: list[Any], bad: list[Any]) -> None:
    """NumPy's numbers, arrays and ranges are accepted as numbers and lists; anything unsuitable is rejected."""
    assert [thing for thing in good if not fits(hint, thing)] == []
    assert [thing for thing in bad if fits(hint, thing)] == []


GAINS = np.ones(2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: sj.exact.Solution(5, *[None] * 9), "model of Solution is 5; it must be an SMDP"),  # type: ignore[arg-type]
        (lambda: sj.exact.linear_program("x"), "model of linear_program is 'x'; it must be an SMDP"),  # type: ignore[arg-type]
        (lambda: sj.exact.Log(1, 2, 3, 4), "rows of Log is 1; it must be a LogRows"),  # type: ignore[arg-type]
        (lambda: sj.learner.LearnedPolicy(1, 2, 3, 4), "states of LearnedPolicy is 1; it must be a Tabulation"),  # type: ignore[arg-type]
        (lambda: sj.envs.make("sojourn/TwoState-v0", 5e-324), "options is 5e-324; it must be a dictionary"),  # type: ignore[arg-type]
        (lambda: sj.models.findings([]), r"model of findings is \[\]; it must be an SMDP"),  # type: ignore[arg-type]
        (lambda: sj.random.uniform("x"), "rng of word is 'x'; it must be an array of uint64"),  # type: ignore[arg-type]
        (lambda: sj.random.word_at(1, 10**30), "word_at cannot compute with key = 1, index = 1000000000000000000000000000000"),
        (lambda: sj.load_policy(5), "path of load_policy is 5; it must be a text or a path"),  # type: ignore[arg-type]
        (lambda: sj.runs.parse_sweep({5: 1}), "unknown"),  # type: ignore[dict-item]
        (lambda: sj.inlined(5), "function is 5; it must be a function"),  # type: ignore[type-var]
        (lambda: sj.grid(len, nonsense=1), "does not take these options"),  # type: ignore[arg-type]
        (lambda: sj.problems.gosavi().place(99), "pair is 99; it must be one of 0 to 3"),
        (lambda: sj.random.streams(0, 10**12), "count is 1000000000000; it must be at most 1,000,000"),
        (lambda: sj.runs.log_spaced(10**400, 5), "it must be at most 9,223,372,036,854,775,807"),
        (lambda: sj.problems.gosavi().with_names(range(10**12), None), "state_names has more than 3 entries"),
        (lambda: sj.run_many(sj.worlds.TwoState(0.1), sj.smart(2, 2), 2**64, 20), "seeds is 18446744073709551616; it must be at most 1,000,000"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(call: Callable[[], object], sentence: str) -> None:
    """Whatever is wrong with an argument, one sentence names it; no internal error surfaces, and nothing hangs."""
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


def test_a_door_is_otherwise_transparent() -> None:
    """A public function with a door can be pickled and inspected; its own errors and those of callbacks pass through."""
    assert pickle.loads(pickle.dumps(sj.solve)) is sj.solve
    assert list(inspect.signature(sj.solve).parameters)[:2] == ["model", "tolerance"]

    @told
    def applied(function: Callable[[int], int], count: int) -> int:
        return function(count)

    with pytest.raises(KeyError, match="17"):
        applied(dict[int, int]().__getitem__, 17)
    with pytest.raises(ZeroDivisionError):
        told(lambda count: 1 // count)(0)


def test_a_warning_names_the_users_line() -> None:
    """A warning points to the user's line, however many doors and functions lie in between."""
    models = [sj.models.from_transitions([(0, 0, 0, 1.0, 1.0, 1.0)])] * 2
    with pytest.warns(RuntimeWarning, match="less than three times") as found:
        sj.worlds.Switching(models, [0.5])
    assert found[0].filename == __file__
