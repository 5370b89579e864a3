"""Write the report of the record, which is a committed study."""

import shutil
from contextlib import suppress
from pathlib import Path

from replicse.cli.render import write_all
from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD
from replicse.compile.study_record import describe_study
from replicse.files import write_json, write_ordered, write_rows
from replicse.judge.report.build_report import judged_item
from replicse.judge.report.judge_study import claim_numbers, judge_study, judged_tables
from replicse.judge.report.record_summary import record_summary
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.values.record_measurements import load_record_measurements
from replicse.judge.verdicts.others import Others
from replicse.judge.verdicts.record_cells import others_of, record_results
from replicse.judge.verdicts.table import ItemResult
from replicse.registry.artefacts import HTML
from replicse.spec.papers import load_papers
from replicse.spec.record import load_record

FIGURE = "readings"  # the kind of figure of each item of the record
ABOUT = {
    "title": "What others measured of the printed numbers",
    "shows": "Values that others published, at the papers' own scale. Nothing was run here.",
    "seeds": [],
}


def write_record(workflow: Path) -> Path:
    """Judge the record and write the committed study `record`.

    Args:
        workflow: the folder of papers and scales.

    Returns:
        The path of the HTML report.
    """
    papers = load_papers(workflow)
    measurements = load_record_measurements(workflow, papers)
    study, kept = measurements.study, Paths(measurements.study.scale.name, RECORD)
    items = [item.model_copy(update={"figure": FIGURE}) for item in record_results(measurements, study.items)]
    decided = adjust_verdicts(items)
    others = {item.item: others_of(measurements, item.item, item) for item in decided}
    for folder in (f"{kept.results}/items", f"{kept.results}/tables", kept.figures):
        shutil.rmtree(folder, ignore_errors=True)
    for item in items:
        write_json(kept.item(item.item), item.plain())
    facts = {**describe_study(study), **ABOUT}
    write_ordered(kept.config, study.config.whole())
    write_ordered(kept.record, facts)
    judgements = judge_study(study, decided, claim_numbers(measurements))
    for name, (fields, rows) in judged_tables(judgements, decided).items():
        write_rows(f"{kept.results}/{name}.csv", fields, rows)
    for item in decided:
        draw_strips(item, others[item.item], Path(kept.figure(item.item)))
    summary = record_summary(papers, load_record(workflow), decided, others)
    results = Path(kept.results)
    write_all(kept, facts, items, results, judgements, others=others, record=summary)
    return results / HTML


def draw_strips(item: ItemResult, others: Others, out: Path) -> None:
    """Draw other people's measurements of an item, if there are any.

    Args:
        item: the result of the item.
        others: other people's measurements of the item.
        out: the SVG file.
    """
    from replicse.show.content.records import records_of
    from replicse.show.figures import NothingToDraw, draw

    # There may be no values in the printed setting.
    with suppress(NothingToDraw):
        draw(FIGURE, records_of(judged_item(item, others)), out.with_suffix(""), f"{item.item} · the record")
