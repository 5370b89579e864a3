"""The long fault test: SIGKILLs at random moments of all stages of a small study, every table compared byte for byte.

    python benchmarks/kills.py --kills 1000
    python benchmarks/kills.py --kills 1000 --minutes 15    # ends after the round in which the time is over

A round is one study from nothing: a kill in each stage, then to its end, then a comparison with an undisturbed one.
The record says how many kills there were.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import row, write_record


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the table."""
    yield row(
        f"random kills of a small study: files that differ behind {found['kills']:,}",
        f"{len(found['unequal_files'])}",
        goal="0",
        met=not found["unequal_files"],
    )


def main() -> int:
    """Kill, write the record, and return 1 where a table differed."""
    import small_study  # of the tests, which `record` lets be found
    from random_kills import STAGES, VICTIMS, Kills

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="replicse-kills-") as scratch:
        whole = small_study.checkout(Path(scratch).resolve() / "whole")
        subprocess.run(
            small_study.command("--cores", "2"),
            cwd=whole,
            env=small_study.environment(whole),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        folder = small_study.checkout(Path(scratch).resolve() / "killed")
        kills = Kills(folder, small_study.results(whole), random.Random(chosen.seed))
        start = time.monotonic()
        kills.run(chosen.kills, 60 * chosen.minutes)
        record = {
            "kills": kills.killed.total(),
            "kills_asked_for": chosen.kills,
            "seed": chosen.seed,
            "minutes": round((time.monotonic() - start) / 60, 1),
            "files_compared_per_round": len(kills.expected),
            "unequal_files": sorted(kills.unequal),
            **{name.replace(" ", "_"): count for name, count in sorted(kills.counts.items())},
            "by_stage": {
                stage: {victim: kills.killed[stage, victim] for victim in VICTIMS} for stage in STAGES
            },
        }
    write_record("kills", record, list(lines_of(record)))
    print(record)
    return int(bool(kills.unequal))


if __name__ == "__main__":
    sys.exit(main())
