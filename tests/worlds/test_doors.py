"""Compiled code checks neither types nor bounds, so everything it reads is checked first, however it was constructed."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.agents.protocol import ready_agent
from sojourn.envs.worlds import WorldEnv
from sojourn.models.laws import FlatLaws
from sojourn.rules.values import with_arrays
from sojourn.worlds.protocol import ready_world

TABULAR = sj.worlds.Tabular(sj.problems.gosavi())
MARKET = sj.worlds.Market(open=[10.0, 12.0, 11.0], close=[12.0, 11.0, 11.5], state_size=1)
AGENT = sj.agents.policy_agent([0, 1], num_actions=2)

# Each of these once crashed the process, or gave garbage.
DEADLY: list[tuple[str, Callable[[], object], str]] = [
    ("TABULAR._replace(successor=TABULAR.successor[:0])", lambda: TABULAR._replace(successor=TABULAR.successor[:0]), "successor is an array of int64 of the shape"),
    ("TABULAR._replace(successor=TABULAR.successor + 10**9)", lambda: TABULAR._replace(successor=TABULAR.successor + 10**9), "successor has the entry"),
    ("TABULAR._replace(pairs=TABULAR.pairs + 10**9)", lambda: TABULAR._replace(pairs=TABULAR.pairs + 10**9), "pairs has the entry"),
    ("TABULAR._replace(other=TABULAR.other - 10**9)", lambda: TABULAR._replace(other=TABULAR.other - 10**9), "other has the entry"),
    ("TABULAR._replace(row_offsets=TABULAR.row_offsets * 10**9)", lambda: TABULAR._replace(row_offsets=TABULAR.row_offsets * 10**9), "share is an array"),
    ("TABULAR._replace(share=TABULAR.share[:1], kinds=TABULAR.kinds[:1])", lambda: TABULAR._replace(share=TABULAR.share[:1], kinds=TABULAR.kinds[:1]), "share is an array"),
    ("TABULAR._replace(parameters=TABULAR.parameters[:0])", lambda: TABULAR._replace(parameters=TABULAR.parameters[:0]), "parameters is an array"),
    ("MARKET._replace(moves=MARKET.moves[:0])", lambda: MARKET._replace(moves=MARKET.moves[:0]), "moves is an array of float64 of the shape"),
    ("MARKET._replace(t=10**12)", lambda: MARKET._replace(t=10**12), "t is 1000000000000; it must be 0 to 2"),
    ("TABULAR._replace(first=10**9)", lambda: TABULAR._replace(first=10**9), "first is 1000000000; it must be a state"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "world", "sentence"), DEADLY)
def test_a_world_that_would_read_elsewhere_is_refused(
    code: str, world: Callable[[], Any], sentence: str
) -> None:
    """A run, an environment and a pickled environment refuse it with the field's name."""
    with pytest.raises(ValueError, match=sentence):
        ready_world(world())
    with pytest.raises(ValueError, match=sentence):
        ready_world(pickle.loads(pickle.dumps(world())))
    with pytest.raises(ValueError, match=sentence):
        sj.run(world(), sj.agents.random_agent(2, 2), steps=10)
    with pytest.raises(ValueError, match=sentence):
        WorldEnv(world())


def test_none_of_them_ends_a_process() -> None:
    """Compiled runs of all of them raise a ValueError each, without crashing the process."""
    program = "\n".join(
        [
            "import numpy as np, sojourn as sj",
            "TABULAR = sj.worlds.Tabular(sj.problems.gosavi())",
            "MARKET = sj.worlds.Market(open=[10.0, 12.0, 11.0], close=[12.0, 11.0, 11.5], state_size=1)",
            "AGENT, refused = sj.agents.policy_agent([0, 1], num_actions=2), 0",
            "for world, agent in (",
            *(f"    ({code}, AGENT)," for code, _, _ in DEADLY),
            "    (TABULAR, AGENT._replace(actions=np.array([0, 10**9]))),",
            "    (TABULAR, AGENT._replace(values=sj.agents.Table(np.zeros((2, 0))))),",
            "):",
            "    try:",
            "        sj.run(world, agent, steps=1000)",
            "    except ValueError:",
            "        refused += 1",
            "print(refused)",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(len(DEADLY) + 2)), done.stderr


def test_a_world_is_independent_of_its_source_arrays() -> None:
    """Changing the arrays that a world was made from does not affect its environment."""
    successor = np.array(TABULAR.successor)
    env, same = (
        WorldEnv(TABULAR._replace(successor=array), compiled=False)
        for array in (successor, TABULAR.successor)
    )
    env.reset(seed=3), same.reset(seed=3)
    successor[:] = 10**9
    assert [env.step(1) for _ in range(20)] == [same.step(1) for _ in range(20)]


def test_the_arrays_of_a_made_world_belong_to_it() -> None:
    """A world's arrays are immutable, and making the world ready again copies nothing."""
    for world in (TABULAR, MARKET):
        fields: list[tuple[Any, Any]] = list(zip(world, ready_world(world), strict=True))
        for before, after in fields:
            if isinstance(before, np.ndarray):
                assert np.shares_memory(before, after)
                with pytest.raises(ValueError, match="WRITEABLE"):
                    after.flags.writeable = True


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (AGENT._replace(actions=np.array([0, 2])), "actions has the entry 2; its entries must be 0 to 1"),
        (AGENT._replace(actions=np.array([0.0, 1.0])), "actions is an array of float64"),
        (
            AGENT._replace(actions=np.array([0])),
            r"of the shape \(1,\); it must be one of int64 of the shape \(2,\)",
        ),
        (
            AGENT._replace(values=sj.agents.Table(np.zeros((2, 0)))),
            r"table is an array of float64 of the shape \(2, 0\)",
        ),
        (
            AGENT._replace(values=sj.agents.Table(np.zeros(2))),
            "it must be an array of numbers, states by actions",
        ),
        (sj.smart(2, 2)._replace(method=sj.smart(2, 2).rate), "method is Cumulative.*; it must be a method"),
        (sj.smart(2, 2)._replace(greedy=7), "greedy is 7"),
    ],
)
def test_an_agent_that_would_read_elsewhere_is_refused(agent: Any, sentence: str) -> None:
    """An agent is refused if its arrays do not fit its values, or its settings are unknown."""
    with pytest.raises((ValueError, TypeError), match=sentence):
        ready_agent(agent)


def test_a_policy_is_read_within_bounds() -> None:
    """The public readers of tables refuse out-of-range states and malformed tables by name."""
    q = np.array([[1.0, 3.0]])
    for state, sentence in (
        (1, "state is 1; it must be one of 0 to 0"),
        (-1, "state is -1; it must be at least 0"),
    ):
        with pytest.raises(ValueError, match=sentence):
            sj.agents.greedy_action(q, state)
        with pytest.raises(ValueError, match=sentence):
            sj.agents.largest(q, state)
    with pytest.raises(TypeError, match="it must be an array of states by actions"):
        sj.agents.greedy_action(q[0], 0)
    with pytest.raises(ValueError, match="states by actions"):
        sj.agents.policy(sj.smart(1, 2)._replace(values=sj.agents.Table(np.zeros((1, 0)))))


@pytest.mark.parametrize(
    "laws", [FlatLaws(np.array([9], np.int8), np.ones((1, 3))), FlatLaws(np.array([0]), np.ones((1, 3)))]
)
def test_unknown_laws_are_refused(laws: FlatLaws) -> None:
    """A model refuses unknown kinds of laws, which compiled code would misread."""
    with pytest.raises(ValueError, match=r"reward_law\.kind .*make laws with sojourn\.models\.laws"):
        sj.SMDP([0, 1], [0, 1], [0], [1.0], duration=[1.0], reward_law=laws)


def test_a_model_from_a_pickle_is_checked_as_any_other() -> None:
    """A tampered pickle is detected when it is loaded."""
    model = sj.problems.long_shot()
    state = model.__getstate__() | {"successor": np.array([7, 7], np.int32)}
    with pytest.raises(ValueError, match="leads to state 7; states are 0 to 0"):
        sj.SMDP.__new__(sj.SMDP).__setstate__(state)


# --- Any array at all -----------------------------------------------------------------


@st.composite
def spoiled(draw: st.DrawFn, world: Any) -> Any:
    """A world with one array of the wrong dtype, shape, order or length, or with an impossible number."""
    name = draw(
        st.sampled_from([name for name in world._fields if isinstance(getattr(world, name), np.ndarray)])
    )
    array = np.array(getattr(world, name))
    match draw(st.integers(0, 6)):
        case 0:
            array = array.astype(
                draw(st.sampled_from(("f4", ">f8", ">i8", "i4", "u1", "?", "u8", "f8", "i8", "i1")))
            )
        case 1:
            array = array[: draw(st.integers(0, len(array)))]
        case 2:
            array = np.asfortranarray(array.T)
        case 3:
            array = np.concatenate([array, array])
        case 4:
            array = array.reshape(-1)[::-1]
        case _:
            flat = array.reshape(-1)
            odd = draw(st.sampled_from((np.nan, np.inf, -1.0, -2.0, 100.0, 1e18, 0.0, 1.0)))
            with np.errstate(invalid="ignore"):
                flat[draw(st.integers(0, flat.size - 1))] = np.array(odd).astype(array.dtype)
    return world._replace(**{name: array})


@given(world=st.one_of(spoiled(TABULAR), spoiled(MARKET)))
def test_any_world_is_refused_or_stays_in_its_arrays(world: Any) -> None:
    """In worlds that pass the checks every index is in bounds: an interpreted run never misses one."""
    try:
        checked = ready_world(world)
    except (ValueError, TypeError):
        return
    rng = sj.stream(0)
    moved, state = sj.start.bare(with_arrays(checked, lambda array: array.view(_Strict)), rng)
    for step in range(30):
        if state < 0:
            break
        assert state < checked.num_states
        moved, state, reward, _ = sj.step.bare(moved, int(state), step % 2, rng)
        assert np.isfinite(reward)


class _Strict(np.ndarray[Any, Any]):
    """An array that refuses negative indices."""

    def __getitem__(self, index: Any) -> Any:
        places = index if isinstance(index, tuple) else (index,)
        assert all(not isinstance(place, int | np.integer) or place >= 0 for place in places)
        return super().__getitem__(index)
