"""A study's results as pandas DataFrames, for people who go on in a notebook: `replicse.load("results/micro")`."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from replicse.errors import BadInput, MissingData
from replicse.files import checked_size

VALUES = ("paper", "item", "row", "column", "protocol", "seed", "metric", "value", "encoder", "run")
NUMBERS = (
    "value",
    "reported",
    "reproduced",
    "delta",
    "low",
    "high",
    "pairs_low",
    "pairs_high",
    "published_sd",
)
COUNTS = ("seed", "n_seeds")


@dataclass(frozen=True)
class Study:
    """The results of a scale. Numbers are floats, seeds whole numbers, blanks missing; everything else is text.

    `values` has one row per cell, protocol and seed: paper, item, row, column, protocol, seed, metric (the path that
    is read), value, encoder, run; group is a digest of the encoders where they are several, machine and package are
    what made it (several between bars), reported and published_sd as the paper prints them. `cells` has one row per
    judged cell: paper, item and the fields of the item's table.
    A text that stands where others have a number, such as a retrieved sentence, is in a column `value_text` beside it.
    """

    values: pd.DataFrame
    cells: pd.DataFrame


def load(folder: Path | str) -> Study:
    """Return the values and the judged cells that lie in a results folder.

    Raises MissingData where the folder, its `cells.csv` or its tables are absent, BadInput where a column is.
    """
    folder = Path(folder)
    tables = sorted(folder.glob("tables/*/*.csv"))
    for missing, what in (
        (
            not folder.is_dir(),
            f"{folder}: no such folder; name the results of a scale, such as results/micro",
        ),
        (
            not (folder / "cells.csv").is_file(),
            f"{folder / 'cells.csv'}: no such file; run the study to its report",
        ),
        (not tables, f"{folder / 'tables'}: no tables of papers in it; run the study to its report"),
    ):
        if missing:
            raise MissingData(what)
    cells = [_read(path).assign(paper=path.parent.name, item=path.stem) for path in tables]
    joined = pd.concat(cells, ignore_index=True)
    names = ["paper", "item", *joined.columns.drop(["paper", "item"])]
    return Study(values=_typed(_read(folder / "cells.csv", VALUES)), cells=_typed(joined[names]))


def _read(
    path: Path, wanted: tuple[str, ...] = ("row", "column", "metric", "protocol", "verdict")
) -> pd.DataFrame:
    checked_size(path)
    # All as text at first: a row may be called "none" or "NA", which pandas takes for missing.
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not a table ({' '.join(str(error).split())}); make it again") from None
    lacking = [name for name in wanted if name not in frame]
    if lacking:
        raise BadInput(f"{path}: lacks the column {lacking[0]}; make it again with this version")
    return frame


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    for name in frame.columns.intersection([*NUMBERS, *COUNTS]):
        texts = frame[name].fillna("")
        numbers = pd.to_numeric(texts, errors="coerce")
        frame[name] = numbers.astype("Int64" if name in COUNTS else float)
        words = texts[numbers.isna() & (texts != "")]
        if len(words):
            frame.insert(
                frame.columns.get_loc(name) + 1, f"{name}_text", words.reindex(frame.index, fill_value="")
            )
    return frame
