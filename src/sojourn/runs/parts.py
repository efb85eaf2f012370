"""The parts of a sweep: what came of each task, in files that are looked through before they are merged.

Each file carries a seal in its name: a hash of its bytes and of the task that it must belong to, which says what
cells, seeds and points it holds and by which rules they were run. A file whose seal is wrong, whatever became of it,
is set aside and never read as a table; its task is executed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
from dataclasses import asdict
from pathlib import Path

import polars as pl

from sojourn.rules.files import own_folder, write_bytes, write_text
from sojourn.runs.tasks import Task

_NAME = re.compile(r"(\d{8})\.(rows|curves)\.([0-9a-f]{32})\.parquet")
_RULES = "rules"


def identity(task: Task, rules: str) -> str:
    """Return a hash of a task and of the rules that it is run by: of all that decides what a part holds."""
    return hashlib.sha256(json.dumps([rules, asdict(task)], sort_keys=True).encode()).hexdigest()


class Parts:
    """The parts of a sweep in its folder."""

    def __init__(self, folder: Path, *, curves: bool) -> None:
        self._folder, self._aside = own_folder(folder / "parts"), folder / "set-aside"
        self._kinds = ("rows", "curves") if curves else ("rows",)

    def claim(self, rules: str) -> None:
        """Refuse to go on with what was begun with other rules, whose numbers may be others."""
        path = self._folder / _RULES
        held = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
        if self.written() and held != rules:
            raise ValueError(
                f"{self._folder.parent} was begun with another version of Sojourn, whose rules may give other "
                "numbers; finish it with that version, or choose another folder"
            )
        if held != rules:
            write_text(path, rules + "\n")

    def written(self) -> set[int]:
        """Return the numbers of the tasks that have their files; `looked_through` says whether these are sound."""
        kinds: dict[int, set[str]] = {}
        for path in self._folder.iterdir():
            if found := _NAME.fullmatch(path.name):
                kinds.setdefault(int(found[1]), set()).add(found[2])
        return {index for index, has in kinds.items() if has.issuperset(self._kinds)}

    def write(self, index: int, task: str, rows: pl.DataFrame, curves: pl.DataFrame | None) -> None:
        """Write what came of a task, given by its identity. The rows come last: with them, it is all there."""
        for kind, table in (("curves", curves), ("rows", rows)):
            if table is not None:
                buffer = io.BytesIO()
                table.write_parquet(buffer, compression="uncompressed", statistics=False)  # fast, not small
                buffer.seek(0)
                write_bytes(
                    self._folder / f"{index:08d}.{kind}.{_seal(task, kind, buffer)}.parquet",
                    buffer.getvalue(),
                )

    def looked_through(self, tasks: list[str]) -> tuple[list[list[Path]], list[str]]:
        """Return the files of each kind in the order of the tasks, given by their identities.

        Files that are not sound are set aside; their names are returned too. If there are any, or if files are
        missing, there are none to merge yet.
        """
        sound: dict[tuple[int, str], Path] = {}
        bad = []
        for path in sorted(self._folder.iterdir()):
            if found := _NAME.fullmatch(path.name):
                index, kind = int(found[1]), found[2]
                if index < len(tasks) and _is_sealed(path, tasks[index], kind, found[3]):
                    sound[index, kind] = path
                else:
                    bad.append(path.name)
                    self._set_aside(path)
        if bad or len(sound) < len(tasks) * len(self._kinds):
            return [], bad
        return [[sound[index, kind] for index in range(len(tasks))] for kind in self._kinds], []

    def _set_aside(self, path: Path) -> None:
        own_folder(self._aside)
        number = 0
        while (place := self._aside / f"{path.name}.{number}").exists():
            number += 1
        path.rename(place)


def _is_sealed(path: Path, task: str, kind: str, seal: str) -> bool:
    if not stat.S_ISREG(path.lstat().st_mode):
        return False
    with path.open("rb") as handle:
        return _seal(task, kind, handle) == seal


def _seal(task: str, kind: str, handle: io.BytesIO | io.BufferedReader) -> str:
    """Return the seal of a file that is read from its beginning."""
    return hashlib.file_digest(handle, lambda: hashlib.sha256(f"{task} {kind} ".encode())).hexdigest()[:32]
