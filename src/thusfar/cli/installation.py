"""The installation: versions, tokenizers and extras, as they are found in this process."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

import msgspec

from thusfar._version import __version__
from thusfar.errors import HistoryError
from thusfar.tokens import Confidence
from thusfar.tokens.counters import TIKTOKEN_PREFIX, counter_named
from thusfar.tokens.factors import BPE

WAL_FIX: Final = (3, 51, 3)
"""The first SQLite without the WAL-reset bug. Source: sqlite.org/wal.html, read 2026-11-30."""

_CORE: Final = ("msgspec", "apsw", "jinja2", "cyclopts", "rich")
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+).*;.*\bextra\s*==\s*['\"]([^'\"]+)['\"]")
_SAMPLE: Final = "Weather in Oslo?"


class SQLite(msgspec.Struct, frozen=True, kw_only=True):
    """The SQLite that threads are stored with.

    Attributes:
        version: Its version.
        apsw: Version of the package that bundles it.
        wal_fix: Whether several connections can use one WAL database without damage.
    """

    version: str
    apsw: str
    wal_fix: bool


class Tokenizer(msgspec.Struct, frozen=True, kw_only=True):
    """A counter that can be asked for by name.

    Attributes:
        name: What `--counter` takes.
        available: Whether it counted a sample text just now.
        confidence: How far its counts can be trusted for the models it is made for.
        fix: What makes it available; empty when it is.
    """

    name: str
    available: bool
    confidence: Confidence
    fix: str = ""


class Extra(msgspec.Struct, frozen=True, kw_only=True):
    """An optional extra of the package.

    Attributes:
        name: Its name.
        packages: The packages it installs.
        missing: Those that are not installed.
        install: The command that installs it.
    """

    name: str
    packages: tuple[str, ...]
    missing: tuple[str, ...]
    install: str


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What this installation consists of.

    Attributes:
        python: Implementation and version.
        thusfar: Version of the package.
        packages: Versions of the packages it is built on.
        sqlite: The database engine.
        tokenizers: Every counter that has a name.
        extras: Every extra; empty where the package runs without having been installed.
    """

    python: str
    thusfar: str
    packages: dict[str, str]
    sqlite: SQLite
    tokenizers: tuple[Tokenizer, ...]
    extras: tuple[Extra, ...]


def inspect_installation() -> Installation:
    """Find out what is installed; imports the tokenizers that are, and uses no network."""
    return Installation(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        thusfar=__version__,
        packages={name: _version_of(name) or "missing" for name in _CORE},
        sqlite=_sqlite(),
        tokenizers=tuple(map(_tokenizer, _counter_names())),
        extras=_extras(),
    )


def has_wal_fix(sqlite_version: str) -> bool:
    """Tell whether a SQLite version has the fix of the WAL-reset bug.

    Example:
        >>> has_wal_fix("3.51.2"), has_wal_fix("3.51.3"), has_wal_fix("3.53")
        (False, True, True)
    """
    return tuple(int(part) for part in sqlite_version.split(".")) >= WAL_FIX


def _sqlite() -> SQLite:
    import apsw

    bundled = apsw.sqlite_lib_version()
    return SQLite(version=bundled, apsw=apsw.apsw_version(), wal_fix=has_wal_fix(bundled))


def _counter_names() -> tuple[str, ...]:
    return ("estimate", *BPE, *(f"{TIKTOKEN_PREFIX}{name}" for name in BPE))


def _tokenizer(name: str) -> Tokenizer:
    """Try a counter on a sample text."""
    confidence: Confidence = "estimated" if name == "estimate" else "exact"
    try:
        counter_named(name).count_many([_SAMPLE])
    except HistoryError as error:
        return Tokenizer(name=name, available=False, confidence=confidence, fix=error.fix)
    return Tokenizer(name=name, available=True, confidence=confidence)


def _extras() -> tuple[Extra, ...]:
    """Read the extras from the metadata of the installed package."""
    try:
        needed = requires("thusfar") or ()
    except PackageNotFoundError:
        return ()
    packages: dict[str, list[str]] = {}
    for requirement in needed:
        if found := _REQUIREMENT.match(requirement):
            packages.setdefault(found[2], []).append(found[1])
    return tuple(_extra(name, tuple(named)) for name, named in sorted(packages.items()))


def _extra(name: str, packages: tuple[str, ...]) -> Extra:
    missing = tuple(each for each in packages if _version_of(each) is None)
    return Extra(
        name=name, packages=packages, missing=missing, install=f"pip install 'thusfar[{name}]'"
    )


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
