"""Select the scale and the items of a config."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from replicse.checked import read_yaml
from replicse.compile.lines import described
from replicse.compile.searches import count_search_jobs, limit_searches
from replicse.errors import BadInput, check_known, check_names
from replicse.spec.config import Config, Names, OwnRow
from replicse.spec.models import EncoderRequest
from replicse.spec.papers import Paper
from replicse.spec.scales import Scale, load_scale
from replicse.spec.tables import OWN, Item, Row
from replicse.workspace import is_own, looked_up


def load_scales(workflow: Path) -> dict[str, Path]:
    """Return the file of every scale by name.

    Args:
        workflow: the folder of papers and scales. A scale of the workspace replaces a scale of the workflow with the
            same name.
    """
    return {path.stem: path for path in looked_up(workflow, "scales/*.yaml")}


def papers_scale(workflow: Path) -> str:
    """Return the name of the first scale comparable with the papers.

    Args:
        workflow: the folder of papers and scales.
    """
    return next(name for name, file in load_scales(workflow).items() if read_yaml(file).get("comparable"))


def chosen_scale(config: Config, workflow: Path, file: str) -> Scale:
    """Load the scale of a config.

    Args:
        config: the config.
        workflow: the folder of papers and scales.
        file: the file of the config in error messages.

    Raises:
        BadInput: if the scale does not exist; the error suggests the most similar name.
    """
    scales = load_scales(workflow)
    check_known(config.scale, scales, f'{file}: scale is "{config.scale}"')
    return load_scale(scales[config.scale], scales)


def chosen_items(config: Config, papers: Mapping[str, Paper], file: str) -> Iterator[Item]:
    """Yield the items of a config with the selected or added rows.

    Papers are in the order of the config; `all` papers are sorted: the first, then by year and key.

    Args:
        config: the config.
        papers: a dict from keys to papers.
        file: the file of the config in error messages.

    Raises:
        BadInput: if the config names a paper, item or row that does not exist.
    """
    _check_rows(config, papers, file)
    chosen: Mapping[str, Names]
    if config.papers == "all":
        ordered = sorted(papers, key=lambda key: (not papers[key].about.first, papers[key].about.year, key))
        chosen = dict.fromkeys(ordered, "all")
    else:
        chosen = config.papers
    if not any(chosen.values()):
        raise BadInput(f"{file}: papers is empty; list the items to run, or use papers: all")
    check_names(f"{file}: papers", chosen, papers)
    for key, wanted_items in chosen.items():
        items = papers[key].items
        item_names = list(items) if wanted_items == "all" else wanted_items
        check_names(f"{file}: papers.{key}", item_names, items)
        for name in item_names:
            item = items[name]
            own = (config.rows or {}).get(item.id)
            if own is None:
                yield item
            elif isinstance(own, Mapping):
                yield item.with_own([own_row(key, row) for key, row in own.items()])
            else:
                yield item.with_rows(own)


def _check_rows(config: Config, papers: Mapping[str, Paper], file: str) -> None:
    """Check items and rows in `rows`, `crossed` and `adjudicate`."""
    names = [item.id for paper in papers.values() for item in paper.items.values()]
    rows, crossed = config.rows or {}, config.crossed or {}
    check_names(f"{file}: rows", rows, names)
    check_names(f"{file}: crossed", crossed, names)
    if config.adjudicate != "all":
        check_names(f"{file}: adjudicate", config.adjudicate or (), names)
    for key, several in (("rows", rows), ("crossed", crossed)):
        for name, wanted in several.items():
            paper, _, item = name.partition("/")
            ids = [row.id for row in papers[paper].items[item].rows]
            if not isinstance(wanted, Mapping):
                check_names(f"{file}: {key}.{name}", wanted or [""], ids)
            elif twice := next((each for each in wanted if each in ids), ""):
                raise BadInput(f'{file}: {key}.{name}: the item has a row "{twice}"; rename your row')


def own_row(key: str, row: OwnRow) -> Row:
    """Convert a user's row in the config to a row of an item.

    Args:
        key: the id of the row, also used as label by default.
        row: the row of the config.
    """
    request = EncoderRequest.model_construct(**row.without("label").entries())
    return Row(id=key, label=row.label or key, group=OWN, encoder=request)


def too_large(items: Iterable[Item], config: Config, scale: Scale) -> list[Item]:
    """Return the items with a search too large for the scale.

    Args:
        items: the items.
        config: the config; an item that it names is not too large.
        scale: the scale.
    """
    most = scale.largest_search
    if most is None:
        return []
    return [item for item in items if not config.names(item.id) and largest_search(item, scale) > most]


def largest_search(item: Item, scale: Scale) -> int:
    """Return the number of jobs of the largest search; 1 without searches.

    Args:
        item: the item.
        scale: the scale, which can limit searches.
    """
    # A search in another column raises an error when it is compiled.
    columns = [column for column in item.columns if column.over and column.over.jobs]
    limited = limit_searches(scale, is_own(item.file))
    largest = 1
    for row in item.rows:
        line = described(item, row)
        for column in columns:
            jobs = count_search_jobs(limited, line.asks(column)[0], f"{item.file}: row {row.id}")
            largest = max(largest, jobs)
    return largest
