"""The parts of a sweep: the results of each task, in files that are checked before they are merged.

Each file has a seal in its name: a hash of its bytes and of the task it belongs to. The task determines which cells,
seeds and points the file holds, and by which rules they were run. A file with a wrong seal, whatever happened to it,
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

from sojourn.data.files import own_folder, write_bytes, write_text
from sojourn.runs.tasks import Task

_NAME = re.compile(r"(\d{8})\.(rows|curves)\.([0-9a-f]{32})\.parquet")
_RULES = "rules"


def identity(task: Task, rules: str) -> str:
    """Return a hash of a task and of the rules it is run by, which together determine what its part holds."""
    return hashlib.sha256(json.dumps([rules, asdict(task)], sort_keys=True).encode()).hexdigest()


class Parts:
    """The parts of a sweep in its folder."""

    def __init__(self, folder: Path, *, curves: bool) -> None:
        self._folder, self._aside = own_folder(folder / "parts"), folder / "set-aside"
        self._kinds = ("rows", "curves") if curves else ("rows",)

    def claim(self, rules: str) -> None:
        """Raise an error if the sweep was begun with other rules, which may give different numbers."""
        path = self._folder / _RULES
        held = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
        if self.written() and held != rules:
            raise ValueError(
                f"{self._folder.parent} was begun with another version of Sojourn, whose rules may give different "
                "numbers; finish it with that version, or choose another folder"
            )
        if held != rules:
            write_text(path, rules + "\n")

    def written(self) -> set[int]:
        """Return the numbers of the tasks whose files exist; `looked_through` checks whether the files are sound."""
        kinds: dict[int, set[str]] = {}
        for path in self._folder.iterdir():
            if found := _NAME.fullmatch(path.name):
                kinds.setdefault(int(found[1]), set()).add(found[2])
        return {index for index, has in kinds.items() if has.issuperset(self._kinds)}

    def write(self, index: int, task: str, rows: pl.DataFrame, curves: pl.DataFrame | None) -> None:
        """Write the results of a task, given by its identity. The rows come last: once they exist, the part is complete."""
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

        Damaged files are set aside, and their names are returned too. If there are any, or if files are missing,
        no files to merge are returned.
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
