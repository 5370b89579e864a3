"""Invented results in the shapes of real tables.

All reproduced numbers and all judgements are invented.
"""

import random
from functools import cache
from pathlib import Path

from replicse.checked import read_yaml
from replicse.files import read_rows
from replicse.judge.report.build_report import judged_item, report
from replicse.judge.report.judgements import Explained, Judgements
from replicse.judge.verdicts.table import ItemResult
from replicse.judge.verdicts.verdict import judge
from replicse.show.content.contents import Surroundings, make_document
from replicse.show.pages.adjudication import adjudication_page
from replicse.spec.columns import Reducer
from replicse.spec.printed import Reported, Spread

FOLDER = Path(__file__).with_name("example")
STUDY = read_yaml(Path(__file__).with_name("study.yaml"))
# The items of a report, in the order of the papers.
REPORTED = ("trajectory", "dropout", "sts", "scatter", "temperature", "retrieval", "augmentation")


def judged(
    row, column, printed, values, *, metric="spearman", protocol="as-described", scale="paper", **facts
):
    """Return a cell as a dict, judged as in production.

    Args:
        row: Id of the row.
        column: Id of the column.
        printed: Published number as a string, or None.
        values: List of scores by seed.
        metric: Metric of the cell. Default: "spearman".
        protocol: Protocol of the cell. Default: "as-described".
        scale: Scale of the study. Default: "paper".
        facts: Arguments of `judge` and fields of the cell; `reported` is a dict of further fields of the
            published number.
    """
    asked = {name: facts.pop(name) for name in ("failures", "why_not") if name in facts}
    if "prior" in facts:
        asked["prior"] = Spread(facts.pop("prior"))
    if "reducer" in facts:
        asked["reducer"] = Reducer(statistic=facts.pop("reducer"))
    comparable = scale == "paper" and "why_not" not in asked
    reported = (
        None if printed is None else Reported(value=printed, **{"source": "", **facts.pop("reported", {})})
    )
    encoders = [
        f"{row}-s{seed}-{random.Random(f'{row}/{seed}').getrandbits(40):010x}" for seed in range(len(values))
    ]
    seeds = [
        {"seed": seed, "value": value, "encoder": encoder, "run": encoder}
        for seed, (value, encoder) in enumerate(zip(values, encoders, strict=True))
    ]
    judgement = judge(values, reported, planned=len(values), comparable=comparable, **asked)
    return {
        "row": row,
        "column": column,
        "metric": metric,
        "protocol": protocol,
        "reported": reported,
        "values": seeds,
        "encoders": encoders,
        **vars(judgement),
        **facts,
    }


def result(name, title, columns, rows, cells, *, scale="paper", **more):
    """Return an item.

    Args:
        name: Id of the item, such as "simcse/table3".
        title: Title of the table.
        columns: List of (id, label), or of dicts.
        rows: List of (id, label), or of dicts.
        cells: List of dicts, for example from `judged`.
        scale: Scale of the study. Default: "paper".
        more: Further fields of the item.
    """
    paper, _, short = name.partition("/")
    kind = "figure" if short.startswith("figure") else "table"
    document = {
        "item": name,
        "paper": paper,
        "scale": scale,
        "comparable": scale == "paper",
        "kind": kind,
        "title": title,
        "place": f"{kind.capitalize()} {short.removeprefix(kind)}, p. 4",
        "columns": [_head(column, metric="spearman") for column in columns],
        "rows": list(map(_head, rows)),
        "cells": cells,
        **more,
    }
    return judged_item(ItemResult.of(document, name))


def _head(given, **fields):
    """Return a row or column as a dict; fields are added to a pair."""
    if isinstance(given, dict):
        return given
    name, label = given
    return {"id": name, "label": label, **fields}


_read = cache(read_yaml)


def item(name, scale="paper"):
    """Load an example from the folder `example`.

    Args:
        name: Name of the file without suffix.
        scale: Scale of the study. Default: "paper".
    """
    document = _read(FOLDER / f"{name}.yaml")
    cells = []
    for cell in document["cells"]:
        cells.append(judged(**cell, scale=scale) if "printed" in cell else cell)
    return result(**{**document, "cells": cells}, scale=scale)


def percentages(item):
    """Return the dropout table as percentages of STS-B, with a baseline row.

    Only cells with five seeds are kept.
    """
    cells = [
        cell.model_copy(update={"metric_path": "sts-dev/STS-B/all"})
        for cell in item.cells
        if len(cell.values) == 5
    ]
    return judged_item(item.model_copy(update={"cells": tuple(cells), "baseline": "p0.1"}))


def plain(item):
    """Return an item as a dict, in the format of `tabulate`."""
    return item.model_dump(mode="json", exclude_defaults=True, exclude={"effects", "verdicts"})


def few_seeds(name, scale="compact", count=2):
    """Return an example with only some seeds in each cell.

    Args:
        name: Name of the example.
        scale: Scale of the study. Default: "compact".
        count: Number of seeds. Default: 2.
    """
    whole = item(name, scale)
    cells = []
    for cell in whole.cells:
        if cell.encoders:
            values = [each.value for each in cell.values[:count]]
            fields = {"metric": cell.metric, "protocol": cell.protocol, "scale": scale}
            reported = cell.reported and cell.reported.value
            cells.append(judged(cell.row, cell.column, reported, values, **fields))
        else:
            cells.append(cell.plain())
    return judged_item(ItemResult.of({**plain(whole), "cells": cells}, whole.item))


def explained(row):
    """Parse an adjudicated cell from a dict of strings."""
    numbers = [
        "gap", "noise", "described", "ours", "effect", "low", "high", "share", "share_low", "share_high",
    ]  # fmt: skip
    read = {}
    for name in numbers:
        read[name] = float(row[name]) if row.get(name) else None
    by_seed = tuple(map(float, filter(None, row["by_seed"].split("; "))))
    return Explained(**{**row, **read, "by_seed": by_seed, "n_seeds": int(row["n_seeds"])})


def adjudicated(scale="paper"):
    """Load adjudicated cells of repro's Table 4, with invented effects.

    The cells have the published numbers of both papers. At scale paper there are five seeds. At scale compact
    there are only two seeds, so effects have no interval and no share.

    Args:
        scale: "paper" or "compact". Default: "paper".
    """
    file = FOLDER / ("adjudication-two-seeds.csv" if scale == "compact" else "adjudication.csv")
    return tuple(map(explained, read_rows(file)))


def adjudication(scale="paper"):
    """Return the adjudication page of these cells, by default at scale paper."""
    study = {**STUDY, "scale": scale, "comparable": scale == "paper"}
    judgements = Judgements(adjudication=adjudicated(scale))
    return adjudication_page(report(study, [item("adjudicated", scale)], judgements))


def document(study, items, *drawn, **around):
    """Return a report from a study's facts, items, and other rendered parts."""
    return make_document(report(study, items), *drawn, around=Surroundings(**around))
