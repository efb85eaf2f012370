from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from asking import COMMAND, ask, start
from saying import said
from sojourn.cli.commands import run
from sojourn.envs import ENVIRONMENTS


def test_version() -> None:
    """`--version` prints the version, and so does `python -m sojourn --version`."""
    assert start("--version").stdout.strip() == sj.__version__
    module = [sys.executable, "-m", "sojourn", "--version"]
    assert subprocess.run(module, capture_output=True, text=True, check=True).stdout.strip() == sj.__version__


def test_an_unexpected_error_is_called_a_defect() -> None:
    """An unexpected error, even a panic, is reported in one sentence as Sojourn's defect; --debug shows the traceback."""
    code = (
        "import sys; sys.argv = ['sojourn', *sys.argv[1:], 'solve', 'gosavi']\n"
        "import sojourn.answers.solution as answer\n"
        "from sojourn.cli import main\n"
        "class Panic(BaseException): pass\n"
        "def broken(*_, **__): raise Panic('index\\nout of bounds')\n"
        "answer.solve_named = broken\n"
        "main()\n"
    )
    plain, debug = (
        subprocess.run([sys.executable, "-c", code, *options], capture_output=True, text=True, check=False)
        for options in ([], ["--debug"])
    )
    assert plain.returncode == 1
    assert plain.stderr.startswith(
        "sojourn: this is a defect of sojourn, not your mistake (Panic: index out of bounds)"
    )
    assert plain.stderr.count("\n") == 1
    assert "Traceback" in debug.stderr
    assert debug.returncode == 1


def test_help_needs_neither_numba_nor_matplotlib() -> None:
    """--help imports no slow modules."""
    code = (
        "import sys; sys.argv = ['sojourn', '--help']\n"
        "from sojourn.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numba', 'matplotlib', 'scipy', 'polars', 'gymnasium'} & set(sys.modules)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reproduce" in out.stdout


def test_wrong_options_get_one_sentence(tmp_path: Path) -> None:
    """An error is one line on standard error, with no traceback, and the exit code is not 0."""
    (tmp_path / "taken").write_text("a file")
    out = ask("reproduce", "robustness", "--out", str(tmp_path / "taken"))
    assert out.returncode == 1
    (line,) = said(out.stderr)
    assert line.startswith("sojourn: ")
    assert ask("reproduce", "robustness", "--seeds", "0").returncode == 2
    assert ask("reproduce", "nonsense").returncode == 2


def test_train_evaluate_and_go_on(tmp_path: Path) -> None:
    """A learner is trained, saved, evaluated and trained further, also with --json."""
    out = tmp_path / "learner.sojourn"
    common = ("sojourn/TwoState-v0", "-e", "log_scale=1e-3", "--max-episode-steps", "1000", "--out", str(out))
    first = start("train", *common, "--steps", "2000", "--agent", "smart", "-a", "step_size=0.01", "--json")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    run = sj.run(sj.worlds.TwoState(log_scale=1e-3), sj.smart(2, 2, step_size=0.01), 1000, 2, seed=0)
    assert (told["steps"], told["rate"], told["reward"]) == (2000, run.rate, run.reward)
    refused = ask("train", *common)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr
    other = ask("train", *common, "--resume", "--agent", "harmonic-r")
    assert other.returncode == 1
    assert "leave them out with --resume" in other.stderr
    second = ask("train", *common, "--steps", "2000", "--resume", "--json")
    run = sj.run(sj.worlds.TwoState(log_scale=1e-3), sj.smart(2, 2, step_size=0.01), 1000, 4, seed=0)
    assert json.loads(second.stdout)["rate"] == run.rate
    found = json.loads(ask("evaluate", str(out), "--time", "100000", "--json").stdout)
    assert found["low"] <= found["rate"] <= found["high"]
    assert found["learned_rate"] == run.rate
    short = json.loads(
        ask("evaluate", str(out), "--time", "0.1", "--json").stdout, parse_constant=pytest.fail
    )
    assert (short["low"], short["high"]) == (None, None)
    assert short["needed"] > 0.1
    assert "too short for an interval" in short["sentence"]
    policy = tmp_path / "best.json"
    best = json.loads(ask("evaluate", str(out), "--time", "3000", "--best", str(policy), "--json").stdout)
    assert best["trained"] in (1000, 2000, 3000, 4000)
    assert best["duration"] >= 3000.0
    assert sj.load_policy(policy).act(0) in (0, 1)
    both = ask("evaluate", str(out), "--best", str(policy), "--out", str(tmp_path / "verdict"))
    assert "leave one out" in both.stderr


OWN = """
import gymnasium as gym

class Counter(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def __init__(self, pay=3.0):
        self.pay, self.state, self.running = pay, 0, (None for _ in range(2))  # which nobody can copy

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        self.state = 1 - self.state
        return self.state, self.pay * float(action), False, False, {"duration": 1.0 + float(action)}

gym.register("Counter-v0", entry_point=Counter)
"""


@pytest.mark.parametrize(
    "name", ["own_code:Counter", pytest.param("own_code:Counter-v0", marks=pytest.mark.evidence)]
)
def test_an_environment_of_ones_own(name: str, tmp_path: Path) -> None:
    """Training works in a class or an id from a module in the current folder; a saved file does not import it, but names it."""
    (tmp_path / "own_code.py").write_text(OWN)
    (tmp_path / "typing_extensions.py").write_text("raise SystemExit('what is installed comes first')")
    first = start("train", name, "-e", "pay=4", "--steps", "2000", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "agent: planner, because 2 states can be listed" in first.stdout
    assert "the policy earns 2 per unit time, 95 % interval 2 to 2" in first.stdout  # 4 in a time of 2
    refused = start("evaluate", "learner.sojourn", folder=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.strip().endswith(f"name it with --env {name}")
    found = start("evaluate", "learner.sojourn", "--env", name, "--json", folder=tmp_path)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert (told["rate"], told["warnings"]) == (2.0, [])  # with the option of the training
    other = start("evaluate", "learner.sojourn", "--env", name, "-e", "pay=8", "--json", folder=tmp_path)
    assert json.loads(other.stdout)["rate"] == 4.0


def test_ctrl_c_before_the_first_step_saves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If nothing was learned, nothing is saved, and the message does not suggest resuming."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sj.Learner, "train", interrupted)
    out = tmp_path / "learner.sojourn"
    monkeypatch.setattr(
        sys, "argv", ["sojourn", "train", "sojourn/TwoState-v0", "--agent", "smart", "--out", str(out)]
    )
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # which commands change
    assert run() == 130
    assert capsys.readouterr().err == "sojourn: interrupted before the first step; nothing was saved\n"
    assert not out.exists()


def test_ctrl_c_saves_what_was_learned(tmp_path: Path) -> None:
    """Interrupted training saves a file from which it can resume."""
    out = tmp_path / "learner.sojourn"
    arguments = ["train", "sojourn/Market-v0", "--agent", "smart", "--steps", "1000000000", "--out", str(out)]
    process = subprocess.Popen(
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert any("% of" in line for line in process.stderr)  # until some steps have been taken
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; use --resume to continue" in stderr
    assert "Traceback" not in stderr
    steps = int(stdout.split(f"{out}: ")[1].split(" steps")[0].replace(",", ""))
    again = start("train", "sojourn/Market-v0", "--steps", "1000", "--out", str(out), "--resume", "--json")
    assert json.loads(again.stdout)["steps"] == steps + 1000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "sojourn/TwoStat-v0"), "sojourn/TwoStat-v0 cannot be made"),
        (("train", "sojourn/TwoState-v0", "-e", "nonsense"), "must be written as key=value"),
        (("train", "sojourn/TwoState-v0", "-e", "log_scal=1"), "there is no option 'log_scal'"),
        (
            ("train", "sojourn/AdmissionControl-v0", "-e", "capcity=3"),
            "cannot be made with these options: there is no option 'capcity'",
        ),
        (("train", "sojourn/TwoState-v0", "--agent", "smrt"), "unknown agent 'smrt'; did you mean 'smart'?"),
        (("train", "sojourn/TwoState-v0", "--agent", "smart", "-a", "step_size=2"), "step_size is 2"),
        (("train", "sojourn/TwoState-v0", "--agent", "smart", "-a", "seed=2"), "seed"),
        (
            ("train", "sojourn/TwoState-v0", "-a", "step_size=0.1"),
            "name the agent too, such as --agent smart",
        ),
        (("train", "FrozenLake-v1", "--steps", "10"), 'info["duration"] is missing'),
        (("train", "CartPole-v1", "--duration", "1", "--agent", "smart"), "give bins"),
        (("train", "sojourn/TwoState-v0", "--steps", "1", "--time", "1"), "cannot both be given"),
        (("train", "sojourn/TwoState-v0", "--resume"), "does not exist; leave out --resume"),
        (("train", "sojourn/TwoState-v0", "--out", "nowhere/l.sojourn"), "there is no folder nowhere"),
        (("train", "sojourn/TwoState-v0", "--out", "."), "is a folder; choose a file for the learner"),
        (("evaluate", "nowhere.sojourn"), "nowhere.sojourn is not a file"),
    ],
)
def test_wrong_training_gets_one_sentence(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Wrong arguments get one line, and no file is left behind."""
    given = arguments[0] != "train" or "--out" in arguments
    more = () if given else ("--out", str(tmp_path / "learner.sojourn"))
    done = ask(*arguments, *more)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(said(done.stderr)) == 1, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_envs_are_listed() -> None:
    """Every registered environment is listed with a one-line description."""
    listed = json.loads(ask("envs", "--json").stdout)
    assert [entry["id"] for entry in listed] == list(ENVIRONMENTS)
    assert all(len(entry["summary"]) > 20 for entry in listed)


def test_solve_says_the_gain_of_each_state_where_they_differ() -> None:
    """For a model with several recurrent classes both criteria are shown: the gain from each state, and the ratio over runs."""
    told = json.loads(ask("solve", "feinberg", "--json").stdout)
    # A fair chance of 10 in a time of 1 for ever, or 10 in a time of 2.
    assert told["gains"] == pytest.approx([(10 + 5) / 2, 10, 5])
    assert told["ratio"] == pytest.approx((10 + 10) / (1 + 2))
    assert "gains: 0: 7.5; 1: 10; 2: 5" in ask("solve", "feinberg").stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("solve wear", "wear is a world, not a model, so it has no list of states and laws to solve"),
        (
            "audit rotting-bait",
            "rotting-bait is a world, not a model, so it has no list of states and laws to audit",
        ),
        ("compare two-state", "so it has no list of states and laws to judge policies by"),
        ("compare gemini", "`sojourn solve gemini` shows the gain from each state"),
        ("compare wear gosavi", "'gosavi' is judged in another way"),
        ("compare gosavi --agent deep-q", "deep-q is for observations that cannot be listed"),
        ("compare wear --agent smart", "'smart' is not an agent for observations that cannot be listed"),
        (
            "compare hold --agent deep-q",
            "deep_q cannot be compared on hold: deep_q is for numbered actions only",
        ),
        ("compare wear --grid step_size=0.1", "leave them out on wear, where agents have their own settings"),
    ],
)
def test_names_of_another_kind_are_refused_for_what_they_are(
    command: str, words: str, tmp_path: Path
) -> None:
    """A world in place of a model, and agents that do not fit, get one sentence, and no folder is created."""
    done = ask(*command.split(), folder=tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_solve_says_the_gain() -> None:
    """A named problem is solved, as text and as JSON, and options apply."""
    told = json.loads(ask("solve", "gosavi", "--json").stdout)
    names = {"state_names", "action_names", "deviation", "closest"}
    assert set(told) == {"name", "gain", "lower", "upper", "policy", "states", "solver", "seconds"} | names
    # Action 1 in state 0, action 2 in state 1: stationary law (.4, .6), E[r] = 5.64, E[tau] = 2.68.
    assert told["gain"] == pytest.approx(5.64 / 2.68)
    assert told["lower"] <= told["gain"] <= told["upper"]
    assert (told["policy"], told["states"]) == ([0, 1], 2)
    assert "gain 2.104477612 per unit time" in ask("solve", "gosavi").stdout
    smaller = json.loads(ask("solve", "admission-control", "-o", "capacity=5", "--json").stdout)
    assert smaller["states"] < json.loads(ask("solve", "admission-control", "--json").stdout)["states"]


def test_solve_answers_for_any_amount_per_any_other(tmp_path: Path) -> None:
    """`--maximise` and `--per` choose the ratio; it and all rates are in the text, the JSON, the file and the report."""
    pairs = [
        {
            "state": "press",
            "action": name,
            "next": {"press": 1},
            "reward": -1,
            "duration": time,
            "amounts": amounts,
        }
        for name, time, amounts in (
            ("fast", 1, {"items": 3, "energy": 6}),
            ("slow", 2, {"items": 4, "energy": 5}),
        )
    ]
    file = tmp_path / "press.json"
    file.write_text(json.dumps({"states": ["press"], "actions": ["fast", "slow"], "pairs": pairs}))
    asked = ("solve", file, "--maximise", "items", "--per", "energy")
    done = ask(*asked, "--out", tmp_path / "out")
    assert "gain 0.8 items per energy, between" in done.stdout
    # The slow action every 2: 4 items and 5 units of energy.
    assert "per unit time: reward -0.5, steps 0.5, items 2, energy 2.5" in done.stdout
    told = json.loads(ask(*asked, "--json").stdout)
    assert (told["gain"], told["maximise"], told["per"]) == (0.8, "items", "energy")
    assert told["rates"] == {"reward": -0.5, "steps": 0.5, "items": 2.0, "energy": 2.5}
    assert json.loads((tmp_path / "out" / "solution.json").read_text())["rates"] == told["rates"]
    ask("report", tmp_path / "out", "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "is 0.8 items per energy;" in page
    assert all(f">{name}</td>" in page for name in told["rates"])
    fast = json.loads(ask("solve", file, "--maximise", "items", "--json").stdout)
    assert (fast["gain"], fast["policy"], fast["per"], told["policy"]) == (3.0, [0], "duration", [1])
    wrong = ask("solve", file, "--maximise", "itms")
    assert (wrong.returncode, "did you mean 'items'?" in wrong.stderr) == (1, True), wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gosavy",), "did you mean 'gosavi'?"),
        (("gosavi", "-o", "speed=2"), "gosavi has no option 'speed'; there are transitions"),
        (("nowhere.toml",), "nowhere.toml"),
    ],
)
def test_what_cannot_be_solved_gets_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    """A wrong name, option or file is reported in one line."""
    done = ask("solve", *arguments)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def all_commands() -> list[tuple[str, ...]]:
    """The argument words of every command."""
    from typer.main import get_command

    from sojourn.cli.commands import app

    found: list[tuple[str, ...]] = []

    def walk(command: Any, words: tuple[str, ...]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*words, name))
        if not getattr(command, "commands", None):
            found.append(words)

    walk(get_command(app), ())
    return found


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_every_commands_help_ends_with_examples_that_parse(words: tuple[str, ...]) -> None:
    """The examples in a command's help are of that command and parse with its options."""
    from typer.main import get_command

    from sojourn.cli.commands import app

    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    title, *lines = command.epilog.splitlines()
    assert title == "Examples:"
    assert lines
    for line in lines:
        program, *arguments = shlex.split(line)
        assert (program, *arguments[: len(words)]) == ("sojourn", *words)
        command.make_context("sojourn", arguments[len(words) :])
