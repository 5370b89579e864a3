"""Which variants explain which gaps, as text; all numbers are synthetic."""

from pathlib import Path

import yaml

from replicse.judge.adjudication.adjudicate import explain_gap
from replicse.judge.verdicts.table import CellResult, ItemResult, SeedValue
from replicse.spec.printed import Reported

CASES = yaml.safe_load(Path(__file__).with_name("adjudicated.yaml").read_text(encoding="utf-8"))
ITEM = ItemResult(
    item="p/t", paper="p", scale="paper", comparable=True, kind="table", title="T", place="Table 1", columns=(),
    rows=(), cells=(),
)  # fmt: skip
SHOWN = (
    "gap", "noise", "described", "ours", "effect", "low", "high", "share", "share_low", "share_high", "n_seeds",
)  # fmt: skip


def cell(case, name, protocol):
    """Return a cell with the values of a case.

    The encoders are named after the protocol, unless both sides of the case use the same runs.
    """
    values, own = case[name], "" if case.get("same") else protocol
    seeds = [None] if case.get("alone") and name == "base" else range(len(values))
    encoders, by_seed = [], []
    for seed, value in zip(seeds, values, strict=True):
        encoders.append(f"{own}{seed}")
        by_seed.append(SeedValue(seed=seed, value=value))
    return CellResult(
        row="r", column="c", metric="m", protocol=protocol, metric_path="sts/avg",
        reported=Reported(value=case["own"], source="x") if "own" in case else None,
        seedless=case.get("seedless", False), encoders=tuple(encoders), values=tuple(by_seed),
    )  # fmt: skip


def test_what_variants_explain(golden):
    lines = []
    for case in CASES:
        key = ("q", "t", "r", "c", "m") if "other" in case else None
        theirs = Reported(value=case["other"], source="y", **case.get("said", {})) if key else None
        found = explain_gap(ITEM, cell(case, "base", "as-described"), cell(case, "variant", "v"), key, theirs)
        numbers = {name: getattr(found, name) for name in SHOWN}
        told = (f"{name} {value:.4f}" for name, value in numbers.items() if value is not None)
        by_seed = found.line()["by_seed"]
        lines.append(f"{case['what']}: {found.outcome} {found.note}\n  {', '.join(told)}; by seed {by_seed}")
    golden("adjudicated.txt", "\n".join(lines))
