"""Two drawings for numbers that do not repeat: a printed number among seeds and reruns, and effects in order."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from replicse.study.results.table import ItemResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

INK, QUIET, BLUE, ORANGE = "#1c2126", "#5b6670", "#0072B2", "#D55E00"
# What stands in one line of a strip: a look, and its name in the legend.
LOOKS: dict[str, dict[str, Any]] = {
    "print": {"marker": "D", "color": INK, "markersize": 7, "linestyle": "", "label": "printed"},
    "rerun": {
        "marker": "o",
        "color": ORANGE,
        "markersize": 5,
        "linestyle": "",
        "label": "rerun by somebody else",
    },
    "ours": {"marker": "s", "color": BLUE, "markersize": 5, "linestyle": "", "label": "ours"},
}
SEEDS: dict[str, Any] = {
    "color": BLUE,
    "alpha": 0.25,
    "linewidth": 9,
    "label": "published seeds: mean ± 2 sd",
}
TWO_SIDES = 2.0


def strip_records(item: ItemResult) -> Iterator[dict[str, Any]]:
    """Yield what is printed of each group of rows: the print, the mean of seeds with its spread, and single reruns.

    A quoted row is a number that the group is compared with: a mean is that of seeds, any other one the print.
    """
    for row in item.rows:
        cell = item.described.get((row.id, item.columns[0].id, item.columns[0].metric))
        number = cell.reported.number if cell and cell.reported else None
        if cell is None or cell.reported is None or number is None:
            continue
        kind = "rerun" if not row.quoted else "seeds" if cell.reported.statistic == "mean" else "print"
        spread = {"sd": cell.reported.sd, "count": cell.reported.seeds}
        yield {"group": row.group, "label": row.label, "source": kind, "value": number.value, **spread}
    for group in dict.fromkeys(row.group for row in item.rows):
        cells = (cell for row in item.rows if row.group == group for cell in item.cells if cell.row == row.id)
        ours = {
            each.run: each.value for cell in cells for each in cell.values if isinstance(each.value, float)
        }
        for run, value in ours.items() if item.comparable else ():
            yield {"group": group, "label": run, "source": "ours", "value": value, "sd": None, "count": None}


def strip(records: "DataFrame") -> "Figure":
    """Draw one line for each group: seeds as a band, the print, reruns and ours as points.

    Records: group, label, source (print, seeds, rerun, ours), value, sd and count of seeds.
    """
    from replicse.report.figures import _figure

    groups = list(dict.fromkeys(records["group"]))
    figure = _figure(1.2 + 0.55 * len(groups))
    axes = figure.subplots()
    named: set[str] = set()
    for place, group in enumerate(groups):
        part = records[records["group"] == group]
        for _, seeds in part[part["source"] == "seeds"].iterrows():
            ends = (seeds["value"] - TWO_SIDES * seeds["sd"], seeds["value"] + TWO_SIDES * seeds["sd"])
            axes.hlines(place, *ends, zorder=1, **_once(SEEDS, "seeds", named))
            axes.plot([seeds["value"]], [place], marker="|", markersize=14, color=BLUE, zorder=2)
        for kind, look in LOOKS.items():
            values = part[part["source"] == kind]["value"]
            if len(values):
                axes.plot(values, [place] * len(values), zorder=3, alpha=0.9, **_once(look, kind, named))
    axes.set_yticks(range(len(groups)), groups)
    axes.set(xlabel="STS average", ylim=(len(groups) - 0.5, -0.5))
    figure.legend(loc="outside lower left", ncols=4)
    return figure


def _once(look: Mapping[str, Any], kind: str, named: set[str]) -> dict[str, Any]:
    """Return a look whose name is in the legend once."""
    first = kind not in named
    named.add(kind)
    return {**look, "label": look["label"] if first else None}


def effects(records: "DataFrame") -> "Figure":
    """Draw effects with their intervals, the largest loss first: one panel for each encoder.

    Records: group (the encoder), row (the variant), value, low, high (None where the effect is exact).
    """
    from replicse.report.figures import _figure

    groups = list(dict.fromkeys(records["group"]))
    rows = max(sum(records["group"] == group) for group in groups)
    figure = _figure(1.0 + 0.19 * rows)
    grid = figure.subplots(1, len(groups), squeeze=False)[0]
    for axes, group in zip(grid, groups, strict=True):
        part = records[records["group"] == group].sort_values("value").reset_index(drop=True)
        axes.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
        axes.hlines(part.index, part["low"], part["high"], color=BLUE, linewidth=4, alpha=0.3)
        axes.plot(part["value"], part.index, "o", color=BLUE, markersize=4.5)
        axes.set_yticks(part.index, part["row"], fontsize=7)
        axes.set(xlabel="effect in points of STS average", ylim=(len(part) - 0.4, -0.6))
        axes.set_xscale("symlog", linthresh=1)
        axes.set_title(group, loc="left", fontsize=8, color=QUIET)
    return figure
