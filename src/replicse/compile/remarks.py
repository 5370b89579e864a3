"""Remarks on a plan, each a sentence: unpinned artefacts, absent data, searches that a scale cuts."""

from collections.abc import Iterator

from replicse.compile.lines import described
from replicse.compile.needs import absent, absent_root, unpinned_text
from replicse.compile.study import Study
from replicse.spec.tables import Item

# Of more rows than this a note says how many they are.
FEW_ROWS = 3


def remarks(plan: Study) -> Iterator[str]:
    """Yield hub artefacts without a commit, poolers that are not there, and searches that are cut.

    Items of other scales are named; corpora, evaluation sets and encoders of your own where they are not there, the
    sets also at a scale without verdicts.
    """
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


def cut_searches(plan: Study, item: Item) -> str:
    """Return what the scale and the seeds leave of an item's searches; blank where that is all."""
    searched: set[str] = set()
    cut: dict[str, list[str]] = {}
    for row in (row for row in item.rows if not row.quoted):
        line, left = described(item, row), {}
        for column in (column for column in item.columns if column.over and column.over.jobs):
            request, where = line.asks(column)[0], line.where(column)
            searched.add(row.id)
            for name, values in (request.grid or {}).items():
                left[f"values of {name}"] = len(plan.scale.tried(name, values, where)), len(values)
            if request.draw:
                left["drawn jobs"] = plan.scale.jobs(request, where), request.draw.jobs
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
