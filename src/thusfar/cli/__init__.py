"""The command `thusfar`. This module only starts it, and must import nothing heavy itself.

`thusfar --version` is answered here, before the parser of the command line is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from thusfar._version import __version__

OUTPUT_FAILED: Final = 1
INTERRUPTED: Final = 130  # 128 + SIGINT, what shells report for Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words behind `thusfar`. `None`: those of this process.

    Returns:
        The exit status: 0 done, 1 a typed refusal or a finding, 2 a wrong command line.
        A reader that closes the pipe early ends the command quietly with 0.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    try:
        if words == ["--version"]:
            print(f"thusfar {__version__}")  # noqa: T201 - what was asked for
            status = 0
        else:
            from thusfar.cli.running import run

            status = run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return 0
    except SystemExit as ending:  # what the printer of tables makes of a closed pipe
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
        return 0
    except OSError as error:  # of files that are read, the commands tell themselves
        _discard_output()
        return _output_failed(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _open_closed_streams() -> None:
    """Put nothing in the place of a stream that the shell closed, such as with `>&-`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _output_failed(error: OSError) -> int:
    """Tell that the output could not be written, such as for a full disk."""
    why = (error.strerror or "unknown reason").lower()
    sys.stderr.write(f"thusfar: The output could not be written: {why}.\n")
    return OUTPUT_FAILED


def _discard_output() -> None:
    """Send the rest of the output nowhere, so that the interpreter's own flush is quiet too."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stream without a file behind it has nothing to flush
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the exit
