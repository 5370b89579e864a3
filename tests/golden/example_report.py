"""Invented results laid over real table shapes: every reproduced number is made up, every judgement is ours."""

import math
import random
from pathlib import Path

import yaml

from replicse.report.pages.adjudication import adjudication_page
from replicse.study.judge.adjudicate import outcome
from replicse.study.paper.printed import Reported, Spread
from replicse.study.paper.tables import Reducer
from replicse.study.results.table import ItemResult
from replicse.study.results.verdict import judge

STUDY = yaml.safe_load(Path(__file__).with_name("study.yaml").read_text(encoding="utf-8"))


def drawn(key, mean, spread, count=5):
    """Return one value per seed, alike in every process."""
    draw = random.Random(str(key))
    return [round(mean + draw.gauss(0, spread), 6) for _ in range(count)]


def judged(
    row, column, printed, values, *, metric="spearman", protocol="as-described", scale="paper", **facts
):
    """Return a cell as plain data, judged as production judges it.

    Of `facts`, those that `judge` knows are its own; `reported` adds to what is printed, the others to the cell.
    """
    asked = {name: facts.pop(name) for name in ("prior", "failures", "why_not", "reducer") if name in facts}
    comparable = scale == "paper" and "why_not" not in asked
    reported = (
        None if printed is None else Reported(value=printed, **{"source": "", **facts.pop("reported", {})})
    )
    encoders = [
        f"{row}-s{seed}-{random.Random(f'{row}/{seed}').getrandbits(40):010x}" for seed in range(len(values))
    ]
    seeds = [
        {"seed": seed, "value": value, "encoder": encoder, "run": encoder}
        for seed, (value, encoder) in enumerate(zip(values, encoders, strict=True))
    ]
    judgement = judge(values, reported, planned=len(values), comparable=comparable, **asked)
    return {
        "row": row,
        "column": column,
        "metric": metric,
        "protocol": protocol,
        "reported": reported,
        "values": seeds,
        "encoders": encoders,
        **vars(judgement),
        **facts,
    }


def quotation(row, column, printed):
    """Return a cell of a row that the paper quotes."""
    return {
        "row": row,
        "column": column,
        "metric": "spearman",
        "protocol": "as-described",
        "reported": {"value": printed, "source": ""},
        "reason": "quoted by the paper from elsewhere",
    }


def result(name, title, columns, rows, cells, *, scale="paper", **more):
    """Return an item; columns and rows are (id, label) or mappings."""
    paper, _, short = name.partition("/")
    kind = "figure" if short.startswith("figure") else "table"
    document = {
        "item": name,
        "paper": paper,
        "scale": scale,
        "comparable": scale == "paper",
        "kind": kind,
        "title": title,
        "place": f"{kind.capitalize()} {short.removeprefix(kind)}, p. 4",
        "columns": [
            column
            if isinstance(column, dict)
            else {"id": column[0], "label": column[1], "metric": "spearman"}
            for column in columns
        ],
        "rows": [row if isinstance(row, dict) else {"id": row[0], "label": row[1]} for row in rows],
        "cells": cells,
        **more,
    }
    return ItemResult.of(document, name)


def dropout_table(scale="paper"):
    """SimCSE Table 3: one column, an ordered row axis, every kind of verdict, a merged row."""
    rows = [
        *((f"p{value}", value) for value in ("0.0", "0.01", "0.05", "0.1", "0.15", "0.2", "0.5")),
        {"id": "fixed", "label": "Fixed 0.1", "note": "The same dropout mask on both views of a sentence."},
        {"id": "off", "label": "No dropout", "merged": ["p0.0"]},
    ]

    def cell(row, printed, values, **facts):
        return judged(row, "stsb-dev", printed, values, scale=scale, **facts)

    many = {"statistic": "mean", "seeds": 50, "sd": 0.84, "source": "Table 3, last column"}
    cells = [
        cell("p0.0", "71.1", drawn(0, 70.4, 1.1), precision="fp32"),
        cell("p0.01", "72.6", drawn(1, 74.9, 0.5, 3), prior=Spread(0.5)),
        cell("p0.05", "81.1", drawn(2, 79.0, 1.1, 3), prior=Spread(1.1)),
        cell("p0.1", "82.5", drawn(3, 75.4, 0.3), reported=many),
        cell("p0.15", "81.4", [80.17]),
        cell("p0.2", "80.5", [None] * 5),
        cell("p0.5", "71.0", drawn(4, 70.0, 1, 4), failures=["run infonce-s3 gave nan"]),
        cell("fixed", "43.6", drawn(5, 45.0, 3), why_not="the pooling differs"),
        cell("off", "71.1", drawn(0, 70.4, 1.1)),
    ]
    return result(
        "simcse/table3",
        "Dropout probabilities on STS-B development (BERT-base)",
        [("stsb-dev", "STS-B")],
        rows,
        cells,
        scale=scale,
        figure="profile",
        setting={"metric": "spearman", "split": "dev", "protocol": "all"},
        notes=["Both the hidden and the attention dropout are set to *p*."],
        deviations=(
            "- The released code evaluates every **250** steps, the text says 250 too; both agree here.\n"
            "- `Fixed 0.1` needs a patched dropout; ours draws one mask per *pair* (`dropout.masks: fixed`)."
        ),
    )


def percentages(item):
    """Return the dropout table with percentages of STS-B, five seeds in each cell that has a number, and a baseline."""
    cells = [
        cell.model_copy(update={"metric_path": "sts-dev/STS-B/all"})
        for cell in item.cells
        if len(cell.values) == 5
    ]
    return item.model_copy(update={"cells": tuple(cells), "baseline": "p0.1"})


STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "Avg.")
TABLE5 = """
Unsupervised models
q|GloVe embeddings (avg.)♣|55.14 70.66 59.73 68.25 63.66 58.02 53.76 61.32
 |BERT_base (first-last avg.)|39.70 59.38 49.67 66.03 66.19 53.87 62.06 56.70
 |BERT_base-flow|58.40 67.10 60.85 75.16 71.22 68.66 64.47 66.55
 |BERT_base-whitening|57.83 66.90 60.90 75.08 71.31 68.24 63.73 66.28
q|IS-BERT_base♡|56.77 69.24 61.21 75.23 70.16 69.21 64.25 66.58
 |CT-BERT_base|61.63 76.80 68.47 77.50 76.48 74.31 69.19 72.05
 |* SimCSE-BERT_base|68.40 82.41 74.38 80.91 78.56 76.85 72.23 76.25
 |* SimCSE-RoBERTa_base|70.16 81.77 73.24 81.36 80.65 80.22 68.56 76.57
 |* SimCSE-RoBERTa_large|72.86 83.99 75.62 84.77 81.80 81.98 71.26 78.90
Supervised models
q|InferSent-GloVe♣|52.86 66.75 62.15 72.77 66.87 68.03 65.65 65.01
q|Universal Sentence Encoder♣|64.49 67.80 64.61 76.83 73.18 74.92 76.69 71.22
 |SBERT_base-flow|69.78 77.27 74.35 82.01 77.46 79.12 76.21 76.60
 |SBERT_base-whitening|69.65 77.57 74.66 82.27 78.39 79.52 76.91 77.00
 |CT-SBERT_base|74.84 83.20 78.07 83.84 77.93 81.46 76.42 79.39
 |* SimCSE-BERT_base|75.30 84.67 80.19 85.40 80.82 84.25 80.39 81.57
 |* SimCSE-RoBERTa_base|76.53 85.21 80.95 86.03 82.57 85.83 80.50 82.52
 |* SimCSE-RoBERTa_large|77.46 87.27 82.36 86.66 83.93 86.70 81.95 83.76
"""


def sts_table(scale="paper"):
    """SimCSE Table 5: eight columns, two blocks, quoted rows, and a second protocol for one row."""
    rows, cells, group = [], [], ""
    draw = random.Random(5)
    for line in TABLE5.strip().splitlines():
        kind, _, rest = line.partition("|")
        if not rest:
            group = line
            continue
        label, _, numbers = rest.partition("|")
        row = f"row{len(rows)}"
        rows.append({"id": row, "label": label, "group": group, "quoted": kind == "q"})
        for column, printed in zip(STS, numbers.split(), strict=True):
            if kind == "q":
                cells.append(quotation(row, column, printed))
                continue
            values = drawn((row, column), float(printed) + draw.gauss(-0.6, 1.1), 0.3 + draw.random() / 2)
            if "flow" in label and column in ("SICK-R", "Avg."):
                values = [None] * 5
            cells.append(judged(row, column, printed, values, scale=scale))
            if row == "row6":
                other = [value - 1.4 for value in values]
                cells.append(judged(row, column, printed, other, protocol="as-run", scale=scale))
    columns = [
        {"id": name, "label": name, "metric": "spearman", "task": name != "Avg.", "average": name == "Avg."}
        for name in STS
    ]
    return result(
        "simcse/table5",
        "Sentence embedding performance on STS tasks",
        columns,
        rows,
        cells,
        scale=scale,
        setting={"metric": "spearman", "aggregation": "all", "split": "test"},
    )


def temperature_table(scale="paper"):
    """SimCSE Table D.1: a single row of six columns, one of which shows the best seed."""
    columns = {"N/A": "85.9", "0.001": "84.9", "0.01": "85.4", "0.05": "86.2", "0.1": "82.0", "1": "64.0"}
    largest = {"reducer": Reducer(statistic="max"), "reported": {"statistic": "max", "seeds": 5}}
    cells = [
        judged(
            "stsb",
            name,
            printed,
            drawn(name, float(printed) - 0.3, 0.3),
            scale=scale,
            **(largest if name == "1" else {}),
        )
        for name, printed in columns.items()
    ]
    heads = [{"id": name, "label": f"τ = {name}", "metric": "spearman"} for name in columns]
    heads[-1]["statistic"] = "max"
    return result(
        "simcse/tableD1",
        "STS-B development results with different temperatures",
        heads,
        [("stsb", "STS-B")],
        cells,
        scale=scale,
        notes=["“N/A”: dot product instead of cosine similarity."],
    )


METHODS = {
    "Unsup. SimCSE": (0.262, 0.215, -1.55, -2.62),
    "No dropout": (0.262, 0.395, -1.55, -2.55),
    "Fixed 0.1": (0.262, 0.36, -1.55, -2.71),
    "Delete one word": (0.262, 0.17, -1.55, -2.21),
}


def trajectory_figure(scale="paper"):
    """SimCSE Figure 2: alignment and uniformity every ten steps, nothing printed by the paper; one variant."""
    steps = [*range(0, 201, 10), -1]
    names = {step: "final" if step < 0 else f"step {step}" for step in steps}
    cells = []
    for name, (first_a, last_a, first_u, last_u) in METHODS.items():
        draw = random.Random(name)
        for place, step in enumerate(steps):
            share = 1 - math.exp(-place / 5) if step >= 0 else 1.05
            alignment = first_a + (last_a - first_a) * share + draw.gauss(0, 0.004) * (place > 0)
            uniformity = first_u + (last_u - first_u) * share + draw.gauss(0, 0.02) * (place > 0)
            for metric, value in (("alignment", alignment), ("uniformity", uniformity)):
                where = {"row": name.lower(), "column": names[step], "metric": metric, "scale": scale}
                values = drawn((name, step, metric), value, 0.02)
                cells.append(judged(**where, printed=None, values=values))
                cells.append(judged(**where, printed=None, values=[values[0] + 0.02], protocol="all-pairs"))
    return result(
        "simcse/figure2",
        "Alignment and uniformity during training",
        [
            {"id": names[step], "label": names[step], "metric": metric, "step": step, "better": "lower"}
            for step in steps
            for metric in ("alignment", "uniformity")
        ],
        [(name.lower(), name) for name in METHODS],
        cells,
        scale=scale,
        figure="trajectory",
        variants={"all-pairs": "All pairs of sentences"},
        setting={"positives": "STS-B pairs with a score higher than 4", "sentences": "all of STS-B"},
        notes=["The paper prints no numbers for this figure."],
    )


PLANE = {
    "Avg. BERT": (0.20, -1.62, "56.7"),
    "BERT-flow": (0.31, -2.8, "66.6"),
    "BERT-whitening": (0.33, -3.1, "66.3"),
    "Next3Sent": (0.29, -1.95, "63.1"),
    "SBERT": (0.235, -2.4, "74.9"),
    "SBERT-whitening": (0.30, -3.05, "77.0"),
    "Unsup. SimCSE": (0.21, -2.62, "76.3"),
    "SimCSE": (0.19, -2.58, "81.6"),
}


def scatter_figure(scale="paper"):
    """SimCSE Figure 3: encoders in the plane of alignment and uniformity."""
    names = ("alignment", "uniformity", "spearman")
    cells = []
    for name, (alignment, uniformity, score) in PLANE.items():
        cells.append(
            judged(name, "alignment", None, drawn(name, alignment, 0.004), metric="alignment", scale=scale)
        )
        cells.append(
            judged(name, "uniformity", None, drawn(name, uniformity, 0.02), metric="uniformity", scale=scale)
        )
        cells.append(judged(name, "spearman", score, drawn(name, float(score) - 0.5, 0.5), scale=scale))
    return result(
        "simcse/figure3",
        "Alignment, uniformity and average STS",
        [
            {"id": name, "label": name, "metric": name, "better": "higher" if name == "spearman" else "lower"}
            for name in names
        ],
        [(name, name) for name in PLANE],
        cells,
        scale=scale,
        figure="scatter",
    )


def few_seeds(make, scale="compact", count=2):
    """Return an example as two seeds of each cell would give it."""
    item = make(scale)
    cells = [
        cell.plain()
        if not cell.encoders
        else judged(cell.row, cell.column, cell.reported and cell.reported.value,
                    [each.value for each in cell.values[:count]], metric=cell.metric, protocol=cell.protocol,
                    scale=scale)
        for cell in item.cells
    ]  # fmt: skip
    return ItemResult.of({**item.plain(), "cells": cells}, item.item)


def spectrum_figure(scale="paper"):
    """A figure of curves: singular values of two encoders."""
    curves = {
        name: {"singular_values": [math.exp(-rate * place) for place in range(40)], "effective_rank": 3.0}
        for name, rate in (("BERT", 0.3), ("SimCSE", 0.05))
    }
    return result(
        "simcse/figure4",
        "Spectrum",
        [("rank", "rank")],
        [],
        [],
        scale=scale,
        figure="spectrum",
        curves=curves,
    )


def density_figure(scale="paper"):
    """A figure of curves: cosines by rating of four encoders."""
    groups = {
        group: {"n": 9, "density": [math.exp(-((place - 12 - shift) ** 2) / 4) for place in range(20)]}
        for shift, group in enumerate(("0-1", "1-2", "2-3"))
    }
    curve = {"edges": [-1 + place / 10 for place in range(21)], **groups, "failures": {}}
    curves = dict.fromkeys(("BERT", "BERT-whitening", "SBERT", "SimCSE"), curve)
    return result(
        "simcse/figureG1", "Density", [("all", "all")], [], [], scale=scale, figure="density", curves=curves
    )


def augmentation_table(scale="paper"):
    """The reproducibility study's Table 4: long row names, two protocols per row, LaTeX's own characters."""
    names = {
        "None (unsup. SimCSE)": "82.5",
        "Crop 10% of the sentence, from either end": "77.8",
        "Delete one word & keep the rest_of_it #1": "75.9",
        "Synonym replacement with nlpaug {n = 1}, τ = 0.05, the default settings of the library": "77.4",
        "MLM 15%": "62.2",
    }
    cells = []
    for place, printed in enumerate(names.values()):
        row = f"r{place}"
        values = drawn(row, float(printed) - 2, 0.6)
        cells.append(judged(row, "reproduced", printed, values, scale=scale))
        other = [value - 4 for value in values]
        cells.append(judged(row, "reproduced", printed, other, protocol="as-run", scale=scale))
        cells.append(judged(row, "delta", "-", [value - 80 for value in values], scale=scale))
    return result(
        "repro/table4",
        "Comparison of data augmentations",
        [
            ("reproduced", "STS-B (reproduced)"),
            {"id": "delta", "label": "Δ", "metric": "spearman", "kind": "difference"},
        ],
        [
            {"id": f"r{place}", "label": name, "group": "Augmented" * (place > 0)}
            for place, name in enumerate(names)
        ],
        cells,
        scale=scale,
        figure="bars",
        setting={"metric": "spearman", "split": "dev"},
        deviations=(
            "The released notebook differs from the text:\n\n"
            "| what | text | code |\n|---|---|---|\n"
            "| word deletion | 10% of the words | generator seed `42` |\n"
            "| MLM 15% | word replacement | auxiliary loss, weight 0.1 |\n\n"
            "See [the evidence](https://example.org/a_b%20c#L10) in `protocols.yaml`."
        ),
    )


EXPLAINED = {
    "crop-10": (
        "77.8",
        "64.60",
        -13.2,
        76.92,
        {"low-dropout": -3.1, "character-crop": -6.4, "as-run": -11.9},
    ),
    "deletion-10": (
        "75.9",
        "78.78",
        2.88,
        75.31,
        {"low-dropout": -0.4, "floored-deletion": 0.05, "as-run": None},
    ),
    "mlm-15": ("62.2", "74.78", 12.58, 63.4, {"mlm-loss": 10.27, "as-run": 8.8}),
}


def adjudicated_table(scale="paper"):
    """Return the item that the adjudication is of: its heads and titles, without cells."""
    return result(
        "repro/table4",
        "Data augmentations on the development sets (BERT-base)",
        [("stsb-dev", "STS-B dev"), ("sick-dev", "SICK-R dev")],
        [("crop-10", "Crop 10%"), ("deletion-10", "Word deletion 10%"), ("mlm-15", "MLM 15%")],
        [],
        scale=scale,
        variants={
            "low-dropout": "Dropout 0.02 and 0.01",
            "character-crop": "Crop of characters from the end",
            "floored-deletion": "Deletion rounded up",
            "mlm-loss": "MLM as an auxiliary loss",
            "as-run": "All of the released code",
        },
    )


def adjudication_rows(scale="paper"):
    """Return rows of adjudication.csv on repro's Table 4: printed numbers of both papers, invented effects."""
    rows = [
        _explained(row, other, printed, gap, described, protocol, effect, few=scale == "compact")
        for row, (other, printed, gap, described, effects) in EXPLAINED.items()
        for protocol, effect in effects.items()
    ]
    return [
        *rows,
        rows[0] | {"column": "sick-dev", "other": "", "reported_other": "", "gap": "", "share": ""},
    ]


def adjudication(scale="paper"):
    """Return the page on these rows."""
    return adjudication_page(
        adjudication_rows(scale), {"repro/table4": adjudicated_table(scale)}, scale == "paper"
    )


def _explained(row, other, printed, gap, described, protocol, effect, few):
    """Return a row of adjudication.csv as text: 0.8 points to either side, or nothing where it was not run.

    With a `few` seeds, two, the effect has no interval and no share.
    """
    numbers = dict.fromkeys(("ours", "effect", "low", "high", "by_seed", "share", "share_low", "share_high"))
    numbers["outcome"] = ""
    if effect is not None and few:
        each = f"{effect - 0.2:.2f}; {effect + 0.2:.2f}"
        numbers |= {"ours": described + effect, "effect": effect, "by_seed": each, "outcome": "undetermined"}
    elif effect is not None:
        bounds = effect - 0.8, effect + 0.8
        shares = sorted(bound / gap for bound in bounds)
        numbers = {
            **{"ours": described + effect, "effect": effect, "low": bounds[0], "high": bounds[1]},
            **{"share": effect / gap, "share_low": shares[0], "share_high": shares[1]},
            "by_seed": "; ".join(f"{effect + step:.2f}" for step in (-0.6, -0.3, 0.0, 0.3, 0.6)),
            "outcome": outcome(*shares),
        }
    entry = {
        "item": "repro/table4",
        "row": row,
        "column": "stsb-dev",
        "metric": "spearman",
        "other": f"simcse/table1/{row}/stsb-dev/spearman",
        "reported_other": other,
        "reported": printed,
        "gap": gap,
        "described": described,
        "protocol": protocol,
        "n_seeds": 0 if effect is None else 2 if few else 5,
        "note": "",
        **numbers,
    }
    return {name: "" if value is None else str(value) for name, value in entry.items()}


RETRIEVED = {
    "#1": (
        "A group of men traveling over the ocean in a small boat.",
        "A man on a moored blue & white boat.",
    ),
    "#2": ("Two men sit on the bow of a colorful boat.", "A man is riding in a boat on the water."),
    "#3": ("A man wearing a life jacket is in a small boat on a lake.", "A man in a blue boat on the water."),
}


def retrieval_table(scale="paper"):
    """SimCSE Table 8: cells are sentences."""
    columns = {"sbert": "SBERT_base", "simcse": "Supervised SimCSE-BERT_base"}
    cells = []
    for row, sentences in RETRIEVED.items():
        for column, sentence in zip(columns, sentences, strict=True):
            found = "" if (row, column) == ("#3", "simcse") else "Some men are sailing a small boat at sea."
            cells.append(
                {
                    "row": row,
                    "column": column,
                    "metric": "text",
                    "protocol": "as-described",
                    "reported": {"value": sentence, "source": "Table 8, first column"},
                    "values": [{"seed": 0, "value": found or None}],
                    "text": found,
                    "n_seeds": int(bool(found)),
                    "verdict": "" if found else "not run",
                }
            )
    return result(
        "simcse/table8",
        "Retrieved top-3 examples",
        [{"id": name, "label": label, "metric": "text", "kind": "text"} for name, label in columns.items()],
        [
            {"id": name, "label": name, "group": "Query: A man riding a small boat in a harbor."}
            for name in RETRIEVED
        ],
        cells,
        scale=scale,
    )


def items(scale="paper"):
    """Return every example in the papers' order."""
    makers = (
        trajectory_figure,
        dropout_table,
        sts_table,
        scatter_figure,
        temperature_table,
        retrieval_table,
        augmentation_table,
    )
    return [make(scale) for make in makers]
