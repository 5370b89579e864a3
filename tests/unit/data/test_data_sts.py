import gzip

import numpy as np
import pytest
from cases import cases

from replicse.data.sts import STS_SPLITS, STS_SUBSETS, load_sts, read_lines, senteval_root
from replicse.errors import BadInput


@pytest.fixture
def sts13(senteval):
    """Return a function that writes all subsets of STS13 with equal content."""

    def write(sentences, gold):
        for name in STS_SUBSETS["STS13"]:
            inputs = senteval(f"STS/STS13-en-test/STS.input.{name}.txt", sentences)
            senteval(f"STS/STS13-en-test/STS.gs.{name}.txt", gold)
        return inputs.with_name("STS.input.FNWN.txt")

    return write


@pytest.mark.parametrize(
    "place", ["SentEval/downstream", "SentEval/data/downstream", "data/downstream", "downstream"]
)
def test_the_folder_of_sets_is_found_where_senteval_and_simcse_have_it(tmp_path, place):
    (tmp_path / place).mkdir(parents=True)
    assert senteval_root(tmp_path) == senteval_root(tmp_path / place) == tmp_path / place


def test_pairs_without_gold_are_skipped_and_white_space_collapsed(tmp_path, sts13):
    sts13("a \u00a0 b\tc\thttp://x\nd\te\n g\th  \n", "1.0\n\n3\n")
    subsets = load_sts(tmp_path, "STS13")
    assert [subset.name for subset in subsets] == ["FNWN", "headlines", "OnWN"]
    assert subsets[0].first == ("a b", "g")
    assert subsets[0].second == ("c", "h")
    assert subsets[0].gold.dtype == np.float64
    np.testing.assert_array_equal(subsets[0].gold, [1.0, 3.0])


def test_a_task_is_loaded_again_only_if_a_file_has_changed(tmp_path, sts13):
    sts13("a\tb\n", "1.0\n")
    first = load_sts(tmp_path, "STS13")
    assert [new is old for new, old in zip(load_sts(tmp_path, "STS13"), first, strict=True)] == [True] * 3
    sts13("a\tb\nc\td\n", "1.0\n3.0\n")
    assert [len(subset.gold) for subset in load_sts(tmp_path, "STS13")] == [2, 2, 2]
    with pytest.raises(ValueError, match="read-only"):
        first[0].gold[0] = 5


@cases
def test_malformed_sts_lines_name_file_and_line(tmp_path, sts13, sentences, gold, place):
    file = sts13(sentences or "", gold)
    if sentences is None:
        file.unlink()
    with pytest.raises(BadInput, match=place):
        load_sts(tmp_path, "STS13")


SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


@cases
def test_malformed_benchmarks_name_file_and_line(tmp_path, senteval, task, text, place):
    senteval({"STS-B": "STS/STSBenchmark/sts-dev.csv", "SICK-R": "SICK/SICK_trial.txt"}[task], text)
    with pytest.raises(BadInput, match=place):
        load_sts(tmp_path, task, "dev")


def test_sts_benchmark_has_no_quoting_and_optional_columns(tmp_path, senteval):
    row = "captions\tMSRvid\t2012test\t0001\t"
    rows = [f'{row}2.5\tA  man\tHe said "no\n', f'{row}5.000\t"Yes\tb\tsource\tlicence\n\n']
    senteval("STS/STSBenchmark/sts-dev.csv", "".join(rows))
    (subset,) = load_sts(tmp_path, "STS-B", "dev")
    assert subset.name == "STS-B"
    assert subset.first == ("A man", '"Yes')
    assert subset.second == ('He said "no', "b")
    np.testing.assert_array_equal(subset.gold, [2.5, 5.0])


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{SICK_HEADER}\r\n1\tA  boy\tB\t4.5\tNEUTRAL\r\n2\tC\tD\t1\tENTAILMENT\r\n",
        "relatedness_score\tsentence_B\tsentence_A\n4.5\tB\tA boy\n1\tD\tC\n",
    ],
    ids=["Windows", "columns by name"],
)
def test_sick_columns_are_found_by_name(tmp_path, senteval, text):
    senteval("SICK/SICK_trial.txt", text)
    (subset,) = load_sts(tmp_path, "SICK-R", "dev")
    assert (subset.first, subset.second) == (("A boy", "C"), ("B", "D"))
    np.testing.assert_array_equal(subset.gold, [4.5, 1.0])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (gzip.compress(b"some words\n" * 1000, mtime=0)[:-20], r"a\.gz: cannot be unpacked"),
        (b"one\rtwo\rthree\r", "lines end with CR alone"),
        ("fine é\n".encode() + b"caf\xe9\n", "a.gz:2: not UTF-8"),
    ],
)
def test_bytes_that_are_no_lines_are_bad_input(tmp_path, content, problem):
    path = tmp_path / "a.gz"
    path.write_bytes(content if content[:2] == b"\x1f\x8b" else gzip.compress(content))
    with pytest.raises(BadInput, match=problem):
        list(read_lines(path))
    if "UTF-8" in problem:
        assert list(read_lines(path, fallback="latin-1")) == [(1, "fine é"), (2, "café")]


# Counts from methods section 2.2, by subset or by split.
@cases
def test_real_counts(real_data, task, counts, lowest):
    sizes, scores = [], []
    for split in STS_SPLITS.get(task, ("test",)):
        for subset in load_sts(real_data, task, split):
            assert len(subset.first) == len(subset.second) == len(subset.gold)
            sizes.append(len(subset.gold))
            scores += list(subset.gold)
    assert sizes == counts
    assert (min(scores), max(scores)) == (lowest, 5)
