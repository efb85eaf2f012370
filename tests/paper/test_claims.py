"""The claims ledger as data, as a page and on the command line; the tests of its verdicts are in test_claims_*.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

import sojourn as sj
from asking import ask
from ledger import LEDGER, judged, shows
from paper import test_claims_bitcoin, test_claims_means, test_claims_rates, test_claims_two_state
from sojourn.cli.commands import app
from sojourn_paper.claims import UNTESTABLE, VERDICTS, Claim, claims_page, counts, load_claims, parse_claims

ROOT = Path(__file__).resolve().parents[2]
MODULES = (test_claims_means, test_claims_rates, test_claims_two_state, test_claims_bitcoin)
TESTS = {
    f"tests/{module.__name__.replace('.', '/')}.py::{name}": thing
    for module in MODULES
    for name, thing in vars(module).items()
    if name.startswith("test_") and callable(thing) and thing.__module__ == module.__name__
}


# --- A verdict and its evidence ---


def test_each_claim_has_one_test_that_works_its_verdict_out() -> None:
    """Each testable claim of the ledger is shown by exactly one test, the first one it names."""
    shown = [(test.claim, node) for node, test in TESTS.items() if hasattr(test, "claim")]
    named = [(claim.id, claim.tests[0]) for claim in load_claims() if claim.verdict != UNTESTABLE]
    assert sorted(shown) == sorted(named)


def test_all_evidence_exists() -> None:
    """Every test that the ledger names exists and has a docstring."""
    for claim in load_claims():
        for node in claim.tests:
            assert node in TESTS, claim.id
            assert len(TESTS[node].__doc__ or "") > 30, node


def test_a_verdict_that_was_not_measured_fails() -> None:
    """A test fails if its finding differs from the ledger's verdict, whichever of the two was changed."""
    for verdict in VERDICTS:
        check = shows("theorem-3")(lambda found=verdict: found)
        if verdict == LEDGER["theorem-3"].verdict:
            check()
        else:
            with pytest.raises(AssertionError, match="another verdict on theorem-3"):
                check()


def test_judgement() -> None:
    """A claim holds as stated, holds under its condition only, or does not hold."""
    found = [judged(stated, condition) for stated in (True, False) for condition in (True, False)]
    assert found == ["holds", "holds", "holds with a condition", "does not hold"]
    assert judged(False, as_meant=True) == "slip of notation"
    assert judged(False, other_data=True) == "not reproduced"


@pytest.mark.parametrize("line", sorted({c for claim in load_claims() for c in claim.commands}))
def test_commands_of_the_evidence_exist(line: str) -> None:
    """Every command that the ledger names exists, with its options."""
    command: Any = typer.main.get_command(app)
    words = line.split()[1:]
    while words and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    options = {name for parameter in command.params for name in parameter.opts}
    assert [word for word in words if word.startswith("-") and word not in options] == []
    if command.name == "solve":
        assert words[0] in sj.problems.PROBLEMS


# --- The ledger ---


def test_the_ledger_is_complete_and_short() -> None:
    """Theorems 1 to 5 and Figures 2 to 7 have verdicts, and every reason is at most a few sentences."""
    claims = load_claims()
    places = " ".join(claim.where for claim in claims)
    assert set(re.findall(r"Theorem (\d)", places)) == set("12345")
    figures = "".join(re.findall(r"Figures? ([\d, and]+)", places))
    assert set(re.findall(r"\d", figures)) == set("234567")  # the first shows the states
    assert [claim.id for claim in claims if not 20 < len(claim.reason) < 400] == []
    assert sum(counts(claims).values()) == len(claims) >= 80


def test_a_repeated_error_is_repeated_from_where_it_is_counted() -> None:
    """No claim repeats one that itself repeats another, so each error is counted at one claim."""
    repeated = {claim.repeats for claim in LEDGER.values() if claim.repeats}
    assert [name for name in sorted(repeated) if LEDGER[name].repeats] == []


def entry(**changes: Any) -> dict[str, Any]:
    fields = {
        "id": "one",
        "where": "1 Introduction",
        "claim": "A claim.",
        "verdict": "holds",
        "reason": "A reason.",
        "evidence": ["tests/rates/test_means.py::test_internal", "sojourn solve jobs"],
    }
    return {**fields, **changes}


def test_an_entry_is_read() -> None:
    """Multi-line texts are joined, and evidence is split into tests and commands."""
    (claim,) = parse_claims({"claim": [entry(reason="A\n  reason.")]})
    assert claim.reason == "A reason."
    assert claim.tests == ("tests/rates/test_means.py::test_internal",)
    assert claim.commands == ("sojourn solve jobs",)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], r"a list of \[\[claim\]\]"),
        ([entry(verdict="perhaps")], "verdict is 'perhaps'; it must be one of holds, "),
        ([entry(), entry()], "there are two claims 'one'"),
        ([entry(id="One Two")], "lower-case words"),
        ([entry(note="x")], "claim 'one' must have id, where"),
        ([entry(reason=" ")], "reason is ' '; it must be text"),
        ([entry(claim=3)], "claim is 3; it must be text"),
        ([entry(evidence="tests")], "evidence is 'tests'; it must be a list"),
        ([entry(evidence=["rm -r x"])], "'rm -r x' is neither a test nor a command"),
        ([entry(evidence=["sojourn solve jobs"])], "a verdict needs a test"),
        ([entry(verdict=UNTESTABLE)], "must have none"),
        ([entry(), entry(id="b", where="2 B"), entry(id="c")], "scattered"),
        ([{"where": "x"}], "claim number 1 must have"),
        ([entry(repeats="two")], "claim 'one' repeats 'two', which is not a claim with the same verdict"),
        (
            [entry(), entry(id="b", repeats="one", verdict="does not hold")],
            "not a claim with the same verdict",
        ),
    ],
)
def test_a_wrong_ledger_gets_one_sentence(entries: list[dict[str, Any]], words: str) -> None:
    """An invalid ledger gets one sentence that names the claim."""
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        parse_claims({"claim": entries})
    assert "\n" not in str(caught.value)


# --- The page and the command ---


def test_the_page_is_made_from_the_ledger() -> None:
    """docs/claims.md is up to date with the ledger."""
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert page == claims_page(load_claims()), "run: sojourn claims --markdown > docs/claims.md"


def test_the_page_counts_its_claims() -> None:
    """The page has a heading for each claim, the verdict counts of its table, and the sections in order."""
    claims = load_claims()
    page = claims_page(claims)
    assert re.findall(r"^### (.+)$", page, flags=re.MULTILINE) == [claim.id for claim in claims]
    for verdict in VERDICTS:
        told = re.search(rf"^\| \*{verdict}\* \| (\d+) \|", page, flags=re.MULTILINE)
        assert told is not None
        assert page.count(f"**{verdict[0].upper()}{verdict[1:]}.**") == int(told[1])
    sections = re.findall(r"^## (.+)$", page, flags=re.MULTILINE)
    assert sections == ["What the authors say now", *dict.fromkeys(claim.section for claim in claims)]


def test_the_command_lists_the_claims() -> None:
    """Every claim is listed with its verdict, without colours outside a terminal; the totals count each error once."""
    done = ask("claims")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    for claim in load_claims():
        assert re.search(rf"^  {claim.id} +{claim.verdict}$", done.stdout, flags=re.MULTILINE)
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{len(LEDGER)} claims: ")
    wrong = [claim for claim in LEDGER.values() if claim.verdict == "does not hold"]
    once = sum(not claim.repeats for claim in wrong)
    assert f", {len(wrong)} does not hold ({once} different errors), " in last


def test_the_command_chooses() -> None:
    """The command selects a verdict or a claim, also as JSON, and prints the committed page."""
    wrong = json.loads(ask("claims", "--verdict", "does not hold", "--json").stdout)
    assert [claim["id"] for claim in wrong] == [c.id for c in LEDGER.values() if c.verdict == "does not hold"]
    one = json.loads(ask("claims", "monotonicity", "--json").stdout)
    assert Claim(**{**one, "evidence": tuple(one["evidence"])}) == LEDGER["monotonicity"]
    told = ask("claims", "monotonicity").stdout
    assert "monotonicity: does not hold" in told
    assert "python -m pytest tests/paper/test_claims_means.py::test_monotonicity" in told
    assert ask("claims", "--markdown").stdout == claims_page(load_claims())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("monotony",), "unknown claim 'monotony'; did you mean 'monotonicity'?"),
        (("--verdict", "true"), "--verdict is 'true'; it must be one of holds, "),
        (("symmetry", "--verdict", "holds"), "cannot both be given"),
    ],
)
def test_wrong_arguments_get_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    """Unknown arguments get one line."""
    done = ask("claims", *arguments)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
