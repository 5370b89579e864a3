"""A study's results as pandas DataFrames, for people who go on in a notebook: `replicse.load("results/micro")`."""

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from replicse.compile.record_study import RECORD
from replicse.files import read_json
from replicse.judge.csv_rows import FIELDS, JOBS, TIDY, job_rows, table_rows, tidy_rows
from replicse.judge.folder import results_in, unpack_crate
from replicse.judge.multiplicity import controlled
from replicse.judge.report import Report
from replicse.judge.table import ItemResult
from replicse.registry.artefacts import REPORT
from replicse.spec.printed import parse_number
from replicse.spec.record import Record, load_record
from replicse.workspace import workflow_folder

CELLS = ("paper", "item", *FIELDS, "p_adjusted")
NUMBERS = (
    "value",
    "reported",
    "reproduced",
    "delta",
    "low",
    "high",
    "pairs_low",
    "pairs_high",
    "p",
    "p_adjusted",
    "published_sd",
)
COUNTS = ("seed", "n_seeds", "job")


@dataclass(frozen=True)
class Results:
    """The results of a scale. Numbers are floats, seeds whole numbers, blanks missing; everything else is text.

    `values` has one row per cell, protocol and seed: paper, item, row, column, protocol, seed, metric (the path that
    is read), value, encoder, run; group is a digest of the encoders where they are several, machine and package are
    what made it (several between bars), reported and published_sd as the paper prints them.
    `cells` has one row per judged cell: paper, item and the fields of the item's table; verdicts are controlled within
    each paper, with p of the cell alone and p_adjusted (Benjamini-Hochberg).
    `jobs` has one row per job of a search: paper, item, row, column, protocol, seed, metric, job (from 0), value,
    encoder, run, and a column for each path that a search sets, such as `optimisation.learning_rate`.
    A text that is where others have a number, such as a retrieved sentence, is in a column `value_text`.
    `report` is the study's report as it was last written, None where none was: effects, claims, audit, adjudication.
    `readings` has one row per value of the record, of the study `record` alone: source, who, year, paper, item, row,
    column, setting, printed (whether it is the printed setting), released (whether a checkpoint of the authors was
    tested), differs, seed, value (as published), place and link.
    """

    values: pd.DataFrame
    cells: pd.DataFrame
    jobs: pd.DataFrame
    report: Report | None = None
    readings: pd.DataFrame | None = None


def load(folder: Path | str) -> Results:
    """Return the values and the judged cells that a results folder holds by its own record, and the study's report.

    The record is the config in the folder, the report the one in the folder of reports next to that of the results. A
    crate, the zip that `replicse keep NAME --crate FILE.zip` writes, is loaded as the committed study in it.
    Raises MissingData where the folder, the record or every item is absent, BadInput where one is broken.
    """
    folder = Path(folder)
    if folder.suffix == ".zip" and folder.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            return load(unpack_crate(folder, Path(scratch)))
    results = results_in(folder)
    report = folder.absolute().parents[1] / "reports" / folder.absolute().name / REPORT
    cells = [
        {
            "paper": result.paper,
            "item": result.item.partition("/")[2],
            **row,
            "p_adjusted": "" if cell.p_adjusted is None else repr(cell.p_adjusted),
        }
        for result in controlled(results)
        for cell, row in zip(result.cells, table_rows(result), strict=True)
    ]
    return Results(
        values=_typed(_texts(tidy_rows(results), TIDY)),
        cells=_typed(_texts(cells, CELLS)),
        jobs=_jobs_of(results),
        report=Report.of(read_json(report), str(report)) if report.is_file() else None,
        readings=_readings(load_record(workflow_folder())) if results[0].kept == RECORD else None,
    )


def _jobs_of(results: Sequence[ItemResult]) -> pd.DataFrame:
    """Return a row for every job of every search; what a search sets keeps its type, and is missing elsewhere."""
    rows = list(job_rows(results))
    settings = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in JOBS]
    frame = _typed(_texts(rows, JOBS))
    set_to = pd.DataFrame(rows, columns=settings, index=frame.index)
    return pd.concat([frame, set_to], axis=1)


def _readings(record: Record) -> pd.DataFrame:
    rows = []
    for reading in record.readings:
        source, setting = record.sources[reading.source], record.setting(reading)
        paper, item, row, column, *_ = reading.cell.split("/")
        facts = [f"{name} {value}" for name, value in setting.facts.items()]
        rows.append({
            "source": reading.source, "who": source.who, "year": source.year, "paper": paper, "item": item, "row": row,
            "column": column, "setting": reading.setting, "printed": setting.is_printed,
            "released": setting.encoder == "released",
            "differs": "" if setting.is_printed else "; ".join(filter(None, [setting.as_, *facts, *setting.other])),
            "seed": reading.seed, "value": reading.number.value, "place": reading.place, "link": record.link(reading),
        })  # fmt: skip
    return pd.DataFrame(rows).astype({"seed": "Int64"})


def _texts(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    # All as text at first: a row may be called "none" or "NA", which pandas takes for missing.
    return pd.DataFrame(rows, columns=names).astype(str)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame.columns.intersection([*NUMBERS, *COUNTS]):
        texts = frame[name].fillna("")
        numbers = texts.map(_printed_value) if name == "reported" else pd.to_numeric(texts, errors="coerce")
        frame[name] = numbers.astype("Int64" if name in COUNTS else float)
        words = texts[numbers.isna() & (texts != "")]
        if len(words):
            frame.insert(
                frame.columns.get_loc(name) + 1, f"{name}_text", words.reindex(frame.index, fill_value="")
            )
    return frame


def _printed_value(text: str) -> float:
    number = parse_number(text)
    return number.value if number else math.nan
