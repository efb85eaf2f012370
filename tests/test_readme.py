from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import sojourn as sj

ROOT = Path(__file__).resolve().parent.parent


def test_readme_examples_run_as_written() -> None:
    """Every example of the README gives what the README says."""
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def scripts(path: Path) -> list[str]:
    """The Python programs in a page, those that are no dialogues."""
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)
    return [block for block in blocks if ">>>" not in block]


def test_readme_scripts_run_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Six lines train in a world of ours, six more in a wrapped environment, to the best policy there."""
    first, second = scripts(ROOT / "README.md")
    assert max(len(list(filter(None, script.splitlines()))) for script in (first, second)) <= 6
    namespace: dict[str, object] = {}
    exec(compile(first, "README.md", "exec"), namespace)  # noqa: S102 - our own documentation
    assert "Evaluation(rate=" in capsys.readouterr().out
    exec(compile(second, "README.md", "exec"), namespace)  # noqa: S102
    learner = namespace["learner"]
    assert isinstance(learner, sj.Learner)
    found = learner.evaluate(duration=6000.0)
    assert found.rate == pytest.approx(1 / 6, abs=1e-3)  # the shortest way to the goal has six moves


def test_readme_names_exist() -> None:
    """Every public name that the README's table promises is there."""
    table = (ROOT / "README.md").read_text().split("## What there is")[1].split("##")[0]
    names = [name for name in re.findall(r"`([A-Za-z_]+)`", table) if name != "sojourn"]
    assert len(names) > 30
    assert [name for name in names if not hasattr(sj, name)] == []


def test_the_worlds_example_runs_as_written() -> None:
    """The example in the worlds' documentation is a whole program."""
    from sojourn.worlds import rules

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
