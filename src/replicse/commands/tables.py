"""Verbs that turn results into what a person reads: tabulate, figures, report."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from replicse.commands import Action
from replicse.files import read_json, read_rows
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.paths import Paths
from replicse.study.results.tabulate import Evaluations, write_table

log = logging.getLogger(__name__)
CURVES = ("spectrum", "density")


def tabulate_verb(parser: ArgumentParser) -> Action:
    """Write the judged cells of one item as CSV."""
    parser.epilog = (
        "example:\n  replicse tabulate --item results/micro/items/simcse/table3.json"
        " --out results/micro/tables/simcse/table3.csv"
    )
    parser.add_argument("--item", type=Path, required=True, help="the item's manifest")
    parser.add_argument("--out", type=Path, required=True)

    def action(arguments: Namespace) -> None:
        manifest = read_json(arguments.item)
        cells = write_table(manifest, Paths(manifest["scale"]), arguments.out)
        log.info("wrote=%s cells=%d", arguments.out, cells)

    return action


def figures_verb(parser: ArgumentParser) -> Action:
    """Draw one item as SVG, PNG and PDF, with the plotted data beside them as CSV."""
    parser.epilog = (
        "example:\n  replicse figures --item results/micro/items/simcse/figure2.json"
        " --table results/micro/tables/simcse/figure2.csv --out figures/micro/simcse/figure2.svg"
    )
    parser.add_argument("--item", type=Path, required=True, help="the item's manifest")
    parser.add_argument("--table", type=Path, required=True, help="the item's cells")
    parser.add_argument(
        "--out", type=Path, required=True, help="the SVG; .png, .pdf and .csv stand beside it"
    )

    def action(arguments: Namespace) -> None:
        from replicse.report.content.items import make_item, read_results
        from replicse.report.content.records import records_of
        from replicse.report.figures import draw

        manifest = read_json(arguments.item)
        results = read_results(arguments.table)
        item = make_item(manifest, results, scale=manifest["scale"], where=str(arguments.table))
        records = curves(manifest) if item.figure in CURVES else records_of(item)
        files = draw(item.figure, records, arguments.out.with_suffix(""))
        log.info("wrote=%s", ",".join(map(str, files)))

    return action


def curves(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records of a figure whose curves stand in the evaluations: the first seed of each row."""
    from replicse.report.content import records

    # A suite may stand under two names: SimCSE's figure is of all splits of STS-B, DiffCSE's of its test set.
    suite = manifest["columns"][0]["read"].partition("/")[0]
    evaluations = Evaluations(Paths(manifest["scale"]))
    found = {}
    for row in manifest["rows"]:
        names = list(row["protocols"][AS_DESCRIBED].values())
        curve = evaluations.value(manifest["encoders"][names[0]][0], suite)[0] if names else None
        if curve is not None:
            found[row["label"]] = curve
    return getattr(records, f"{manifest['figure']}_records")(found)


def report_verb(parser: ArgumentParser) -> Action:
    """Write the report of all items of a study as Markdown, LaTeX, HTML and, with a LaTeX engine, PDF."""
    parser.epilog = (
        "example:\n  replicse report --study results/micro/study.json --data results/micro/data.json"
        " --out reports/micro/report.html"
    )
    parser.add_argument("--study", type=Path, required=True, help="the study record")
    parser.add_argument("--data", type=Path, required=True, help="the data record")
    parser.add_argument(
        "--out", type=Path, required=True, help="the HTML; .md, .tex and .pdf stand beside it"
    )

    def action(arguments: Namespace) -> None:
        from replicse.report.content.items import make_item, read_results
        from replicse.report.document import write_report

        study = read_json(arguments.study)
        paths = Paths(study["scale"])
        manifests = [read_json(paths.manifest(name)) for name in study["items"]]
        items = []
        for manifest in manifests:
            picture = Path(paths.figure(manifest["item"])).with_suffix("") if manifest["figure"] else None
            table = Path(paths.table(manifest["item"]))
            items.append(
                make_item(manifest, read_results(table), scale=paths.scale, picture=picture, where=str(table))
            )
        facts = study_facts(study, read_json(arguments.data))
        write_report(arguments.out.parent, facts, items, pages(study, manifests, items))

    return action


def pages(study: Mapping[str, Any], manifests: list[dict[str, Any]], items: list[Any]) -> list[Any]:
    """Return the pages that are drawn from all items: what reproduces, claims, audit, adjudication."""
    from replicse.report.pages.adjudication import adjudication_page
    from replicse.report.pages.audit import audit_page
    from replicse.report.pages.claims import claims_page
    from replicse.report.pages.reproduces import reproduces_page
    from replicse.report.pages.shape import shape_sheet
    from replicse.study.results.aggregate import aggregates
    from replicse.study.results.shape import shapes

    paths = Paths(study["scale"])
    evaluations = Evaluations(paths)
    shape = shape_sheet(shape for manifest in manifests for shape in shapes(manifest, evaluations))
    means = [entry for manifest in manifests for entry in aggregates(manifest, evaluations)]
    by_item = {manifest["item"]: manifest for manifest in manifests}
    explained = read_rows(Path(paths.judged("adjudication")))
    found = [
        reproduces_page(items, shape, means, study["comparable"], study["judges_orders"]),
        claims_page(read_rows(Path(paths.judged("claims"))), study["judges_orders"]),
        audit_page(read_rows(Path(paths.judged("audit")))),
        adjudication_page(explained, by_item, study["comparable"]),
    ]
    return [page for page in found if page is not None]


def study_facts(study: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Return the study record with what only the machine that reports knows: commit, versions, hardware, data."""
    from replicse.provenance import provenance

    generated = datetime.now(UTC).isoformat(timespec="seconds")
    return {**study, **provenance(), "generated": generated, "data": data["files"]}
