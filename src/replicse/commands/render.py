"""Verbs that turn results into what a person reads: figures and the report."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replicse.commands import Action
from replicse.files import read_json, read_rows
from replicse.study.plan.paths import Paths
from replicse.study.results.table import ItemResult

if TYPE_CHECKING:
    from replicse.report.content.contents import Page

log = logging.getLogger(__name__)


def figures_verb(parser: ArgumentParser) -> Action:
    """Draw one item as SVG, PNG and PDF, with the plotted data beside them as CSV."""
    parser.epilog = (
        "example:\n  replicse figures --item results/micro/items/simcse/figure2.json"
        " --out figures/micro/simcse/figure2.svg"
    )
    parser.add_argument("--item", type=Path, required=True, help="the item's result")
    parser.add_argument(
        "--out", type=Path, required=True, help="the SVG; .png, .pdf and .csv stand beside it"
    )

    def action(arguments: Namespace) -> None:
        from replicse.report.content.records import records_of
        from replicse.report.figures import draw

        item = read_item(arguments.item)
        stem = arguments.out.with_suffix("")
        files = draw(item.figure, records_of(item), stem, f"{item.item} · {item.standing}", item.caveat)
        log.info("wrote=%s", ",".join(map(str, files)))

    return action


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
        from replicse.report.document import write_report

        study = read_json(arguments.study)
        paths = Paths(study["scale"])
        items = [read_item(Path(paths.item(name))) for name in study["items"]]
        drawings = {item.item: Path(paths.figure(item.item)).with_suffix("") for item in items if item.figure}
        facts = study_facts(study, read_json(arguments.data))
        write_report(arguments.out.parent, facts, items, pages(study, items), drawings)

    return action


def read_item(path: Path) -> ItemResult:
    """Return the result of an item from its JSON; BadInput names a mistake in it."""
    return ItemResult.of(read_json(path), str(path))


def pages(study: Mapping[str, Any], items: Sequence[ItemResult]) -> "list[Page]":
    """Return the pages that are drawn from all items: what reproduces, claims, audit, adjudication."""
    from replicse.report.pages.adjudication import adjudication_page
    from replicse.report.pages.audit import audit_page
    from replicse.report.pages.claims import claims_page
    from replicse.report.pages.reproduces import reproduces_page

    paths = Paths(study["scale"])
    claims, audit, explained = (read_rows(paths.judged(what)) for what in ("claims", "audit", "adjudication"))
    found = [
        reproduces_page(items, study["comparable"], study["judges_orders"]),
        claims_page(claims, study["judges_orders"]),
        audit_page(audit),
        adjudication_page(explained, {item.item: item for item in items}, study["comparable"]),
    ]
    return [page for page in found if page is not None]


def study_facts(study: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the study record with what only the machine that reports knows: commit, versions, hardware, data."""
    from replicse.provenance import provenance

    generated = datetime.now(UTC).isoformat(timespec="seconds")
    return {**study, **provenance(), "generated": generated, "data": data["files"]}
