"""The checkout under test: its files, pages and modules."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "thusfar"
DOCS = ROOT / "docs"


@cache
def files() -> tuple[Path, ...]:
    """List every file that is or would be committed; without git, every file of the sources."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        kept = [ROOT / name for name in ("src", "tests", "docs", "bench", "tools", ".ci")]
        paths = [*ROOT.glob("*"), *(path for folder in kept for path in folder.rglob("*"))]
    return tuple(sorted(path for path in paths if path.is_file() and path.suffix != ".pyc"))


@cache
def pages() -> tuple[Path, ...]:
    """List README and every page of the documentation, in a fixed order."""
    return (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))


@cache
def modules() -> dict[str, Path]:
    """Map the dotted name of every module of the package to its file."""
    found: dict[str, Path] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("thusfar", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found
