"""Committed files speak of the product alone: no paths of a machine, no addresses of a registry."""

from __future__ import annotations

import re

from checkout import ROOT, files

# Written in pieces, so that this file passes its own test.
FORBIDDEN = re.compile(
    "|".join(
        (
            r"(?<![\w.~/-])/(?:" + "ro" + "ot|wo" + r"rk)/[\w.]",
            "pyth" + "onhosted",
            r"\b" + "py" + r"pi\.org\b",
            "TO" + r"DO\b",
            "FIX" + r"ME\b",
        )
    )
)


def test_no_committed_file_names_a_machine_or_leaves_work_open():
    found = []
    for path in files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")

    assert files(), "no committed file was found"
    assert found == []
