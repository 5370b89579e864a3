"""Remarks on a study before it runs, a sentence each.

The remarks are on missing datasets and commits, and on settings that the scale changes.
"""

from collections.abc import Iterable, Iterator, Mapping

from replicse.compile.adjustments import adjust_run
from replicse.compile.cell import Cell
from replicse.compile.lines import Line, described
from replicse.compile.needs import absent, absent_root, unpinned_text
from replicse.compile.recipes import Chain, Recipes, Written
from replicse.compile.searches import count_search_jobs, keep_grid_values, limit_searches
from replicse.compile.study import Study
from replicse.registry.suites import range_of
from replicse.spec.columns import AnyColumn
from replicse.spec.record import Record
from replicse.spec.scales import Scale
from replicse.spec.tables import Item, Row
from replicse.workspace import is_own

# More rows than this are counted instead of named.
FEW_ROWS = 3
# A run with more epochs is probably a mistake.
OFTEN = 1000
# Rows of SimCSE's corpus: the default for a corpus without `rows` in the scale.
MILLION = 1_000_000
KEPT = "values that your recipes write are kept, and adjust: [] in a scale of your own keeps all"


def remarks(study: Study) -> Iterator[str]:
    """Yield the remarks on a study.

    The remarks are on changes of the scale in the user's runs, missing commits, datasets and poolers, items of other
    scales, searches that the scale shortens, and the user's evaluation datasets at a scale without verdicts.

    Args:
        study: the study.
    """
    if changed := adjusted_text(study, study.items.values()):
        yield changed
    yield from shortened_runs(study)
    yield from unlikely_settings(study)
    yield from printed_fractions(study)
    yield from (f"{item} is left out: {error}" for item, error in study.unplanned.items())
    if unpinned := unpinned_text(study):
        yield unpinned
    if root := absent_root(study):
        yield root
    yield from absent(study)
    if study.without_pooler:
        names = ", ".join(sorted(study.without_pooler))
        yield f"at this scale the pooler is not pre-trained, so runs that keep it initialise it randomly: {names}"
    for item in study.items.values():
        if cut := cut_searches(study, item):
            yield f"{item.id}: {cut}"
    sets: set[str] = set()
    for (_, suite), paths in study.read.items():
        if suite == "sets":
            sets.update(path.partition("/")[0] for path in paths)
    if sets and not study.scale.comparable:
        names = ", ".join(sorted(sets))
        yield f"your own datasets are used completely at this scale and do not get a verdict: {names}"


def adjusted_text(study: Study, items: Iterable[Item]) -> str:
    """Describe the changes of the scale in runs of workspace papers.

    Args:
        study: the study.
        items: the items; items of packaged papers are skipped.

    Returns:
        A sentence; an empty string if the scale does not change a run.
    """
    own = [item for item in items if is_own(item.file)]
    changes: dict[str, dict[str, None]] = {}
    for written, location in _list_written_runs(study, own):
        for path, text in _describe_adjustments(study, written, location).items():
            changes.setdefault(path, {})[text] = None
    if not changes:
        return ""
    texts = (f"{path} {' or '.join(each)}" for path, each in changes.items())
    papers = ", ".join(dict.fromkeys(item.paper for item in own))
    return f"scale {study.scale.name} trains {papers} with {', '.join(texts)}; {KEPT}"


def shortened_runs(study: Study) -> Iterator[str]:
    """Yield a sentence for each run whose epochs end before its steps.

    The runs are from papers of the workspace. The number of steps in an epoch is computed from the rows of the corpus.

    Args:
        study: the study.
    """
    seen = set()
    for written, location in _list_written_runs(study, _own_items(study)):
        run = adjust_run(study.scale, written.run, written.own, location)
        corpus, wanted = written.run.corpus or "", written.run.optimisation.steps
        rows = study.scale.rows(corpus)
        steps = run.optimisation.replace(steps=None).last_step(rows, 1 + len(run.beside))
        if wanted and steps is not None and steps < wanted and location not in seen:
            seen.add(location)
            ends = f"optimisation.epochs ends the run after {steps:,} steps of {wanted:,}"
            yield f"{location}: {ends} ({rows:,} rows of {corpus}); remove epochs to run all steps"


def unlikely_settings(study: Study) -> Iterator[str]:
    """Yield remarks on unlikely settings of the workspace's papers.

    Unlikely settings are a learning rate above 1, and a run with very many epochs.

    Args:
        study: the study.
    """
    seen = set()
    for written, location in _list_written_runs(study, _own_items(study)):
        if location in seen:
            continue
        seen.add(location)
        run = adjust_run(study.scale, written.run, written.own, location)
        optimisation, rows = run.optimisation, study.scale.rows(run.corpus or "")
        rate, steps = optimisation.learning_rate, optimisation.last_step(rows, 1 + len(run.beside))
        if rate > 1:
            yield f"{location}: optimisation.learning_rate is {rate:g}; most losses diverge above 1"
        times = (steps or 0) * optimisation.rows_per_step // (rows or MILLION)
        if times > OFTEN:
            read = f"the {rows:,} rows of {run.corpus}" if rows else "even a corpus of a million rows"
            yield f"{location}: {steps:,} steps read {read} {times:,} times"


def printed_fractions(study: Study) -> Iterator[str]:
    """Yield the reported fractions of the workspace's papers.

    Reported scores should be multiplied by 100.

    Args:
        study: the study.
    """
    for item in _own_items(study):
        file = study.papers[item.paper].folder / "reported.csv"
        for cell in study.described(item.id):
            printed, limits = cell.reported, range_of(cell.metric_path)
            if cell.column.kind != "score" or printed is None or limits is None or limits.high != 100:
                continue
            if printed.number and 0 < abs(printed.number.value) <= 1:
                yield f'{file}: the value of {cell.id.short} is "{printed.value}"; multiply scores by 100'


def _own_items(study: Study) -> list[Item]:
    """Return the items of the workspace's papers."""
    return [item for item in study.items.values() if is_own(item.file)]


def _list_written_runs(study: Study, items: Iterable[Item]) -> Iterator[tuple[Written, str]]:
    """Yield the runs of the rows of items before adjustment, with locations."""
    recipes = Recipes(study.papers, study.scale, Record())
    for item in items:
        for row in _run_rows(item):
            line, seen = described(item, row), set[str]()
            for column in item.columns:
                request, text = line.asks(column)
                if request.use and text not in seen:
                    yield _write_run(recipes, line, column)
                seen.add(text)


def _write_run(recipes: Recipes, line: Line, column: AnyColumn) -> tuple[Written, str]:
    """Return the run of a trained cell before adjustment, with location."""
    request, location = line.asks(column)[0], line.location(column)
    chain = Chain(line.item.paper, location)
    written = recipes.run(request.use or "", request, chain, own=is_own(line.item.file))
    return written._replace(varied=request.varied), location


def describe_scale_changes(study: Study, cell: Cell) -> str:
    """Describe the changes of the scale in the recipe of a cell.

    Args:
        study: the study.
        cell: a cell as the paper describes it; a derived cell has the recipe of its first operand.

    Returns:
        Changes such as "optimisation.batch_size 16 instead of 64", or an empty string if there are no changes.
    """
    measured = (cell.operands or (cell,))[0]
    line = described(measured.item, measured.row)
    if not line.asks(measured.column)[0].use:
        return ""
    recipes = Recipes(study.papers, study.scale, Record())
    changes = _describe_adjustments(study, *_write_run(recipes, line, measured.column))
    return ", ".join(f"{path} {change}" for path, change in changes.items())


def list_varied_settings(cell: Cell) -> tuple[str, ...]:
    """Return the paths that the search of a cell varies.

    Args:
        cell: a cell; a derived cell has the search of its first operand.
    """
    measured = (cell.operands or (cell,))[0]
    return described(measured.item, measured.row).asks(measured.column)[0].varied


def _run_rows(item: Item) -> list[Row]:
    """Return the rows of an item, without quoted rows."""
    return [row for row in item.rows if not row.quoted]


def _describe_adjustments(study: Study, written: Written, location: str) -> Mapping[str, str]:
    """Return the new and old value of each run path that the scale changes.

    Paths that a search varies are skipped: they have the values of the search.
    """
    adjusted = adjust_run(study.scale, written.run, written.own, location)
    changes = {}
    for rule in study.scale.adjust:
        if rule.path in written.varied:
            continue
        section, _, key = rule.path.partition(".")
        before = getattr(getattr(written.run, section), key, None)
        after = getattr(getattr(adjusted, section), key, None)
        if before != after:
            instead = "" if before is None else f" instead of {before}"
            changes[rule.path] = f"{after}{instead}"
    return changes


def cut_searches(study: Study, item: Item) -> str:
    """Return a clause on the shortened searches of an item.

    The scale or the seeds shorten a search.

    Args:
        study: the study.
        item: the item.

    Returns:
        The clause; an empty string if no search is shorter.
    """
    scale = limit_searches(study.scale, is_own(item.file))
    searched: list[str] = []
    cut: dict[str, list[str]] = {}
    for row in _run_rows(item):
        counts = _count_searches(scale, item, row)
        if counts is None:
            continue
        searched.append(row.id)
        for name, (kept, full) in counts.items():
            if kept < full:
                cut.setdefault(f"{kept} of {full} {name}", []).append(row.id)
    tries = []
    for text, rows in cut.items():
        if len(rows) == len(searched):
            named = "all rows"
        elif len(rows) <= FEW_ROWS:
            named = ", ".join(rows)
        else:
            named = f"{len(rows)} of {len(searched)} rows"
        tries.append(f"{text} in {named}")
    clauses = [f"this scale tries {'; '.join(tries)}"] if tries else []
    if searched and len(study.seeds) > 1:
        clauses.append(f"a search takes seed {study.seeds[0]} alone")
    return ", and ".join(clauses)


def _count_searches(scale: Scale, item: Item, row: Row) -> dict[str, tuple[int, int]] | None:
    """Count the values and jobs of a row's searches; None without searches.

    Returns:
        A dict from descriptions to the number at this scale and the number in the request.
    """
    line = described(item, row)
    columns = [column for column in item.columns if column.over and column.over.jobs]
    if not columns:
        return None
    counts: dict[str, tuple[int, int]] = {}
    for column in columns:
        request, location = line.asks(column)[0], line.location(column)
        for name, values in (request.grid or {}).items():
            kept = keep_grid_values(scale, name, values, location)
            counts[f"values of {name}"] = len(kept), len(values)
        if request.draw:
            counts["random jobs"] = count_search_jobs(scale, request, location), request.draw.jobs
    return counts
