"""Invented results laid over real table shapes: every reproduced number here is made up."""

import math
import random

from replicse.report.content.items import Result, make_item
from replicse.report.pages.adjudication import adjudication_page

STUDY = {
    "scale": "paper",
    "seeds": [0, 1, 2, 3, 4],
    "commit": "3f1c9a7e5b2d4f60718293a4b5c6d7e8f9012345",
    "dirty": False,
    "package_sha256": "9d5f7f0c9b1e6d3a4c2b8e7f6a5d4c3b2a1908f7e6d5c4b3a29180f7e6d5c4b3",
    "versions": {"python": "3.12.4", "torch": "2.13.0", "transformers": "5.23.0", "replicse": "0.1.0"},
    "hardware": {"gpu": "NVIDIA A100 80GB", "cpu": "AMD EPYC 7763, 16 cores", "memory": "128 GiB"},
    "data": [
        {
            "name": "wiki/enwiki_sentences.txt.gz",
            "rows": 1_000_000,
            "sha256": "0a1b2c3d4e5f60718293" * 3 + "aabb",
        },
        {
            "name": "nli/nli_triples.csv",
            "rows": 275_601,
            "sha256": "f0e1d2c3b4a5968778695a4b" * 2 + "0011223344556677",
        },
        {"name": "SentEval/downstream/STS/STSBenchmark", "rows": 8_628, "sha256": "77" * 32},
    ],
    "generated": "2025-01-15T10:30:00+00:00",
    "papers": {
        "simcse": {
            "title": "SimCSE: Simple Contrastive Learning of Sentence Embeddings",
            "authors": ["Tianyu Gao", "Xingcheng Yao", "Danqi Chen"],
            "year": 2021,
            "venue": "EMNLP",
            "url": "https://aclanthology.org/2021.emnlp-main.552",
        },
        "repro": {
            "title": "Reproducibility study of SimCSE",
            "authors": "Biraj Pandey, Aleksei Sholokhov",
            "year": 2023,
            "venue": "",
            "url": "",
        },
    },
    "protocols": [
        {"id": "as-described", "text": "What the paper's text says."},
        {
            "id": "as-run",
            "text": "What the released code does: MLM loss on, dropout 0.01 & 0.02, last checkpoint.",
        },
    ],
}


def _result(row, column, reported, reproduced, half=None, seeds=5, verdict=None, metric="spearman", **more):
    """Return a cell; the verdict follows from the interval where none is given."""
    target = None
    if reported not in ("", "-"):
        target = float(reported)
    low = high = None
    if half is not None:
        low, high = reproduced - half, reproduced + half
    if verdict is None:
        verdict = ""
        if target is not None and low is not None:
            verdict = "higher" if target < low else "lower" if target > high else "within seed spread"
    encoders = tuple(
        f"{row}-s{seed}-{abs(hash_of(row, column, seed)):012x}"[:40] for seed in range(seeds or 0)
    )
    return Result(
        row=row,
        column=column,
        metric=metric,
        reported=reported,
        reproduced=reproduced,
        delta=None if reproduced is None or target is None else reproduced - target,
        low=low,
        high=high,
        n_seeds=seeds,
        verdict=verdict,
        encoders=encoders,
        **more,
    )


def hash_of(*parts):
    """Return a number that is the same in every process, unlike `hash`."""
    return random.Random("/".join(map(str, parts))).getrandbits(48)


def dropout_table(scale="paper"):
    """SimCSE Table 3: one column, an ordered row axis, every kind of verdict."""
    document = {
        "item": "simcse/table3",
        "paper": "simcse",
        "kind": "table",
        "figure": "profile",
        "title": "Effects of different dropout probabilities",
        "caption": "Effects of different dropout probabilities *p* on the STS-B development set (BERT_base).",
        "place": "Table 3, p. 4",
        "setting": {"metric": "spearman", "split": "dev", "protocol": "all"},
        "columns": [
            {"id": "STS-B", "label": "STS-B", "metric": "spearman", "decimals": 1, "better": "higher"}
        ],
        "rows": [
            {"id": "p0", "label": "0.0"},
            {"id": "p001", "label": "0.01"},
            {"id": "p005", "label": "0.05"},
            {"id": "p01", "label": "0.1"},
            {"id": "p015", "label": "0.15"},
            {"id": "p02", "label": "0.2"},
            {"id": "p05", "label": "0.5"},
            {
                "id": "fixed",
                "label": "Fixed 0.1",
                "note": "The same dropout mask on both views of a sentence.",
            },
        ],
        "notes": ["Both the hidden and the attention dropout are set to *p*."],
        "deviations": (
            "- The released code evaluates every **250** steps, the text says 250 too; both agree here.\n"
            "- `Fixed 0.1` needs a patched dropout; ours draws one mask per *pair* (`dropout.masks: fixed`)."
        ),
    }
    cells = [
        _result("p0", "STS-B", "71.1", 70.4213, 2.31),
        _result("p001", "STS-B", "72.6", 74.9051, 1.12, 3, borrowed=True),
        _result("p005", "STS-B", "81.1", 79.0442, 2.4, 3, borrowed=True),
        _result("p01", "STS-B", "82.5", 75.449, 0.62),
        _result("p015", "STS-B", "81.4", 80.17, seeds=1, verdict="undetermined"),
        _result("p02", "STS-B", "80.5", None, seeds=0, verdict="not run"),
        _result("p05", "STS-B", "71.0", None, seeds=4, verdict="failed", reason="run infonce-s3 gave nan"),
        _result(
            "fixed", "STS-B", "43.6", 45.03, 6.91, verdict="not comparable", reason="the pooling differs"
        ),
    ]
    return make_item(document, tuple(cells), scale=scale)


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
                cells.append(_result(row, column, printed, None, seeds=None, verdict=""))
            elif "flow" in label and column in ("SICK-R", "Avg."):
                cells.append(_result(row, column, printed, None, seeds=0, verdict="not run"))
            else:
                value = float(printed) + draw.gauss(-0.6, 1.1)
                cells.append(_result(row, column, printed, value, 0.3 + draw.random() * 2))
                if row == "row6":
                    cells.append(_result(row, column, printed, value - 1.4, 1.1, protocol="as-run"))
    document = {
        "item": "simcse/table5",
        "paper": "simcse",
        "kind": "table",
        "figure": None,
        "title": "Sentence embedding performance on STS tasks",
        "caption": "Spearman's correlation, “all” setting. ♣: results from Reimers and Gurevych (2019).",
        "place": "Table 5, p. 7",
        "setting": {"metric": "spearman", "aggregation": "all", "split": "test"},
        "columns": [{"id": name, "label": name, "metric": "spearman", "decimals": 2} for name in STS],
        "rows": rows,
        "notes": [],
        "deviations": "",
    }
    return make_item(document, tuple(cells), scale=scale)


def pooling_table(scale="paper"):
    """SimCSE Table 6: two columns, a block with a heading that ends, a missing cell."""
    document = {
        "item": "simcse/table6",
        "paper": "simcse",
        "kind": "table",
        "figure": None,
        "title": "Ablation studies of different pooling methods",
        "caption": "",
        "place": "Table 6, p. 8",
        "setting": {"metric": "spearman", "split": "dev"},
        "columns": [
            {"id": "unsup", "label": "Unsup.", "metric": "spearman", "decimals": 1},
            {"id": "sup", "label": "Sup.", "metric": "spearman", "decimals": 1},
        ],
        "rows": [
            {"id": "mlp", "label": "w/ MLP", "group": "[CLS]"},
            {"id": "mlp-train", "label": "w/ MLP (train)", "group": "[CLS]"},
            {"id": "no-mlp", "label": "w/o MLP", "group": "[CLS]"},
            {"id": "first-last", "label": "First-last avg."},
        ],
        "notes": [],
        "deviations": "The first-last row averaged layer 0 until January 2022; both poolings are run.",
    }
    cells = [
        _result("mlp", "unsup", "81.7", 80.92, 1.3),
        _result("mlp", "sup", "86.2", 86.31, 0.2),
        _result("mlp-train", "unsup", "82.5", 81.64, 1.8),
        _result("mlp-train", "sup", "85.8", 86.02, 0.1),
        _result("no-mlp", "unsup", "80.9", 81.2, 1.05),
        _result("no-mlp", "sup", "86.2", 86.2, 0.02),
        _result("first-last", "unsup", "81.2", 78.8, 1.0),
    ]
    return make_item(document, tuple(cells), scale=scale)


def temperature_table(scale="paper"):
    """SimCSE Table D.1: a single row of six columns."""
    columns = {"N/A": "85.9", "0.001": "84.9", "0.01": "85.4", "0.05": "86.2", "0.1": "82.0", "1": "64.0"}
    document = {
        "item": "simcse/tableD1",
        "paper": "simcse",
        "kind": "table",
        "figure": None,
        "title": "STS-B development results with different temperatures",
        "caption": "“N/A”: dot product instead of cosine similarity.",
        "place": "Table D.1, p. 15",
        "setting": {"metric": "spearman", "split": "dev"},
        "columns": [
            {"id": name, "label": f"τ = {name}", "metric": "spearman", "decimals": 1} for name in columns
        ],
        "rows": [{"id": "stsb", "label": "STS-B"}],
        "notes": [],
        "deviations": "",
    }
    draw = random.Random(9)
    cells = [
        _result("stsb", name, printed, float(printed) - 0.3 + draw.gauss(0, 0.4), 0.5 + draw.random() / 2)
        for name, printed in columns.items()
    ]
    return make_item(document, tuple(cells), scale=scale)


METHODS = {
    "Unsup. SimCSE": (0.262, 0.215, -1.55, -2.62),
    "No dropout": (0.262, 0.395, -1.55, -2.55),
    "Fixed 0.1": (0.262, 0.36, -1.55, -2.71),
    "Delete one word": (0.262, 0.17, -1.55, -2.21),
}


def trajectory_figure(scale="paper"):
    """SimCSE Figure 2: alignment and uniformity every ten steps, nothing printed by the paper."""
    steps = [f"step {step}" for step in range(0, 201, 10)] + ["final"]
    document = {
        "item": "simcse/figure2",
        "paper": "simcse",
        "kind": "figure",
        "figure": "trajectory",
        "title": "Alignment and uniformity during training",
        "caption": "Checkpoints every 10 training steps. For both measures, lower numbers are better.",
        "place": "Figure 2, p. 4",
        "setting": {"positives": "STS-B pairs with a score higher than 4", "sentences": "all of STS-B"},
        "columns": [
            {"id": step, "label": step, "metric": metric, "decimals": 3, "better": "lower"}
            for step in steps
            for metric in ("alignment", "uniformity")
        ],
        "rows": [{"id": name.lower(), "label": name} for name in METHODS],
        "notes": ["The paper prints no numbers for this figure."],
        "deviations": "",
    }
    cells = []
    for name, (first_a, last_a, first_u, last_u) in METHODS.items():
        draw = random.Random(name)
        for place, step in enumerate(steps):
            share = 1 - math.exp(-place / 5) if step != "final" else 1.05
            alignment = first_a + (last_a - first_a) * share + draw.gauss(0, 0.004) * (place > 0)
            uniformity = first_u + (last_u - first_u) * share + draw.gauss(0, 0.02) * (place > 0)
            cells.append(_result(name.lower(), step, "", alignment, 0.011, metric="alignment"))
            cells.append(_result(name.lower(), step, "", uniformity, 0.05, metric="uniformity"))
    return make_item(document, tuple(cells), scale=scale)


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
    document = {
        "item": "simcse/figure3",
        "paper": "simcse",
        "kind": "figure",
        "figure": "scatter",
        "title": "Alignment, uniformity and average STS",
        "caption": "",
        "place": "Figure 3, p. 9",
        "setting": {},
        "columns": [
            {
                "id": name,
                "label": name,
                "metric": name,
                "decimals": 2,
                "better": "higher" if name == "spearman" else "lower",
            }
            for name in names
        ],
        "rows": [{"id": name, "label": name} for name in PLANE],
        "notes": [],
        "deviations": "",
    }
    draw = random.Random(3)
    cells = []
    for name, (alignment, uniformity, score) in PLANE.items():
        cells.append(_result(name, "alignment", "", alignment, 0.01, metric="alignment"))
        cells.append(_result(name, "uniformity", "", uniformity, 0.06, metric="uniformity"))
        cells.append(_result(name, "spearman", score, float(score) + draw.gauss(-0.5, 0.8), 1.1))
    return make_item(document, tuple(cells), scale=scale)


def augmentation_table(scale="paper"):
    """The reproducibility study's Table 4: long row names, two protocols per row, LaTeX's own characters."""
    names = {
        "None (unsup. SimCSE)": "82.5",
        "Crop 10% of the sentence, from either end": "77.8",
        "Delete one word & keep the rest_of_it #1": "75.9",
        "Synonym replacement with nlpaug {n = 1}, τ = 0.05, the default settings of the library": "77.4",
        "MLM 15%": "62.2",
    }
    document = {
        "item": "repro/table4",
        "paper": "repro",
        "kind": "table",
        "figure": "bars",
        "title": "Comparison of data augmentations",
        "caption": "",
        "place": "Table 4, p. 6",
        "setting": {"metric": "spearman", "split": "dev"},
        "columns": [
            {"id": "reproduced", "label": "STS-B (reproduced)", "metric": "spearman", "decimals": 1},
            {"id": "delta", "label": "Δ", "metric": "spearman", "decimals": 1},
        ],
        "rows": [{"id": f"r{place}", "label": name, "rule": place == 1} for place, name in enumerate(names)],
        "notes": [],
        "deviations": (
            "The released notebook differs from the text:\n\n"
            "| what | text | code |\n|---|---|---|\n"
            "| word deletion | 10% of the words | generator seed `42` |\n"
            "| MLM 15% | word replacement | auxiliary loss, weight 0.1 |\n\n"
            "See [the evidence](https://example.org/a_b%20c#L10) in `protocols.yaml`."
        ),
    }
    draw = random.Random(1)
    cells = []
    for place, printed in enumerate(names.values()):
        for protocol, shift in (("as-described", 0.0), ("as-run", -4.0)):
            value = float(printed) - 2 + shift + draw.gauss(0, 1)
            cells.append(_result(f"r{place}", "reproduced", printed, value, 1.7, protocol=protocol))
        cells.append(_result(f"r{place}", "delta", "-", value - 80, 2.2))
    return make_item(document, tuple(cells), scale=scale)


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


def adjudication(comparable=True):
    """The page on repro's Table 4: printed numbers of both papers, invented effects of the variants."""
    manifest = {
        "item": "repro/table4",
        "title": "Data augmentations on the development sets (BERT-base)",
        "rows": [
            {"id": "crop-10", "label": "Crop 10%"},
            {"id": "deletion-10", "label": "Word deletion 10%"},
            {"id": "mlm-15", "label": "MLM 15%"},
        ],
        "columns": [
            {"id": "stsb-dev", "label": "STS-B dev", "metric": "spearman", "read": "sts-dev/STS-B/all"},
            {"id": "sick-dev", "label": "SICK-R dev", "metric": "spearman", "read": "sts-dev/SICK-R/all"},
        ],
        "variants": {
            "low-dropout": "Dropout 0.02 and 0.01",
            "character-crop": "Crop of characters from the end",
            "floored-deletion": "Deletion rounded up",
            "mlm-loss": "MLM as an auxiliary loss",
            "as-run": "All of the released code",
        },
    }
    rows = []
    for row, (other, printed, gap, described, effects) in EXPLAINED.items():
        for protocol, effect in effects.items():
            rows.append(_explained(row, other, printed, gap, described, protocol, effect))
    rows.append(rows[0] | {"column": "sick-dev", "other": "", "reported_other": "", "gap": "", "share": ""})
    return adjudication_page(rows, {manifest["item"]: manifest}, comparable)


def _explained(row, other, printed, gap, described, protocol, effect):
    """Return a row of adjudication.csv as text: 0.8 points to either side, or nothing where it was not run."""
    numbers = dict.fromkeys(("ours", "effect", "low", "high", "share", "share_low", "share_high"))
    if effect is not None:
        bounds = effect - 0.8, effect + 0.8
        shares = sorted(bound / gap for bound in bounds)
        numbers = {
            **{"ours": described + effect, "effect": effect, "low": bounds[0], "high": bounds[1]},
            **{"share": effect / gap, "share_low": shares[0], "share_high": shares[1]},
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
        "n_seeds": 0 if effect is None else 5,
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
    document = {
        "item": "simcse/table8",
        "paper": "simcse",
        "kind": "table",
        "title": "Retrieved top-3 examples",
        "place": "Table 8, p. 9",
        "columns": [{"id": name, "label": label, "metric": "text"} for name, label in columns.items()],
        "rows": [
            {"id": name, "label": name, "group": "Query: A man riding a small boat in a harbor."}
            for name in RETRIEVED
        ],
        "cells": {"#1|sbert|text": {"source": "Table 8, first column"}},
    }
    cells = []
    for row, sentences in RETRIEVED.items():
        for column, sentence in zip(columns, sentences, strict=True):
            found = "" if (row, column) == ("#3", "simcse") else "Some men are sailing a small boat at sea."
            verdict = "" if found else "not run"
            cells.append(
                Result(row=row, column=column, metric="text", reported=sentence, text=found, verdict=verdict)
            )
    return make_item(document, tuple(cells), scale=scale)


def items(scale="paper"):
    """Return every example in the papers' order."""
    makers = (
        trajectory_figure,
        dropout_table,
        sts_table,
        pooling_table,
        scatter_figure,
        temperature_table,
        retrieval_table,
        augmentation_table,
    )
    return [make(scale) for make in makers]
