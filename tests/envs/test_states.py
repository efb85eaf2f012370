from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from sojourn.deploy.tabulation import Tabulation
from sojourn.envs.states import action_count, elements_of, tabulate

INF = float("inf")


def finite_spaces() -> st.SearchStrategy[spaces.Space[Any]]:
    counts = st.integers(1, 4)
    leaves: Any = st.one_of(
        st.builds(lambda n, start: spaces.Discrete(n, start=start), counts, st.integers(-3, 3)),
        st.builds(
            lambda nvec: spaces.MultiDiscrete(nvec, start=[2] * len(nvec)),
            st.lists(counts, min_size=1, max_size=3),
        ),
        st.builds(spaces.MultiBinary, st.integers(1, 3)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(spaces.Tuple, st.lists(inner, min_size=1, max_size=2)),
            st.builds(spaces.Dict, st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2)),
        ),
        max_leaves=3,
    )


def members(space: Any) -> Iterator[Any]:
    """Every observation of a finite space, in the order of its digits."""
    if isinstance(space, spaces.Discrete):
        yield from range(int(space.start), int(space.start + space.n))
    elif isinstance(space, spaces.MultiDiscrete):
        for digits in np.ndindex(*space.nvec.tolist()):
            yield np.array(digits) + space.start
    elif isinstance(space, spaces.MultiBinary):
        for digits in np.ndindex(*[2] * int(np.prod(space.shape))):
            yield np.array(digits, dtype=np.int8).reshape(space.shape)
    elif isinstance(space, spaces.Tuple):
        yield from _products(space.spaces)
    else:
        for entries in _products(tuple(space.spaces.values())):
            yield dict(zip(space.spaces, entries, strict=True))


def _products(parts: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if not parts:
        yield ()
        return
    for first in members(parts[0]):
        for rest in _products(parts[1:]):
            yield (first, *rest)


@given(finite_spaces())
def test_every_observation_has_its_own_number(space: spaces.Space[Any]) -> None:
    """The observations of a finite space, in order, are numbered 0, 1, 2, ... without a gap."""
    tabulation = tabulate(space)
    assert [tabulation(member) for member in members(space)] == list(range(tabulation.num_states))


@given(finite_spaces())
def test_a_tabulation_survives_being_written_down(space: spaces.Space[Any]) -> None:
    """Through JSON or pickle it comes back equal, and numbers what the space samples as before."""
    tabulation = tabulate(space)
    restored = Tabulation.from_dict(json.loads(json.dumps(tabulation.to_dict(), sort_keys=True)))
    pickled = pickle.loads(pickle.dumps(tabulation))
    assert restored == pickled == tabulation
    space.seed(0)
    observation = space.sample()
    assert restored(observation) == pickled.index(observation) == tabulation(observation)


def test_different_tabulations_are_not_equal() -> None:
    """Other bins, another start, another order of parts: another tabulation."""
    box = spaces.Box(0, 1, shape=(2,))
    different = [
        tabulate(spaces.Discrete(4)),
        tabulate(spaces.Discrete(4, start=1)),
        tabulate(spaces.MultiDiscrete([2, 2])),
        tabulate(spaces.MultiBinary((1, 2))),
        tabulate(box, 2),
        tabulate(box, [4, 1]),
        tabulate(box, [1, 4]),
        tabulate(box, [2, [0.0, 0.4, 1.0]]),
        tabulate(spaces.Dict(a=spaces.Discrete(4))),
        tabulate(spaces.Dict(b=spaces.Discrete(4))),
    ]
    for i, one in enumerate(different):
        for j, other in enumerate(different):
            assert (one == other) is (i == j)


def test_a_box_is_cut_into_equal_bins() -> None:
    """A number of bins cuts each dimension alike; an edge belongs to the bin above it."""
    tabulation = tabulate(spaces.Box(np.array([0.0, -1.0]), np.array([4.0, 1.0]), dtype=np.float64), 4)
    assert tabulation.num_states == 16
    assert [tabulation([x, -1.0]) // 4 for x in (0.0, 0.99, 1.0, 2.5, 3.0, 4.0)] == [0, 0, 1, 2, 3, 3]
    assert [tabulation([0.0, y]) for y in (-1.0, -0.5, 0.0, 0.4, 1.0)] == [0, 1, 2, 2, 3]


def test_what_lies_outside_falls_into_the_outer_bins() -> None:
    """Beyond the edges, however far, are the outer bins."""
    tabulation = tabulate(spaces.Box(-INF, INF, shape=(1,)), [[-1.0, 0.0, 1.0]])
    assert tabulation.num_states == 2
    assert [tabulation(np.array([x])) for x in (-INF, -5.0, -0.1, 0.0, 2.0, INF)] == [0, 0, 0, 1, 1, 1]
    assert tabulate(spaces.Box(-INF, INF, shape=(1,)), [[-INF, -1, 1, INF]]).num_states == 3


def test_one_bin_ignores_a_dimension() -> None:
    """A dimension with a single bin needs no bounds and makes no difference."""
    space = gym.make("CartPole-v1").observation_space
    tabulation = tabulate(space, [3, 1, [-0.2, -0.05, 0, 0.05, 0.2], 1])
    assert tabulation.num_states == 12
    assert tabulation(np.array([0.0, 9.0, 0.01, -9.0], dtype=np.float32)) == 6


def test_boxes_inside_other_spaces_take_their_bins_by_place_or_name() -> None:
    """A Tuple has a list of bins, a Dict a mapping, nested like the space."""
    box = spaces.Box(0, 1)
    space = spaces.Dict(
        speed=box, gear=spaces.Discrete(5, start=1), rest=spaces.Tuple([spaces.MultiBinary(1), box])
    )
    tabulation = tabulate(space, {"speed": 10, "rest": [None, [[0, 0.5, 1]]]})
    assert tabulation.num_states == 5 * 4 * 10
    low, high = np.array([0.0]), np.array([1.0])
    assert tabulation({"speed": low, "gear": 1, "rest": (np.array([0]), low)}) == 0
    assert tabulation({"speed": high, "gear": 5, "rest": (np.array([1]), high)}) == 199
    assert tabulation.describe() == (
        "200 states: {speed: 10 bins, gear: 5 choices, rest: (2 choices, 2 bins)}"
    )


def test_a_tabulation_says_what_it_is() -> None:
    """Its repr tells how many states there are, and what of."""
    assert repr(tabulate(spaces.Discrete(5))) == "Tabulation of 5 states: 5 choices"
    box = tabulate(spaces.Box(0, 1, shape=(3,)), [4, 4, 2])
    assert repr(box) == "Tabulation of 32 states: 4 bins (2 times) x 2 bins"


BOX = spaces.Box(-1.0, 1.0, shape=(2,))


@pytest.mark.parametrize(
    ("space", "bins", "sentence"),
    [
        (BOX, None, r"give bins=.* a number for each of its dimensions \(2\), or the edges"),
        (spaces.Dict(x=BOX), None, '"x" of the observation space is Box.* give bins'),
        (spaces.Text(5), None, "has no finite table of states; map it to a Discrete"),
        (spaces.Sequence(spaces.Discrete(2)), None, "has no finite table of states"),
        (spaces.Graph(BOX, None), None, "has no finite table of states"),
        (spaces.Tuple([BOX, spaces.Text(3)]), [2, None], "part 1 of the observation space is Text"),
        (spaces.Discrete(3), 2, "needs no bins; leave them out"),
        (spaces.Tuple([spaces.Discrete(3)]), [2], "needs no bins"),
        (spaces.Tuple([BOX, BOX]), [2], "a Tuple of 2 parts takes a list of 2"),
        (spaces.Tuple([BOX, BOX]), 2, "a Tuple of 2 parts takes a list of 2"),
        (spaces.Dict(x=BOX), {"y": 2}, "a Dict takes a mapping whose keys are among 'x'"),
        (spaces.Dict(x=BOX), 2, "a Dict takes a mapping"),
        (BOX, [2], r"an entry for each of its dimensions \(2\)"),
        (BOX, "22", "they must be a number, or a list"),
        (BOX, 2.5, "they must be a number, or a list"),
        (BOX, 0, "the number of bins of dimension 0 of the observation space is 0; it must be at least 1"),
        (
            BOX,
            [2, 2.5],
            "the bins of dimension 1 of the observation space are 2.5; they must be a whole number",
        ),
        (BOX, [2, [1, 0]], r"are \[1, 0\]; they must be a whole number, or at least two edges that ascend"),
        (BOX, [2, [0, float("nan"), 1]], "at least two edges that ascend"),
        (BOX, [2, [-INF, -INF]], "at least two edges that ascend"),
        (BOX, [2, [0]], "at least two edges"),
        (BOX, [2, "abc"], "at least two edges"),
        (BOX, [2, None], "at least two edges"),
        (spaces.Box(0, INF), 3, "goes from 0 to inf, which cannot be cut into 3 equal bins; give the edges"),
        (spaces.Box(0, 3e38), 3, "cannot be cut into 3 equal bins"),
        (spaces.Box(1, 1), 3, "goes from 1 to 1, which cannot be cut into 3 equal bins"),
        (BOX, 4000, "has 16,000,000 states, more than the 10,000,000 that a table may have"),
        (spaces.MultiBinary(20_000), None, r"has about 10\^6021 states"),
    ],
)
def test_what_cannot_be_tabulated_gets_one_sentence(space: Any, bins: Any, sentence: str) -> None:
    """A space without a table, or bins that do not fit it, are refused with what to do."""
    with pytest.raises((TypeError, ValueError), match=sentence) as error:
        tabulate(space, bins)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("space", "bins", "observation"),
    [
        (spaces.Discrete(3), None, 3),
        (spaces.Discrete(3), None, -1),
        (spaces.Discrete(3, start=5), None, 4),
        (spaces.Discrete(3), None, 1.0),
        (spaces.Discrete(3), None, np.array([1])),
        (spaces.Discrete(3), None, None),
        (spaces.MultiDiscrete([2, 3]), None, [1, 3]),
        (spaces.MultiDiscrete([2, 3]), None, [1]),
        (spaces.MultiDiscrete([2, 3]), None, [1.0, 1.0]),
        (spaces.MultiDiscrete([2, 3]), None, [[1], [1, 2]]),
        (spaces.MultiBinary(2), None, [0, 2]),
        (BOX, 2, [0.0]),
        (BOX, 2, [0.0, float("nan")]),
        (BOX, 2, ["0", "0"]),
        (spaces.Tuple([spaces.Discrete(2)]), None, (0, 0)),
        (spaces.Tuple([spaces.Discrete(2)]), None, 0),
        (spaces.Dict(a=spaces.Discrete(2)), None, {"b": 0}),
        (spaces.Dict(a=spaces.Discrete(2)), None, 0),
    ],
)
def test_an_observation_that_is_not_in_the_space_is_refused(space: Any, bins: Any, observation: Any) -> None:
    """No observation gets a number by accident, and the refusal is one line."""
    with pytest.raises(ValueError, match=r"the observation .* is not in the space: it must be") as error:
        tabulate(space, bins)(observation)
    assert "\n" not in str(error.value)


def test_an_unknown_description_is_refused() -> None:
    """What a later version wrote is not guessed at."""
    later: Any = {"kind": "sphere"}
    with pytest.raises(ValueError, match="'sphere' is not a kind of tabulation"):
        Tabulation.from_dict(later)


def test_actions_must_be_discrete() -> None:
    """A Discrete space has a number of actions, wherever it starts; others are refused."""
    assert action_count(spaces.Discrete(4)) == action_count(spaces.Discrete(4, start=-2)) == 4
    for space in (BOX, spaces.MultiDiscrete([2, 2]), spaces.Tuple([spaces.Discrete(2)])):
        with pytest.raises(TypeError, match=r"a table of values needs Discrete actions.*ActionWrapper"):
            action_count(space)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(4, start=-2),
        spaces.MultiDiscrete(np.array([[2, 3], [1, 2]]), start=np.array([[0, 5], [1, 0]])),
        spaces.MultiBinary(3),
        spaces.Tuple([spaces.Discrete(2), spaces.MultiDiscrete([2, 2])]),
        spaces.Dict(a=spaces.Discrete(3), b=spaces.MultiBinary(1)),
    ],
    ids=str,
)
def test_elements_are_listed_by_their_numbers(space: Any) -> None:
    """Every element is in the space, and has the number of its place."""
    seen, tabulation = elements_of(space), tabulate(space)
    assert all(space.contains(each) for each in seen)
    assert list(map(tabulation, seen)) == list(range(tabulation.num_states))


def test_a_box_cannot_be_listed() -> None:
    """What has no list is refused."""
    with pytest.raises(TypeError, match=r"the elements of Box.* cannot be listed"):
        elements_of(spaces.Box(0.0, 1.0))
