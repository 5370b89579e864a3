"""A minimal study of which every input can be edited.

It has a paper with a method, a plug-in with a helper module, an own corpus, evaluation set and encoder, and an
encoder and word vectors below the data root.
"""

import csv
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from made_up import write_paper
from snakemake_runs import copied
from tiny_encoders import saved_tiny

from replicse.files import write_json

SCALE, ITEM = "proof", "mine/table1"
CONFIG = {
    "scale": SCALE,
    "papers": {"mine": "all"},
    "seeds": [0],
    "data": {"source": "local", "root": "placed"},
    "plugins": ["pull.py"],
}
# These entries of the scale micro are used.
USED = ("title", "shows", "comparable", "judges_orders", "data", "cost", "needs")
RECIPE = {
    "init": {"backbone": "bert-base"},
    "corpus": "own",
    "views": [{"column": "text"}, {"column": "text"}],
    "dropout": {"hidden": 0.1, "attention": 0.1},
    "pooling": {"train": "cls-head", "test": "cls"},
    "objective": [
        {
            "term": "infonce",
            "schedule": {"schedule": "cosine"},
            "schedules": {"temperature": {"schedule": "none"}},
        },
        {"term": "pull", "weight": 0.5},
        {"term": "spread", "weight": 0.5},
    ],
    "optimisation": {"batch_size": 16, "learning_rate": 1.0e-3, "steps": 6, "max_length": 32},
    "selection": {"metric": "sts-dev/STS-B/all", "every": 2},
}
COLUMNS = {
    "dev": ("spearman", "sts-dev/STS-B/all"),
    "rated": ("spearman", "sets/rated/spearman/all"),
    "topics": ("accuracy", "sets/topics/accuracy"),
    "alignment": ("alignment", "geometry/alignment"),
    "uniformity": ("uniformity", "geometry/uniformity"),
    "rows": ("count", "data/corpus/own/rows"),
}
ROWS = {
    "ours": {"use": "ours"},
    "own": {"folder": "models/own"},
    "placed": {"backbone": "placed", "pooling": "mean"},
    "glove": {"vectors": "glove"},
}
WHERE = "workflow/papers/mine"
CORPORA = {"corpora": {"own": {"format": "table", "file": f"{WHERE}/own.csv", "text": "sentence"}}}
SETS = {
    "sets": {
        "rated": {
            "file": f"{WHERE}/rated.csv",
            "first": "one",
            "second": "two",
            "score": "score",
            "range": [0, 5],
        },
        "topics": {"file": f"{WHERE}/topics.csv", "text": "text", "label": "topic"},
    }
}
CLAIMS = [
    {
        "id": "ours-is-better",
        "text": "Training helps.",
        "place": "Section 1",
        "relations": [{"left": "table1/ours/dev", "op": ">", "right": "table1/glove/dev"}],
    }
]
METHOD = '''"""A term that belongs to the paper."""

from typing import Literal

from replicse.registry.terms import TwoViews


class SpreadParameters(TwoViews):
    """Penalise vectors with a large mean."""

    term: Literal["spread"]


def spread(step, parameters):
    """Return the square of the mean vector's norm."""
    (first,) = step.vectors_of((0,))
    return first.mean(0).square().sum() * 1.0
'''
PLUGIN = '''"""A term of a plug-in that uses a module next to it."""

from typing import Literal

from pull_helper import FACTOR

from replicse.registry.terms import TwoViews


class PullParameters(TwoViews):
    """Pull both views together."""

    term: Literal["pull"]


def pull(step, parameters):
    """Return the mean squared distance of both views."""
    first, second = step.vectors_of((0, 1))
    return FACTOR * (first - second).square().mean() * 1.0
'''


def write_study(folder: Path) -> Path:
    """Write the files of the study to a folder, without running it.

    Args:
        folder: Folder to create.
    """
    from replicse.world.world import write_world

    folder.mkdir(parents=True, exist_ok=True)
    copied(folder)
    # Without the other papers, planning and judging take less time.
    for name in ("papers", "record"):
        shutil.rmtree(folder / "workflow" / name)
    root = folder / "placed"
    write_world(root, sentences=300)
    # The datasets are smaller than the official ones.
    datasets = folder / "workflow/datasets.yaml"
    averages = yaml.safe_load(datasets.read_text(encoding="utf-8"))["averages"]
    facts = {"sizes": {}, "averages": averages, "same": [], "percentages": {}}
    datasets.write_text(yaml.safe_dump(facts), encoding="utf-8")
    lines = (root / "wiki/wiki.txt").read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if len(line.split()) > 3]
    _write_scale(folder / "workflow/scales")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    _write_plugins(folder)
    _write_paper(folder)
    _write_tables(folder, lines)
    for place in ("models/own", "placed/models/placed"):
        (folder / place).mkdir(parents=True)
        saved_tiny(root / "SentEval", folder / place)
    _add_modules(folder / "models/own")
    return folder


def _write_scale(folder: Path) -> None:
    """Replace all scales by a scale with a backbone and word vectors."""
    micro = yaml.safe_load((folder / "micro.yaml").read_text(encoding="utf-8"))
    scale = {name: micro[name] for name in USED if name in micro}
    for name, used in (("tokenizers", "uncased"), ("corpora", "wiki"), ("vectors", "glove")):
        scale[name] = {used: micro[name][used]}
    pretraining = micro["backbones"]["bert-base"]
    pretraining["run"]["optimisation"]["steps"] = 10
    placed = {"folder": "models/placed"}
    scale["backbones"] = {"bert-base": pretraining, "placed": placed}
    for file in folder.glob("*.yaml"):
        file.unlink()
    released = {"data": {"source": "local"}, "backbones": {"bert-base": placed, "placed": placed}}
    for name, own in ((SCALE, {}), ("paper", {"comparable": True, **released})):
        text = yaml.safe_dump({"name": name, **scale, **own}, sort_keys=False)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def _write_plugins(folder: Path) -> None:
    """Write the plug-in and its helper."""
    (folder / "pull.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "pull_helper.py").write_text("FACTOR = 2.0\n", encoding="utf-8")


def _write_paper(folder: Path) -> None:
    """Write the paper with its method, corpus, sets, claim and printed numbers."""
    columns = [
        {"id": name, "label": name, "metric": metric, "metric_path": path}
        for name, (metric, path) in COLUMNS.items()
    ]
    rows = [{"id": name, "label": name, "encoder": encoder} for name, encoder in ROWS.items()]
    table = {"figure": "scatter", "columns": columns, "rows": rows, "baseline": "own"}
    printed = [{"item": "table1", "row": row, "column": "dev", "value": "25.5"} for row in ROWS]
    write_paper(folder / "workflow", "mine", {"table1": table}, printed, recipes={"ours": RECIPE})
    paper = folder / "workflow/papers/mine"
    (paper / "method.py").write_text(METHOD, encoding="utf-8")
    for name, content in (("claims", CLAIMS), ("corpora", CORPORA), ("sets", SETS)):
        (paper / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")


def _write_tables(folder: Path, lines: list[str]) -> None:
    """Write the corpus and the evaluation sets of the paper."""
    paper = folder / "workflow/papers/mine"
    write_rows(paper / "own.csv", [{"sentence": line} for line in lines[:120]])
    topics = []
    for line in lines[:60]:
        topics.append({"text": line, "topic": "short" if len(line) < 50 else "long"})
    write_rows(paper / "topics.csv", topics)
    pairs = pairwise(lines[:41])
    rated = [{"one": one, "two": two, "score": len(one) % 6} for one, two in pairs]
    write_rows(paper / "rated.csv", rated)


def write_rows(file: Path, rows: list[dict[str, Any]]) -> None:
    """Write a CSV file with a header."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _add_modules(folder: Path) -> None:
    """Add the pooling of sentence-transformers to an encoder."""
    names = ((0, "", "Transformer"), (1, "1_Pooling", "Pooling"))
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, path, name in names
    ]
    write_json(folder / "modules.json", modules)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
    (folder / "1_Pooling").mkdir()
    pooling = {
        "word_embedding_dimension": 32,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_cls_token": False,
    }
    write_json(folder / "1_Pooling/config.json", pooling)
