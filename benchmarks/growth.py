"""Growth of costs with the number of cells, jobs and sentences.

    python benchmarks/growth.py [--quick] [--only plan dag report tokenise evaluate] [--most dag=3 tokenise=300000]
    python benchmarks/growth.py --figure

Planning, Snakemake's graph and the report depend on cells. They are measured on generated studies (`made_study.py`) of
up to 30 times the cells of the papers; the largest graph has 50,000 jobs. Tokenising and evaluation depend on
sentences, which are real, and repeated if there are more than 240,000. Costs are CPU seconds, except for tokenising on
two cores, which is wall-clock time. Tokenising alternates between sizes, and the minimum time of each size is used,
because other processes can only increase it.

`power` is the slope between the last two points on log-log axes; 1 is linear. Creates the figure
benchmarks/results/growth.png from the record. With `--figure`, only the figure is created.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from made_study import measured, peak_mib
from record import RESULTS, SIZES, data_root, row, sentences, timed, write_encoder, write_record

# A factor of 10 takes minutes, so the graph and the report stop earlier.
FACTORS = {"plan": (1, 3, 10, 30), "dag": (1, 3, 12), "report": (1, 3, 10)}
MOST = {"plan": 30, "dag": 12, "report": 10, "tokenise": 1_000_000, "evaluate": 1.0}
QUICK = {"plan": 3, "dag": 1, "report": 1, "tokenise": 30_000, "evaluate": 0.3}
TOKENISED = (10_000, 30_000, 100_000, 300_000, 1_000_000)
TURNS = 3
EVALUATED = (0.03, 0.1, 0.3, 1.0)
NOT_LINEAR = 1.15
WITHOUT_PANEL = ("dag_mib", "tokenise_two")
UNITS = {
    "plan": ("cells", "planning, CPU seconds"),
    "dag": ("jobs", "Snakemake's graph, CPU seconds"),
    "dag_mib": ("jobs", "Snakemake's graph, peak MiB"),
    "report": ("cells", "report, CPU seconds"),
    "pages": ("cells", "all pages, MB"),
    "tokenise": ("sentences", "tokenising, CPU seconds"),
    "tokenise_two": ("sentences", "tokenising on two cores, seconds"),
    "evaluate": ("sentences", "encoding and scoring, CPU seconds"),
}


def of_studies(what: str, most: float) -> dict[str, list[list[float]]]:
    """Measure planning, the graph, or the report on studies of several sizes.

    For the graph, the result also contains peak memory, and for the report, the size of all pages.

    Args:
        what: "plan", "dag" or "report".
        most: the maximum factor of the number of cells.

    Returns:
        Dict from kinds of costs to lists of points [size, cost].
    """
    found: dict[str, list[list[float]]] = {}
    for factor in FACTORS[what]:
        if factor > most:
            break
        with tempfile.TemporaryDirectory(prefix="replicse-growth-") as scratch:
            case = measured(Path(scratch) / "study", factor, what)
        found.setdefault(what, []).append([case[UNITS[what][0]], case["seconds"]])
        if what == "dag":
            found.setdefault("dag_mib", []).append([case["jobs"], case["graph_mib"]])
        if what == "report":
            found.setdefault("pages", []).append([case["cells"], case["pages_bytes"] / 1e6])
        print(what, factor, case, flush=True)
    return found


def tokenised(most: float) -> dict[str, Any]:
    """Measure tokenising into a store, on one core and on two.

    Args:
        most: the maximum number of sentences.

    Returns:
        Dict from kinds of costs to lists of points [sentences, cost]. The costs are seconds and peak memory in MiB.
    """
    sizes = [rows for rows in TOKENISED if rows <= most]
    taken: dict[tuple[str, int], list[dict[str, float]]] = {}
    for rows in sizes * TURNS:
        for name, threads in (("tokenise", 1), ("tokenise_two", 2)):
            words = [sys.executable, __file__, "--worker", str(rows)]
            more = {"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
            done = subprocess.run(
                words, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **more}
            )
            taken.setdefault((name, rows), []).append(json.loads(done.stdout.splitlines()[-1]))
            print(name, rows, taken[name, rows][-1], flush=True)

    def points(name: str, fact: str) -> list[list[float]]:
        return [[rows, min(each[fact] for each in taken[name, rows])] for rows in sizes]

    return {
        "tokenise": points("tokenise", "cpu_seconds"),
        "tokenise_two": points("tokenise_two", "seconds"),
        "tokenise_peak_mib": points("tokenise_two", "peak_mib"),
    }


def tokenise(rows: int) -> None:
    """Tokenise sentences in this process; print seconds and memory as JSON.

    Args:
        rows: the number of sentences.
    """
    from replicse.data.store import write_store

    with tempfile.TemporaryDirectory() as scratch:
        folder, lines = write_encoder(Path(scratch) / "2x128", *SIZES["2x128"]), sentences(rows)
        tokenizer = folder / "tokenizer.json"
        before = time.process_time()
        seconds, _ = timed(lambda: write_store(Path(scratch) / "store", lines, tokenizer, 32, {}))
        spent = {"seconds": round(seconds, 3), "cpu_seconds": round(time.process_time() - before, 3)}
    print(json.dumps({**spent, "peak_mib": round(peak_mib())}))


def evaluated(most: float) -> dict[str, list[list[float]]]:
    """Measure the evaluation of growing shares of the STS datasets.

    The encoder has 2 layers and width 128, and uses one thread.

    Args:
        most: the maximum share of the pairs.
    """
    import torch
    from evaluation import part_of

    from replicse.data.sts import STS_TASKS, load_sts
    from replicse.encoder.sentence import SentenceEncoder
    from replicse.evaluation.sts import predict, score_task

    torch.set_num_threads(1)
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        encoder = SentenceEncoder.open(write_encoder(Path(scratch) / "2x128", *SIZES["2x128"]), "mean")
        encoder(sentences(64))
        for share in (each for each in EVALUATED if each <= most):
            tasks = [[part_of(subset, share) for subset in load_sts(data_root(), task)] for task in STS_TASKS]
            texts = [text for subsets in tasks for subset in subsets for text in subset.sentences]

            def run(tasks: list = tasks, texts: list = texts) -> None:
                encoder.clear()
                encoder.prepare(texts)
                for subsets in tasks:
                    score_task(subsets, predict(subsets, encoder))

            found.append([len(set(texts)), round(timed(run, time.process_time)[0], 3)])
            print("evaluate", found[-1], flush=True)
    return {"evaluate": found}


def power(points: list[list[float]]) -> float | None:
    """Return the slope between the last two points on log-log axes.

    Args:
        points: list of points [size, cost].

    Returns:
        The slope, or None if there is only one point.
    """
    slopes = [math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in pairwise(points)]
    return round(slopes[-1], 2) if slopes else None


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the record's table."""
    for name, (unit, label) in UNITS.items():
        if points := found["points"].get(name):
            slope = found["power"][name]
            (low, cheap), (high, dear) = points[0], points[-1]
            yield row(
                f"{label}, {low:,.0f} to {high:,.0f} {unit}",
                f"{cheap:,.4g} to {dear:,.4g}",
                ratio="" if slope is None else f"power {slope:g}",
                goal="linear",
                met=None if slope is None else slope <= NOT_LINEAR,
            )


def draw(points: dict[str, list[list[float]]], out: Path) -> None:
    """Plot each cost by size on log-log axes, with a linear reference.

    Args:
        points: dict from kinds of costs to lists of points [size, cost].
        out: the file to write.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [name for name in UNITS if name not in WITHOUT_PANEL and len(points.get(name, ())) > 1]
    columns = min(3, len(shown))
    figure, axes = pyplot.subplots(
        math.ceil(len(shown) / columns), columns, figsize=(3.3 * columns, 2.7 * math.ceil(len(shown) / columns)),
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, name in zip(axes.flat, shown, strict=False):
        unit, label = UNITS[name]
        sizes, costs = zip(*points[name], strict=True)
        axis.plot(sizes, [costs[0] * size / sizes[0] for size in sizes], ":", color="0.6", label="linear")
        axis.plot(
            sizes, costs, "o-", color="#0b6e99", markersize=4, label="one core" if name == "tokenise" else ""
        )
        if name == "tokenise" and points.get("tokenise_two"):
            axis.plot(
                *zip(*points["tokenise_two"], strict=True), "s-", color="#c1660a", markersize=4, label="two"
            )
        axis.set(xscale="log", yscale="log", xlabel=unit)
        axis.set_title(label, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.minorticks_off()
        axis.set_xticks(sizes, [f"{size:,.0f}" for size in sizes], rotation=20)
        axis.set_yticks(costs, [f"{cost:.3g}" for cost in costs])
        handles = [
            line for line in axis.get_lines() if line.get_label() and not line.get_label().startswith("_")
        ]
        axis.legend(handles=handles, fontsize=7, frameon=False)
    for axis in list(axes.flat)[len(shown) :]:
        axis.set_visible(False)
    figure.savefig(out, dpi=110, metadata={"Software": None})


def bound(text: str) -> tuple[str, float]:
    """Parse a string such as "dag=3" into a kind of cost and the maximum size.

    Raises:
        ValueError: if the string has another format or the kind is unknown.
    """
    what, most = text.split("=")
    if what not in MOST:
        raise ValueError(what)
    return what, float(most)


def main() -> None:
    """Measure, write the record, and create the figure."""
    if sys.argv[1:2] == ["--worker"]:
        tokenise(int(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the first points only")
    parser.add_argument("--only", nargs="+", choices=MOST, default=list(MOST))
    parser.add_argument(
        "--most",
        nargs="+",
        type=bound,
        default=[],
        help="the largest size of a kind, as dag=3 or tokenise=300000",
    )
    parser.add_argument("--figure", action="store_true", help="draw the record again")
    parser.add_argument("--out", type=Path, default=RESULTS / "growth.json")
    chosen = parser.parse_args()
    out = chosen.out if isinstance(chosen.out, Path) else RESULTS / f"{chosen.out}.json"
    if chosen.figure:
        draw(json.loads(out.read_text())["points"], out.with_suffix(".png"))
        return
    points: dict[str, Any] = {}
    most = (QUICK if chosen.quick else MOST) | dict(chosen.most)
    special = {"tokenise": tokenised, "evaluate": evaluated}
    for what in chosen.only:
        points |= special[what](most[what]) if what in special else of_studies(what, most[what])
    peaks = points.pop("tokenise_peak_mib", None)
    found = {"points": points, "power": {name: power(each) for name, each in points.items()}}
    write_record(out, found | {"tokenise_peak_mib": peaks}, list(lines_of(found)))
    draw(points, out.with_suffix(".png"))


if __name__ == "__main__":
    main()
