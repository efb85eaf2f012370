from __future__ import annotations

import re
from pathlib import Path

import pytest

import sojourn as sj
from sojourn_paper.claims import errors, load_claims

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def doors() -> dict[str, str]:
    """The README's sections by starting point, each with its program; `test_docs` runs them."""
    text = README.split("<!-- doors -->\n")[1].split("<!-- end of doors -->")[0]
    return {title: body for title, _, body in (part.partition("\n") for part in text.split("## I have ")[1:])}


def test_the_readme_has_six_doors() -> None:
    """For each of six starting points there is a program of at most ten lines besides imports, its output, and a link to a page."""
    found = doors()
    assert list(found) == [
        *("a model", "a simulator", "a log"),
        *("a Gymnasium environment", "drifting data", "a paper to check"),
    ]
    for title, body in found.items():
        (program,) = re.findall(r"```python\n(.*?)```", body, flags=re.DOTALL)
        lines = [line for line in program.splitlines() if line and not line.startswith(("import ", "# > "))]
        assert len(lines) <= 10, title
        assert "\nimport sojourn as sj\n" in f"\n{program}", title
        assert "\n# > " in program, title
        pages = re.findall(r"\]\((docs/[a-z]+\.md)\)", body)
        assert pages, title
        assert all((ROOT / page).exists() for page in pages), title


def test_the_answers_behind_the_doors_are_right() -> None:
    """What the programs print agrees with exact gains, or with a hand calculation."""
    found = doors()
    # Priority to the first kind, which may interrupt: 2 x 1 > 1 x .8. Of each kind, arrivals times the mean time there.
    busy, rest = 0.4 / 1.0, 1.0 - 0.4 / 1.0 - 0.3 / 0.8
    first, second = busy / (1 - busy), 0.3 * (1.25 / (1 - busy) + (0.4 + 0.3 / 0.8**2) / ((1 - busy) * rest))
    assert f"# > {-2 * first - second:.3f}: first at (3, 1)" in found["a model"]
    assert f"{first:.3f} and {second:.3f} wait" in found["a model"]
    low, high = map(float, re.findall(r"interval ([\d.]+) to ([\d.]+)", found["a simulator"])[0])
    assert low < (5 + 4 + 3 + 2 - 3) / (4 + 2) < high
    assert float(re.findall(r"at least ([\d.]+)", found["a log"])[-1]) < 12 / (10 + 3)
    best = sj.solve(sj.problems.admission_control()).gain
    assert f"exact gain {best:.6g}, of the best policy {best:.6g}" in found["a Gymnasium environment"]
    assert "warning" not in found["a Gymnasium environment"]
    problem = sj.problems.long_shot()
    assert sj.solve(problem).gain == 5.0
    assert sj.evaluate(problem, [1]).gain == 3.0
    assert [round(float(now)) for now in re.findall(r"([\d.]+) now", found["drifting data"])] == [3, 1]


def test_the_readmes_count_of_claims_is_the_ledgers() -> None:
    """The README's counts of verdicts, and of distinct errors, match the ledger."""
    verdicts = [claim.verdict for claim in load_claims()]
    sentence = (
        f"Of its {len(verdicts)} statements {verdicts.count('holds')} hold, "
        f"{verdicts.count('holds with a condition')} hold under a condition that it does not state, "
        f"{verdicts.count('slip of notation')} are slips of notation, {verdicts.count('does not hold')} do not hold "
        f"({errors(load_claims())} different errors), {verdicts.count('not reproduced')} were not reproduced on other data, "
        f"and {verdicts.count('not testable here')} cannot be tested here"
    )
    assert sentence in " ".join(README.split())


def test_the_readme_is_short() -> None:
    """The README has at most 170 lines, none of them wider than a screen."""
    lines = README.splitlines()
    assert len(lines) <= 170
    assert max(len(line) for line in lines if not line.startswith("!")) <= 140


def test_the_worlds_example_runs_as_written() -> None:
    """The example in the worlds' documentation is a complete program."""
    from sojourn.worlds import protocol as rules

    assert rules.__doc__ is not None
    example = rules.__doc__.split("built-in ones:")[1].split("`sojourn.check_world")[0]
    code = "\n".join(line.removeprefix("    ") for line in example.splitlines())
    namespace: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "example.py", "exec"), namespace)  # noqa: S102 - our own documentation
    run = namespace["run"]
    assert isinstance(run, sj.runs.Run)
    assert run.rate > 0.0


@pytest.mark.parametrize("name", sj.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    """Every exported name exists and has a docstring."""
    documentation = getattr(sj, name).__doc__
    assert documentation
    assert len(documentation) > 10
