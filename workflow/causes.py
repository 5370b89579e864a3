"""Write docs/causes.md and its pictures: `python workflow/causes.py`.

With `--study FOLDER` (a committed study of config/causes.yaml) causes-measured.csv is written first: effects in
training from the adjudication of the study, effects at test from the table of variants, and the effects in
causes-minilm.csv. With `--minilm FOLDER --data DIR` causes-minilm.csv is written: the scores of the public
all-MiniLM-L6-v2 under each variant.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from replicse.checked import read_yaml
from replicse.cli import diagnose as verb
from replicse.files import read_rows, write_rows
from replicse.judge.statistics.intervals import paired_difference
from replicse.judge.values.record_measurements import load_record_measurements
from replicse.judge.verdicts.others import SourceResult
from replicse.judge.verdicts.record_cells import others_of
from replicse.printable import number
from replicse.registry.suites import AS_READ, STS_TASKS, VARIANTS
from replicse.show.figures import draw
from replicse.show.pages.causes import effect_text, threads_text
from replicse.spec.causes import (
    MEASURED,
    MEASURED_FIELDS,
    Cause,
    Confirmed,
    Measured,
    Observation,
    address,
    load_causes,
    load_causes_page,
    load_measured,
)
from replicse.spec.cell_id import CellId
from replicse.spec.papers import load_papers, printed_in

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = ROOT / "workflow"
MINILM = WORKFLOW / "causes-minilm.csv"
PICTURES = {"readings": "images/record-strip.svg", "effects": "images/causes-effects.svg"}
# The cells of the strip by paper, each with its label; the source of the record with fifty seeds.
STRIPS = {
    "simcse": ("simcse/table5/unsup-simcse-bert-base/avg/spearman", "SimCSE 76.25"),
    "diffcse": ("diffcse/table1/diffcse-bert-base/avg/spearman", "DiffCSE 78.49"),
}
SEEDS, OTHER_SETTINGS = "simple-simcse", "other settings"
LOWEST = -6.0  # values further below the reported number, in points, are left out
TASKS = (*STS_TASKS, "avg")
TRAINED, AT_TEST, COLUMN, METRIC = "causes/table1", "causes/table2", "avg", "sts/avg"
# The rows of causes/table2: the name and the kind of each encoder on the page.
ENCODERS = {"unsup-simcse": ("compact", "trained"), "untrained": ("compact, untrained", "untrained")}


def checked_threads() -> list[dict[str, Any]]:
    """Return each thread of the check.

    A thread contains whether its author agreed, and the stated facts that list the cause of the thread.
    """
    threads = {cause.id: cause.threads for cause in load_causes(WORKFLOW)}
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    checked = []
    for case in read_yaml(WORKFLOW / "causes-check.yaml"):
        found = verb.diagnosed(parser.parse_intermixed_args([*case["words"], "--workflow", str(WORKFLOW)]))
        facts = [fact for fact in found.facts if not fact.agrees]
        names = [fact.name for fact in facts if case["cause"] in [cause.id for cause in fact.causes]]
        agreed = threads[case["cause"]][case["thread"]] == "author and reporter"
        checked.append({**case, "agreed": agreed, "stated": bool(found.listed), "listed_by": names})
    return checked


def page() -> str:
    """Return the page of the documentation."""
    return markdown(load_causes(WORKFLOW), load_measured(WORKFLOW), checked_threads(), PICTURES)


def effect_records(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return the records of the picture of effects.

    The picture has a panel for each encoder.
    """
    return [
        {"group": each.encoder, "row": each.variant, "value": each.effect, "low": each.low, "high": each.high}
        for each in measured
    ]


def markdown(
    causes: Sequence[Cause],
    measured: Sequence[Measured],
    checked: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, str],
) -> str:
    """Return the page as Markdown.

    `checked` are threads with the facts that list their confirmed cause.
    """
    return "\n".join(_lines(causes, measured, checked, pictures)) + "\n"


def _lines(
    causes: Sequence[Cause],
    measured: Sequence[Measured],
    checked: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, str],
) -> Iterator[str]:
    about = load_causes_page(WORKFLOW)
    yield f"# {about.title}"
    yield "\n<!-- Written by `python workflow/causes.py` from workflow/causes*.yaml and workflow/causes*.csv. -->"
    yield from (f"\n{paragraph}" for paragraph in about.text)
    yield f"\n![Published reruns of two reported averages]({pictures['readings']})"
    yield "\nOn another machine, no number is equal to the second decimal. Before you look for a mistake:"
    yield "\n1. Evaluate the released checkpoint with your command: it should get the reported number."
    yield "2. Train two more seeds and compare the means."
    yield "3. Run `replicse diagnose`; its option `--markdown` creates a text for an issue."
    yield "\n## The causes\n"
    yield "| cause | threads | reported, points | measured, points |"
    yield "| --- | --- | --- | --- |"
    for cause in causes:
        ours = [each for each in measured if each.cause == cause.id]
        yield (
            f"| [{cause.title}](#{cause.id}) | {threads_text(cause)} | {_range(_reported(cause)) or '-'} |"
            f" {_range([each.effect for each in ours]) or '-'} |"
        )
    if measured:
        yield f"\n![Measured effects with their intervals]({pictures['effects']})"
        yield f"\n{about.measured}"
    for cause in causes:
        yield from _of_cause(cause, [each for each in measured if each.cause == cause.id])
    yield from _of_checked(checked)


def _reported(cause: Cause) -> list[float]:
    return [delta for _, delta in cause.deltas]


def _range(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = (number(value, "+.2f") for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _of_cause(cause: Cause, measured: Sequence[Measured]) -> Iterator[str]:
    yield f'\n<a id="{cause.id}"></a>\n\n### {cause.title}\n\n{cause.sentence}'
    yield f"\n**Seen.** {cause.seen}"
    yield from _measured(measured)
    yield f"\n**Test.** `{cause.test}`"
    yield f"\n**Fix.** {cause.fix}"
    unconfirmed = {"measured here": "Measured here", "suspected": "Suspected"}
    for who in get_args(Confirmed):
        threads = [thread for thread, confirmed in cause.threads.items() if confirmed == who]
        links = ", ".join(_thread(thread, cause) for thread in threads)
        yield from ([f"\n{unconfirmed.get(who, f'Confirmed by {who}')}: {links}."] if links else [])


def _thread(thread: str, cause: Cause) -> str:
    """Return the link of a thread with its reports."""
    notes = [_note(report) for report in cause.confirmed if report.thread == thread]
    return f"[{thread}]({address(thread)})" + (f" ({'; '.join(notes)})" if notes else "")


def _measured(measured: Sequence[Measured]) -> Iterator[str]:
    """Yield a table of effects with variants as rows, encoders as columns."""
    encoders = list(dict.fromkeys(each.encoder for each in measured))
    found = {(each.variant, each.encoder): effect_text(each) for each in measured}
    if found:
        yield f"\n| measured | {' | '.join(encoders)} |\n| --- |{' --: |' * len(encoders)}"
    for variant in dict.fromkeys(each.variant for each in measured):
        effects = " | ".join(found.get((variant, encoder), "") for encoder in encoders)
        what = f": {VARIANTS[variant]}" if variant in VARIANTS else ", in training"
        yield f"| `{variant}`{what} | {effects} |"


def _note(report: Observation) -> str:
    """Describe a thread's report: numbers, quantity and model."""
    got = ", ".join(f"{value:g}" for value in report.got)
    differs = ", ".join(f"{number(value, '+g')} from the paper" for value in report.delta)
    printed = "" if report.printed is None else f"{report.printed:g} → "
    return f"{printed}{got or differs}, {report.quantity}, {report.model}"


def _of_checked(checked: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    agreed = [entry for entry in checked if entry["agreed"]]
    further = [entry for entry in checked if entry not in agreed]
    yield "\n## How well settings predict the cause"
    yield (
        "\nThe size of a difference predicts its cause no better than chance, so `replicse diagnose` uses settings."
        " If a maintainer named the cause and the reporter agreed, the settings in the first post lead to this cause in"
        f" {_hits(agreed)}; in other threads in {_hits(further)}."
    )


def _hits(checked: Sequence[Mapping[str, Any]]) -> str:
    silent = sum(not entry["stated"] for entry in checked)
    return f"{sum(bool(entry['listed_by']) for entry in checked)} of {len(checked)} ({silent} state nothing)"


def measured_rows(study: Path) -> Iterator[dict[str, Any]]:
    """Yield the measured effects.

    Effects are on MiniLM, and on the chains of a study, in training and at test.

    Skips causes that an encoder cannot have (a template reduces the score of an encoder trained without it), and
    variants that equal the default evaluation of the encoder.
    """
    causes = load_causes(WORKFLOW)
    minilm = {row["variant"]: row for row in read_rows(MINILM)}
    read = {**minilm[AS_READ], "variant": ""}
    for variant, row in minilm.items():
        if row["avg"] and {**row, "variant": ""} != read:
            yield from _rows(
                causes, variant, "MiniLM", "released", round(float(row["avg"]) - float(read["avg"]), 4)
            )
    of_protocol = {protocol: cause.id for cause in causes for protocol in cause.protocols}
    for row in read_rows(study / "adjudication.csv"):
        if row["item"] == TRAINED and row["column"] == COLUMN and row["protocol"] in of_protocol:
            cause, bounds = of_protocol[row["protocol"]], [row["effect"], row["low"], row["high"]]
            yield _row(cause, row["protocol"], "compact", "trained", *map(float, bounds), int(row["n_seeds"]))
    item = json.loads((study / "items" / f"{AT_TEST}.json").read_text(encoding="utf-8"))
    for line in item["rows"]:
        cells = [cell for cell in item["cells"] if cell["row"] == line["id"]]
        values = {cell["column"]: [each.get("value") for each in cell["values"]] for cell in cells}
        for variant, ours in values.items():
            found = paired_difference(ours, values[AS_READ])
            if found and ours != values[AS_READ]:
                effect = (found.mean, found.low, found.high, found.n)
                yield from _rows(causes, variant, *ENCODERS[line["id"]], *effect)


def _rows(
    causes: Sequence[Cause], variant: str, encoder: str, kind: str, *effect: Any
) -> Iterator[dict[str, Any]]:
    """Yield the effect of a variant for each possible cause of the variant."""
    for cause in causes:
        if variant in cause.checks and not cause.excluded(kind, METRIC, encoder):
            yield _row(cause.id, variant, encoder, kind, *effect)


def minilm_rows(encoder: str, data: Path) -> list[dict[str, Any]]:
    """Return the scores of the public encoder by task, a row per variant.

    Scores of missing tasks are empty.
    """
    from replicse.data.sets import data_folder
    from replicse.encoder.sentence import SentenceEncoder
    from replicse.evaluation.variants import evaluate

    scores = evaluate(data_folder(data), SentenceEncoder.open(encoder, "mean"), None, encoder)
    rows = []
    for name, by_task in scores.items():
        if name == "failures":
            continue
        row: dict[str, Any] = {"variant": name}
        for task in TASKS:
            score = by_task.get(task)
            row[task] = "" if score is None else round(score, 4)
        rows.append(row)
    return rows


def _row(
    cause: str,
    variant: str,
    encoder: str,
    kind: str,
    effect: Any,
    low: Any = None,
    high: Any = None,
    n: int = 1,
) -> dict[str, Any]:
    bounds = {"low": "" if low is None else low, "high": "" if high is None else high}
    setting = {"encoder": encoder, "kind": kind, "metric": METRIC}
    return {"cause": cause, "variant": variant, **setting, "effect": effect, **bounds, "n": n}


def strip_of(workflow: Path) -> list[Mapping[str, Any]]:
    """Return the records of the strip.

    The records contain all values of the record for two averages, a line for each kind.
    """
    papers = load_papers(workflow)
    measurements = load_record_measurements(workflow, papers, STRIPS)
    records: list[Mapping[str, Any]] = []
    for paper, (name, label) in STRIPS.items():
        _, table, *place = name.split("/")
        item = f"{paper}/{table}"
        printed = printed_in(papers, CellId(item, *place)).number.value
        for result in others_of(measurements, item)[name]:
            kind, line = strip_line(result)
            values = [float(value) - printed for value in result.values if float(value) - printed > LOWEST]
            bounds = (result.low - printed, result.high - printed) if kind == "decides" else (None, None)
            point = {"group": f"{label}: {line}", "label": result.source, "source": kind}
            records += [{**point, "value": value, "low": bounds[0], "high": bounds[1]} for value in values]
    return records


def strip_line(result: SourceResult) -> tuple[str, str]:
    """Return the style and the name of a line of the strip.

    A line is for a source and setting.
    """
    if not result.trained:
        return ("released", "released checkpoint") if result.is_printed else ("other", OTHER_SETTINGS)
    if result.decides:
        return "decides", f"{result.source}, {result.n} seeds"
    if result.is_printed:
        return "source", "one run each"
    seeds = result.source == SEEDS
    return "other", f"{result.source}, {result.n} seeds, own code" if seeds else OTHER_SETTINGS


def main() -> None:
    """Write the page and its pictures.

    If a study is given, the measured effects are written first.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", type=Path)
    parser.add_argument("--minilm", help="the folder of all-MiniLM-L6-v2")
    parser.add_argument("--data", type=Path, help="the data root, next to --minilm")
    arguments = parser.parse_args()
    if arguments.minilm:
        write_rows(str(MINILM), ["variant", *TASKS], minilm_rows(arguments.minilm, arguments.data))
    study = arguments.study
    if study:
        write_rows(str(WORKFLOW / MEASURED), MEASURED_FIELDS, list(measured_rows(study)))
    (ROOT / "docs" / "causes.md").write_text(page(), encoding="utf-8")
    drawn = {"readings": strip_of(WORKFLOW), "effects": effect_records(load_measured(WORKFLOW))}
    for kind, records in drawn.items():
        stem = (ROOT / "docs" / PICTURES[kind]).with_suffix("")
        for file in draw(kind, records, stem) if records else ():
            if file.suffix != ".svg":
                file.unlink()


if __name__ == "__main__":
    main()
