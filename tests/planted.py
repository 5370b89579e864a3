"""Unreadable files at all places where a study would write.

No test may read there. `python tests/planted.py plant` creates the files in the checkout; `... remove`
removes them.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from places import CHECKOUT, WRITTEN

from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.compile.paths import Paths
from replicse.compile.selection import load_scales

TEXT = "{planted: a test that reads this reads what a study wrote\n"


def places() -> Iterator[str]:
    """Yield outputs and logs of the studies of all papers, two seeds a scale."""
    for scale in load_scales(CHECKOUT / "workflow"):
        config = {"scale": scale, "papers": "all", "seeds": [0, 1], "adjudicate": "all"}
        plan = compile_study(config, CHECKOUT / "workflow")
        for job in list_jobs(plan).values():
            yield from (*job.outputs, job.log)
        for paths in (plan.paths, Paths(scale, partial=True)):
            for item in plan.items:
                yield from (paths.item(item), paths.table(item), paths.page(item))
                yield from (paths.figure(item, kind) for kind in ("svg", "csv"))
            yield from map(paths.judged, ("claims", "adjudication", "audit"))
            yield from map(paths.report, ("html", "md", "tex"))
            yield from (
                paths.config,
                paths.record,
                paths.data,
                paths.judged("cells"),
                paths.throughput("planted.json"),
            )


def plant(checkout: Path) -> None:
    """Write the string to each place that does not exist yet."""
    for path in map(checkout.joinpath, places()):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(TEXT, encoding="utf-8")


def remove(checkout: Path) -> None:
    """Remove the planted files, and folders that become empty."""
    for home in WRITTEN:
        for folder, _, names in os.walk(checkout / home, topdown=False):
            for file in (Path(folder, name) for name in names):
                if (
                    file.is_file()
                    and file.stat().st_size == len(TEXT)
                    and file.read_text(encoding="utf-8") == TEXT
                ):
                    file.unlink()
            with contextlib.suppress(OSError):
                Path(folder).rmdir()


if __name__ == "__main__":
    {"plant": plant, "remove": remove}[sys.argv[1]](CHECKOUT)
