"""The output of `sojourn solve`: its folder, maps, bars and sentences, and the display in notebooks."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import sojourn as sj
from sojourn.answers import notebook, policy_map
from sojourn.answers.page import write_report
from sojourn.answers.policy_map import Drawn
from sojourn.answers.solution import FILE, Solved, drawn_of, lines, section, solve_named, solved
from sojourn.data.files import load_json
from sojourn.data.hints import read_record
from sojourn.models import SMDP, from_transitions
from sojourn.report.blocks import Budget, Charts
from sojourn.report.charts import Lines, Regions


class Line(NamedTuple):
    """A state with named parts."""

    boxes: int
    orders: int
    machine: str


def grid(width: int, height: int, machines: tuple[str, ...] = ()) -> SMDP:
    """A problem whose optimal policy goes right at the bottom and up elsewhere."""
    rows: list[Any] = []
    for x in range(width):
        for y in range(height):
            for machine in machines or ("",):

                def at(a: int, b: int, move: int = 0, machine: str = machine) -> Any:
                    """The state at this position, possibly with a third part."""
                    place = (a % width, b % height)
                    return (
                        Line(*place, machines[(machines.index(machine) + move) % len(machines)])
                        if machines
                        else place
                    )

                state, to, other = at(x, y), at(x + 1, y + x), at(x, y + 1, 1)
                pay = 1.0 if y == 0 else 0.0
                rows += [(state, "right", to, 0.5, pay, 1.0), (state, "right", other, 0.5, pay, 1.0)]
                rows += [(state, "up", to, 0.5, 1.0 - pay, 1.0), (state, "up", other, 0.5, 1.0 - pay, 1.0)]
    return from_transitions(rows)


def record(model: SMDP, name: str = "grid") -> Solved:
    """The record of a model's solution."""
    return solved(name, {}, sj.solve(model), model)


def test_pairs_of_numbers_make_a_map() -> None:
    """Each cell of a map has the action of its state, with the first row at the bottom."""
    (found,) = policy_map.maps(drawn_of(record(grid(4, 3))))
    assert (found.x.values, found.y.values) == ([0, 1, 2, 3], [0, 1, 2])
    assert [[found.names[cell] for cell in row if cell is not None] for row in found.values] == [
        ["right"] * 4, ["up"] * 4, ["up"] * 4
    ]  # fmt: skip


def test_a_third_part_makes_several_maps() -> None:
    """The part that is not a number separates the maps, and parts are named after the tuple's fields."""
    found = policy_map.maps(drawn_of(record(grid(4, 3, ("up", "down")))))
    assert [each.title for each in found] == [
        "The policy: grid, machine = up",
        "The policy: grid, machine = down",
    ]
    assert (found[0].x.label, found[0].y.label) == ("boxes", "orders")
    sheet = policy_map.sheet(drawn_of(record(grid(4, 3, ("up", "down")))))
    assert sheet is not None
    assert len(sheet.rows[0]) == 2
    many = Drawn("m", [(x, y, z) for x in range(20) for y in range(20) for z in range(15)], ("x", "y", "z"), ["a"] * 6000, ["a"], None)  # fmt: skip
    maps = policy_map.maps(many)
    assert len(maps) == 9
    assert "Not shown: 6 further values of z." in maps[-1].note


@pytest.mark.parametrize(
    "places",
    [
        None,
        [(0,), (1,), (2,)],
        [("a", "b"), ("a", "c"), ("b", "b")],
        [(0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 3)],
        [(0, 0), (0, 1), (0, 2)],
        [(0, 0), (0, 0), (0, 1)],
    ],
)
def test_other_states_have_bars(places: Any) -> None:
    """States without two numeric parts, with too many parts or in a single row are drawn as bars of their shares of time."""
    drawn = Drawn("m", places, ("a", "b", "c", "d"), ["stay", "go", "stay"], ["go", "stay"], [0.2, 0.5, 0.3])
    assert policy_map.maps(drawn) == []
    line = policy_map.bars(drawn, 2)
    assert line is not None
    assert {one.name: list(one.y) for one in line.series} == {"go": [0.5], "stay": [0.3]}
    assert "Not shown: 1 state in which less time is spent." in line.note
    assert policy_map.bars(drawn._replace(shares=None), 2) is None


def test_many_actions_share_colours() -> None:
    """With many actions, neighbouring numbers share a colour; of named ones, the rarest do."""
    places = [(x, y) for x in range(5) for y in range(4)]
    (numbers,) = policy_map.maps(Drawn("m", places, ("x", "y"), list(map(str, range(20))), [], None))
    assert numbers.names[:2] == ["0 to 2", "3 to 5"]
    assert len(numbers.names) == 7
    names = [f"n{min(at, 9)}" for at in range(20)]
    (words,) = policy_map.maps(Drawn("m", places, ("x", "y"), names, sorted(set(names)), None))
    assert len(words.names) == 8
    assert words.names[-1] == "others"
    assert "n9" in words.names


def test_the_folder_has_the_record_the_text_and_the_figure(tmp_path: Path) -> None:
    """The record has everything known about each state; the README has the terminal's text; the page draws the map."""
    found = record(grid(4, 3))
    found.write(tmp_path / "one")
    record_again = read_record(Solved, load_json(tmp_path / "one" / FILE))
    assert record_again.deviation == found.deviation
    assert record_again.places == found.places
    text = re.sub(r"\s+", " ", (tmp_path / "one" / "README.md").read_text())
    for line in lines(found)[1:3]:
        assert line in text
    assert (tmp_path / "one" / "figures" / "policy.png").read_bytes()[:4] == b"\x89PNG"
    assert isinstance(section(tmp_path, load_json(tmp_path / "one" / FILE), Budget()).picture, Regions)
    assert '"type":"regions"' in write_report([tmp_path / "one"], tmp_path / "page.html").read_text()
    two = section(tmp_path, _written(grid(4, 3, ("up", "down")), tmp_path / "two"), Budget())
    assert isinstance(two.picture, Charts)
    assert isinstance(
        section(tmp_path, _written(sj.problems.gosavi(), tmp_path / "three"), Budget()).picture, Lines
    )


def _written(model: SMDP, folder: Path) -> Any:
    record(model).write(folder)
    return load_json(folder / FILE)


def test_the_sentence_on_earnings() -> None:
    """A coin that pays 4 or nothing every hour: over 1,000 hours 2,000, give or take 1.96 times 2 times the root of 1,000."""
    coin = from_transitions([(0, 0, 0, 0.5, 4.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0)])
    assert lines(record(coin))[1] == (
        "Over a time of 1,000 the reward will be 1,876 to 2,124 with a probability of 95 % (deviation 2 times the root of "
        "time; rewards and durations count as constants in each outcome)."
    )
    reach = 1.959964 * 2.0 * math.sqrt(1000.0)
    assert reach == pytest.approx(124.0, abs=0.05)


def test_what_a_calmer_ride_costs(tmp_path: Path) -> None:
    """The frontier of gain and deviation is a table for the terminal, a chart in a file and on the page, and JSON."""
    found = solve_named("admission-control", {"capacity": 4}, calmer=True)
    exact = sj.exact.risk_frontier(sj.problems.admission_control(capacity=4))
    assert found.risk is not None
    assert found.risk.gains == exact.gains
    assert lines(found)[-3].split() == ["2.74725", "4.135", "1.68", "%", "2", "jobs:", "reject"]
    found.write(tmp_path / "one")
    assert (tmp_path / "one" / "figures" / "risk.png").read_bytes()[:4] == b"\x89PNG"
    record_again = read_record(Solved, load_json(tmp_path / "one" / FILE))
    assert record_again.risk == found.risk
    shown = section(tmp_path, load_json(tmp_path / "one" / FILE), Budget())
    chart = next(
        one for one in shown.blocks if isinstance(one, Lines) and one.title.startswith("What a calmer")
    )
    assert list(chart.series[0].y) == sorted(exact.gains)
    with pytest.raises(ValueError, match="leave out limits and amounts"):
        solve_named("gosavi", {}, maximise="steps", calmer=True)


def test_tables_have_the_parts_of_the_states() -> None:
    """The table has a row for each state, with named parts, the action's label and the second-best action."""
    table = sj.solve(grid(4, 3, ("up", "down"))).table()
    assert table.columns[:5] == ["boxes", "orders", "machine", "action", "share_of_time"]
    assert table["share_of_time"].sum() == pytest.approx(1.0)
    assert set(table["second_best"]) == {"up", "right"}
    assert (table["loss"] >= 0.0).all()
    assert table["cost"].sum() > 0.0


def test_what_a_notebook_shows() -> None:
    """Notebooks show a self-contained picture and table for solutions and for policy values, with escaped text."""
    found = sj.solve(grid(4, 3))
    for shown in (found._repr_html_(), found.worth._repr_html_()):
        assert 'src="data:image/png;base64,' in shown
        assert "http" not in shown
        assert "<th>action</th>" in shown
        assert "and 2 more states" in shown
    sharp = from_transitions([("<b>", "&", "<b>", 1.0, 1.0, 1.0), ("c", "&", "<b>", 1.0, 1.0, 1.0)])
    assert "<b>" not in sj.solve(sharp)._repr_html_()
    assert '<div style="overflow-x: auto"><table>' in sj.solve(sharp)._repr_html_()  # on a phone it scrolls
    figure = found.plot()
    assert figure.axes[0].get_xlabel() == "state 1"
    assert found.plot(figure.axes[0]) is figure


def test_a_notebook_shows_amounts_and_limits() -> None:
    """Each amount per unit time, each limit with its price, and findings; what rounding left of a bias is 0."""
    rows = [
        ("on", "keep", "on", 1.0, 1.0, 1.0, {"lost": 0.0}),
        ("on", "lose", "on", 1.0, 3.0, 1.0, {"lost": 1.0}),
    ]
    limited = sj.solve(from_transitions(rows), limits=[sj.exact.at_most("lost", 0.25)])
    shown = limited._repr_html_()
    assert "<p>limit: lost per unit time at most 0.25, price 2</p>" in shown
    assert "<p>per unit time: reward 1.5, steps 1, lost 0.25</p>" in shown
    assert "<td>keep (75 %) or lose (25 %)</td>" in shown
    assert limited.table()["action"].to_list() == ["keep (75 %) or lose (25 %)"]
    assert all(finding in shown for finding in limited.findings)
    table = pl.DataFrame({"bias": [5e5, 1e-9], "loss": [5e5, 1e-9]})
    assert "<td>0</td><td>1e-09</td>" in notebook._html([], None, table).replace("1e-9", "1e-09")


def test_bars_of_few_states_have_room() -> None:
    """Two bars do not stand at the ends of the axis."""
    ax = sj.solve(sj.problems.gosavi()).plot().axes[0]
    assert ax.get_xlim() == (-0.5, 1.5)


def test_a_total_shows_its_policy() -> None:
    """A total's table has values and bounds, its picture is a map, and a notebook shows both."""

    def moves(state: tuple[int, int]) -> dict[str, Any]:
        i, j = state  # a walk to (0, 0) in which each step costs 1
        ways = {"left": (i - 1, j), "down": (i, j - 1), "stay": (i, j)}
        return {
            name: {"reward": -1.0, "duration": 1.0, "next": to} for name, to in ways.items() if min(to) >= 0
        }

    model = sj.models.explore((2, 2), moves)
    found = sj.solve(model, until=[(0, 0)])
    for row in found.table().iter_rows(named=True):
        assert row["lower"] <= row["value"] <= row["upper"]
        assert row["value"] == pytest.approx(-row["state 1"] - row["state 2"])
        assert row["action"] == found.policy[row["state 1"], row["state 2"]]
    assert [ax.get_xlabel() for ax in found.plot().axes] == ["state 1"]
    assert "total reward, until" in found._repr_html_()
    assert "<img" in found._repr_html_()
    steps = sj.solve(model, steps=3)
    assert steps.table()["action"].to_list() == [model.action_labels[a] for a in steps.policy[0]]
    named = sj.solve(sj.problems.long_return(), discount=0.1)
    assert named.table()["value"].to_list() == named.values.tolist()
    with pytest.raises(ValueError, match="no map to draw"):
        named.plot()


def test_unknown_quantities_are_left_out() -> None:
    """A policy with two recurrent classes has neither deviation nor shares, and everything still works."""
    twice = from_transitions([((0, 0), 0, (0, 0), 1.0, 1.0, 1.0), ((1, 1), 0, (1, 1), 1.0, 2.0, 1.0)])
    found = record(twice)
    assert (found.deviation, found.closest, found.by_state) == (None, None, {})
    assert not any(line.startswith("Over a time") for line in lines(found))
    assert "gain 1 to 2" in sj.solve(twice)._repr_html_()
    assert sj.solve(twice).table().columns == ["state 1", "state 2", "action", "bias"]
