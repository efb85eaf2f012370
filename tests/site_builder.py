"""The modules that build the site, for the tests of what they add to its pages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

DOCS = Path(__file__).resolve().parents[1] / "docs"


def loaded(name: str) -> ModuleType:
    """Return a module of the folder docs, loaded as the builder of the site does."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.object(sys, "path", [str(DOCS), *sys.path]):
        spec.loader.exec_module(module)
    return module
