"""The selection of a config: its scale and its items."""

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
    """Return the file of every scale by name; one of the workspace replaces the workflow's."""
    return {path.stem: path for path in looked_up(workflow, "scales/*.yaml")}


def papers_scale(workflow: Path) -> str:
    """Return the name of the scale of the papers' own models and data: the first whose numbers are comparable."""
    return next(name for name, file in load_scales(workflow).items() if read_yaml(file).get("comparable"))


def chosen_scale(config: Config, workflow: Path, file: str) -> Scale:
    """Return the scale of a config; BadInput names the nearest one where it is not known."""
    scales = load_scales(workflow)
    check_known(config.scale, scales, f'{file}: scale is "{config.scale}"')
    return load_scale(scales[config.scale], scales)


def chosen_items(config: Config, papers: Mapping[str, Paper], file: str) -> Iterator[Item]:
    """Yield the items of a config, each with the rows that are asked for; all papers are in their order."""
    names = [item.id for paper in papers.values() for item in paper.items.values()]
    rows, crossed = config.rows or {}, config.crossed or {}
    check_names(f"{file}: rows", rows, names)
    check_names(f"{file}: crossed", crossed, names)
    check_names(f"{file}: adjudicate", () if config.adjudicate == "all" else config.adjudicate or (), names)
    for key, several in (("rows", rows), ("crossed", crossed)):
        for name, wanted in several.items():
            ids = [row.id for row in papers[name.partition("/")[0]].items[name.partition("/")[2]].rows]
            if not isinstance(wanted, Mapping):
                check_names(f"{file}: {key}.{name}", wanted or [""], ids)
            elif twice := next((each for each in wanted if each in ids), ""):
                raise BadInput(f'{file}: {key}.{name}: the item has a row "{twice}"; name yours otherwise')
    ordered = sorted(papers, key=lambda key: (not papers[key].about.first, papers[key].about.year, key))
    chosen: Mapping[str, Names] = dict.fromkeys(ordered, "all") if config.papers == "all" else config.papers
    if not any(chosen.values()):
        raise BadInput(f"{file}: papers asks for no item; name one, or all")
    check_names(f"{file}: papers", chosen, papers)
    for key, asked in chosen.items():
        items = papers[key].items
        check_names(f"{file}: papers.{key}", items if asked == "all" else asked, items)
        for name in items if asked == "all" else asked:
            item = items[name]
            own = rows.get(item.id)
            if isinstance(own, Mapping):
                yield item.with_own({key: own_row(key, row) for key, row in own.items()}.values())
            else:
                yield item if own is None else item.with_rows(own)


def own_row(key: str, row: OwnRow) -> Row:
    """Return a row of your own as an item has it."""
    request = EncoderRequest.model_construct(**row.without("label").entries())
    return Row(id=key, label=row.label or key, group=OWN, encoder=request)


def too_large(items: Iterable[Item], config: Config, scale: Scale) -> list[Item]:
    """Return the items with a search that is too large for the scale, unless the config names them."""
    most = scale.largest_search
    if most is None:
        return []
    return [item for item in items if not config.names(item.id) and largest_search(item, scale) > most]


def largest_search(item: Item, scale: Scale) -> int:
    """Return how many jobs the largest search of an item has at a scale; 1 where it has none."""
    # A search without a statistic over its jobs is refused where it is planned.
    columns = [column for column in item.columns if column.over and column.over.jobs]
    requests = (
        (described(item, row).asks(column)[0], f"{item.file}: row {row.id}")
        for row in item.rows
        for column in columns
    )
    limited = limit_searches(scale, is_own(item.file))
    return max((count_search_jobs(limited, request, where) for request, where in requests), default=1)
