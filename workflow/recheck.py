"""Read values of the record again.

Run it as `python workflow/recheck.py FOLDER [--count 100] [--seed 0]`. FOLDER contains clones with the name
`owner+name`, or folders of this name with the git directory in `repo`. A reading is found if a number in its file, at
its commit, rounds to its value; a fraction counts as a score x 100. Readings of threads, of repositories that are not
in FOLDER, and of files without text (a sheet with pictures) are printed as not read.
"""

import argparse
import random
import re
import subprocess
from collections import Counter
from decimal import Decimal
from functools import cache
from pathlib import Path

from replicse.spec.record import Record, SourceReading, load_record

WORKFLOW = Path(__file__).resolve().parent
NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


@cache
def read_numbers(folder: Path, repository: str, commit: str, path: str) -> frozenset[Decimal] | None:
    """Return all numbers in a file of a repository at a commit.

    Returns None if the file cannot be read as text.
    """
    place = folder / repository.replace("/", "+")
    git = place / "repo" if (place / "repo").exists() else place
    shown = subprocess.run(["git", "-C", str(git), "show", f"{commit}:{path}"], capture_output=True)
    if shown.returncode or b"\0" in shown.stdout:
        return None
    return frozenset(map(Decimal, NUMBER.findall(shown.stdout.decode("utf-8", "replace"))))


def is_found(value: str, numbers: frozenset[Decimal]) -> bool:
    """Return whether a number, or 100 times the number, rounds to a value."""
    wanted = Decimal(value)
    half_digit = Decimal(5).scaleb(wanted.as_tuple().exponent - 1)
    return any(abs(number * factor - wanted) <= half_digit for number in numbers for factor in (1, 100))


def read_again(folder: Path, record: Record, reading: SourceReading) -> str:
    """Return `found`, `missing` or `not read` for a reading."""
    source = record.sources[reading.source]
    if source.thread:
        return "not read"
    commit, path = source.locate(reading.place)
    numbers = read_numbers(folder, str(source.repository), commit, path)
    if numbers is None:
        return "not read"
    return "found" if is_found(reading.value, numbers) else "missing"


def main() -> None:
    """Check random readings; print each result and their counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    record = load_record(WORKFLOW)
    count = min(arguments.count, len(record.readings))
    counts: Counter[str] = Counter()
    for reading in random.Random(arguments.seed).sample(record.readings, count):
        result = read_again(arguments.folder, record, reading)
        counts[result] += 1
        print(
            f"{result}: {reading.source}:{reading.line} {reading.cell} {reading.value} {record.link(reading)}"
        )
    print(", ".join(f"{number} {result}" for result, number in sorted(counts.items())))


if __name__ == "__main__":
    main()
