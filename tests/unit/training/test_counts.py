"""Counts that need no weights."""

from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from small_stsb import write_stsb

from replicse.compile.recipes import merge_recipe
from replicse.errors import BadInput
from replicse.registry.suites import COUNTED, file_of
from replicse.spec.papers import load_papers
from replicse.training.counts import count

CORPORA = {
    "nli": {"format": "triples", "file": "nli/nli_triples.csv"},
    "gone": {"format": "triples", "file": "no.csv"},
    "wiki": {"format": "lines", "file": "wiki/wiki.txt"},
}


def test_sizes_rows_and_overlap_are_counted(world):
    # Every path in the registry except paths counted below, because these datasets share no rows and have no
    # architecture.
    below = ("shared/", "parameters/")
    wanted = [f"data/{path.replace('*', 'nli')}" for path in COUNTED if not path.startswith(below)]
    gone, unknown, single = "data/corpus/gone/rows", "data/overlap/nil", "data/overlap/wiki"
    found = count(world, [*wanted, gone, unknown, single], CORPORA)
    data = found["suites"]["data"]
    assert all(reduce(getitem, path.split("/"), found["suites"]) > 0 for path in wanted)
    assert set(map(file_of, wanted)) == {"counts"}
    lines = (world / "SentEval/downstream/STS/STSBenchmark/sts-dev.csv").read_text().splitlines()
    assert data["sts"]["STS-B"]["dev"] == len(lines)
    assert data["corpus"]["nli"]["rows"] == len((world / "nli/nli_triples.csv").read_text().splitlines()) - 1
    assert 0 < data["overlap"]["nli"] < 100
    assert data["corpus"]["gone"]["rows"] is None
    failures = found["failures"]
    assert failures.keys() == {gone, unknown, single} and "no.csv" in failures[gone]
    assert failures[unknown] == 'corpus "nil" does not exist; did you mean "nli"?'
    assert failures[single] == "corpus wiki has 1 column, but the overlap requires 2; use a corpus of pairs"


def test_parameters_are_counted_without_weights(tmp_path):
    """Parameters are counted without creating weights.

    `transformers` counts a random pooler, too. DiffCSE trains encoder, head and discriminator.
    """
    recipe = merge_recipe(load_papers(Path("workflow")), "diffcse", "diffcse", "")
    paths = ["roberta-base/encoder", "bert-base/with-pooler", "no/encoder", "diffcse/diffcse/trained"]
    found = count(tmp_path, [f"data/parameters/{path}" for path in paths], {}, {"diffcse/diffcse": recipe})
    counted = found["suites"]["data"]["parameters"]
    assert counted["roberta-base"] == {"encoder": 124_645_632 - 768 * 769}
    assert counted["bert-base"] == {"with-pooler": 109_482_240}
    assert counted["diffcse"]["diffcse"] == {"trained": 220_147_202}
    assert [*found["failures"]] == ["data/parameters/no/encoder"]


def test_what_is_not_counted_is_refused(world):
    for path in ("data/sizes/x", "data/transfer/MR/train", "sts/avg", "data"):
        with pytest.raises(BadInput, match=f'"{path}" is not counted'):
            count(world, [path], {})


def test_pairs_of_a_tokenised_copy_are_found(tmp_path):
    """Pairs of a tokenised copy are found.

    SentEval's STS-B is tokenised and in lower case, but the course's split of it is not.
    """
    pairs = [
        (2.0, "it is n't a plane .", "a man , a plan"),
        (2.0, "other", "pairs"),
        (2.0, "a second", "one ."),
    ]
    write_stsb(tmp_path, {"dev": pairs})
    header = "id\tsentence1\tsentence2\tsimilarity\n"
    rows = "1\tIt isn't a plane.\tA man, a plan\t2.0\n2\tOne\tA second\t1\n"
    (tmp_path / "sts.csv").write_text(header + rows)
    course = {"format": "labelled", "file": "sts.csv", "label": "similarity", "quoted": True}
    course["sentences"] = ["sentence1", "sentence2"]
    found = count(tmp_path, ["data/shared/course/STS-B/dev"], {"course": course})
    assert found["failures"] == {}
    assert found["suites"]["data"]["shared"]["course"]["STS-B"]["dev"] == 2, "in either order"
