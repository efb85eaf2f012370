"""A release's metadata agree everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import sojourn as sj

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github").rglob("*.yml"))


def test_the_version_is_the_same_everywhere() -> None:
    """The citation has the newest dated version; the package has that version, or the unreleased one above it."""
    citation = (ROOT / "CITATION.cff").read_text()
    parts = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released, day = next(part for part in parts if part[1] != "unreleased")
    newest, when = parts[0]
    assert sj.__version__ == (f"{newest}.dev0" if when == "unreleased" else released)
    assert f"\nversion: {released}\n" in citation
    assert f"\ndate-released: {day}\n" in citation


def test_the_oldest_python_is_the_one_that_the_makefile_asks_for() -> None:
    """The required, the declared and the Makefile's Python versions agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    declared = [name.rsplit(" ", 1)[1] for name in project["classifiers"] if "Python :: 3." in name]
    assert declared[0] == oldest
    assert f"({oldest.replace('.', ', ')})" in (ROOT / "Makefile").read_text()
    tried = re.findall(r'"(3\.\d+)"', (ROOT / ".github/workflows/checks.yml").read_text())
    assert set(tried) == set(declared)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_the_files_of_the_host_can_be_read(path: Path) -> None:
    """Workflows and templates are valid YAML, and the commands they run exist in the repository."""
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(path.read_text())
    assert isinstance(content, dict)
    for job in content.get("jobs", {}).values():
        for step in job["steps"]:
            command = step.get("run", "").split()
            if command[:1] == ["bash"]:
                assert (ROOT / command[1]).is_file()
            if command[:1] == ["make"]:
                assert f"\n{command[1]}:" in (ROOT / "Makefile").read_text()
