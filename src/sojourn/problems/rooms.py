"""Four rooms with options that go from hallway to hallway."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn._values import finite, probability
from sojourn.model import SMDP, Option, from_arrays, from_options, from_transitions, primitive

_PLAN = (
    "#############",
    "#     #     #",
    "#     #     #",
    "#           #",
    "#     #     #",
    "#     #     #",
    "## ####     #",
    "#     ### ###",
    "#     #     #",
    "#     #     #",
    "#           #",
    "#     #     #",
    "#############",
)
_CELLS = [(row, column) for row, line in enumerate(_PLAN) for column, mark in enumerate(line) if mark == " "]
_NUMBER = {cell: number for number, cell in enumerate(_CELLS)}
_MOVES = (("up", -1, 0), ("right", 0, 1), ("down", 1, 0), ("left", 0, -1))
_HALLWAYS = {"north": (3, 6), "west": (6, 2), "east": (7, 9), "south": (10, 6)}
_ROOMS = {  # rows and columns, and the two hallways
    "upper left": (range(1, 6), range(1, 6), ("north", "west")),
    "upper right": (range(1, 7), range(7, 12), ("north", "east")),
    "lower left": (range(7, 12), range(1, 6), ("west", "south")),
    "lower right": (range(8, 12), range(7, 12), ("east", "south")),
}


def four_rooms(
    *,
    goal: str | tuple[int, int] = "east",
    with_options: bool = True,
    with_primitives: bool = True,
    slip: float = 1.0 / 3.0,
    goal_reward: float = 1.0,
) -> SMDP:
    """Four rooms: single steps, and options that go to a hallway and take as long as it takes.

    A step succeeds with probability 2/3, else it goes in one of the three other directions, equally
    likely; against a wall it stays. Each of the eight options belongs to a room and goes to one of its
    two hallways. It can begin in the room and in the room's other hallway, follows a shortest path
    (of equal ones, the first of up, right, down, left), and ends as soon as it is outside the
    room, hallways included. What it earns, where it ends and how long it takes on average are computed from
    the steps (`sojourn.model.from_options`). Who comes to the goal, a hallway or a cell (row, column) of the
    13 by 13 plan with its walls, is put to the start in the same step, and an option ends.

    States: the cells but the goal, row by row; 0, the upper left corner, is the start.

    Actions: 0 to 3 are the steps up, right, down and left; 4 to 11 are the options, two for each room.
    Either can be left out; the options then are 0 to 7.

    Rewards: 1 on coming to the goal, else 0.

    Durations: 1 for a step, and for an option the mean number of steps that it takes from the state.

    Source: R. S. Sutton, D. Precup and S. Singh, "Between MDPs and semi-MDPs", Artificial Intelligence 112, 1999.

    >>> [four_rooms(with_primitives=with_steps).num_pairs for with_steps in (True, False)]  # 103 * 6, 103 * 2
    [618, 206]
    """
    cell: Any = _HALLWAYS.get(goal) if isinstance(goal, str) else tuple(goal)
    end = _NUMBER.get(cell, -1)
    if end < 1:
        raise ValueError(
            f"goal is {goal!r}; it must be a hallway ({', '.join(_HALLWAYS)}) or a free cell (row, column), not the start"
        )
    if not (with_options or with_primitives):
        raise ValueError("there are neither options nor primitives; leave at most one of them out")
    steps = _steps(end, probability("slip", slip), finite("goal_reward", goal_reward))
    options = [primitive(steps, action) for action in range(4)] if with_primitives else []
    if with_options:
        options += [
            _to_hallway(end, room, target, other)
            for room, (_, _, (one, two)) in _ROOMS.items()
            for target, other in ((one, two), (two, one))
        ]
    return _put_back(from_options(steps, options), end, goal_reward)


def _steps(goal: int, slip: float, goal_reward: float) -> SMDP:
    """Return the model of single steps, with a goal that is never left."""
    count = len(_CELLS)
    chances, rewards = np.zeros((2, count, 4, count))
    for number, (row, column) in enumerate(_CELLS):
        after = [_NUMBER.get((row + down, column + right), number) for _, down, right in _MOVES]
        for action in range(4):
            for move in range(4):
                chances[number, action, after[move]] += 1.0 - slip if move == action else slip / 3.0
    chances[goal] = 0.0
    chances[goal, :, goal] = 1.0
    rewards[:, :, goal] = goal_reward
    return from_arrays(chances, rewards, state_names=_names(), action_names=[name for name, *_ in _MOVES])


def _to_hallway(goal: int, room: str, target: str, other: str) -> Option:
    """Return the option that goes to one hallway of a room."""
    rows, columns, _ = _ROOMS[room]
    inside = {(row, column) for row in rows for column in columns}
    policy, begins, ends = np.full(len(_CELLS), -1), np.zeros(len(_CELLS), dtype=bool), np.ones(len(_CELLS))
    distance = {_HALLWAYS[target]: 0}
    shell = [_HALLWAYS[target]]
    for row, column in shell:  # which grows: breadth first
        for action in range(4):
            _, down, right = _MOVES[action]
            cell = (row - down, column - right)
            if cell not in inside | {_HALLWAYS[other]}:
                continue
            if cell not in distance:
                distance[cell] = distance[row, column] + 1
                shell.append(cell)
                policy[_NUMBER[cell]] = action
            elif distance[cell] == distance[row, column] + 1:
                policy[_NUMBER[cell]] = min(policy[_NUMBER[cell]], action)
    begins[[_NUMBER[cell] for cell in inside | {_HALLWAYS[other]}]] = True
    ends[[_NUMBER[cell] for cell in inside]] = 0.0
    # At the goal nothing is chosen; it is taken out at the end.
    policy[goal], begins[goal], ends[goal] = 0, True, 1.0
    return Option(policy, ends, begins, f"{room} to {target}")


def _put_back(model: SMDP, goal: int, goal_reward: float) -> SMDP:
    """Return the model without its goal, from which one goes on at the start."""
    state, number = model.state_of_pair(), np.arange(model.num_states)
    number = np.where(number > goal, number - 1, number)
    number[goal] = 0
    rows: list[tuple[Any, ...]] = []
    for pair in np.flatnonzero(state != goal).tolist():
        for row in range(model.row_offsets[pair], model.row_offsets[pair + 1]):
            after = int(model.successor[row])
            rows.append(
                (
                    int(number[state[pair]]),
                    int(model.action[pair]),
                    int(number[after]),
                    float(model.probability[row]),
                    goal_reward if after == goal else 0.0,
                    float(model.duration[pair]),
                )
            )
    names = _names()
    del names[goal]
    return from_transitions(rows, state_names=names, action_names=model.action_names)


def _names() -> list[str]:
    return [f"({row}, {column})" for row, column in _CELLS]
