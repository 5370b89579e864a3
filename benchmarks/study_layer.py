"""Wall and processor time of the verbs that only plan and judge: best of three after one that is not counted.

Goals, so that nobody waits at a terminal: `plan` of the paper scale at five seeds with all protocols under 2 s,
`claims` and `why` under 1 s.
Byte code is kept as Python does for any user; an environment that switches that off adds about 0.4 s to each.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

from record import ROOT, row, write_record

ROUNDS = 3
CELL = "simcse/table5/unsup-simcse-bert-base/avg"
VERBS = {
    "plan": ["plan", "--scale", "paper", "--seeds", "5"],
    "plan_all_protocols": ["plan", "--scale", "paper", "--seeds", "5", "--config", "adjudicate=all"],
    "claims": ["claims"],
    "why": ["why", CELL],
    "why_at_paper_scale": ["why", CELL, "--scale", "paper"],
    "validate": ["validate"],
    "help": ["--help"],
}
GOALS = {"plan": 2.0, "plan_all_protocols": 2.0, "claims": 1.0, "why": 1.0, "why_at_paper_scale": 1.0}


def seconds(words: list[str]) -> tuple[float, float]:
    """Return wall and processor seconds of one verb."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "replicse", *words],
        cwd=ROOT,
        env={**kept, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure the verbs in turn and write the least of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in VERBS}
    for turn in range(chosen.rounds + 1):
        for name, words in VERBS.items():
            found = seconds(words)
            if turn:
                times[name].append(found)
    verbs = {}
    for name, found in times.items():
        wall, processor = (round(min(each), 2) for each in zip(*found, strict=True))
        verbs[name] = {"wall_seconds": wall, "cpu_seconds": processor, "goal": GOALS.get(name)}
    rows = [
        row(
            f"`replicse {' '.join(VERBS[name])}`: seconds",
            f"{found['wall_seconds']:.2f}",
            goal=f"{found['goal']:g}",
            met=found["wall_seconds"] <= found["goal"],
        )
        for name, found in verbs.items()
        if found["goal"]
    ]
    write_record("study_layer", {"verbs": verbs}, rows)
    print(json.dumps(verbs, indent=1))


if __name__ == "__main__":
    main()
