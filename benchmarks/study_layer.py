"""CPU time of the verbs that only plan and judge.

    python benchmarks/study_layer.py [--rounds 3] [--before COMMIT]

The minimum over several rounds is used; the first round is a warm-up. The goals are short enough for a terminal: 0.5
CPU seconds for reading verbs, 1.2 for `plan` of the paper scale with five seeds, and 3 for `validate`. A compiled study
is cached, so `validate` is also measured after a change to a paper. The benchmark runs a clone of the last commit, in
turn with a clone of `--before`. Byte code is cached, as for any user.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from record import ROOT, row, write_record

ROUNDS = 3
CELL = "simcse/table5/unsup-simcse-bert-base/avg"
READING, CHANGED = 0.5, "validate, after a change"
# Dict from names to verbs and their goals in CPU seconds.
VERBS: dict[str, tuple[list[str], float]] = {
    "plan": (["plan"], READING),
    "status": (["status"], READING),
    "show": (["show", "simcse/table5"], READING),
    "why": (["why", CELL], READING),
    "claims": (["claims"], READING),
    "audit": (["audit"], READING),
    "plan_paper": (["plan", "--scale", "paper", "--seeds", "5"], 1.2),
    "validate": (["validate"], 3.0),
    CHANGED: (["validate"], 3.0),
    "help": (["--help"], 0.05),
}
PAPER = Path("workflow", "papers", "simcse", "paper.yaml")


def seconds(place: Path, words: list[str]) -> float:
    """Run a verb, and return CPU seconds.

    Args:
        place: the folder of a checkout.
        words: the verb and its arguments.
    """
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "replicse", *words],
        cwd=place,
        env={**kept, "PYTHONPATH": str(place / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def after_change(place: Path, turn: int, words: list[str]) -> float:
    """Return the CPU seconds of a verb after a change to a paper.

    The paper is restored afterwards.

    Args:
        place: the folder of a checkout.
        turn: the number of the round, which makes each change different.
        words: the verb and its arguments.
    """
    before = (place / PAPER).read_text(encoding="utf-8")
    (place / PAPER).write_text(f"{before}# turn {turn}\n", encoding="utf-8")
    found = seconds(place, words)
    (place / PAPER).write_text(before, encoding="utf-8")
    return found


def measured(places: dict[str, Path], rounds: int) -> dict[str, dict[str, float]]:
    """Measure all verbs; return a dict of their minimum seconds by checkout.

    The checkouts alternate.

    Args:
        places: dict from the names of checkouts to their folders.
        rounds: the number of measurements, without the warm-up.
    """
    times: dict[str, dict[str, list[float]]] = {name: {which: [] for which in places} for name in VERBS}
    for turn in range(rounds + 1):
        for name, (words, _) in VERBS.items():
            for which, place in places.items():
                found = after_change(place, turn, words) if name == CHANGED else seconds(place, words)
                if turn:
                    times[name][which].append(found)
    return {
        name: {which: round(min(found), 2) for which, found in each.items()} for name, each in times.items()
    }


def lines_of(verbs: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Return the rows of the record's table."""
    return [
        row(
            f"`replicse {' '.join(words)}`{name.removeprefix('validate') if name == CHANGED else ''}: CPU seconds",
            f"{verbs[name]['now']:.2f}",
            peer=f"{verbs[name]['before']:.2f} (before)" if "before" in verbs[name] else "",
            goal=f"{goal:g}",
            met=verbs[name]["now"] <= goal,
        )
        for name, (words, goal) in VERBS.items()
    ]


def main() -> None:
    """Measure the verbs in turn and write the minimum of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--before", metavar="COMMIT", help="take turns with an earlier commit")
    chosen = parser.parse_args()
    revisions = {"now": "HEAD"} | ({"before": chosen.before} if chosen.before else {})
    with tempfile.TemporaryDirectory() as scratch:
        places = {which: Path(scratch, which) for which in revisions}
        for which, revision in revisions.items():
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(places[which])], check=True)
            subprocess.run(["git", "checkout", "--quiet", revision], cwd=places[which], check=True)
        verbs = measured(places, chosen.rounds)
    write_record("study_layer", {"verbs": verbs}, lines_of(verbs))
    print(json.dumps(verbs, indent=1))


if __name__ == "__main__":
    main()
