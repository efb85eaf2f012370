"""Networks as ONNX models and as modules of NumPy act as the policy does."""

from __future__ import annotations

import importlib.util
import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_envs import sentence
from sojourn.deploy import NetworkPolicy, load_policy
from sojourn.deploy.interface import packed
from sojourn.deploy.networks import Head, Network
from sojourn.deploy.spaces import Actions

HEADS: list[tuple[Head, str]] = [
    (head, precision)
    for head in ("values", "chances", "normal", "squashed")
    for precision in ("float32", "float64")
]
LOW, HIGH = np.array([-1.0, 0.0]), np.array([1.0, 20.0])


def made(head: Head, precision: str) -> NetworkPolicy:
    """A policy with random weights whose outputs go beyond the bounds now and then."""
    rng = np.random.default_rng(7)
    is_point = head in ("normal", "squashed")
    widths = [3, 16, 8, {"normal": 2, "squashed": 4}.get(head, 5)]
    count = sum((a + 1) * b for a, b in itertools.pairwise(widths)) + 2 * (head == "normal")
    weights = rng.normal(0.0, 0.6, count).astype(precision)
    sides = (LOW, HIGH, np.array([1.0, np.inf])) if is_point else ()
    actions: Actions = {"kind": "numbered", "count": 5, "first": 2}
    if is_point:
        actions = {
            "kind": "points",
            "low": packed(LOW),
            "high": packed(HIGH),
            "shape": [2],
            "dtype": "float32",
        }
    network = Network(head, widths, weights, rng.normal(size=3), np.array([0.5, 2.0, 100.0]), *sides)
    return NetworkPolicy(network, {"kind": "numbers", "shape": [3]}, actions, {"agent": 'a "name"\\\n'})


def observations() -> Any:
    return np.random.default_rng(1).normal(0.0, 5.0, (200, 3))


@pytest.mark.parametrize(("head", "precision"), HEADS)
def test_onnx(head: Head, precision: str, tmp_path: Path) -> None:
    """ONNX Runtime computes the outputs and the actions of every head, row by row, in either precision."""
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed, so no model can be run"
    )
    pytest.importorskip("onnx", reason="onnx is not installed, so no model can be written")
    policy = made(head, precision)
    policy.write(tmp_path / "policy.onnx")
    session = runtime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    outputs, actions = session.run(["outputs", "action"], {"observation": observations()})
    loose = 1e-5 if precision == "float32" else 1e-12
    for row, obs in enumerate(observations()):
        assert np.allclose(outputs[row], policy.outputs(obs), rtol=loose, atol=loose)
        assert np.allclose(
            actions[row], policy.act(obs), rtol=max(loose, 1e-6), atol=1e-4 if loose > 1e-6 else 1e-5
        )


@pytest.mark.parametrize(("head", "precision"), HEADS)
def test_a_module_of_numpy(head: Head, precision: str, tmp_path: Path) -> None:
    """The module has the policy's outputs and actions, bit for bit, with masks too."""
    policy, path = made(head, precision), tmp_path / "policy.py"
    policy.write(path)
    spec = importlib.util.spec_from_file_location("exported", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for obs in observations():
        assert module.outputs(obs).tolist() == policy.outputs(obs).tolist()
        assert np.array_equal(module.act(obs), policy.act(obs))
        if head in ("values", "chances"):
            assert module.act(obs, [1, 0, 0, 0, 1]) == policy.act(obs, [1, 0, 0, 0, 1])


def test_the_module_needs_numpy_alone(tmp_path: Path) -> None:
    """In a process that cannot import Sojourn, the module still acts."""
    made("values", "float64").write(tmp_path / "policy.py")
    assert re.findall(r"^(?:import|from) (\w+)", (tmp_path / "policy.py").read_text(), re.MULTILINE) == [
        "base64",
        "numpy",
    ]
    program = "import sys; sys.modules['sojourn'] = None\nfrom policy import act\nprint(act([0.0, 0.0, 0.0]))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert int(done.stdout) == made("values", "float64").act(np.zeros(3)), done.stderr


def test_other_endings_and_a_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with another ending is refused, and without ONNX a sentence says what to install."""
    policy = made("values", "float64")
    assert ".onnx" in sentence(lambda: policy.write(tmp_path / "policy.txt"))
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install sojourn[onnx]" in sentence(
        lambda: policy.write(tmp_path / "policy.onnx"), ImportError
    )
    policy.write(tmp_path / "policy.json")
    assert load_policy(tmp_path / "policy.json").act(np.ones(3)) == policy.act(np.ones(3))
