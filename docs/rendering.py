"""How docstrings become Markdown: dialogues are fenced, lists of names are lists, tuples show their fields.

The docstrings of the package are plain text that reads well in a terminal. A few things in them
mean something else in Markdown, and are put right here, before the pages are made.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

import sojourn

_ENTRY = re.compile(r"^(`?\w+`?(?:, `?\w+`?)*) {2,}(\S.*)$")
_COLUMNS = re.compile(r"^ {4}(\S+(?: \S+)*) {2,}(\S+(?: \S+)*)$")
_LABEL = re.compile(r"^(States|Actions|Rewards|Durations|Source):")
_COMMENT = re.compile(r"#\s*(.+)$")


class Plain(griffe.Extension):
    """Makes Markdown of plain docstrings."""

    def on_object(self, *, obj: Any, **kwargs: Any) -> None:
        """Rewrite a docstring."""
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_class(self, *, cls: Any, **kwargs: Any) -> None:
        """Give a NamedTuple its signature, and what the comments beside its fields say."""
        fields = [
            member
            for member in cls.members.values()
            if member.is_attribute and not member.name.startswith("_") and "property" not in member.labels
        ]
        bases = {str(base).rpartition(".")[2] for base in cls.bases}
        is_dataclass = any("dataclass" in str(decorator.value) for decorator in cls.decorators)
        if not ("NamedTuple" in bases or is_dataclass):
            return
        notes = [
            f"- `{field.name}`: {found[1]}"
            for field in fields
            if (found := _COMMENT.search(field.source)) and "type: ignore" not in found[1]
        ]
        if notes and cls.docstring is not None:
            cls.docstring.value += "\n\nFields:\n\n" + "\n".join(notes)
        if "NamedTuple" in bases and "__init__" not in cls.members:
            cls.set_member("__init__", _constructor(cls, fields))
        for field in fields:
            cls.del_member(field.name)


def _constructor(cls: Any, fields: list[Any]) -> griffe.Function:
    """Return the function that makes a NamedTuple."""
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    parameters = [
        griffe.Parameter(
            field.name,
            annotation=field.annotation,
            kind=griffe.ParameterKind.positional_or_keyword,
            default=field.value,
        )
        for field in fields
    ]
    return griffe.Function("__init__", parameters=griffe.Parameters(own, *parameters), parent=cls)


def as_markdown(text: str) -> str:
    r"""Return a plain docstring as Markdown.

    >>> as_markdown("Half of x.\n\n>>> half(3)\n1.5")
    'Half of x.\n\n```pycon\n>>> half(3)\n1.5\n```'
    """
    if re.search(r"^1\. ", text, flags=re.MULTILINE):
        # Markdown wants what belongs to an item four columns in.
        text = re.sub(r"\n(?=\d\. )", "\n\n", text)
        text = re.sub("^ {3}", "    ", text, flags=re.MULTILINE)
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text.strip("\n")))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if lines[0].startswith(">>> "):
        return "\n".join(["```pycon", *lines, "```"])
    if len(lines) > 1 and _ENTRY.match(lines[0]):
        return _entries(lines)
    if columns := _in_columns(lines):
        return columns
    return _LABEL.sub(r"**\1:**", text)


def _entries(lines: list[str]) -> str:
    """Return lines of a name and what it means as a list; an indented line goes on with the one before."""
    entries: list[str] = []
    for line in lines:
        found = _ENTRY.match(line)
        if found and not line.startswith(" "):
            name = found[1].replace("`", "")
            entries.append(f"- `{name}`: {found[2]}")
        else:
            entries[-1] += " " + line.strip()
    return "\n".join(entries)


def _in_columns(lines: list[str]) -> str:
    """Return indented lines of calls in one column and their meanings in another as a list; "" if they are something else.

    >>> print(_in_columns(["    read(s, a)   Q(s, a)", "    move(s, a)   Q(s, a) +=", "                 amount"]))
    - `read(s, a)`: Q(s, a)
    - `move(s, a)`: Q(s, a) += amount
    """
    starts = {found.start(2) for line in lines if (found := _COLUMNS.match(line))}
    if len(lines) < 2 or len(starts) != 1:
        return ""
    indent = " " * starts.pop()
    entries: list[str] = []
    for line in lines:
        if found := _COLUMNS.match(line):
            entries.append(f"- `{found[1]}`: {found[2]}")
        elif line.startswith(indent) and entries:
            entries[-1] += " " + line.strip()
        elif re.match(r" {4}\S+(?: \S+)*$", line):  # a name too long for its column
            entries.append(f"- `{line.strip()}`:")
        else:
            return ""
    return "\n".join(entries)


def public_name(room: str, name: str) -> str:
    """Return where the reference has a public name: at the top, or in the module of its room.

    >>> public_name("agents", "smart"), public_name("agents", "rvi_q")
    ('sojourn.smart', 'sojourn.agents.rvi_q')
    """
    return f"sojourn.{name}" if name in sojourn.__all__ else f"sojourn.{room}.{name}"
