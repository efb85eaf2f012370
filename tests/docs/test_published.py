"""Published results: the page agrees with the measurements, and a short form repeats them."""

from __future__ import annotations

import re

import pytest

from site_builder import DOCS, loaded

published = loaded("published")
exact = loaded("published_exact")
PAGE = (DOCS / "published.md").read_text(encoding="utf-8")


def test_differential_q_earns_what_was_published() -> None:
    """Eight seeds of 80,000 steps, at the best and at too large step sizes, reproduce the published means."""
    for alpha, eta, published_mean in ((0.025, 0.5, 2.580), (0.4, 2.0, 2.283)):
        row = published.access_control(alpha, eta, seeds=8)
        assert published.theirs(row) == published_mean
        # The standard deviation of a run is 0.015, and theirs is a mean of 30.
        assert row["over"]["mean"] == pytest.approx(published_mean, abs=4 * 0.015 * (1 / 8 + 1 / 30) ** 0.5)
        assert row["over"]["low"] < row["over"]["mean"] < row["over"]["high"]
    assert row["late"]["mean"] == pytest.approx(row["over"]["mean"], abs=0.05)  # it has converged long before


def test_the_page_says_what_was_measured() -> None:
    """Nearly all of the 25 means agree, learning ends at about 2.61, and options are faster, as the page says."""
    data = published.read()
    assert len(data["access_control"]) == 25
    assert int(published.how_many_agree()) >= 24
    assert data["gain"] == pytest.approx(2.7432, abs=5e-5)
    (best,) = (row for row in data["access_control"] if (row["alpha"], row["eta"]) == (0.025, 0.5))
    assert best["over"]["mean"] == max(row["over"]["mean"] for row in data["access_control"])
    assert best["late"]["low"] - 0.005 <= 2.61 <= best["late"]["high"] + 0.005
    rows = {name: [row for row in data["four_rooms"] if row["choices"] == name] for name in published.ROOMS}
    without = rows["steps only"]
    for name in ("steps and options", "options only"):
        assert min(row["early"]["low"] for row in rows[name]) > 2 * max(
            row["early"]["high"] for row in without
        )
    assert (
        rows["options only"][0]["best"]
        < without[0]["best"]
        == pytest.approx(rows["steps and options"][0]["best"])
    )
    both, alone = (
        min(row["over"]["low"] for row in rows[name]) for name in ("steps and options", "options only")
    )
    assert both > alone


def test_the_tables_of_the_page_have_every_number() -> None:
    """Each of the 25 pairs and each choice of actions has its cell, and the page has no other placeholders."""
    table = published.access_control_table().splitlines()
    assert [len(re.findall(r"[.]\d{3};", row)) for row in table[2:]] == [5] * 5
    assert table[4].startswith("| alpha 0.025 | 2.577; ")
    assert len(published.four_rooms_table().splitlines()) == 2 + 9
    asked = set(re.findall("<!-- published: .+? -->", PAGE))
    assert asked == {place for place in loaded("hooks").places() if place.startswith("<!-- published")}


def test_published_gains_are_ours_to_all_digits() -> None:
    """All of the page's rows agree and lie within their bounds, and a sample of each kind, solved again, matches the page."""
    rows = [exact.Row(**row) for row in published.read()["exact"]]
    assert len(rows) == 35
    for row in rows:
        assert row.agrees, row
        assert row.lower <= row.ours <= row.upper
        assert row.upper - row.lower < 1e-8 * abs(row.ours)
    again = {(row.group, row.case): row.ours for row in [*exact.others(), *exact.miners((0.35,))]}
    assert len(again) == 14
    known = {(row.group, row.case): row.ours for row in rows}
    for place, ours in again.items():
        assert ours == pytest.approx(known[place], rel=1e-9)


def test_inventories_are_ordered_for_as_published() -> None:
    """The levels s and S of every row of Zheng and Federgruen, and of Snyder and Shen, are on the page, and three are recomputed."""
    cases = {row["case"] for row in published.read()["exact"]}
    for mean, (least, up_to, _) in exact.ZHENG_FEDERGRUEN.items():
        assert f"mean demand {mean}: s {least}, S {up_to}" in cases
    assert "example 4.7: s 4, S 10" in cases
    for mean in (10, 65):
        assert exact.levels(exact.inventory(mean, 64.0, 1.0, 9.0)) == exact.ZHENG_FEDERGRUEN[mean][:2]
    assert exact.levels(exact.inventory(6.0, 5.0, 1.0, 4.0)) == exact.SNYDER_SHEN[:2]
