"""Load the results of a study as pandas DataFrames."""

import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from replicse.compile.record_study import RECORD
from replicse.files import read_json
from replicse.judge.report.csv_rows import (
    COUNTS,
    FIELDS,
    JOBS,
    NUMBERS,
    TIDY,
    job_rows,
    table_rows,
    tidy_rows,
)
from replicse.judge.report.report_types import Report
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.values.folder import results_in, unpack_crate
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.artefacts import REPORT
from replicse.spec.printed import parse_number
from replicse.spec.record import Record, load_record
from replicse.workspace import workflow_folder

CELLS = ("paper", "item", *FIELDS, "p_adjusted")


@dataclass(frozen=True)
class Results:
    """The results of a scale as DataFrames.

    Numbers are floats, seeds and counts are integers, missing values are NA, and everything else is a string. If a
    column of numbers contains strings, such as retrieved sentences, they are in another column with the suffix `_text`.

    Attributes:
        values: a row for each cell, protocol and seed: paper, item, row, column, protocol, seed, metric (the metric
            path), value, encoder, run, group (a digest of several encoders), machine and package (separated by bars if
            there are several), reported and published_sd (as printed by the paper).
        cells: a row for each judged cell: paper, item and the columns of the item's CSV file. Verdicts are adjusted
            within each paper: p is the p-value of the cell alone, p_adjusted is the p-value after Benjamini-Hochberg.
        jobs: a row for each job of a search: paper, item, row, column, protocol, seed, metric, job (from 0), value,
            encoder, run, and a column for each searched hyper-parameter, such as `optimisation.learning_rate`.
        report: the report of the study, with effects, claims, audit and adjudication. Default: None, if it was not
            written.
        readings: a row for each value of the record: source, who, year, paper, item, row, column, setting, printed
            (whether it is the printed setting), released (whether it is a checkpoint of the authors), differs, seed,
            value (as published), place and link. Default: None, for all studies except `record`.
    """

    values: pd.DataFrame
    cells: pd.DataFrame
    jobs: pd.DataFrame
    report: Report | None = None
    readings: pd.DataFrame | None = None


def load(folder: Path | str) -> Results:
    """Load the values and judged cells of a results folder as DataFrames.

    The folder should contain a record `config.json`. The report of the study is loaded too if it exists in the folder
    of reports next to the results.

    Args:
        folder: the results of a scale or of a committed study, or a crate, which is a zip file of `replicse keep NAME
            --crate FILE.zip`.

    Returns:
        The DataFrames `values`, `cells` and `jobs`, and the report.

    Raises:
        MissingData: if the folder, its record or all items are missing.
        BadInput: if a file is broken.

    Example:
        >>> results = replicse.load("results/micro")
        >>> results.values.groupby("row").value.mean()
    """
    folder = Path(folder)
    if folder.suffix == ".zip" and folder.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            return load(unpack_crate(folder, Path(scratch)))
    results = results_in(folder)
    report = folder.absolute().parents[1] / "reports" / folder.absolute().name / REPORT
    written = readings = None
    if report.is_file():
        written = Report.of(read_json(report), str(report))
    if results[0].kept == RECORD:
        readings = _readings(load_record(workflow_folder()))
    return Results(
        values=_typed(_texts(tidy_rows(results), TIDY)),
        cells=_typed(_texts(_judged_rows(results), CELLS)),
        jobs=_jobs_of(results),
        report=written,
        readings=readings,
    )


def _judged_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, str]]:
    """Yield a row for each cell, with verdicts adjusted within each paper."""
    for result in adjust_verdicts(results):
        item = result.item.partition("/")[2]
        for cell, row in zip(result.cells, table_rows(result), strict=True):
            adjusted = "" if cell.p_adjusted is None else repr(cell.p_adjusted)
            yield {"paper": result.paper, "item": item, **row, "p_adjusted": adjusted}


def _jobs_of(results: Sequence[ItemResult]) -> pd.DataFrame:
    """Return a row for each job of each search.

    Hyper-parameters have their own types, and are missing in other searches.
    """
    rows = list(job_rows(results))
    names = dict.fromkeys(chain.from_iterable(rows))
    settings = [name for name in names if name not in JOBS]
    frame = _typed(_texts(rows, JOBS))
    return pd.concat([frame, pd.DataFrame(rows, columns=settings, index=frame.index)], axis=1)


def _readings(record: Record) -> pd.DataFrame:
    rows = []
    for reading in record.readings:
        source, setting = record.sources[reading.source], record.setting(reading)
        paper, item, row, column, *_ = reading.cell.split("/")
        differs = ""
        if not setting.is_printed:
            facts = [f"{name} {value}" for name, value in setting.facts.items()]
            differs = "; ".join(filter(None, [setting.as_, *facts, *setting.other]))
        rows.append({
            "source": reading.source, "who": source.who, "year": source.year, "paper": paper, "item": item, "row": row,
            "column": column, "setting": reading.setting, "printed": setting.is_printed,
            "released": setting.encoder == "released", "differs": differs, "seed": reading.seed,
            "value": reading.number.value, "place": reading.place, "link": record.link(reading),
        })  # fmt: skip
    return pd.DataFrame(rows).astype({"seed": "Int64"})


def _texts(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    # Convert to strings first, because pandas parses a row id such as "none" or "NA" as missing.
    return pd.DataFrame(rows, columns=names).astype(str)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Parse the columns of numbers.

    Strings in these columns are moved to a column with the suffix `_text`.
    """
    for name in frame.columns.intersection([*NUMBERS, *COUNTS]):
        texts = frame[name].fillna("")
        numbers = texts.map(_printed_value) if name == "reported" else pd.to_numeric(texts, errors="coerce")
        frame[name] = numbers.astype("Int64" if name in COUNTS else float)
        words = texts[numbers.isna() & (texts != "")]
        if len(words):
            place = frame.columns.get_loc(name) + 1
            frame.insert(place, f"{name}_text", words.reindex(frame.index, fill_value=""))
    return frame


def _printed_value(text: str) -> float:
    number = parse_number(text)
    if number is None:
        return math.nan
    return number.value
