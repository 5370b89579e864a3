"""Several suites together, compared with the metrics in the registry."""

import json
from dataclasses import replace
from numbers import Number
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from places import ROOT
from small_stsb import RandomVectors

from replicse.checked import checked_yaml
from replicse.encoder.task_heads import make_task_head, save_task_heads
from replicse.evaluation import suites
from replicse.registry.encoders import ClassifierHead
from replicse.registry.ranges import ANY
from replicse.registry.registry import Registry, current
from replicse.registry.suites import SUITES, Suite, file_of, groups, is_metric, known_paths
from replicse.spec.papers import Sets


class One:
    """A suite that uses two sentences and has options."""

    @staticmethod
    def sentences(root, tasks=None, fails=False):
        return ["a", "b"]

    @staticmethod
    def evaluate(root, vectors, tasks=None, fails=False):
        value = float(vectors(["a"])[0, 0]) * len(tasks or "")
        return {"value": None if fails else value} | ({"failures": {"value": "broken"}} if fails else {})


class Vectors:
    def __init__(self):
        self.passes = []

    def prepare(self, sentences):
        self.passes.append(list(sentences))

    def __call__(self, sentences):
        return np.full((len(sentences), 2), 3.0, dtype=np.float32)


@pytest.fixture
def made_up(monkeypatch):
    options = SUITES["sts"].options
    known = {
        "one": Suite(f"{__name__}:One", "fast", {"value": ANY}, {"tasks": ("STS12",)}, options),
        "two": Suite(f"{__name__}:One", "fast", {"value": ANY}, {"fails": True}),
    }
    monkeypatch.setattr(Registry, "in_use", replace(current(), suites=known))
    return known


def test_options_are_laid_over_the_fixed_ones_and_failures_get_their_path(made_up):
    options = {"one": {"tasks": ["STS13", "STS14"]}}
    vectors = Vectors()
    found = suites.run_suites(None, vectors, ["one", "two"], options)
    assert vectors.passes == [["a", "b"] * 2], "the sentences of all suites are prepared in one call"
    assert found == {
        "suites": {"one": {"value": 6.0}, "two": {"value": None}},
        "failures": {"two/value": "broken"},
        "pairs": {},
    }
    assert suites.run_suites(None, Vectors(), ["one"])["suites"] == {"one": {"value": 3.0}}


def test_a_job_gives_a_suite_the_options_that_it_has_over_those_of_a_person(made_up):
    context = {"tasks": ["STS14", "STS15"], "folder": "x"}
    assert suites.suite("one", {"tasks": ["STS13"]}, context)[1] == {"tasks": ("STS14", "STS15")}


# Metrics of suites


HEAD = torch.zeros(5)


class Trained(RandomVectors):
    """Vectors of a model with six parameters, and five in the LM head."""

    backbone = SimpleNamespace(
        parameters=lambda: [torch.zeros(2, 3), HEAD], token_head_parameters=lambda: [HEAD]
    )


def leaves(node, path=""):
    """Yield path and value of every number, None and string in a nested dict.

    Lists are skipped, because they are curves of figures, not metrics.

    Args:
        node: The dict, or a value of it.
        path: Path of the node, with slashes. Default: an empty string.
    """
    if isinstance(node, dict):
        for key, entry in node.items():
            yield from leaves(entry, f"{path}/{key}" if path else key)
    elif not isinstance(node, list):
        yield path, node


OWN = ROOT / "tests" / "papers" / "sets"


def labelled(name, label, *sentences):
    return {"format": "labelled", "file": f"minbert/{name}.csv", "sentences": sentences, "label": label}


TASKS = {
    "sst": labelled("ids-sst-dev", "sentiment", "sentence"),
    "sts": labelled("sts-dev", "similarity", "sentence1", "sentence2"),
}


@pytest.fixture(scope="module")
def yielded(world, tmp_path_factory):
    run = tmp_path_factory.mktemp("run")
    record = {"seconds": 3600.0, "steps": 5, "sentences_per_second": 64.0, "parameters": 7}
    record |= {"history": [{"step": 5, "dev": 70.0}], "best": {"step": 5, "dev": 70.0}}
    (run / "metrics.json").write_text(json.dumps(record))
    captions = {"format": "caption-lines", "file": "pairs/flickr30k/captions.tsv.gz"}
    sets = checked_yaml(OWN / "sets.yaml", Sets).sets
    queries = {"first": "the roof is being cleaned", "second": "an engineer"}
    options = {
        "retrieval": {"queries": queries, "corpus": captions},
        "retrieval-stsb": {"queries": queries},
        "training": {"folder": str(run / "best")},
        "heads-dev": {"tasks": TASKS, "folder": str(run / "best")},
        "mteb": {"data": "miniature"},
        "knn": {"sets": {"questions": {"corpus": {"format": "transfer-sentences", "task": "TREC"}}}},
        "sets": {
            "sets": {name: one.replace(file=str(OWN / Path(one.file).name)) for name, one in sets.items()}
        },
    }
    heads = torch.nn.ModuleDict({"sst": make_task_head(ClassifierHead(kind="classifier", classes=5), 3)})
    save_task_heads(run / "best", heads)
    found = suites.run_suites(world, Trained(3), list(current().suites), options)
    assert set(found["suites"]) == set(current().suites)
    return dict(leaves(found["suites"]))


def test_every_path_that_a_suite_yields_is_known_to_the_registry(yielded):
    assert [path for path in yielded if not is_metric(path)] == []
    assert set(map(file_of, yielded)) == set(groups())


def test_every_path_of_the_registry_is_yielded(yielded):
    # The variants have separate tests, because they need a transformer. A precision is only recorded for
    # TF32.
    others = ("data/", "variants/", "mteb/precision")
    exact = {path for path in known_paths() if "*" not in path and not path.startswith(others)}
    assert sorted(exact - yielded.keys()) == []
    numbers = {path for path, value in yielded.items() if isinstance(value, Number)}
    assert exact <= numbers
    assert yielded["model/parameters"] == 6
    for query in ("first", "second"):
        for suite in ("retrieval", "retrieval-stsb"):
            for rank in "123":
                assert isinstance(yielded[f"{suite}/neighbours/{query}/{rank}/cosine"], float)
