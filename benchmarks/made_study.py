"""Generated studies of any size, to measure planning, graph and report.

    python benchmarks/made_study.py FOLDER FACTOR plan|dag|judge|report

With a factor of 1, a study has about as many cells as the papers in workflow/papers (4,000): seven papers of five
tables of 20 rows and 6 columns. Each row has a separate run with three seeds. Prints CPU seconds, peak memory and sizes
as JSON. The PDF is not created, because TeX does that.
"""

import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from record import ROOT

PAPERS, TABLES, ROWS, SEEDS = 7, 5, 20, [0, 1, 2]
COLUMNS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B")


def write_study(folder: Path, factor: int) -> None:
    """Write the workflow and the config of a study into an empty folder.

    Args:
        folder: the empty folder.
        factor: the number of papers, divided by 7.
    """
    from made_up import write_paper

    workflow = folder / "workflow"
    workflow.mkdir(parents=True)
    for path in (ROOT / "workflow").iterdir():
        # The record is excluded, because it contains cells of the papers.
        if path.name not in ("papers", "record"):
            (workflow / path.name).symlink_to(path)
    for name in ("Snakefile", "src"):
        (folder / name).symlink_to(ROOT / name)
    keys = [f"made{number}" for number in range(PAPERS * factor)]
    for number, key in enumerate(keys):
        tables = {f"table{table}": _table(number, table) for table in range(1, TABLES + 1)}
        write_paper(workflow, key, tables, list(_printed(key, tables)))
    config = {"scale": "paper", "papers": dict.fromkeys(keys, "all"), "seeds": SEEDS}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def _table(paper: int, table: int) -> dict[str, Any]:
    columns = [{"id": name.lower(), "label": name, "metric_path": f"sts/{name}/all"} for name in COLUMNS]
    rows = []
    for row in range(ROWS):
        # The learning rates differ, so that rows do not share a run.
        rate = 1e-5 + 1e-9 * (row + ROWS * (table + TABLES * paper))
        rows.append(
            {
                "id": f"row{row}",
                "label": f"Row {row}",
                "encoder": {"run": {"optimisation": {"learning_rate": rate}}},
            }
        )
    setting = {"metric": "spearman", "aggregation": "all", "split": "test"}
    return {"setting": setting, "encoder": {"use": "plain"}, "columns": columns, "rows": rows}


def _printed(key: str, tables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, table in tables.items():
        for row in table["rows"]:
            for column in table["columns"]:
                value = _score(key, name, row["id"], column["id"])
                yield {"item": name, "row": row["id"], "column": column["id"], "value": f"{value:.2f}"}


def _score(*key: object) -> float:
    return random.Random(str(key)).uniform(60, 85)


def planned() -> Any:
    """Compile the study in the working directory."""
    from replicse.compile.compiler import compile_study

    return compile_study(yaml.safe_load(Path("config.yaml").read_text(encoding="utf-8")), Path("workflow"))


def plan() -> dict[str, Any]:
    """Plan the study; return the number of cells and runs."""
    found = planned()
    return {"cells": sum(map(len, found.cells.values())), "runs": len(found.runs)}


def dag() -> dict[str, Any]:
    """Create the study's graph with Snakemake; return jobs and peak memory."""
    done = subprocess.run(
        [sys.executable, "-m", "replicse", "run", "-n", "--cores", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (jobs,) = re.findall(r"^([\d,]+) jobs:", done.stdout + done.stderr, re.MULTILINE)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"jobs": int(jobs.replace(",", "")), "graph_mib": round(peak)}


def judge() -> dict[str, Any]:
    """Tabulate and judge random evaluations, and write the report's inputs."""
    from made_up import write_scores

    from replicse.compile.study_record import describe_study
    from replicse.files import write_json, write_rows
    from replicse.judge.report.judge_study import judge_study, judged_tables, results_of
    from replicse.judge.values.measurements import Measurements

    study = planned()
    write_scores(
        study, study.items, lambda cell, place: _score(cell.item.id, cell.row.id, cell.column.id, place)
    )
    before = processor_seconds()
    results = results_of(study.items, Measurements(study))
    for result in results:
        write_json(study.paths.item(result.item), result.plain())
    tabulated = processor_seconds()
    judgements = judge_study(study, results)
    for what, (fields, rows) in judged_tables(judgements, results).items():
        write_rows(study.paths.judged(what), fields, rows)
    write_json(study.paths.judgements, judgements.plain())
    write_json(study.paths.record, describe_study(study))
    return {
        "tabulate_seconds": round(tabulated - before, 2),
        "judge_seconds": round(processor_seconds() - tabulated, 2),
    }


def report() -> dict[str, Any]:
    """Write the report from the results of `judge`; return page sizes."""
    from replicse.cli.render import study_facts, write_all
    from replicse.compile.paths import Paths
    from replicse.files import read_json
    from replicse.judge.report.judgements import Judgements
    from replicse.judge.verdicts.table import ItemResult

    paths = Paths("paper")
    facts = study_facts(read_json(paths.record), {"files": []})
    items = [ItemResult.read(paths.item(name)) for name in facts["items"]]
    judgements = Judgements.of(read_json(paths.judgements), paths.judgements)
    write_all(paths, facts, items, Path("reports"), judgements)
    sizes = [path.stat().st_size for path in Path("reports").glob("*.html")]
    return {
        "cells": len(items) * ROWS * len(COLUMNS),
        "first_page_bytes": Path("reports/report.html").stat().st_size,
        "largest_page_bytes": max(sizes),
        "pages_bytes": sum(sizes),
    }


def processor_seconds() -> float:
    """Return CPU seconds of this process and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_mib() -> float:
    """Return the peak memory of this process, in MiB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def measured(folder: Path, factor: int, what: str) -> dict[str, Any]:
    """Measure a part of a study in a separate process.

    A report needs the results of `judge`, which therefore runs first.

    Args:
        folder: the folder of the study, created if it does not exist.
        factor: the size of the study.
        what: "plan", "dag", "judge" or "report".

    Returns:
        Dict with `seconds`, `peak_mib` and the facts of the part.
    """
    if what == "report":
        measured(folder, factor, "judge")
    words = [sys.executable, __file__, str(folder), str(factor), what]
    return json.loads(
        subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
    )


def main() -> None:
    """Run a part in this process and print the cost as JSON."""
    folder, factor, what = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if not (folder / "config.yaml").exists():
        write_study(folder, factor)
    os.chdir(folder)
    start = processor_seconds()
    found = {"plan": plan, "dag": dag, "judge": judge, "report": report}[what]()
    print(
        json.dumps({**found, "seconds": round(processor_seconds() - start, 2), "peak_mib": round(peak_mib())})
    )


if __name__ == "__main__":
    main()
