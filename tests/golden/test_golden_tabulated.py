"""Tables of synthetic scores (tabulated.yaml), as text."""

from pathlib import Path

import yaml
from made_up import made_plan, write_evaluation, write_paper

from replicse.compile.item_plan import plan_item
from replicse.judge.report.csv_rows import table_rows
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result
from replicse.registry.suites import file_of

CASES = yaml.safe_load(Path(__file__).with_name("tabulated.yaml").read_text(encoding="utf-8"))
PATH = "sts/STS12/all"
TABLE = {
    "setting": {"metric": "spearman"},
    "columns": [{"id": "a", "metric_path": PATH}],
    "rows": [{"id": "r", "encoder": {"use": "plain"}}],
}
SHOWN = ("reported", "reproduced", "delta", "low", "high", "pairs_low", "pairs_high", "verdict", "borrowed")


def short(value):
    """Format a number with four decimals; return other strings unchanged."""
    try:
        return f"{float(value):.4f}"
    except (TypeError, ValueError):
        return value


def result_of(case):
    """Return the table of a case; write the paper and the evaluations here."""
    metric = {"metric": case["metric"]} if "metric" in case else {}
    printed = {
        tuple(place.split("/")): value for place, value in case.get("printed", {"r/a": "70.0"}).items()
    }
    reported = [{"item": "table1", "row": row, "column": column, "value": value, **metric}
                for (row, column), value in printed.items()]  # fmt: skip
    table = {name: case.get(name, part) for name, part in TABLE.items()}
    write_paper(Path(), "made", {"table1": table}, reported)
    plan = made_plan(Path(), scale=case.get("scale", "paper"), seeds=[*range(case.get("seeds", 2))])
    scores = case.get("scores", [])
    for cell in plan.cells["made/table1"]:
        own = scores.get(f"{cell.row.id}/{cell.column.id}", []) if isinstance(scores, dict) else scores
        for encoder, told in zip(cell.encoders, own, strict=False):
            values = told if isinstance(told, dict) else {PATH: told}
            for group in set(map(file_of, values)):
                held = {path: value for path, value in values.items() if file_of(path) == group}
                write_evaluation(plan, plan.paths.evaluation(encoder, group), held, case.get("failures"))
    return item_result(plan_item(plan, plan.item("made/table1")), Measurements(plan))


def test_tables_on_made_up_scores(golden, tmp_path, monkeypatch):
    lines = []
    for number, case in enumerate(CASES):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        result = result_of(case)
        lines.append(case["what"])
        for cell, row in zip(result.cells, table_rows(result), strict=True):
            head = next(head for head in result.columns if head.id == cell.column)
            values = ", ".join(f"{each.seed}: {short(each.value)}" for each in cell.values)
            told = ", ".join(f"{name} {short(row[name])}" for name in SHOWN if row[name])
            lines.append(f"  {cell.row}/{cell.column} ({head.kind}, {head.statistic} {head.chosen}): {told}")
            lines.append(
                f"    {values}; {cell.n_seeds} seeds, {len(cell.encoders)} encoders; {row['reason']}"
            )
    golden("tabulated.txt", "\n".join(lines))
