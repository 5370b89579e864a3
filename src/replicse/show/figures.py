"""Draw figures from tidy data and write SVG, PNG, PDF and CSV files."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.errors import BadInput, nearest
from replicse.files import atomic_write, write_rows
from replicse.show.strip_plots import effect_plot, readings_plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
from replicse.show.content.records import as_csv
from replicse.show.curves import density, spectrum
from replicse.show.planes import scatter, trajectory
from replicse.show.profiles import bars, heat, profile

Records = Sequence[Mapping[str, Any]]
STYLE = Path(__file__).with_name("formats") / "templates" / "figures.mplstyle"
METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "replicse"},
    "png": {"Software": None},
    "pdf": {"Creator": "replicse", "Producer": None, "CreationDate": None},
}


class NothingToDraw(BadInput):
    """No cell of a figure has a number."""


def draw(kind: str, records: Records, stem: Path, title: str = "") -> list[Path]:
    """Draw tidy records and write the figure and the data.

    Args:
        kind: A key of DRAWERS; the docstring of the function describes the columns of the records.
        records: A list of dicts.
        stem: Path of the files without a suffix.
        title: Title in the metadata of the files, such as `micro: not comparable`. The figure has no title, because
            papers use captions. Default: "".

    Returns:
        A list of the written files: `stem` with .svg, .png, .pdf and .csv.

    Raises:
        BadInput: If the kind is unknown.
        NothingToDraw: If there are no records.
    """
    if kind not in DRAWERS:
        raise BadInput(f'figure "{kind}" is unknown{nearest(kind, DRAWERS)}')
    if not records:
        raise NothingToDraw(f"{stem}: cannot draw the figure, because the cells do not contain a number")
    import matplotlib

    with matplotlib.rc_context(fname=STYLE):
        return _save(DRAWERS[kind](frame(records)), records, stem, title)


def frame(records: Records) -> "DataFrame":
    """Convert records to a DataFrame.

    Columns without strings and tuples become float; None becomes NaN.
    """
    from pandas import DataFrame

    table = DataFrame(records)
    numbers = [name for name, column in table.items() if not column.map(_is_text).any()]
    return table.astype(dict.fromkeys(numbers, float))


def _is_text(value: object) -> bool:
    return isinstance(value, str | tuple)


DRAWERS: dict[str, Callable[["DataFrame"], "Figure"]] = {
    "trajectory": trajectory,
    "scatter": scatter,
    "spectrum": spectrum,
    "density": density,
    "density-own-scales": partial(density, own_scales=True),
    "profile": profile,
    "bars": bars,
    "heat": heat,
    "effects": effect_plot,
    "readings": readings_plot,
}


def _save(figure: "Figure", records: Records, stem: Path, title: str) -> list[Path]:
    written = []
    for kind, metadata in METADATA.items():
        path = stem.with_name(f"{stem.name}.{kind}")
        with atomic_write(path) as temporary:
            figure.savefig(temporary, format=kind, metadata=metadata | {"Title": title})
        written.append(path)
    path = stem.with_name(f"{stem.name}.csv")
    fields = dict.fromkeys(chain.from_iterable(records))  # only rows of a group have the column `group`
    write_rows(path, list(fields), as_csv(records))
    return [*written, path]
