"""Draw which room imports which, and measure the house: `make house`.

The floors are those of the import contracts in `pyproject.toml`. The drawing goes to `docs/figures/house.svg`;
the figures are printed, and stand on the site's page "How it is built".
"""

from __future__ import annotations

import ast
import graphlib
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import grimp

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGE = ROOT / "src" / "sojourn"
DRAWING = HERE / "figures" / "house.svg"
LONG_FILE = 300
MANY_ARGUMENTS = 7

Edge = tuple[str, str]
"""A room, and a room that it imports."""


# --- What there is --------------------------------------------------------------------


@cache
def floors() -> tuple[tuple[str, ...], ...]:
    """Return the rooms of each floor, from the top one down, as the import contracts have them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return tuple(tuple(room.strip() for room in layer.split("|")) for layer in layers)


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Return, for each module of the package, the modules that it imports.

    Imports inside functions count. Those for type checkers only (`if TYPE_CHECKING:`) do not.
    """
    graph = grimp.build_graph("sojourn", exclude_type_checking_imports=True, cache_dir=None)
    return {module: frozenset(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def rooms(graph: Mapping[str, frozenset[str]]) -> Counter[Edge]:
    """Return how many imports lead from one room to another.

    >>> rooms({"sojourn.cli.app": frozenset({"sojourn.runs.loop", "sojourn.cli.results"})})
    Counter({('cli', 'runs'): 1})
    """
    found: Counter[Edge] = Counter()
    for module, imported in graph.items():
        for other in imported if module != "sojourn.__main__" else ():  # the command, which is in no room
            if module.count(".") and other.count(".") and room_of(module) != room_of(other):
                found[room_of(module), room_of(other)] += 1
    return found


def room_of(module: str) -> str:
    """Return the room that a module is in.

    >>> room_of("sojourn.exact.audit.limits")
    'exact'
    """
    return module.split(".")[1]


def across(edges: Iterator[Edge] | Counter[Edge]) -> list[Edge]:
    """Return the edges that do not lead down: to a room on the same floor, or on one above.

    >>> across(iter([("cli", "rules"), ("rules", "cli"), ("runs", "envs")]))
    [('rules', 'cli'), ('runs', 'envs')]
    """
    height = {room: -place for place, floor in enumerate(floors()) for room in floor}
    return [(upper, lower) for upper, lower in edges if height[upper] <= height[lower]]


def longest_chain(graph: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return the longest chain of modules in which each imports the next.

    >>> longest_chain({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})
    ('a', 'b', 'c')
    """
    best: dict[str, tuple[str, ...]] = {}
    for module in graphlib.TopologicalSorter(graph).static_order():
        chains = (best[other] for other in graph[module])
        best[module] = (module, *max(chains, key=lambda chain: (len(chain), chain), default=()))
    return max(best.values(), key=lambda chain: (len(chain), chain))


def within(graph: Mapping[str, frozenset[str]], room: str) -> dict[str, frozenset[str]]:
    """Return the imports among the modules of one room.

    >>> within({"p.a.x": frozenset({"p.a.y", "p.b"}), "p.a.y": frozenset(), "p.b": frozenset()}, "a")
    {'p.a.x': frozenset({'p.a.y'}), 'p.a.y': frozenset()}
    """
    inside = {module for module in graph if module.count(".") and room_of(module) == room}
    return {module: graph[module] & inside for module in graph if module in inside}


# --- Figures --------------------------------------------------------------------------


def root_entries() -> list[str]:
    """Return the folders and files in the package's root, but for `__init__`, its stub, `__main__` and `py.typed`."""
    aside = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed", "__pycache__"}
    return sorted(path.name for path in PACKAGE.iterdir() if path.name not in aside)


ALIKE = {"__init__.py", "protocol.py", "catalogue.py", "section.py", "plan.py", "tables.py"}
"""Names that files of several rooms may have, since they hold the same kind of thing in each."""


@cache
def sizes(package: str) -> Mapping[str, int]:
    """Return how large a package is: its files, its lines of code, and the names and records among them."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "src" / package).rglob("*.py"))]
    classes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    files = Counter(path.name for path in (ROOT / "src" / package).rglob("*.py") if path.name not in ALIKE)
    return {
        "files": len(texts),
        "lines of code": sum(map(code_lines, texts)),
        "file names used twice": sum(count > 1 for count in files.values()),
        "class names used twice": sum(count > 1 for count in Counter(one.name for one in classes).values()),
        "classes": len(classes),
        "records": sum(map(_is_record, classes)),
    }


def top_names() -> list[str]:
    """Return the public names at the top of the package, as its stub lists them."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    (listed,) = (
        node
        for node in stub.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    names: list[str] = ast.literal_eval(listed.value)
    return names


def private_numba() -> dict[str, int]:
    """Return how many lines touch what Numba does not promise to keep, by the folder of a room that they are in.

    These are imports from Numba's inside or from llvmlite, and calls through names that begin with an underscore
    in modules that have such imports.
    """
    inside = re.compile(r"^\s*(from|import) (numba\.(core|np)\b|llvmlite)")
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        if any(map(inside.match, lines)):
            touching = [line for line in lines if inside.match(line) or re.search(r"[a-z]\._[a-z]", line)]
            found["/".join(path.relative_to(PACKAGE).parts[:2])] += len(touching)
    return dict(found)


_WALKS = {
    "Learner(env).train(1000)": """
import gymnasium
env = gymnasium.make("sojourn.envs:sojourn/AdmissionControl-v0")
sj.Learner(env, seed=0).train(1000)  # what only the first learner of a process does is not counted: compiling
walk = lambda: sj.Learner(env, seed=0).train(1000)
""",
    "a sweep": """
import tempfile
from concurrent.futures import ThreadPoolExecutor
world, agent = {"kind": "two-state", "log_scale": 0.01}, {"kind": "smart", "step_size": [0.1, 0.2]}
sweep = sj.runs.parse_sweep({"seeds": 2, "steps": 100, "world": [world], "agent": [agent]})
def walk():
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        sj.run_sweep(sweep, folder, pool, jobs=1)
""",
}
_COUNT = """
import sys, threading
from pathlib import Path
import sojourn as sj
root, files = str(Path(sj.__file__).parent), set()
def called(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(root):
        files.add(frame.f_code.co_filename)
{walk}
threading.setprofile(called)
sys.setprofile(called)
walk()
sys.setprofile(None)
print(*sorted(files), sep="\\n")
"""


@cache
def files_run(walk: str) -> tuple[str, ...]:
    """Return the files of the package in which a function is called while a user's line runs.

    What compiles the code and keeps it on disk does not count: it runs twice, the second run counts, and `rules/jit`, to which
    that run goes or not as the machine is quick or slow, is left out.
    """
    code = _COUNT.format(walk=_WALKS[walk])
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    return tuple(file for file in done.stdout.splitlines() if "rules/jit" not in file)


def code_lines(text: str) -> int:
    r"""Return the lines of a source, without empty ones, comments and docstrings.

    >>> code_lines('def half(x):\n    "Return half of x."\n\n    return x / 2  # exact\n')
    2
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node) is not None and first is not None:
                lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


_NOT_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER
)  # fmt: skip


def _is_record(node: ast.ClassDef) -> bool:
    """Say whether a class is a record: a NamedTuple, a TypedDict or a dataclass."""
    made = [*map(ast.unparse, node.bases), *map(ast.unparse, node.decorator_list)]
    return any(word in one for one in made for word in ("NamedTuple", "TypedDict", "dataclass"))


def figures() -> dict[str, str]:
    """Return the figures of the house, each as it is shown."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    lines = sum(text.count("\n") for text in texts.values())
    anys = sum(len(re.findall(r"\bAny\b", text)) for text in texts.values())
    nodes = [node for text in texts.values() for node in ast.walk(ast.parse(text))]
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    casts = sum(
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("cast", "typing.cast") for node in nodes
    )
    ignores = sum(text.count("type: ignore") for text in texts.values())
    return {
        "entries in the package's root": str(len(root_entries())),
        "floors": str(len(floors())),
        "rooms": str(sum(map(len, floors()))),
        "names at the top": str(len(top_names())),
        "modules": str(len(imports())),
        **{name: f"{size:,}" for name, size in sizes("sojourn").items()},
        **{f"{name}, of the paper": f"{size:,}" for name, size in list(sizes("sojourn_paper").items())[:2]},
        "lines that touch private Numba / folders": f"{sum(private_numba().values())} / {len(private_numba())}",
        **{f"files that run for {walk}": str(len(files_run(walk))) for walk in _WALKS},
        "imports between modules": str(sum(map(len, imports().values()))),
        "modules in the longest chain of imports": str(len(longest_chain(imports()))),
        "lines": f"{lines:,}",
        f"files over {LONG_FILE} lines": str(sum(text.count("\n") > LONG_FILE for text in texts.values())),
        f"functions with more than {MANY_ARGUMENTS} arguments": str(sum(map(_is_wide, nodes))),
        "`Any` per thousand lines": f"{1000 * anys / lines:.1f}",
        "`object` / `cast` / `type: ignore`": f"{names['object']} / {casts} / {ignores}",
    }


def _is_wide(node: ast.AST) -> bool:
    """Say whether this is a function with more arguments than we like; `self` and `cls` are none."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    return len(names) - (names[:1] in (["self"], ["cls"])) > MANY_ARGUMENTS


def table() -> str:
    """Return the figures in Markdown."""
    return "\n".join(
        ["| | |", "|---|---:|", *(f"| {name} | {number} |" for name, number in figures().items())]
    )


# --- The drawing ----------------------------------------------------------------------

CELL = 50  # a room's row is this high, its column this wide
NAME = 84  # the width of a room's name
TOP = 26
LEFT = 78
STYLE = """
  .paper { fill: #ffffff; stroke: #d5dbe1 } .band { fill: #eef2f5 } .floor { fill: #66727e; font-size: 12px }
  .room { fill: #00796b } .name { fill: #ffffff; font-size: 15px; font-weight: 600; text-anchor: middle }
  .way { stroke: #9fb4b0; stroke-width: 1.5; fill: none } .import { fill: #00796b }
  .said { fill: #39434d; font-size: 14px } .loud { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #1d2125; stroke: #3a424a } .band { fill: #262c32 } .floor { fill: #9aa6b1 }
    .room { fill: #26a69a } .name { fill: #0c1514 } .way { stroke: #4f6a66 } .import { fill: #4db6ac }
    .said { fill: #cdd5dc }
  }
"""


def drawing(edges: Iterator[Edge] | Counter[Edge]) -> str:
    """Return the house as a drawing: the rooms are stairs, and a dot below a room is a room that it imports."""
    edges = sorted(edges)
    order = [room for floor in floors() for room in floor]
    place = {room: number for number, room in enumerate(order)}
    width, height = LEFT + CELL * (len(order) - 1) + NAME + 24, TOP * 2 + CELL * len(order)
    title = "Which room imports which: all imports lead to lower floors"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        *_bands(width),
    ]

    def middle(room: str) -> tuple[float, float]:
        return LEFT + CELL * place[room] + NAME / 2, TOP + CELL * place[room] + CELL / 2

    for room in order:  # a line down from each importer, and one across to each that is imported
        x, y = middle(room)
        below = [middle(lower)[1] for upper, lower in edges if upper == room]
        before = [middle(upper)[0] for upper, lower in edges if lower == room]
        parts.append(f'<path class="way" d="M{min([x, *before]):g} {y:g}H{x:g}V{max([y, *below]):g}"/>')
    for upper, lower in edges:
        x, y = middle(upper)[0], middle(lower)[1]
        parts.append(
            f'<circle class="import" data-from="{upper}" data-to="{lower}" cx="{x:g}" cy="{y:g}" r="5.5">'
            f"<title>{upper} imports {lower}</title></circle>"
        )
    for room in order:
        x, y = middle(room)
        parts.append(
            f'<rect class="room" x="{x - NAME / 2:g}" y="{y - 17:g}" width="{NAME}" height="34" rx="6"/>'
            f'<text class="name" x="{x:g}" y="{y + 5:g}">{room}</text>'
        )
    said = (
        '<tspan class="loud">Imports lead down only.</tspan>',
        "A dot: the room above it imports",
        "the room to its right.",
        "Above the stairs there is no dot.",
    )
    for number, line in enumerate(said):
        parts.append(f'<text class="said" x="{width - 250}" y="{TOP + 32 + 21 * number}">{line}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _bands(width: int) -> Iterator[str]:
    """Yield the floors: a band behind every other one, and the number of each."""
    row = 0
    for number, floor in enumerate(floors()):
        y = TOP + CELL * row
        if number % 2 == 0:
            yield f'<rect class="band" x="1" y="{y}" width="{width - 2}" height="{CELL * len(floor)}"/>'
        yield f'<text class="floor" x="16" y="{y + CELL * len(floor) / 2 + 4:g}">floor {len(floors()) - 1 - number}</text>'
        row += len(floor)


def drawn(path: Path = DRAWING) -> set[Edge]:
    """Return the edges that a drawing shows."""
    dots = ET.fromstring(path.read_text(encoding="utf-8")).iter("{http://www.w3.org/2000/svg}circle")  # noqa: S314 - our own drawing
    return {(dot.attrib["data-from"], dot.attrib["data-to"]) for dot in dots}


if __name__ == "__main__":
    edges = rooms(imports())
    if DRAWING.is_file() and drawn() == set(edges) and "--anew" not in sys.argv:
        sys.stdout.write("The drawing is current.\n")
    else:
        DRAWING.write_text(drawing(edges), encoding="utf-8")
        sys.stdout.write(f"Drawn: {DRAWING.relative_to(ROOT)}\n")
    for upper, lower in across(edges):
        sys.stdout.write(f"Not downwards: {upper} imports {lower}\n")
    for name, number in figures().items():
        sys.stdout.write(f"{number:>12}  {name}\n")
    sys.stdout.write("The longest chain:\n  " + "\n  ".join(longest_chain(imports())) + "\n")
    sys.stdout.write("Within the rooms:\n")
    for room in (room for floor in floors() for room in floor):
        chain = longest_chain(within(imports(), room))
        names = (module.removeprefix(f"sojourn.{room}").removeprefix(".") or room for module in chain)
        sys.stdout.write(f"  {room}, {len(chain)}: {' -> '.join(names)}\n")
