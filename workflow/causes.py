"""Write docs/causes.md and its pictures: `python workflow/causes.py`.

With `--study FOLDER` (a committed study of config/causes.yaml) causes-measured.csv is written first: effects in
training from its adjudication, effects at test from its table of variants, and those of causes-minilm.csv. With
`--minilm FOLDER --data DIR` that file is written: the scores of the public all-MiniLM-L6-v2 under each variant.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.checked import read_yaml
from replicse.commands import diagnose as verb
from replicse.files import read_rows, write_rows
from replicse.registry.suites import AS_READ, STS_TASKS
from replicse.report.figures import draw
from replicse.report.pages.causes import causes_markdown, effect_records
from replicse.study.paper.causes import MEASURED, MEASURED_FIELDS, Cause, load_causes, load_measured
from replicse.study.paper.papers import load_papers
from replicse.study.results.statistics import paired_difference

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = ROOT / "workflow"
MINILM = WORKFLOW / "causes-minilm.csv"
PICTURES = {"strip": "images/causes-strip.svg", "effects": "images/causes-effects.svg"}
TASKS = (*STS_TASKS, "avg")
TRAINED, AT_TEST, COLUMN, METRIC = "causes/table1", "causes/table2", "avg", "sts/avg"
# The rows of causes/table2: how the page names each, and who made the encoder.
ENCODERS = {"unsup-simcse": ("compact", "trained"), "untrained": ("compact, untrained", "untrained")}


def checked_threads() -> list[dict[str, Any]]:
    """Return each thread that is checked: whether its asker agreed, and the stated facts that list its cause."""
    threads = {cause.id: cause.threads for cause in load_causes(WORKFLOW)}
    parser = argparse.ArgumentParser()
    verb.diagnose_verb(parser)
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
    return causes_markdown(load_causes(WORKFLOW), load_measured(WORKFLOW), checked_threads(), PICTURES)


def measured_rows(study: Path) -> Iterator[dict[str, Any]]:
    """Yield the effects that were measured: on MiniLM, and on the chains of a study, in training and at test.

    An encoder that cannot have a cause measures nothing of it: a template costs one that was trained without. Nor does
    a variant that is how the encoder is read anyway.
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
    """Yield a variant's effect for each cause that it realises on such an encoder."""
    for cause in causes:
        if variant in cause.checks and not cause.excluded(kind, METRIC, encoder):
            yield _row(cause.id, variant, encoder, kind, *effect)


def minilm_rows(encoder: str, data: Path) -> list[dict[str, Any]]:
    """Return the public encoder's scores by task, a row per variant; blank where a variant has no such task."""
    from replicse.data.sets import data_folder
    from replicse.encoder.sentence import SentenceEncoder
    from replicse.evaluation.variants import evaluate

    scores = evaluate(data_folder(data), SentenceEncoder.open(encoder, "mean"), None, encoder)
    return [
        {
            "variant": name,
            **{task: "" if (one := row.get(task)) is None else round(one, 4) for task in TASKS},
        }
        for name, row in scores.items()
        if name != "failures"
    ]


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
    where = {"encoder": encoder, "kind": kind, "metric": METRIC}
    return {"cause": cause, "variant": variant, **where, "effect": effect, **bounds, "n": n}


def strip_of(workflow: Path) -> list[Mapping[str, Any]]:
    """Return the records of the strip plot: what is printed in the table of reruns."""
    paper = load_papers(workflow)["reruns"]
    records = []
    for row in paper.items["table2"].rows:
        printed = paper.reported["table2", row.id, "avg", "spearman"]
        kind = "rerun" if not row.quoted else "seeds" if printed.statistic == "mean" else "print"
        spread = {"sd": printed.sd, "count": printed.seeds}
        records.append(
            {"group": row.group, "label": row.label, "source": kind, "value": printed.number.value, **spread}
        )
    return records


def main() -> None:
    """Write the measured effects where a study is given, then the page and its pictures."""
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
    drawn = {"strip": strip_of(WORKFLOW), "effects": effect_records(load_measured(WORKFLOW))}
    for kind, records in drawn.items():
        stem = (ROOT / "docs" / PICTURES[kind]).with_suffix("")
        for file in draw(kind, records, stem) if records else ():
            if file.suffix != ".svg":
                file.unlink()


if __name__ == "__main__":
    main()
