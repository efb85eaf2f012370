"""`sojourn solve` with limits, and for totals: the text, the JSON, the files and the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from asking import ask

LINE = """
states = ["line"]
actions = ["answer", "reject"]
[[pairs]]
state = "line"
action = "answer"
reward = 1
duration = 1
next = { line = 1 }
amounts = { calls = 1 }
[[pairs]]
state = "line"
action = "reject"
reward = 3
duration = 1
next = { line = 1 }
amounts = { calls = 1, lost = 1 }
"""


def test_limits_and_their_prices_are_told(tmp_path: Path) -> None:
    """Limits, prices and probabilities are in the text, the JSON, `solution.json`, the page and the policy file."""
    model, page = tmp_path / "line.toml", tmp_path / "page.html"
    model.write_text(LINE)
    policy = tmp_path / "policy.json"
    words = ("solve", str(model), "--at-most", "lost 0.25 per calls", "--at-least", "calls 0.5")
    text = ask(*words, "--policy", str(policy), "--out", str(tmp_path / "out")).stdout
    assert "limit: lost per calls at most 0.25, price 2\n" in text
    assert "limit: calls per unit time at least 0.5, price 0 (it does not bind)" in text
    assert "line: answer (75 %) or reject (25 %)" in text
    told = json.loads(ask(*words, "--json").stdout)
    assert (told["gain"], told["prices"]) == (pytest.approx(1.5), pytest.approx([2.0, 0.0]))
    assert told["probabilities"] == [{"answer": pytest.approx(0.75), "reject": pytest.approx(0.25)}]
    loaded = sj.load_policy(policy)
    assert isinstance(loaded, sj.exact.SolvedPolicy)
    assert loaded.chances("line") == told["probabilities"][0]
    ask("report", str(tmp_path / "out"), "--out", str(page))
    assert "lost per calls at most 0.25, price 2" in page.read_text()


def test_totals_are_told(tmp_path: Path) -> None:
    """`--steps`, `--until` and `--discount` give the totals of all states; the file and the page have them too."""
    told = json.loads(ask("solve", "long-return", "--steps", "3", "--json").stdout)
    assert (told["values"], told["policy"]) == ([1540.0, 770.0], ["B", "A"])
    text = ask(
        "solve", "long-return", "--until", "choice", "--discount", "0.1", "--out", str(tmp_path / "out")
    ).stdout
    assert "discounted by 0.1 per unit time and paid at the start of each step, until {choice}" in text
    assert "note: the durations have no laws, so each is taken to be constant" in text
    ask("report", str(tmp_path / "out"), "--out", str(tmp_path / "page.html"))
    assert "The largest total of long-return" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at-most", "lost"), '--at-most is \'lost\'; write an amount'),
        (("--at-most", "lots 1"), "no amount 'lots'"),
        (("--until", "choise"), "did you mean 'choice'"),
        (("--paid", "end"), "there is no discount"),
        (("--discount", "0.1", "--per", "steps"), "are for gains"),
        (("--at-most", "steps 0.001"), "the least that can be had"),
    ],
)  # fmt: skip
def test_wrong_limits_and_totals_get_one_sentence(options: tuple[str, ...], words: str) -> None:
    """Wrong limits and totals get one line that says what is wrong."""
    done = ask("solve", "long-return", *options)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
