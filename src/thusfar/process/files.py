"""Files: definitions of processes in TOML and JSON.

Source:
    docs/spec/process.md#definitions-as-data
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thusfar.codec import parse_json
from thusfar.errors import InvalidDefinitionError, TranscriptError
from thusfar.process.definition import Process
from thusfar.process.hooks import fault
from thusfar.process.reading import from_data


def load_process(
    path: str | os.PathLike[str],
    *,
    hooks: Mapping[str, Any] | None = None,
    allow_imports: bool = False,
) -> Process:
    """Read a process from a file whose name ends in `.toml` or `.json`; see `from_data`.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, when the file cannot be read or with the place
            of what is wrong in it.
    """
    return from_data(read_file(path), hooks=hooks, allow_imports=allow_imports)


def read_file(path: str | os.PathLike[str]) -> Any:
    """Read the data of a definition.

    Raises:
        InvalidDefinitionError: `INVALID_DEFINITION`, when the file cannot be read.
    """
    if not isinstance(path, str | os.PathLike):
        raise fault("", "was named by something else than a path", "Pass the path of a file.")
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".toml", ".json"):
        raise fault("", "was in a file of no known kind", "Name it with .toml or .json at its end.")
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if kind == ".toml" else parse_json(text, where="a definition")
    except OSError as error:
        raise fault("", "could not be read", f"Check the path: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise fault("", f"was not TOML: {error}", "Correct it there.") from error
    except TranscriptError as error:
        raise InvalidDefinitionError(str(error.args[0]), fix=error.fix) from error
    except UnicodeDecodeError as error:
        raise fault("", "was not UTF-8", "Save it as UTF-8.") from error
