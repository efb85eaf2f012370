from __future__ import annotations

import re
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.studies.claims.ledger import errors

ROOT = Path(__file__).resolve().parents[2]


def scripts(path: Path) -> list[str]:
    """The Python programs in a page, those that are no dialogues."""
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)
    return [block for block in blocks if ">>>" not in block]


def test_the_readmes_six_lines_learn_an_optimal_policy(capsys: pytest.CaptureFixture[str]) -> None:
    """Six lines train, and what the policy earns, with its interval, is the exact gain that stands beside it."""
    (script,) = scripts(ROOT / "README.md")
    assert len(list(filter(None, script.splitlines()))) <= 6
    namespace: dict[str, object] = {}
    exec(compile(script, "README.md", "exec"), namespace)  # noqa: S102 - our own documentation
    printed = capsys.readouterr().out
    assert "the policy earns " in printed
    assert "exact gain 2.79434, of the best policy 2.79434" in printed
    assert "warning" not in printed
    learner = namespace["learner"]
    assert isinstance(learner, sj.Learner)
    found, model = learner.evaluate(duration=20_000.0), sj.problems.admission_control()
    best = sj.solve(model)
    assert sj.evaluate(model, learner.policy).gains[0] == pytest.approx(best.gain)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= best.gain <= found.high


def test_the_readmes_count_of_claims_is_the_ledgers() -> None:
    """How many statements have each verdict, and from how many errors the wrong ones come, as the ledger has it."""
    verdicts = [claim.verdict for claim in sj.load_claims()]
    sentence = (
        f"Of its {len(verdicts)} statements {verdicts.count('holds')} hold, "
        f"{verdicts.count('holds with a condition')} hold under a condition that it does not state, "
        f"{verdicts.count('slip of notation')} are slips of notation, {verdicts.count('does not hold')} do not hold "
        f"({errors(sj.load_claims())} different errors), {verdicts.count('not reproduced')} was not reproduced on other data, "
        f"and {verdicts.count('not testable here')} cannot be tested here"
    )
    assert sentence in " ".join((ROOT / "README.md").read_text().split())


def test_the_readme_fits_two_screens() -> None:
    """A visitor reads it in two looks: at most 100 lines, none of them longer than a screen is wide."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 100
    assert max(len(line) for line in lines if not line.startswith("!")) <= 140


def test_the_worlds_example_runs_as_written() -> None:
    """The example in the worlds' documentation is a whole program."""
    from sojourn.worlds import protocol as rules

    assert rules.__doc__ is not None
    example = rules.__doc__.split("built-in ones:")[1].split("`sojourn.check_world")[0]
    code = "\n".join(line.removeprefix("    ") for line in example.splitlines())
    namespace: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "example.py", "exec"), namespace)  # noqa: S102 - our own documentation
    run = namespace["run"]
    assert isinstance(run, sj.Run)
    assert run.rate > 0.0


@pytest.mark.parametrize("name", sj.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    """What is exported exists and says what it is."""
    documentation = getattr(sj, name).__doc__
    assert documentation
    assert len(documentation) > 10
