"""What version 0.2 saved is read as by 0.2, and what it offered is still offered; see `saved_files`."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import math
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import saved_files
import sojourn as sj
from asking import ask
from counting import Counted
from interpreting import interpreted
from saved_files import (
    COMMANDS,
    FOLDER,
    KEYS_ONLY,
    LEARNERS,
    MORE,
    NEXT,
    POLICIES,
    PRINTED,
    RESUMED,
    STEPS,
    WRONG,
    Json,
    documents,
    is_there,
    keys,
    numbers_on_page,
    options,
    rules_version,
    tables,
)

LEARNED = json.loads((FOLDER / "learners.json").read_text(encoding="utf-8"))
FOLDERS = json.loads((FOLDER / "folders.json").read_text(encoding="utf-8"))
TOLD = json.loads((FOLDER / "commands.json").read_text(encoding="utf-8"))
NAMES = json.loads((FOLDER / "names.json").read_text(encoding="utf-8"))
SAME_RULES = rules_version() == FOLDERS["rules_version"]
pytestmark = pytest.mark.interpreted  # what 0.2 saved was compiled, and the bits are the same

QUICK = (
    "sweep",
    "sweep-means",
    "compare-observed",
    "solve",
    "solve-problem",
    "audit",
    "log",
    "rates",
    "evaluate",
)


# --- Learners and policies ------------------------------------------------------------------


@pytest.fixture(scope="module")
def read() -> Json:
    """What this version reads in all files; in Python, since to compile all these agents takes a minute."""
    with interpreted(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_json(saved_files.tell(FOLDER))


def as_json(found: Json) -> Json:
    return json.loads(json.dumps(found))


@pytest.mark.evidence
def test_a_new_process_reads_the_same_compiled(read: Json, counted: Counted) -> None:
    """A process of its own, in which the agents are compiled, reads the same and goes on with the same bits."""
    words = [sys.executable, saved_files.__file__, "tell", str(FOLDER)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name, kind in LEARNERS.items():
        if kind.reason == saved_files.IN_SINGLE:
            found["learners"][name] = read["learners"][name]
    assert found == read
    counted("learners of 0.2, compiled", tried=len(LEARNERS), failed=0)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_is_read_and_goes_on(name: str, read: Json) -> None:
    """All that 0.2 saw in its file is there, and further training gives the same bits, unless it is said why not."""
    kind, expected, found = LEARNERS[name], LEARNED["learners"][name], read["learners"][name]
    assert not isinstance(found, str), found
    found["read"]["saved again"] |= not expected["read"][
        "saved again"
    ]  # one that has become exact is welcome
    expected["read"]["saved again"] = True
    other_fields = {saved_files.MENDED: ("rate", "saved again"), saved_files.PLANNER: ("saved again",)}
    more_arrays = (
        ("saved again",) if kind.make is sj.deep_q else ()
    )  # it knows which steps followed one another
    for changed in other_fields.get(kind.reason, more_arrays):
        expected["read"][changed] = found["read"][changed]
    assert found["read"] == expected["read"]
    assert found["trained further"]["totals"][0] == expected["trained further"]["totals"][0] >= STEPS + MORE
    assert len(found["next actions"]) == len(expected["next actions"])
    assert len(expected["next actions"]) in (0, NEXT)
    if kind.bits:
        assert found == expected
    else:
        assert kind.reason
        assert math.isfinite(float.fromhex(found["trained further"]["rate"]))


def test_every_agent_has_a_file() -> None:
    """Every public constructor of an agent that learns has made one of the learners, and every learner has a file."""
    everything = {name: getattr(sj.agents, name, None) for name in NAMES["top"]}
    callables = {name: thing for name, thing in everything.items() if inspect.isfunction(thing)}
    first = {name: next(iter(inspect.signature(made).parameters), "") for name, made in callables.items()}
    constructors = {
        name for name, begins in first.items() if begins in ("num_states", "num_inputs", "spaces")
    }
    assert len(constructors) > 15
    constructors -= {"oracle"}  # it has nothing to learn
    assert constructors <= {getattr(kind.make, "__name__", "") for kind in LEARNERS.values()}
    assert {path.stem for path in (FOLDER / "learners").iterdir()} == set(LEARNERS)


@pytest.mark.parametrize("place", LEARNED["policies"])
def test_a_policy_is_read(place: str, read: Json) -> None:
    """An exported policy, and that of a saved learner, knows the same states and takes the same actions as in 0.2."""
    assert read["policies"][place] == LEARNED["policies"][place]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_a_policy_is_written_as_before(name: str, ending: str, tmp_path: Path) -> None:
    """The policy of a saved learner is exported in the same bytes as by 0.2, but for the facts that JSON has now."""
    learner = sj.Learner.load(FOLDER / "learners" / f"{name}.sojourn", LEARNERS[name].env())
    learner.write_policy(tmp_path / f"policy.{ending}")
    written = (tmp_path / f"policy.{ending}").read_bytes()
    if ending == "json":
        content = json.loads(written)
        assert content.pop("about")["steps"] == learner.totals.steps
        written = (json.dumps(content, indent=1) + "\n").encode()
    assert written == (FOLDER / "policies" / f"{name}.{ending}").read_bytes()


# --- Folders ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_is_shown(name: str, read: Json) -> None:
    """The page about a folder of 0.2 has the numbers that it had in 0.2."""
    found, expected = read["folders"][name], FOLDERS["folders"][name]
    assert not isinstance(found, str), found
    assert expected["page"]
    missing = set(expected["page"]) - numbers_on_page(FOLDER / name)
    assert not missing
    assert {key: found[key] for key in ("files", "tables", "documents")} == {
        key: expected[key] for key in ("files", "tables", "documents")
    }  # nobody has written to them


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of all files, which commands may write to."""
    return Path(shutil.copytree(FOLDER, tmp_path / "copy"))


def runs_in(folder: Path) -> dict[str, bytes]:
    """Return the files that say how long each run took, which differ if it is made again."""
    files = [*folder.rglob("timings.parquet"), *folder.glob("runs/*.json")]
    assert files
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", RESUMED)
def test_a_command_finds_its_runs_again(name: str, copy: Path) -> None:
    """Given again, a command makes no run anew and comes to the same tables; under other rules, see below."""
    if not SAME_RULES:
        pytest.skip("the rules have changed since 0.2, which the next test is about")
    before = runs_in(copy / name)
    done = ask(*COMMANDS[name].format(out=name).split(), folder=copy)
    assert done.returncode == 0, done.stderr
    assert runs_in(copy / name) == before
    assert tables(copy / name) == tables(FOLDER / name)
    assert documents(copy / name) == documents(FOLDER / name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks={"bitcoin": [pytest.mark.compiled], "compare-observed": [pytest.mark.evidence]}.get(
                name, []
            ),
        )
        for name in RESUMED
        if name != "observations"  # it would take long
    ],
)
def test_runs_by_other_rules_are_not_taken_for_ours(name: str, copy: Path) -> None:
    """Runs by other rules are refused in one sentence or, where each run has a file, made anew; a page still shows them."""
    for path in (copy / name).rglob("sweep.json"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"rules_version": {FOLDERS["rules_version"]}', '"rules_version": 1'))
    for path in (copy / name).glob("runs/*.json"):
        path.rename(path.with_stem(path.stem.rpartition("-")[0] + "-1"))
    before = runs_in(copy / name)
    done = ask(*COMMANDS[name].format(out=name).split(), folder=copy)
    after = runs_in(copy / name)
    if name == "compare-observed":  # it keeps each run in a file whose name has the version of the rules
        assert done.returncode == 0, done.stderr
        assert len(after) == 2 * len(before)
    else:
        assert done.returncode == 1
        assert "as another version of Sojourn ran it" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("sojourn: ")
        assert after == before
        assert set(FOLDERS["folders"][name]["page"]) <= numbers_on_page(copy / name)


def check_made_anew(name: str, copy: Path) -> None:
    """Check what a command writes into a folder of its own against what it wrote in 0.2."""
    expected, place = FOLDERS["folders"][name], copy / "anew"
    done = ask(*COMMANDS[name].format(out="anew").split(), folder=copy)
    assert done.returncode == 0, done.stderr
    made, written = tables(place), documents(place)
    for file, about in expected["tables"].items():
        assert about["columns"].items() <= made[file]["columns"].items(), file
        assert about["rows"] == made[file]["rows"]
        assert not SAME_RULES or about["content"] == made[file]["content"], file
    for file, about in expected["documents"].items():
        if "rules" not in file or SAME_RULES:
            assert set(about) <= set(written[file]), file
            if name not in OTHER_AGENTS:
                assert_alike(load(FOLDER / name / file), load(place / file), file)


def load(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


AMENDED = {
    "seconds": "how long it took",
    "version": "of the package",
    "rules_version": "of the rules",
    "schema_version": "of the files",
    "needed": "an interval needs 2,000 steps since 0.3, and 256 in 0.2",
}


# Version 6 of the rules gives other numbers to these estimators, and to agents that are centred, as tiles and networks are.
OTHER_ESTIMATORS = {"AdaptiveRatio", "ClippedExponential"}
NEW_ESTIMATORS = {"PowerMean"}
OTHER_AGENTS = {"compare-observed", "observations", "train-deep"}


def assert_alike(expected: Json, found: Json, place: str) -> None:
    """Check that JSON has the same texts, and the same numbers to the tenth digit; but not `AMENDED` ones."""
    if isinstance(expected, dict) and any(
        str(each).split("(")[0] in OTHER_ESTIMATORS for each in expected.values()
    ):
        assert set(expected) <= set(found), place
    elif isinstance(expected, dict):
        for key in expected:
            if key not in AMENDED and isinstance(found, dict):
                assert_alike(expected[key], found[key], f"{place}: {key}")
    elif isinstance(expected, list):
        new = [each for each in found if isinstance(each, dict) and each.get("estimator") in NEW_ESTIMATORS]
        found = [each for each in found if each not in new]
        assert len(expected) == len(found), place
        if expected and all(isinstance(each, dict) and "label" in each for each in (*expected, *found)):
            expected, found = (sorted(all_, key=lambda each: each["label"]) for all_ in (expected, found))
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            assert_alike(one, other, f"{place}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10, nan_ok=True), place
    elif not isinstance(expected, str):  # wording may change
        assert found == expected, place


@pytest.mark.parametrize("name", QUICK)
def test_a_command_writes_what_it_wrote(name: str, copy: Path) -> None:
    """A command writes files with the columns and keys that it wrote in 0.2, and the same numbers."""
    check_made_anew(name, copy)


@pytest.mark.evidence
def test_every_command_writes_what_it_wrote(copy: Path, counted: Counted) -> None:
    """The same of the studies and comparisons, which take longer."""
    for name in COMMANDS:
        check_made_anew(name, copy)
        shutil.rmtree(copy / "anew")
    counted("folders of 0.2", tried=len(COMMANDS), failed=0)


# --- Commands, environments, names --------------------------------------------------------------


@pytest.mark.parametrize("name", PRINTED)
def test_a_command_prints_what_it_printed(name: str, copy: Path) -> None:
    """The JSON that a command prints has the keys that it had in 0.2, and the same numbers."""
    done = ask(*PRINTED[name].split(), folder=copy)
    assert done.returncode == 0, done.stderr
    expected, found = TOLD["printed"][name], json.loads(done.stdout)
    if name in KEYS_ONLY:
        assert set(expected) <= keys(found)
    else:
        assert keys(expected) <= keys(found)
        if name not in OTHER_AGENTS:
            assert_alike(expected, found, name)


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_command_ends_as_before(words: str, copy: Path) -> None:
    """What is wrong in a command has the exit code that it had in 0.2: 2 if it was not understood, otherwise 1."""
    assert ask(*words.split(), folder=copy).returncode == WRONG[words] == TOLD["wrong"][words]


def test_the_commands_and_their_options_are_there() -> None:
    """Every command of 0.2 is there, with every option."""

    def check(expected: Json, found: Json, place: str) -> None:
        assert set(expected["options"]) <= set(found["options"]), place
        for name, below in expected.get("commands", {}).items():
            assert name in found["commands"], f"{place} {name}"
            check(below, found["commands"][name], f"{place} {name}")

    check(TOLD["command"], options([]), "sojourn")


def test_the_environments_are_there() -> None:
    """Every id of 0.2 is registered with Gymnasium once `sojourn.envs` is imported."""
    assert sj.envs
    assert len(TOLD["environments"]) > 30
    assert set(TOLD["environments"]) <= set(gym.registry)


GONE = {
    f"sojourn.studies.{study}.words.readme"
    for study in ("bitcoin", "comparison", "drift", "observations", "robustness")
}


@pytest.mark.parametrize("where", NAMES)
def test_the_names_are_there(where: str) -> None:
    """Every name of 0.2 leads somewhere: at the top, in public modules, in the documentation and in tests of 0.2.

    Gone are the functions that wrote the READMEs of studies: a README is now made from the study's section of a page.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        names = [f"sojourn.{name}" for name in NAMES[where]] if where == "top" else NAMES[where]
        assert [name for name in names if name not in GONE and not is_there(name)] == []


def test_the_program_is_there() -> None:
    """The package installs the command `sojourn`."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="sojourn")
    assert callable(script.load())


def test_what_is_kept_is_small() -> None:
    """All files of 0.2 together take less than 2 MB."""
    sizes = [path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(sizes) < 2_000_000


def test_a_number_that_changed_is_found() -> None:
    """The comparison of JSON sees another number and a lost key, but not another text."""
    kept: Any = {"gain": 1.0, "rows": [{"rate": 2.0}], "note": "a"}
    assert_alike(kept, {**kept, "note": "b"}, "")
    for wrong in ({**kept, "gain": 1.0 + 1e-9}, {**kept, "rows": [{"rate": 3.0}]}, {**kept, "rows": []}):
        with pytest.raises(AssertionError):
            assert_alike(kept, wrong, "")
    with pytest.raises(KeyError):
        assert_alike(kept, {"gain": 1.0}, "")


def test_an_old_path_warns_once() -> None:
    """A module that has moved is found under its old name with one warning, which says where it is."""
    program = "import sojourn.rules.apart\nfrom sojourn.rules.apart import read_apart\nimport sojourn.rules.nonsense"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.count("DeprecationWarning: sojourn.rules.apart has moved to sojourn.data.child") == 1
    assert "ModuleNotFoundError: No module named 'sojourn.rules.nonsense'" in done.stderr
