"""Write the report of a study with figures, tables and judgements."""

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
from replicse.judge.report.build_report import judged_item, report
from replicse.judge.report.csv_rows import FIELDS, table_rows
from replicse.judge.report.judge_study import committed_item, judge_study, judged_tables
from replicse.judge.report.judgements import Judgements
from replicse.judge.report.methods import Methods, MethodsStudy, methods_by_study, recipes_of
from replicse.judge.report.record import StudyRecord
from replicse.judge.report.report_types import Incomplete
from replicse.judge.report.summary import seconds_by_part
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.values.folder import committed
from replicse.judge.values.origins import records_of
from replicse.judge.verdicts.others import Others, RecordSummary
from replicse.judge.verdicts.record_cells import others_by_item
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.artefacts import HTML, METHODS, REPORT
from replicse.spec.config import checked_config
from replicse.spec.papers import load_papers
from replicse.workspace import workflow_folder

if TYPE_CHECKING:
    from replicse.show.content.contents import Surroundings

# A picture or link in a README to another folder. Pictures are removed, because the pages of items contain them.
LEAVING = re.compile(r"!\[[^\]]*\]\(\.\./[^)]*\)\s*|\[([^\]]+)\]\(\.\./[^)]*\)")
log = logging.getLogger(__name__)


def draw_item(item: ItemResult, out: Path) -> None:
    """Draw the figure of an item as SVG, PNG and PDF, with a CSV file.

    Args:
        item: the result of the item.
        out: the SVG file; other files have the same name with another suffix.
    """
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
    """Write the report of a study with data and figures.

    Verdicts on pages are adjusted for the number of tests in each paper. The CSV files contain unadjusted verdicts. By
    default, the study is complete.

    Args:
        paths: the paths of the study.
        study: the record of the study.
        items: the results of the items.
        folder: the folder of the report.
        judgements: the judgements on all items.
        lacking: the incomplete items. Default: empty.
        others: a dict from item to other people's measurements. Default: loaded from the record.
        record: the summary of the record if the report is about the record. Default: None.
    """
    from replicse.show.content.differences import write_differences
    from replicse.show.document import whole_document, write_report

    drawings = {}
    for item in items:
        figure = Path(paths.figure(item.item))
        if item.figure and figure.is_file():
            drawings[item.item] = figure.with_suffix("")
    seconds = None
    if shows_machine(study, paths):
        seconds = seconds_by_part(*seconds_of(items, Paths(study["scale"])))
    measured = others_by_item(workflow_folder(), items) if others is None else others
    judged = adjust_verdicts(items)
    whole = report(study, judged, judgements, seconds, lacking, workflow_folder(), measured, record)
    for item in items:
        write_rows(folder / "tables" / f"{item.item}.csv", FIELDS, table_rows(item))
        write_differences(judged_item(item), folder / "tables" / f"{item.item}.differences.csv")
    if not paths.kept:
        write_json(folder / REPORT, whole.plain())
    write_report(folder, whole_document(whole, surroundings(study, paths, folder)), drawings)


def shows_machine(study: Mapping[str, Any], paths: Paths) -> bool:
    """Return whether a report is only about this machine, not the papers.

    This is the case if the study is not committed and the scale is too small for comparisons with the papers.
    """
    return not (paths.kept or study["comparable"] or study["judges_orders"])


def surroundings(study: Mapping[str, Any], paths: Paths, folder: Path) -> "Surroundings":
    """Return the files to link in a report.

    Args:
        study: the record of the study.
        paths: the paths of the study.
        folder: the folder of the report.

    Returns:
        The files, including the reports of committed studies if the scale is too small for comparisons with the papers.
    """
    from replicse.show.content.contents import Surroundings

    json = link(paths.item("ITEM"), folder)
    if paths.kept:
        about = LEAVING.sub(r"\1", _read_if_exists(folder / "README.md"))
        return Surroundings(about=about, json=json, methods=f"../{METHODS}")
    committed_studies = Path("reports/studies")
    studies = []
    if shows_machine(study, paths):
        for page in sorted(committed_studies.glob(f"*/{HTML}")):
            title = _read_if_exists(page.with_name("README.md")).partition("\n")[0].lstrip("# ")
            studies.append((page.parent.name, title, link(page, folder)))
    methods = committed_studies / METHODS
    has_runs = Path(Paths(study["scale"]).run("")).is_dir()
    return Surroundings(
        root=link(".", folder) if has_runs else "",
        json=json if has_runs else "",
        methods=link(methods, folder) if methods.is_file() else "",
        studies=tuple(studies),
    )


def _read_if_exists(file: Path) -> str:
    """Return the content of a text file, or an empty string without a file."""
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def seconds_of(items: Sequence[ItemResult], paths: Paths) -> tuple[dict[str, float], dict[str, float]]:
    """Return the recorded seconds of runs and of evaluations.

    Args:
        items: the results of the items.
        paths: the paths of the study.

    Returns:
        A dict by run and a dict by evaluation file. Both are empty if a record is broken, because the report should be
        written anyway.
    """
    try:
        runs, evaluations = records_of(items, Path(paths.results))
    except BadInput:
        return {}, {}
    training = {}
    for run, record in runs.items():
        cost = record.get("cost")
        if isinstance(cost, Mapping):
            training[run] = cost.get("seconds", 0.0)
        elif record:
            training[run] = 0.0
    return training, {file: record.get("seconds", 0.0) for file, record in evaluations.items()}


def committed_methods(workflow: Path) -> Methods | None:
    """Return the results of all methods in the committed studies.

    Args:
        workflow: the folder of papers and scales.

    Returns:
        None if no committed study trains a method.
    """
    studies = []
    for name, paths in committed().items():
        config, record = checked_config(read_json(paths.config), paths.config), read_study(Path(paths.record))
        items = []
        for item in record["items"]:
            result = ItemResult.read(paths.item(item)).model_copy(update={"kept": name})
            items.append(judged_item(result))
        recipes = recipes_of(chosen_items(config, load_papers(workflow, config.plugins), paths.config))
        studies.append(MethodsStudy(name, record, items, recipes))
    return methods_by_study(studies)


def write_judgements(plan: Study, items: Sequence[ItemResult], folder: Path | str) -> Judgements:
    """Judge all items of a study together and write CSV files.

    Args:
        plan: the study.
        items: the results of the items.
        folder: the folder of the CSV files.

    Returns:
        The judgements.
    """
    judgements = judge_study(plan, items)
    for name, (fields, rows) in judged_tables(judgements, items).items():
        write_rows(f"{folder}/{name}.csv", fields, rows)
    return judgements


def write_kept(name: str, workflow: Path) -> None:
    """Write the report of a committed study again, and the methods page.

    Args:
        name: the name of the study.
        workflow: the folder of papers and scales.
    """
    from replicse.show.document import write_methods

    kept = Paths("", name)
    study = read_study(Path(kept.record))
    plan = load_or_compile(read_json(kept.config), workflow, kept.config)
    # Use the current facts about papers, but the recorded facts about runs.
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
    """Load and check the record of a study; raises BadInput if it is wrong."""
    study = read_json(path)
    StudyRecord.of(study, str(path))
    return study


def study_facts(study: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Add commit, versions, hardware and datasets to a study's record.

    Args:
        study: the record of the study.
        data: a dict with the list `files` of the data root.

    Returns:
        A new dict.
    """
    from replicse.provenance.record import provenance

    generated = datetime.now(UTC).isoformat(timespec="seconds")
    files = data.get("files") if isinstance(data, Mapping) else None
    facts = {**study, **provenance(), "generated": generated, "data": files}
    StudyRecord.of(facts, Paths(study["scale"]).data)
    return facts
