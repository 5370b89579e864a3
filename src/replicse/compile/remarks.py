"""Remarks on a plan, each a sentence: unpinned artefacts, absent data, searches that a scale cuts."""

from collections.abc import Iterable, Iterator, Mapping

from replicse.compile.adjustments import adjust_run
from replicse.compile.lines import described
from replicse.compile.needs import absent, absent_root, unpinned_text
from replicse.compile.recipes import Chain, Recipes, Written
from replicse.compile.searches import count_search_jobs, keep_grid_values, limit_searches
from replicse.compile.study import Study
from replicse.registry.suites import range_of
from replicse.spec.record import Record
from replicse.spec.tables import Item
from replicse.workspace import is_own

# Of more rows than this a note says how many they are.
FEW_ROWS = 3
# Epochs of a run that are most likely a mistake.
OFTEN = 1000
# Rows of SimCSE's corpus, for a corpus of which the scale does not say the rows.
MILLION = 1_000_000
KEPT = "values that your recipes write are kept, and adjust: [] in a scale of your own keeps all"


def remarks(plan: Study) -> Iterator[str]:
    """Yield what the scale changes in runs of your own, missing commits and poolers, and searches that are cut.

    Items of other scales are named; corpora, evaluation sets and encoders of your own where they are not there, the
    sets also at a scale without verdicts.
    """
    if changed := adjusted_text(plan, plan.items.values()):
        yield changed
    yield from shortened_runs(plan)
    yield from unlikely_settings(plan)
    yield from printed_fractions(plan)
    yield from (f"{item} is left out: {error}" for item, error in plan.unplanned.items())
    if unpinned := unpinned_text(plan):
        yield unpinned
    if root := absent_root(plan):
        yield root
    yield from absent(plan)
    if plan.without_pooler:
        names = ", ".join(sorted(plan.without_pooler))
        yield f"no pre-trained pooler for {names} at this scale; runs that keep it initialise it randomly"
    for item in plan.items.values():
        if cut := cut_searches(plan, item):
            yield f"{item.id}: {cut}"
    read = [path for (_, suite), paths in plan.read.items() if suite == "sets" for path in paths]
    sets = sorted({path.partition("/")[0] for path in read})
    if sets and not plan.scale.comparable:
        yield f"sets of your own are used completely at this scale, and get no verdict: {', '.join(sets)}"


def adjusted_text(plan: Study, items: Iterable[Item]) -> str:
    """Return what the scale changes in the runs of the workspace's papers, among some items; blank for nothing."""
    own, recipes = [item for item in items if is_own(item.file)], Recipes(plan.papers, plan.scale, Record())
    changes: dict[str, dict[str, None]] = {}
    for item in own:
        for written, where in _written_runs(item, recipes):
            for path, text in _adjustments(plan, written, where).items():
                changes.setdefault(path, {})[text] = None
    if not changes:
        return ""
    texts = (f"{path} {' or '.join(each)}" for path, each in changes.items())
    papers = ", ".join(dict.fromkeys(item.paper for item in own))
    return f"scale {plan.scale.name} trains {papers} with {', '.join(texts)}; {KEPT}"


def shortened_runs(plan: Study) -> Iterator[str]:
    """Yield which runs of the workspace's papers end before the steps that they give, by the rows that are expected."""
    recipes, told = Recipes(plan.papers, plan.scale, Record()), set[str]()
    for item in (item for item in plan.items.values() if is_own(item.file)):
        for written, where in _written_runs(item, recipes):
            run, corpus = adjust_run(plan.scale, written.run, written.own, where), written.run.corpus or ""
            asked, rows = written.run.optimisation.steps, plan.scale.rows(corpus)
            steps = run.optimisation.replace(steps=None).last_step(rows, 1 + len(run.beside))
            if asked and steps is not None and steps < asked and where not in told:
                ends = f"optimisation.epochs ends the run after {steps:,} steps of {asked:,}"
                told.add(where)
                yield f"{where}: {ends} ({rows:,} rows of {corpus}); leave out epochs to make them all"


def unlikely_settings(plan: Study) -> Iterator[str]:
    """Yield learning rates above 1 and steps that read a corpus very often, in runs of the workspace's papers."""
    recipes, seen = Recipes(plan.papers, plan.scale, Record()), set[str]()
    for item in (item for item in plan.items.values() if is_own(item.file)):
        for written, where in _written_runs(item, recipes):
            if where in seen:
                continue
            seen.add(where)
            run = adjust_run(plan.scale, written.run, written.own, where)
            optimisation, rows = run.optimisation, plan.scale.rows(run.corpus or "")
            rate, steps = optimisation.learning_rate, optimisation.last_step(rows, 1 + len(run.beside))
            if rate > 1:
                yield f"{where}: optimisation.learning_rate is {rate:g}; most losses diverge above 1"
            times = (steps or 0) * optimisation.rows_per_step // (rows or MILLION)
            if times > OFTEN:
                read = f"the {rows:,} rows of {run.corpus}" if rows else "even a corpus of a million rows"
                yield f"{where}: {steps:,} steps read {read} {times:,} times"


def printed_fractions(plan: Study) -> Iterator[str]:
    """Yield numbers of the workspace's papers that are printed as fractions, although scores are x 100."""
    for item in (item for item in plan.items.values() if is_own(item.file)):
        file = plan.papers[item.paper].folder / "reported.csv"
        for cell in plan.described(item.id):
            printed, limits = cell.reported, range_of(cell.metric_path)
            if cell.column.kind != "score" or printed is None or limits is None or limits.high != 100:
                continue
            if printed.number and 0 < abs(printed.number.value) <= 1:
                yield f'{file}: {cell.id.short} prints "{printed.value}", but scores are x 100'


def _written_runs(item: Item, recipes: Recipes) -> Iterator[tuple[Written, str]]:
    """Yield the runs that the rows of an item evaluate, as they are written, and the place of each."""
    for row in (row for row in item.rows if not row.quoted):
        line, seen = described(item, row), set[str]()
        for column in item.columns:
            request, text = line.asks(column)
            if request.use and text not in seen:
                where = line.where(column)
                yield recipes.run(request.use, request, Chain(item.paper, where), own=True), where
            seen.add(text)


def _adjustments(plan: Study, written: Written, where: str) -> Mapping[str, str]:
    """Return the new value at each path of a run that the scale changes, and the one that was written."""
    adjusted, changes = adjust_run(plan.scale, written.run, written.own, where), {}
    for rule in plan.scale.adjust:
        section, _, key = rule.path.partition(".")
        before, after = (getattr(getattr(run, section), key, None) for run in (written.run, adjusted))
        if before != after:
            instead = "" if before is None else f" instead of {before}"
            changes[rule.path] = f"{after}{instead}"
    return changes


def cut_searches(plan: Study, item: Item) -> str:
    """Return what the scale and the seeds leave of an item's searches; blank where that is all."""
    scale = limit_searches(plan.scale, is_own(item.file))
    searched: set[str] = set()
    cut: dict[str, list[str]] = {}
    for row in (row for row in item.rows if not row.quoted):
        line, left = described(item, row), {}
        for column in (column for column in item.columns if column.over and column.over.jobs):
            request, where = line.asks(column)[0], line.where(column)
            searched.add(row.id)
            for name, values in (request.grid or {}).items():
                left[f"values of {name}"] = len(keep_grid_values(scale, name, values, where)), len(values)
            if request.draw:
                left["drawn jobs"] = count_search_jobs(scale, request, where), request.draw.jobs
        for what, (some, every) in left.items():
            if some < every:
                cut.setdefault(f"{some} of {every} {what}", []).append(row.id)
    tries = []
    for text, rows in cut.items():
        named = ", ".join(rows) if len(rows) <= FEW_ROWS else f"{len(rows)} of {len(searched)} rows"
        tries.append(f"{text} in {'all rows' if len(rows) == len(searched) else named}")
    said = [f"this scale tries {'; '.join(tries)}"] if tries else []
    if searched and len(plan.seeds) > 1:
        said.append(f"a search takes seed {plan.seeds[0]} alone")
    return ", and ".join(said)
