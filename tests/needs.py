"""Tools that tests need and a machine may lack. In CI nothing is skipped: there a missing tool is a failure."""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest


def skip(why: str) -> NoReturn:
    """Skip the test, or in CI fail it."""
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(f"CI must not skip this: {why}")
    pytest.skip(why)


def tool(name: str, hint: str) -> str:
    """Return the path of a program: that of the environment, else that of the PATH."""
    own = Path(sys.executable).parent / name
    found = str(own) if os.access(own, os.X_OK) else shutil.which(name)
    return found or skip(f"{name} is not installed: {hint}")
