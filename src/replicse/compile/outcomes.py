"""The jobs that make of evaluations what people read: tables, judgements, figures, pages and the report."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replicse.compile.job import JUDGED, Job, log_of, outputs_of
from replicse.compile.study import Study
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.protocols import ON_BACKBONE

# What reads evaluations, and what shows the results.
JUDGES = frozenset({"replicse.spec", "replicse.compile", "replicse.judge", "replicse.registry.suites"})
SHOWS = frozenset({"replicse.show", "replicse.judge.document", "replicse.registry.suites"})


def outcomes(plan: Study) -> Iterator[Job]:
    """Yield the jobs from the config of a study and the evaluations of its cells to the report."""
    paths, items = plan.paths, plan.items.values()
    results, tables = [paths.item(item) for item in plan.items], [paths.table(item) for item in plan.items]
    figures = [paths.figure(item.id) for item in items if item.figure]
    yield _job(plan, "config", payload=plan.config.whole())
    yield _job(plan, "study", payload=record_of(plan))
    for item in items:
        result, table = paths.item(item.id), paths.table(item.id)
        given = {"study": paths.config, "item": item.id, "table": table}
        inputs = [paths.config, *plan.evaluation_files(item)]
        yield _job(plan, "tabulate", item.id, inputs, given, JUDGES, item.paper)
        if item.figure:
            yield _job(plan, "figures", item.id, [result], {"item": result}, SHOWS, "figures.yaml")
        figure = [paths.figure(item.id)] if item.figure else []
        shown = {"study": paths.record, "item": result, "figure": "".join(figure)}
        yield _job(plan, "page", item.id, [paths.record, result, *figure], shown, SHOWS)
    yield _job(plan, "judge", "", [paths.config, *results], {"study": paths.config}, JUDGES, "")
    judged = map(paths.judged, JUDGED)
    inputs = [paths.record, paths.data, *results, *tables, *figures, *judged, paths.judgements]
    yield _job(plan, "report", "", inputs, {"study": paths.record}, SHOWS, "causes-page.yaml")


def _job(
    plan: Study, stage: str, name: str = "", inputs: Iterable[str] = (), payload: Mapping[str, Any] | None = None,
    modules: frozenset[str] = frozenset(), texts: str | None = None,
) -> Job:  # fmt: skip
    parts = (plan.studied, plan.items) if stage == "report" else filter(None, [name])
    named, log = outputs_of(plan.paths, stage, *parts), log_of(plan.paths, stage, name)
    return Job(stage, name, tuple(inputs), named, log, payload or {}, modules, texts=texts)


def record_of(plan: Study) -> dict[str, Any]:
    """Return what the report prints about the study itself."""
    papers = {key: plan.papers[key] for key in plan.studied}
    return {
        "scale": plan.scale.name,
        "title": plan.scale.title,
        "shows": plan.scale.shows,
        "comparable": plan.scale.comparable,
        "judges_orders": plan.scale.judges_orders,
        "seeds": list(plan.seeds),
        "source": plan.source,
        "precision": plan.config.precision or plan.scale.precision,
        "unpinned": sorted(plan.unpinned),
        "left_out": f"{', '.join(plan.left_out)}: {plan.left_out_text}" if plan.left_out else "",
        "protocols": _protocols_run(plan),
        "papers": {key: paper.about.plain() for key, paper in papers.items()},
        "items": list(plan.items),
    }


def _protocols_run(plan: Study) -> list[dict[str, str]]:
    """Return id, title and evidence of the protocols that some cell was run under."""
    run = {cell.protocol for cells in plan.cells.values() for cell in cells}
    protocols = [
        {"id": f"{key}: {protocol.id}", "text": f"{protocol.title}. {protocol.evidence}"}
        for key in plan.studied
        for protocol in plan.papers[key].protocols
        if protocol.id in run
    ]
    described = "What the paper's text says; where it leaves a choice open, what is shown next to the item."
    crossed = "Every seed's fine-tuning on the backbone that the seed of this number pre-trained."
    protocols += [{"id": name, "text": crossed} for name in sorted(run) if name.startswith(ON_BACKBONE)]
    return [{"id": AS_DESCRIBED, "text": described}, *protocols]
