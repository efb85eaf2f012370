from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from asking import ask
from sojourn.answers.audit import audit_named, audited, lines, sheet, value_chart
from sojourn.exact.audit.audit import audit
from sojourn.models import from_arrays
from sojourn.models.problems import PROBLEMS, admission_control
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.report import figures
from sojourn.report.charts import Lines

ISLANDS = """
states = ["here", "there"]
actions = 1
[[pairs]]
state = "here"
action = 0
reward = 1.0
duration = 1.0
next = { here = 1.0 }
[[pairs]]
state = "there"
action = 0
reward = 2.0
duration = 1.0
next = { there = 1.0 }
"""


def without_constants(text: str) -> Any:
    """Parse JSON strictly, without NaN and Infinity."""

    def refuse(word: str) -> float:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def test_an_audit_for_machines_and_for_people(tmp_path: Path) -> None:
    """The printed JSON equals the written file, infinite ends are null, and the figure exists in three formats."""
    out = tmp_path / "out" / "long-shot"
    done = ask("audit", "long-shot", "--json", "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    told = without_constants(done.stdout)
    assert told == without_constants((out / "audit.json").read_text())
    assert list(told) == [
        "name", "options", "version", "states", "policy", "gain", "best_gain", "low", "high", "estimators", "frontier",
        "exploration", "held", "held_low", "held_high", "num_policies", "complete", "self_confirming",
    ]  # fmt: skip
    assert (told["name"], told["options"], told["version"], told["states"]) == (
        "long-shot",
        {},
        sj.__version__,
        1,
    )
    assert (told["policy"], told["gain"], told["best_gain"]) == ([0], 5.0, 5.0)
    assert (told["low"], told["high"]) == (pytest.approx(7 / 3), None)
    assert [each["estimator"] for each in told["estimators"]] == list(ESTIMATORS)
    harmonic = told["estimators"][3]
    assert harmonic == {
        "estimator": "Harmonic", "agents": ["harmonic_r"], "rate": pytest.approx(1.8), "error": pytest.approx(-3.2),
        "keeps_optimum": False, "greedy_gain": 3.0, "drift": pytest.approx(0.9 * 3.2), "settled_gain": 3.0,
        "mean": None, "mean_is": None,
    }  # fmt: skip
    means = {
        each["estimator"]: (each["mean"], each["mean_is"]) for each in told["estimators"] if each["mean_is"]
    }
    assert means == {
        "Exponential": (5.0, "first order"), "TimeSmoothed": (5.0, "exact"), "Incremental": (5.0, "exact"),
    }  # fmt: skip
    # Nine times 5 - rate, A's own advantage, is more than 12 - 4 rate up to 33/5; both policies are kept.
    assert (told["held"], told["held_low"], told["held_high"]) == (True, None, pytest.approx(6.6))
    kept = told["self_confirming"][3]
    assert [(one["policy"], one["gain"], one["trap"]) for one in kept["policies"]] == [
        ([0], 5.0, False),
        ([1], 3.0, True),
    ]
    frontier = told["frontier"]
    assert len(frontier["rate"]) == len(frontier["value"]) == len(frontier["gain"]) == 3
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [
        "audit.json", "audit.png", "audit.svg",
    ]  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in (out / "figures").iterdir())
    shown = ask("audit", "long-shot").stdout.splitlines()
    assert (
        "the policy's gain is 5, the optimal one 5; an optimal policy is greedy for rates from 2.33333 on"
        in shown[0]
    )
    row, kept_row = (line for line in shown if line.startswith("Harmonic "))
    assert row.split() == ["Harmonic", "1.8", "-3.2", "no", "3", "2.88", "3"]
    assert kept_row.split() == ["Harmonic", "2", "1", "5,", "3*"]
    assert "Policies that a learner keeps with exploration 0.2: long-shot" in shown
    words = " ".join(shown)
    assert "The audited policy is kept at rates up to 6.6." in words
    assert "Examined: all 2 policies." in words


def test_options_and_policies_reach_the_audit() -> None:
    """`-o` changes the model, `--policy` the audited policy."""
    told = json.loads(
        ask("audit", "long-return", "--policy", "1, 0", "-o", "long_reward=808", "--json").stdout
    )
    assert (told["options"], told["policy"]) == ({"long_reward": 808}, [1, 0])
    assert (told["gain"], told["best_gain"]) == (pytest.approx(8.0), pytest.approx(10.0))
    # Per step A has 15 in 1.5 and B 404 in 50.5.
    assert told["low"] == pytest.approx((404 - 15) / (50.5 - 1.5))
    smaller = json.loads(ask("audit", "admission-control", "-o", "capacity=5", "--json").stdout)
    assert smaller["states"] == admission_control(capacity=5).num_states


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("long-shott",), "there is no problem 'long-shott'; did you mean 'long-shot'?"),
        (("long-shot", "-o", "speed=2"), "long-shot has no option 'speed'"),
        (("long-shot", "-o", "speed"), "--option 'speed' must be written as key=value"),
        (("long-shot", "-o", "short_duration=-1"), "short_duration is -1"),
        (("long-shot", "--policy", "A"), "--policy 'A' must be the action of each state"),
        (("long-shot", "--policy", ""), "--policy '' must be the action of each state"),
        (("long-shot", "--policy", "0,0"), "policy has the shape (2,)"),
        (("long-shot", "--policy", "7"), "state 0 has no action 7; it has 0, 1"),
        (("nowhere.toml",), "nowhere.toml"),
        (("islands.toml",), "the gain depends on the first state"),
        (("islands.toml", "-o", "a=1"), "islands.toml is a file, which takes no options"),
        (("broken.toml",), "broken.toml is not a TOML file"),
        (("long-shot", "--out", "islands.toml"), "islands.toml"),
    ],
)
def test_what_cannot_be_audited_gets_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    """A wrong name, option, policy, file or folder gets one line without a traceback, and nothing is written."""
    (tmp_path / "islands.toml").write_text(ISLANDS)
    (tmp_path / "broken.toml").write_text("states = = 2")
    done = ask("audit", *arguments, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("sojourn: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.toml", "islands.toml"]


def test_solve_writes_what_it_found(tmp_path: Path) -> None:
    """`--out` includes bias, names and options; `--json` keeps its keys and their order, and has the deviation of earnings."""
    done = ask(
        "solve", "long-return", "-o", "short_reward=33", "--out", str(tmp_path / "new" / "out"), "--json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed = without_constants(done.stdout)
    figures = ["name", "gain", "lower", "upper", "policy", "states", "solver", "seconds"]
    assert list(printed) == [*figures, "state_names", "action_names", "deviation", "closest"]
    assert (printed["state_names"], printed["action_names"]) == (["choice", "return"], ["A", "B"])
    written = without_constants((tmp_path / "new" / "out" / "solution.json").read_text())
    assert {key: written[key] for key in printed} == printed
    others = {"version", "options", "bias", "findings", "gains", "ratio", "maximise", "per", "rates"}
    others |= {
        "by_state",
        "constant",
        "mean_step",
        "parts",
        "places",
        "second",
        "limits",
        "prices",
        "risk",
        "probabilities",
    }
    assert set(written) - set(printed) == others
    assert (written["gain"], written["options"]) == (pytest.approx(11.0), {"short_reward": 33})
    assert (written["state_names"], written["action_names"]) == (["choice", "return"], ["A", "B"])
    # h + g d = r + P h: h(return) = 0 - 11 * 1 + h(choice).
    assert written["bias"][1] - written["bias"][0] == pytest.approx(-11.0)
    bare = ask("solve", "gosavi", "--out", str(tmp_path))
    assert "gain 2.104477612 per unit time" in bare.stdout
    assert without_constants((tmp_path / "solution.json").read_text())["state_names"] is None


def test_intervals_are_said_in_words() -> None:
    """Intervals with two ends, one end or none are put into words."""
    found = audit_named("gosavi", {})
    for low, high, told in (
        (None, None, "for every rate"),
        (None, 2.0, "for rates up to 2"),
        (1.5, None, "for rates from 1.5 on"),
        (1.5, 2.0, "for rates from 1.5 to 2"),
    ):
        assert lines(replace(found, low=low, high=high))[0].endswith(told)


@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(name, marks=pytest.mark.evidence) if name == "four-rooms" else name
            for name in PROBLEMS
        ),
        "random",
    ],
)
def test_the_figure_shows_what_was_found(name: str) -> None:
    """F, the interval, the optimal gain and each distinct limit are drawn, with their numbers in the legend."""
    if name == "random":
        model = from_arrays([[[0.5, 0.5]] * 2] * 2, [[1.0, -2.0], [0.5, 3.0]], [[1.0, 2.0], [3.0, 0.5]])
        found = audited(name, audit(model))
    else:
        found = audit_named(name, {})
    found = replace(found, name=f"some/long/folder/{name}.toml")
    drawn_sheet = sheet(found)
    ((chart, kept),) = drawn_sheet.rows
    assert drawn_sheet.titles == [[f"{name}: where the estimators end", "policies kept with exploration 0.2"]]
    assert isinstance(kept, Lines)
    points = [line for line in kept.series if line.kind == "points"]
    drawn = {(f"{x:.6g}", f"{y:.6g}") for line in points for x, y in zip(line.x, line.y, strict=True)}
    policies = [one for each in found.self_confirming for one in each.policies]
    assert drawn == {(f"{one.rate:.6g}", f"{one.gain:.6g}") for one in policies}
    assert isinstance(chart, Lines)
    with figures.figure(6.5, 3.6) as drawing:
        ax = drawing.subplots()
        figures.draw(chart, ax)
        labels = ax.get_legend_handles_labels()[1]
        drawn_lines: dict[str, Any] = {str(line.get_label()): line for line in ax.get_lines()}
    assert f"optimal gain {found.best_gain:.4g}" in labels
    assert "an optimal policy is greedy" in labels
    curve = drawn_lines["F(rate)"]
    assert tuple(curve.get_xdata()) == found.frontier["rate"]
    assert tuple(curve.get_ydata()) == found.frontier["value"]
    different = {f"{each.rate:.6g}" for each in found.estimators if each.rate is not None}
    verticals = [line.get_xdata()[0] for label, line in drawn_lines.items() if ": " in label]
    assert {f"{rate:.6g}" for rate in verticals} == different
    assert all(ax.get_xlim()[0] <= rate <= ax.get_xlim()[1] for rate in verticals)
    assert [line.x for line in value_chart(found).verticals] == [line.x for line in chart.verticals]


def test_infinite_ends_are_null() -> None:
    """JSON has no infinity, so unbounded ends are null, and nothing else is."""
    found = audit(PROBLEMS["long-shot"]())
    assert math.isinf(found.high)
    record = audited("long-shot", found)
    assert (record.low, record.high) == (found.low, None)


def test_solve_tells_what_is_odd_about_a_model(tmp_path: Path) -> None:
    """Transient states, and a state that no action leaves, are reported; a single state is not odd."""
    (tmp_path / "passing.toml").write_text(ISLANDS.replace("{ here = 1.0 }", "{ there = 1.0 }"))
    done = ask("solve", "passing.toml", "--out", "out", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[2] == "policy: here: 0; there: 0"
    assert done.stdout.splitlines()[3:] == [
        "note: state 1 (there) is absorbing: no action leaves it",
        "note: every policy leaves {here} for good",
    ]
    assert len(json.loads((tmp_path / "out" / "solution.json").read_text())["findings"]) == 2
    assert "no action leaves it" in sj.write_report([tmp_path / "out"], tmp_path / "r.html").read_text()
    assert "note" not in ask("solve", "long-shot").stdout


def test_an_estimate_without_a_finite_variance_is_named() -> None:
    """A note below the limits names the estimators whose step size is too large for the model, if any."""
    words = "has no finite variance if some steps last too long for it: Incremental."
    assert words in " ".join(ask("audit", "two-states-uneven").stdout.split())
    assert "no finite variance" not in ask("audit", "long-shot").stdout
