"""Measure what the package adds to the start of an interpreter, and what the command costs.

Programs are started in turn, a round at a time; medians are compared. The promises are times for a
machine on which the interpreter alone takes 15 ms, so they are held as multiples of its start:
processor time in ratios holds on slow and busy machines too.

Run: python bench/import_time.py [--rounds 21]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from statistics import median

PROGRAMS = {
    "bare python": ["-c", "pass"],
    "import msgspec": ["-c", "import msgspec"],
    "import thusfar": ["-c", "import thusfar"],
    "thusfar.history": ["-c", "import thusfar; thusfar.history"],
    "first projection": [
        "-c",
        "import thusfar; thusfar.history.recent(2).project([{'role': 'user', 'content': 'Hi'}])",
    ],
    "thusfar --version": [
        "-c",
        "import sys; sys.argv = ['thusfar', '--version']; from thusfar.cli import main; main()",
    ],
}
BARE = 15.0  # the start of an interpreter on the machine of the promises. Unit: milliseconds
MOST_OVER_BARE = 60.0  # for importing. Unit: milliseconds
MOST_VERSION = 150.0  # for `thusfar --version`, the interpreter included. Unit: milliseconds


def start(arguments: list[str]) -> tuple[float, float] | None:
    """Run Python once, for its wall and processor time in milliseconds; `None` where it fails."""
    before = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    return wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000


def main() -> None:
    """Measure, print, and fail when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    working = {name: given for name, given in PROGRAMS.items() if start(given)}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in working}
    for _ in range(rounds):
        for name, given in working.items():
            if found := start(given):
                spent[name].append(found)
    walls = {name: median(wall for wall, _ in times) for name, times in spent.items()}
    own = {name: median(cpu for _, cpu in times) for name, times in spent.items()}
    print(f"{'program':<20}{'wall ms':>9}{'cpu ms':>9}{'cpu over bare':>15}{'x bare':>8}")
    for name in PROGRAMS:
        if name not in working:
            print(f"{name:<20}  does not run here")
            continue
        over = own[name] - own["bare python"]
        print(
            f"{name:<20}{walls[name]:>9.1f}{own[name]:>9.1f}{over:>15.1f}"
            f"{own[name] / own['bare python']:>8.2f}"
        )
    bare = own["bare python"]
    broken = False
    for name, over, limit in (
        ("import thusfar", bare, MOST_OVER_BARE),
        ("thusfar --version", 0.0, MOST_VERSION),
    ):
        if name not in own:
            print(f"{name}: not measured")
            continue
        scaled = (own[name] - over) / bare * BARE
        broken = broken or scaled > limit
        beside = " over bare" if over else ""
        verdict = "met" if scaled <= limit else "NOT met"
        print(
            f"{name + beside:<30}{scaled:>7.1f} ms of {limit:.0f} at {BARE:.0f} ms bare  {verdict}"
        )
    raise SystemExit(broken)


if __name__ == "__main__":
    main()
