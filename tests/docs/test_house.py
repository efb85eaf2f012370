"""The architecture stays small: few rooms, few floors, short import chains, and an up-to-date drawing."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import sojourn as sj

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    """The script that draws and measures the architecture."""
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_packages_root_holds_the_rooms_only(house: ModuleType) -> None:
    """The package's root has at most 14 entries, each of them a room on one of the floors."""
    entries = house.root_entries()
    assert len(entries) <= 14
    assert sorted(room for floor in house.floors() for room in floor) == entries


def test_there_are_at_most_nine_floors(house: ModuleType) -> None:
    """There are at most 9 floors, from `data` up to `cli`, so that a newcomer can remember them."""
    assert len(house.floors()) <= 9


def test_no_chain_of_imports_is_long(house: ModuleType) -> None:
    """No chain of imports within the package has more than 20 modules."""
    chain = house.longest_chain(house.imports())
    assert len(chain) <= 20, " -> ".join(module.removeprefix("sojourn.") for module in chain)


def test_all_imports_lead_down(house: ModuleType) -> None:
    """No room imports another on its own floor or above."""
    edges = house.rooms(house.imports())
    assert len(edges) > 20
    assert house.across(edges) == []


def test_the_drawing_shows_what_is_imported(house: ModuleType) -> None:
    """The drawing in the documentation has exactly the edges between rooms; `make house` redraws it."""
    assert house.drawn() == set(house.rooms(house.imports()))


def test_a_drawing_says_what_it_was_made_of(house: ModuleType, tmp_path: Path) -> None:
    """Reading a drawing back gives what was drawn, even for an upward import; each room is named."""
    edges = Counter([("cli", "runs"), ("rules", "cli")])
    path = tmp_path / "house.svg"
    path.write_text(house.drawing(edges))
    assert house.drawn(path) == set(edges)
    assert re.findall(r'class="name"[^>]*>(\w+)<', path.read_text()) == [
        room for floor in house.floors() for room in floor
    ]


def test_the_house_does_not_grow(house: ModuleType) -> None:
    """No figure of the library's size, and of the paper's, is above what it was when it was last made smaller."""
    most = {
        "sojourn": {
            "files": 281,
            "lines of code": 41_220,
            "file names used twice": 4,
            "class names used twice": 4,
            "classes": 527,
            "records": 367,
        },
        "sojourn_paper": {"files": 27, "lines of code": 4_090},
    }
    for package, bounds in most.items():
        sizes = house.sizes(package)
        assert {name: sizes[name] for name in bounds if sizes[name] > bounds[name]} == {}


def test_few_names_are_at_the_top(house: ModuleType) -> None:
    """The top level has at most 55 names; everything else is in a module."""
    assert len(house.top_names()) <= 55
    assert sorted(house.top_names()) == sorted(sj.__all__)


def test_private_numba_has_one_folder(house: ModuleType) -> None:
    """At most 35 lines use Numba's private interface, all of them in one folder."""
    ((folder, lines),) = house.private_numba().items()
    assert folder == "rules/jit"
    assert 10 < lines <= 35  # fewer would mean that detection is broken


@pytest.mark.parametrize(("walk", "most"), [("Learner(env).train(1000)", 36), ("a sweep", 38)])
def test_few_files_run(house: ModuleType, walk: str, most: int) -> None:
    """A user's line runs code in at most this many files, which bounds what one has to read to understand it."""
    assert 20 < len(house.files_run(walk)) <= most


def test_the_figures_are_those_of_the_source(house: ModuleType) -> None:
    """Lines and modules match a count of the files, and the table has a row for each figure."""
    files = list((ROOT / "src" / "sojourn").rglob("*.py"))
    figures = house.figures()
    assert int(figures["modules"]) == len(files)
    assert int(figures["lines"].replace(",", "")) == sum(len(path.read_text().splitlines()) for path in files)
    assert len(house.table().splitlines()) == 2 + len(figures)
