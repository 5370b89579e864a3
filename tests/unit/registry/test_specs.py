"""The id of a run should only depend on values that can change scores."""

from pathlib import Path

import pytest
import yaml
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from replicse.errors import BadInput
from replicse.registry.digests import digest
from replicse.registry.runs import Run
from replicse.spec.models import Encoder

BASE = {
    "init": {"hub": "bert-base-uncased", "revision": "abc"},
    "corpus": {"name": "wiki", "format": "lines", "file": "wiki.txt"},
    "views": [{"column": "text"}, {"column": "text"}],
    "objective": [{"term": "infonce", "temperature": 0.05}],
}


def run(**changes):
    return Run.of({**BASE, **changes}, "run")


def encoder(**changes):
    source = {"hub": "princeton-nlp/sup-simcse", "revision": "x"}
    return Encoder.of({"source": source, **changes}, "encoder")


def test_one_name_of_each_kind_is_frozen():
    assert run().run_id == "infonce-s42-37eb49e79011"
    assert encoder(pooling="mean").encoder_id == "sup-simcse-mean-74f93904"


MASK = {"pooling": "mask", "template": "a {text} is {mask}."}
# Each of these changes should change the id of a run.
CHANGES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))["changes"]


def test_what_changes_a_number_changes_the_name():
    names = {run().run_id, *(run(**change).run_id for change in CHANGES)}
    assert len(names) == len(CHANGES) + 1
    others = [
        {"engine": "packed"},
        {"checkpoint": "last"},
        {"postprocess": {"name": "whitening", "fit": "target"}},
    ]
    names = {encoder(**change).encoder_id for change in ({}, {"pooling": "mean"}, *others)}
    assert len(names) == 5
    for name in names:
        assert "/" not in name
    assert encoder(pooling="cls", checkpoint="best", engine="auto").encoder_id == encoder().encoder_id


def test_what_was_computed_of_a_run_is_not_of_its_copy():
    first = run()
    assert first.run_id and first.replace(seed=7).run_id == run(seed=7).run_id
    other = first.replace(objective=run(objective=[{"term": "infonce"}, {"term": "mlm"}]).objective)
    assert first.terms and [term.term for term in other.terms] == ["infonce", "mlm"]


@cases
def test_a_default_written_out_does_not_change_the_name(change):
    assert run(**change).run_id == run().run_id


def test_a_spec_survives_its_own_plain_data():
    spec = run(dropout={"hidden": 0.2}, trajectory={"every": 10, "until": 50})
    assert Run.of(spec.plain(), "run") == spec
    spec = run(pooling={"train": {**MASK, "head": True}, "selection": "mean"}, views=[{"column": "text"}] * 2)
    assert Run.of(spec.plain(), "run") == spec
    assert spec.plain()["pooling"] == {"train": {**MASK, "head": True}, "selection": "mean"}


def test_a_missing_part_is_named():
    with pytest.raises(BadInput, match='run: the document lacks the key "corpus"'):
        Run.of({key: BASE[key] for key in ("init", "views", "objective")}, "run")
    with pytest.raises(BadInput, match="exactly one of hub, folder, run, fresh"):
        run(init={"hub": "a/b", "run": "c"})


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=6))
def test_the_digest_does_not_see_the_order_of_keys(values):
    assert digest(values) == digest(dict(reversed(values.items())))
