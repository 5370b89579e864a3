"""Write a committed study as a source of the record."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from replicse.checked import Checked
from replicse.compile.paths import Paths
from replicse.errors import BadInput, check_known
from replicse.files import read_json, read_rows, write_rows, write_text
from replicse.judge.values.folder import committed
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.cell_names import CellNames
from replicse.spec.columns import AnyColumn
from replicse.spec.papers import Paper, load_papers
from replicse.spec.protocols import AS_RUN
from replicse.spec.record import PRINTED, READING_FIELDS, RECORD, Commit, Repository, Source


class Origin(Checked):
    """The laboratory or account of a source, and the public repository."""

    who: str
    repository: Repository
    commit: Commit


def add_record_arguments(parser: ArgumentParser) -> None:
    """Add the options --record, --who and --published."""
    group = parser.add_argument_group("a committed study as a source of the record")
    group.add_argument("--record", action="store_true", help="write record/NAME.yaml and record/NAME.csv")
    group.add_argument("--who", default="", help="your laboratory or account, if --record is given")
    group.add_argument(
        "--published",
        default="",
        metavar="OWNER/REPOSITORY@COMMIT",
        help="where reports/studies/NAME is public, if --record is given",
    )


def keep_record(arguments: Namespace) -> None:
    """Write the values of a committed study as a source of the record.

    Args:
        arguments: the parsed arguments with `name`, `who` and `published`.

    Raises:
        BadInput: if the study is not committed, is smaller than the papers or has no values, or if --who or
            --published is missing.
    """
    studies = committed()
    check_known(arguments.name, studies, f'the committed study "{arguments.name}" does not exist')
    origin = read_origin(arguments.who, arguments.published)
    paths = studies[arguments.name]
    facts = read_json(paths.record)
    if not facts["comparable"]:
        raise BadInput(
            f"{paths.record}: scale is {facts['scale']}, not comparable with the papers; keep a study at scale paper"
        )
    papers = load_papers(arguments.workflow)
    readings = list(_readings(paths, arguments.name, papers))
    if not readings:
        raise BadInput(
            f"{_cells_file(paths)}: does not contain values; run the study to the end and keep it again"
        )
    source = {**_describe(facts, origin), "settings": _settings(readings)}
    Source.of(source, f"{RECORD}/{arguments.name}.yaml")
    write_rows(Path(RECORD, f"{arguments.name}.csv"), READING_FIELDS, readings)
    write_text(
        Path(RECORD, f"{arguments.name}.yaml"), yaml.safe_dump(source, sort_keys=False, allow_unicode=True)
    )
    print(f"wrote={RECORD}/{arguments.name}.yaml and .csv readings={len(readings)}")


def read_origin(who: str, published: str) -> Origin:
    """Parse the options --who and --published.

    Args:
        who: the laboratory or account.
        published: a string such as "owner/repository@commit".

    Raises:
        BadInput: if an option is missing or wrong.
    """
    if not who or not published:
        raise BadInput('--record needs --who "YOUR LABORATORY" and --published OWNER/REPOSITORY@COMMIT')
    repository, _, commit = published.partition("@")
    return Origin.of({"who": who, "repository": repository, "commit": commit}, f"--published {published}")


def _cells_file(paths: Paths) -> str:
    return f"{paths.results}/cells.csv"


def _readings(paths: Paths, name: str, papers: Mapping[str, Paper]) -> Iterator[dict[str, Any]]:
    """Yield a row of the record for each value of a cell with a name."""
    cells = _cell_names(papers)
    place = f"{Paths('', name).results}/cells.csv"
    for row in read_rows(_cells_file(paths)):
        cell = cells.get((row["paper"], row["item"], row["row"], row["column"], row["metric"]))
        # Skip values of several encoders, such as the best run of a search.
        if cell is None or not row["value"] or row["group"]:
            continue
        kind = "retrained" if row["run"] else "released"
        protocol = row["protocol"]
        if not _is_protocol(papers[row["paper"]], protocol):
            protocol = AS_DESCRIBED  # an additional encoder of the row, such as the released checkpoint
        setting = PRINTED if protocol == AS_DESCRIBED else protocol
        yield {
            "cell": cell,
            "setting": f"{kind}-{setting}",
            "seed": row["seed"],
            "value": format(Decimal(row["value"]), "f"),
            "place": place,
        }


def _cell_names(papers: Mapping[str, Paper]) -> dict[tuple[str, str, str, str, str], str]:
    """Return a dict from (paper, item, row, column, metric path) to cell."""
    names = CellNames(papers)
    found = {}
    for paper in papers.values():
        for item in paper.items.values():
            for row in item.rows:
                for column in item.columns:
                    cell = item.cell_id(row, column)
                    key = (paper.key, item.name, row.id, column.id, item.path(row, column))
                    if _has_readings(column):
                        found[key] = names.name(cell)
    return found


def _has_readings(column: AnyColumn) -> bool:
    """Return whether a single run is enough to measure a column.

    Differences, standard deviations and the best of several jobs need several runs.
    """
    return column.kind == "score" and not column.over.jobs and column.over.seeds.statistic == "mean"


def _is_protocol(paper: Paper, name: str) -> bool:
    """Return whether a paper has a protocol of this name."""
    return name in (AS_DESCRIBED, AS_RUN, *(protocol.id for protocol in paper.protocols))


def _describe(facts: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """Return the fields of a source, using the record of the study."""
    versions = facts.get("versions", {})
    stack = [f"{package} {versions[package]}" for package in ("torch", "transformers") if package in versions]
    commits = dict.fromkeys(part["commit"][:12] for part in facts.get("parts") or [facts])
    described = {
        **origin.plain(),
        "year": int(facts["generated"][:4]),
        "code": f"RepliCSE at {', '.join(commits)}",
    }
    if stack:
        described["stack"] = ", ".join(stack)
    return described


def _settings(readings: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return a dict from the name of each setting to encoder and protocol."""
    settings = {}
    for reading in readings:
        encoder, _, as_ = reading["setting"].partition("-")
        settings[reading["setting"]] = {"encoder": encoder, "read_off": "machine-file", "as": as_}
    return settings
