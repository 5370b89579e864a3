"""Describe the origin of a report."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from replicse.judge.report.report_types import Report
from replicse.show.content.sheets import Columns, Sheet

HASH = 16


def made_from(report: Report) -> str:
    """Describe the commits of a study; return "" if it was run outside git."""
    commits = report.commits
    if not commits:
        return ""
    return f"commits {commits}" if "," in commits else f"commit {commits}"


def study_facts(report: Report) -> tuple[tuple[str, str], ...]:
    """Return (name, value) pairs that describe a study, without empty values."""
    study, machines = report.study, report.machines
    facts = {
        "Scale": study["scale"],
        "Incomplete": study.get("incomplete", ""),
        "Left out": study.get("left_out", ""),
        "Seeds": ", ".join(map(str, study["seeds"])),
        "Mixed" if len(machines) > 1 else "Made on": report.mixture or " ".join(map(str, machines)),
        "Commit": report.commits,
        "Package sha256": study.get("package_sha256", "")[:HASH],
        "Generated": study.get("generated", ""),
    }
    return tuple((name, value) for name, value in facts.items() if value)


def provenance_sheets(report: Report) -> tuple[Sheet, ...]:
    """Return sheets of study, versions, hardware, protocols and datasets.

    Empty sheets are skipped.
    """
    return tuple(sheet for sheet in _sheets(report) if sheet.rows)


def _sheets(report: Report) -> Iterator[Sheet]:
    study = report.study
    yield Sheet("Study", ("", "Value"), study_facts(report))
    for key in ("versions", "hardware"):
        rows = tuple((name, str(value)) for name, value in study.get(key, {}).items())
        yield Sheet(key.capitalize(), ("", "Value"), rows)
    columns: Columns = {
        "Items": lambda part: ", ".join(part["items"]),
        "Commit": lambda part: part["commit"][:12],
        "Processor": itemgetter("processor"),
        "Generated": itemgetter("generated"),
    }
    yield Sheet.of("Parts", study.get("parts", ()), columns)
    columns = {"Protocol": itemgetter("id"), "What it is": itemgetter("text")}
    yield Sheet.of("Protocols", study["protocols"], columns)
    note = f"First {HASH} hexadecimal digits of each sha256."
    columns = {"Data": itemgetter("name"), "Rows": _rows, "sha256": _hash}
    yield Sheet.of("Data", study.get("data", ()), columns, note)


def _hash(entry: Mapping[str, Any]) -> str:
    """Return the first digits of a file's hash, or "not there" if missing."""
    if entry.get("missing"):
        return "not there"
    return entry["sha256"][:HASH]


def _rows(entry: Mapping[str, Any]) -> str:
    if entry.get("rows") is None:
        return ""
    return f"{entry['rows']:,}"
