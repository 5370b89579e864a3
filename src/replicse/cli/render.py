"""The report of a study with its figures, from its items."""

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.compile.cache import load_or_compile
from replicse.compile.paths import Paths
from replicse.compile.selection import chosen_items
from replicse.compile.study import Study
from replicse.compile.study_record import describe_study
from replicse.errors import BadInput
from replicse.files import link, read_json, write_json, write_rows
from replicse.judge.csv_rows import FIELDS, table_rows
from replicse.judge.document import judged_item, report
from replicse.judge.folder import committed
from replicse.judge.judgements import Judgements
from replicse.judge.methods import Methods, MethodsStudy, methods_by_study, recipes_of
from replicse.judge.multiplicity import controlled
from replicse.judge.origins import records_of
from replicse.judge.others import Others, RecordSummary
from replicse.judge.record import StudyRecord
from replicse.judge.record_cells import others_by_item
from replicse.judge.report import Incomplete
from replicse.judge.study import committed_item, judge_study, judged_tables
from replicse.judge.summary import seconds_by_part
from replicse.judge.table import ItemResult
from replicse.registry.artefacts import HTML, METHODS, REPORT
from replicse.spec.config import checked_config
from replicse.spec.papers import load_papers
from replicse.workspace import workflow_folder

if TYPE_CHECKING:
    from replicse.show.content.contents import Surroundings

# A link that leaves the folder of a committed study; a picture of it is on the page of its item.
LEAVING = re.compile(r"!\[[^\]]*\]\(\.\./[^)]*\)\s*|\[([^\]]+)\]\(\.\./[^)]*\)")
log = logging.getLogger(__name__)


def draw_item(item: ItemResult, out: Path) -> None:
    """Draw one item to an SVG, and the files next to it."""
    from replicse.show.content.records import records_of
    from replicse.show.figures import draw

    title = f"{item.item} · {item.standing}"
    files = draw(item.figure, records_of(judged_item(item)), out.with_suffix(""), title)
    log.info("wrote=%s", ",".join(map(str, files)))


def write_all(
    paths: Paths,
    study: dict[str, Any],
    items: Sequence[ItemResult],
    folder: Path,
    judgements: Judgements,
    lacking: Sequence[Incomplete] = (),
    others: Mapping[str, Others] | None = None,
    record: RecordSummary | None = None,
) -> None:
    """Write the report of a study into a folder, with what it is drawn from and with the figures there are.

    Its pages have the verdicts of each paper adjusted for their number, its CSVs those of each cell by itself.
    `others` holds what others measured of the items; default: as the record has it. `record` is what that comes to.
    """
    from replicse.show.content.differences import write_differences
    from replicse.show.document import whole_document, write_report

    figures = {item.item: Path(paths.figure(item.item)) for item in items if item.figure}
    drawings = {item: figure.with_suffix("") for item, figure in figures.items() if figure.is_file()}
    seconds = None
    if shows_machine(study, paths):
        seconds = seconds_by_part(*seconds_of(items, Paths(study["scale"])))
    measured = others_by_item(workflow_folder(), items) if others is None else others
    judged = controlled(items)
    whole = report(study, judged, judgements, seconds, lacking, workflow_folder(), measured, record)
    for item in items:
        write_rows(folder / "tables" / f"{item.item}.csv", FIELDS, table_rows(item))
        write_differences(judged_item(item), folder / "tables" / f"{item.item}.differences.csv")
    if not paths.kept:
        write_json(folder / REPORT, whole.plain())
    write_report(folder, whole_document(whole, surroundings(study, paths, folder)), drawings)


def shows_machine(study: Mapping[str, Any], paths: Paths) -> bool:
    """Return whether the scale of a study that is no committed one says nothing of the papers."""
    return not (paths.kept or study["comparable"] or study["judges_orders"])


def surroundings(study: Mapping[str, Any], paths: Paths, folder: Path) -> "Surroundings":
    """Return what a report links to or says from the files around it; where it shows the machine, committed studies."""
    from replicse.show.content.contents import Surroundings

    readme, runs = folder / "README.md", Path(Paths(study["scale"]).run(""))
    if paths.kept:
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
        json = link(paths.item("ITEM"), folder)
        return Surroundings(about=LEAVING.sub(r"\1", text), json=json, methods=f"../{METHODS}")
    studies = Path("reports/studies")
    pages, methods = studies.glob(f"*/{HTML}") if shows_machine(study, paths) else (), studies / METHODS
    return Surroundings(
        root=link(".", folder) if runs.is_dir() else "",
        json=link(paths.item("ITEM"), folder) if runs.is_dir() else "",
        methods=link(methods, folder) if methods.is_file() else "",
        studies=tuple(
            (page.parent.name, _title(page.with_name("README.md")), link(page, folder))
            for page in sorted(pages)
        ),
    )


def _title(readme: Path) -> str:
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.is_file() else []
    return lines[0].lstrip("# ") if lines else ""


def seconds_of(items: Sequence[ItemResult], paths: Paths) -> tuple[dict[str, float], dict[str, float]]:
    """Return the seconds of each run that the items use, and of each evaluation, where they are recorded.

    A record that is broken takes them all away: what stopped a study does not stop its report.
    """
    try:
        runs, evaluations = records_of(items, Path(paths.results))
    except BadInput:
        return {}, {}
    costs = {run: record.get("cost") for run, record in runs.items() if record}
    training = {
        run: cost.get("seconds", 0.0) if isinstance(cost, Mapping) else 0.0 for run, cost in costs.items()
    }
    return training, {file: record.get("seconds", 0.0) for file, record in evaluations.items()}


def committed_methods(workflow: Path) -> Methods | None:
    """Return what every method of the committed studies came to; None where none of them trains."""
    studies = []
    for name, paths in committed().items():
        config, record = checked_config(read_json(paths.config), paths.config), read_study(Path(paths.record))
        items = [
            ItemResult.read(paths.item(item)).model_copy(update={"kept": name}) for item in record["items"]
        ]
        recipes = recipes_of(chosen_items(config, load_papers(workflow, config.plugins), paths.config))
        studies.append(MethodsStudy(name, record, list(map(judged_item, items)), recipes))
    return methods_by_study(studies)


def write_judgements(plan: Study, items: Sequence[ItemResult], folder: Path | str) -> Judgements:
    """Judge what all items of a study say together, write it as CSV into a folder, and return it."""
    judgements = judge_study(plan, items)
    for name, (fields, rows) in judged_tables(judgements, items).items():
        write_rows(f"{folder}/{name}.csv", fields, rows)
    return judgements


def write_kept(name: str, workflow: Path) -> None:
    """Judge, tabulate, draw and write a committed study again, from its items, and the page of methods by study."""
    from replicse.show.document import write_methods

    kept = Paths("", name)
    study = read_study(Path(kept.record))
    plan = load_or_compile(read_json(kept.config), workflow, kept.config)
    # What is known of a paper is of today, what was run is of the day when it was.
    study = {**study, "papers": describe_study(plan)["papers"]}
    items = [committed_item(plan, kept, item) for item in study["items"]]
    judgements = write_judgements(plan, items, kept.results)
    for item in items:
        if item.figure:
            draw_item(item, Path(kept.figure(item.item)))
    write_all(kept, study, items, Path(kept.results), judgements)
    if methods := committed_methods(workflow):
        write_methods(Path("reports", "studies", METHODS), methods)


def read_study(path: Path) -> dict[str, Any]:
    """Return the record of a study from its JSON; BadInput names a mistake in it."""
    study = read_json(path)
    StudyRecord.of(study, str(path))
    return study


def study_facts(study: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the study record with what only the machine that reports knows: commit, versions, hardware, data."""
    from replicse.provenance.record import provenance

    generated = datetime.now(UTC).isoformat(timespec="seconds")
    files = data.get("files") if isinstance(data, Mapping) else None
    facts = {**study, **provenance(), "generated": generated, "data": files}
    StudyRecord.of(facts, Paths(study["scale"]).data)
    return facts
