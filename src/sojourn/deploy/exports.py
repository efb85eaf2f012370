"""Networks for other programs: as an ONNX model, and as a Python module that needs nothing but NumPy.

Both take a flat observation and return the outputs of the network and the best action; a point is in the units of the environment,
within its bounds. Whoever uses them flattens observations and applies masks: `outputs` of actions that are not allowed are set
to minus infinity before the largest is taken.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.data.files import write_bytes, write_text
from sojourn.deploy.interface import packed

if TYPE_CHECKING:
    from sojourn.deploy.networks import NetworkPolicy

_OPSET, _IR = 17, 8  # of ONNX 1.12 and later


def write_onnx(policy: NetworkPolicy, path: Path) -> None:
    """Write a network as an ONNX model; this needs the extra `onnx`.

    It takes `observation`, rows of flat observations in double precision, and returns `outputs` and `action`, of each row.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise ModuleNotFoundError(
            "ONNX models need the package onnx; install it with: pip install sojourn[onnx]"
        ) from None
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(array: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(array), f"constant_{len(constants)}"))
        return str(constants[-1].name)

    def apply(kind: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        out = out or f"step_{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    network, largest = policy.network, policy.largest
    kind = TensorProto.FLOAT if network.weights.dtype == np.float32 else TensorProto.DOUBLE
    x = apply("Sub", "observation", constant(network.centres))
    x = apply("Div", x, constant(network.units))
    x = apply("Clip", x, constant(-largest), constant(largest))
    x = apply("Cast", x, to=kind)
    for place, (matrix, biases) in enumerate(policy.layers):
        x = apply("Gemm", x, constant(matrix), constant(biases))
        if place < len(policy.layers) - 1:
            x = apply("Relu", x)
    outputs = apply("Cast", x, out="outputs", to=TensorProto.DOUBLE)
    if policy.actions["kind"] == "numbered":
        best = apply("ArgMax", outputs, axis=1, keepdims=0)
        apply("Add", best, constant(np.int64(policy.actions["first"])), out="action")
        result = helper.make_tensor_value_info("action", TensorProto.INT64, ["rows"])
    else:
        size = len(network.low)
        if network.head == "squashed":
            means = apply("Slice", outputs, *(constant(np.array([n], dtype=np.int64)) for n in (0, size, 1)))
            z = apply("Where", constant(np.isinf(network.furthest)), means, apply("Tanh", means))
        else:
            z = apply("Max", outputs, constant(-network.furthest))
            z = apply("Min", z, constant(network.furthest))
        z = apply("Mul", apply("Add", z, constant(1.0)), constant(0.5 * (network.high - network.low)))
        z = apply("Add", z, constant(network.low))
        points = policy.points
        assert points is not None
        z = apply("Max", z, constant(points.low))
        apply("Min", z, constant(points.high), out="action")
        result = helper.make_tensor_value_info("action", TensorProto.DOUBLE, ["rows", size])
    width = network.widths[-1]
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.DOUBLE, ["rows", network.widths[0]])],
        [helper.make_tensor_value_info("outputs", TensorProto.DOUBLE, ["rows", width]), result],
        constants,
        doc_string=_words(policy),
    )
    model = helper.make_model(
        graph, producer_name="sojourn", opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR
    )
    onnx.checker.check_model(model)
    buffer = io.BytesIO()
    onnx.save(model, buffer)
    write_bytes(path, buffer.getvalue())


def write_module(policy: NetworkPolicy, path: Path) -> None:
    """Write a network as a Python module with the functions `outputs` and `act`, which needs nothing but NumPy."""
    network, actions = policy.network, policy.actions
    if network.head == "squashed":
        means = f"found[:{len(network.low)}]"
        z = f"np.where(np.isinf(FURTHEST), {means}, np.tanh({means}))"
    else:
        z = "np.minimum(np.maximum(found, -FURTHEST), FURTHEST)"
    arrays = {"WEIGHTS": network.weights, "CENTRES": network.centres, "UNITS": network.units}
    if actions["kind"] == "numbered":
        act = [
            "def act(observation, allowed=None):",
            '    """Return the best action, of those that a mask allows."""',
            "    found = outputs(observation)",
            "    if allowed is not None:",
            "        found = np.where(np.asarray(allowed, dtype=bool), found, -np.inf)",
            f"    return int(found.argmax()) + {actions['first']}",
        ]
    else:
        points = policy.points
        assert points is not None
        sides = {"LOW": network.low, "HIGH": network.high, "LEAST": points.low, "MOST": points.high}
        arrays |= {**sides, "FURTHEST": network.furthest}
        act = [
            "def act(observation):",
            '    """Return the best action."""',
            "    found = outputs(observation)",
            f"    point = LOW + (HIGH - LOW) * 0.5 * ({z} + 1.0)",
            f"    return np.clip(point, LEAST, MOST).astype({points.dtype.name!r}).reshape({points.shape})",
        ]
    lines = [
        f'"""{_words(policy)}"""',
        "",
        "import base64",
        "",
        "import numpy as np",
        "",
        "",
        "def _array(kind, text):",
        "    return np.frombuffer(base64.b64decode(text), dtype=kind)",
        "",
        "",
        f"WIDTHS = {network.widths}",
        *(
            f'{name} = _array("{(one := packed(array))["dtype"]}", "{one["base64"]}")'
            for name, array in arrays.items()
        ),
        "",
        "",
        "def outputs(observation):",
        '    """Return the outputs of the network for a flat observation."""',
        "    x = (np.asarray(observation, dtype=np.float64).ravel() - CENTRES) / UNITS",
        f"    x = np.clip(x, -{policy.largest}, {policy.largest}).astype(WEIGHTS.dtype)[np.newaxis]",
        "    start = 0",
        "    for layer, (inputs, width) in enumerate(zip(WIDTHS, WIDTHS[1:])):",
        "        end = start + inputs * width",
        "        x = x @ WEIGHTS[start:end].reshape(inputs, width) + WEIGHTS[end : end + width]",
        "        start = end + width",
        "        if layer < len(WIDTHS) - 2:",
        "            x = np.maximum(x, 0.0)",
        "    return x[0].astype(np.float64)",
        "",
        "",
        *act,
        "",
    ]
    write_text(path, "\n".join(lines))


def _words(policy: NetworkPolicy) -> str:
    """Say what a model is, in words that are safe in a program."""
    agent = "".join(
        one for one in str(policy.about.get("agent", "an agent")) if one.isalnum() or one in " _-."
    )
    heads = {
        "values": "outputs are the values of actions",
        "chances": "outputs are the logarithms of the actions' probabilities, up to a constant",
        "normal": "outputs are the means of the action, from -1 to 1 between its bounds",
        "squashed": "outputs are means of the action before tanh, then logarithms of deviations",
    }
    version = "".join(one for one in str(policy.about.get("sojourn", "")) if one.isalnum() or one in ".+")
    seen = policy.network.widths[0]
    return f"A policy of {agent}, written by Sojourn {version}: {seen} numbers are observed; {heads[policy.network.head]}."
