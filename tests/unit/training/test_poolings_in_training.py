"""Views with different templates: loss, gradient, selection, evaluation.

Loss and gradient are compared with a slow loop.
"""

import json
from dataclasses import replace

import micro
import pytest

from replicse.cli import main
from replicse.errors import BadInput

TEXT = {"column": "text"}
FIRST, SECOND = "mi ko {text} tu {mask} ba", "{mask} re {text} zo"
TRAIN = {"pooling": "mask", "denoise": True, "head": True}
SELECTED = {"pooling": "mask", "template": FIRST, "denoise": True}
VIEWS = [TEXT, {**TEXT, "pooling": {**TRAIN, "template": SECOND}}]
POOLING = {
    "train": {**TRAIN, "template": FIRST},
    "selection": SELECTED,
    "test": {"pooling": "mask", "template": FIRST, "full_stop": True},
}


@pytest.mark.parametrize("engine", ["packed", "transformers"])
def test_selection_is_read_otherwise_than_the_test_and_the_evaluate_verb_repeats_it(tmp_path, engine):
    root = micro.dev_root(tmp_path / "data")
    job = micro.job(tmp_path, views=VIEWS, pooling=POOLING)
    if engine == "transformers":
        micro.trainer_of(job, tmp_path).model.backbone.save(tmp_path / "init")
        spec = type(job.spec).of({**job.spec.plain(), "init": {"folder": "x"}, "engine": engine}, "run")
        job = replace(job, spec=spec, init=tmp_path / "init")
    micro.trainer_of(job, tmp_path, root).run()
    best = micro.metrics(tmp_path / "out")["best"]["dev"]
    options = ["--suite", "sts-dev", "--options", '{"sts-dev": {"tasks": ["STS-B"]}}', "--engine", engine]
    scores = {}
    for name in ("selection", "test"):
        out = tmp_path / f"{name}.json"
        words = ["--encoder", str(tmp_path / "out" / "best"), "--data", str(root), "--out", str(out)]
        assert main(["evaluate", *words, *options, "--pooling", json.dumps(POOLING[name])]) == 0
        scores[name] = json.loads(out.read_text())
        assert scores[name]["pooling"] == POOLING[name]
    values = {name: each["suites"]["sts-dev"]["STS-B"]["all"] for name, each in scores.items()}
    assert values["selection"] == pytest.approx(best, abs=0.01)
    assert abs(values["test"] - best) > 0.01


def test_views_of_one_text_share_their_store_and_are_encoded_once_only_where_they_are_read_alike(tmp_path):
    still = {"hidden": 0, "attention": 0}
    for views, once in ((VIEWS, False), ([TEXT, TEXT], True)):
        trainer = micro.trainer_of(micro.job(tmp_path, views=views, pooling=POOLING, dropout=still), tmp_path)
        source = trainer.sources[0]
        assert source.repeated
        columns, _ = next(source.data.batches(0, 1))
        assert columns[0] is columns[1]
        first, second = trainer.model.train().vectors(columns, source.poolings, source.repeated)
        assert (first is second) == once


def test_a_template_that_the_encoder_has_no_room_for_stops_the_run(tmp_path):
    long = " ".join(["bal"] * 70) + " {text} {mask}"
    with pytest.raises(BadInput, match="sentences do not fit in 64"):
        micro.trainer_of(
            micro.job(tmp_path, pooling={"train": {"pooling": "mask", "template": long}}), tmp_path
        )
