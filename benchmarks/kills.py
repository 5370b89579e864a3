"""The long fault test: SIGKILLs at random moments of a small study.

    python benchmarks/kills.py --kills 1000
    python benchmarks/kills.py --kills 1000 --minutes 15    # stops after the round in which the time is over
    python benchmarks/kills.py --kills 200 --seed 7 --add   # add the kills to the existing record

A round starts a study from scratch, kills it in each stage, completes it, and compares all files with the files of an
uninterrupted study, byte for byte. `--side-by-side` sets the number of parallel studies, each in a separate folder,
because a start mostly waits. The record contains the number of kills, and each part with its commit.
"""

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import RESULTS, machine, row, write_record

from replicse.files import read_json

RECORD = RESULTS / "kills.json"


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the record's table."""
    yield row(
        f"killing a small study at random moments: files that differ after {found['kills']:,} kills",
        f"{len(found['unequal_files'])}",
        goal="0",
        met=not found["unequal_files"],
    )


def add_parts(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of the record: sums over all parts, and the parts.

    Args:
        parts: the content of each part, with the machine that ran it.
    """
    unequal = {file for part in parts for file in part["unequal_files"]}
    return {
        "kills": sum(part["kills"] for part in parts),
        "minutes": round(sum(part["minutes"] for part in parts), 1),
        "unequal_files": sorted(unequal),
        "parts": parts,
    }


def main() -> int:
    """Kill studies, write the record, and return 1 if a file differs."""
    import small_study  # a module of the tests; `record` adds their folder to the path
    from random_kills import STAGES, VICTIMS, Kills, side_by_side

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--side-by-side", type=int, default=1)
    parser.add_argument("--add", action="store_true", help="keep the parts of the existing record")
    chosen = parser.parse_args()
    earlier = read_json(RECORD)["parts"] if chosen.add and RECORD.exists() else []
    with tempfile.TemporaryDirectory(prefix="replicse-kills-") as scratch:
        home = Path(scratch).resolve()
        expected = small_study.undisturbed(home / "whole")
        studies = [
            Kills(
                small_study.checkout(home / f"killed-{place}"),
                expected,
                random.Random(chosen.seed + place),
            )
            for place in range(chosen.side_by_side)
        ]
        start = time.monotonic()
        each = math.ceil(chosen.kills / chosen.side_by_side)
        killed, counts, unequal = side_by_side(studies, each, 60 * chosen.minutes)
        minutes = (time.monotonic() - start) / 60
    part = {
        "machine": machine(),
        "kills": killed.total(),
        "kills_asked_for": chosen.kills,
        "seed": chosen.seed,
        "side_by_side": chosen.side_by_side,
        "minutes": round(minutes, 1),
        "files_compared_per_round": len(expected),
        "unequal_files": sorted(set(unequal)),
        **{name.replace(" ", "_"): count for name, count in sorted(counts.items())},
        "by_stage": {stage: {victim: killed[stage, victim] for victim in VICTIMS} for stage in STAGES},
    }
    found = add_parts([*earlier, part])
    write_record(RECORD, found, list(lines_of(found)))
    print(found)
    return int(bool(unequal))


if __name__ == "__main__":
    sys.exit(main())
