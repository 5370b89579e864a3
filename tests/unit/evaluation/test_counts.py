"""Counting what needs no encoder."""

import pytest

from replicse.errors import BadInput
from replicse.evaluation.counts import count
from replicse.world.world import write_world

CORPORA = {
    "nli": {"format": "triples", "file": "nli/nli_triples.csv"},
    "gone": {"format": "triples", "file": "no.csv"},
    "wiki": {"format": "lines", "file": "wiki/wiki.txt"},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, sentences=1200)
    return folder


def test_sizes_rows_and_overlap_are_counted(world):
    wanted = ["data/sts/STS-B/dev", "data/transfer/TREC/test", "data/corpus/nli/rows", "data/overlap/nli"]
    gone, unknown, single = "data/corpus/gone/rows", "data/overlap/nil", "data/overlap/wiki"
    found = count(world, [*wanted, gone, unknown, single], CORPORA)
    data = found["suites"]["data"]
    lines = (world / "SentEval/downstream/STS/STSBenchmark/sts-dev.csv").read_text().splitlines()
    assert data["sts"]["STS-B"]["dev"] == len(lines)
    assert data["transfer"]["TREC"]["test"] > 10
    assert data["corpus"]["nli"]["rows"] == len((world / "nli/nli_triples.csv").read_text().splitlines()) - 1
    assert 0 < data["overlap"]["nli"] < 100
    assert data["corpus"]["gone"]["rows"] is None
    failures = found["failures"]
    assert failures.keys() == {gone, unknown, single} and "no.csv" in failures[gone]
    assert failures[unknown] == 'no corpus is named "nil"; did you mean "nli"?'
    assert failures[single] == "corpus wiki has one column; the overlap of two is asked for"


def test_what_is_not_counted_is_refused(world):
    for path in ("data/sizes/x", "data/transfer/MR/train", "sts/avg", "data"):
        with pytest.raises(BadInput, match=f'"{path}" is not counted'):
            count(world, [path], {})


def test_pairs_of_a_tokenised_copy_are_found(tmp_path):
    """STS-B of SentEval is tokenised and in small letters, the course's re-split of it is neither."""
    folder = tmp_path / "SentEval/downstream/STS/STSBenchmark"
    folder.mkdir(parents=True)
    row = "main-captions\tMSRvid\t2012test\t0001\t{}\t{}\t{}\n"
    pairs = [("it is n't a plane .", "a man , a plan"), ("other", "pairs"), ("a second", "one .")]
    (folder / "sts-dev.csv").write_text("".join(row.format(2.0, *pair) for pair in pairs))
    lines = [
        "id\tsentence1\tsentence2\tsimilarity",
        "1\tIt isn't a plane.\tA man, a plan\t2.0",
        "2\tOne\tA second\t1",
    ]
    (tmp_path / "sts.csv").write_text("\n".join(lines) + "\n")
    course = {
        "format": "labelled",
        "file": "sts.csv",
        "sentences": ["sentence1", "sentence2"],
        "label": "similarity",
    }
    found = count(tmp_path, ["data/shared/course/STS-B/dev"], {"course": {**course, "quoted": True}})
    assert found["failures"] == {}
    assert found["suites"]["data"]["shared"]["course"]["STS-B"]["dev"] == 2, "in either order"
