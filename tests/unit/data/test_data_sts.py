import gzip

import numpy as np
import pytest

from replicse.data import sts
from replicse.data.sts import (
    STS_SPLITS,
    STS_SUBSETS,
    STS_TASKS,
    load_sts,
    read_lines,
    read_table,
    senteval_root,
)
from replicse.errors import BadInput, MissingData

# Methods section 2.2.
COUNTS = {
    "STS12": [750, 750, 459, 750, 399],
    "STS13": [189, 750, 561],
    "STS14": [450, 300, 750, 750, 750, 750],
    "STS15": [375, 750, 375, 750, 750],
    "STS16": [254, 249, 230, 244, 209],
}
TOTALS = {"STS12": 3108, "STS13": 1500, "STS14": 3750, "STS15": 3000, "STS16": 1186}


def write(root, name, content):
    path = root / "SentEval" / "downstream" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def write_sts13(root, sentences="a b\tc\nd\te  f\ng\th\n", gold="1.0\n\n3\n"):
    for name in STS_SUBSETS["STS13"]:
        inputs = write(root, f"STS/STS13-en-test/STS.input.{name}.txt", sentences)
        golds = write(root, f"STS/STS13-en-test/STS.gs.{name}.txt", gold)
    return inputs, golds


def stsb_line(score="2.5", first="A  man", second='He said "no', extra=()):
    return "\t".join(["captions", "MSRvid", "2012test", "0001", score, first, second, *extra]) + "\n"


@pytest.mark.parametrize("below", ["", "SentEval", "SentEval/downstream"])
def test_any_of_three_folders_is_a_root(tmp_path, below):
    write(tmp_path, "SICK/readme.txt", "")
    assert senteval_root(tmp_path / below) == tmp_path / "SentEval" / "downstream"


def test_a_downstream_folder_of_another_name_is_a_root(tmp_path):
    (tmp_path / "senteval" / "STS").mkdir(parents=True)
    assert senteval_root(tmp_path / "senteval") == tmp_path / "senteval"


def test_a_folder_without_senteval_is_missing_data(tmp_path):
    with pytest.raises(MissingData, match=r"--data, in a study by data\.root.* data\.source to hub"):
        senteval_root(tmp_path)


def test_pairs_without_gold_are_skipped_and_white_space_collapsed(tmp_path):
    write_sts13(tmp_path, sentences="a \u00a0 b\tc\nd\te\n g\th  \n", gold="1.0\n\n3\n")
    subsets = load_sts(tmp_path, "STS13")
    assert [subset.name for subset in subsets] == ["FNWN", "headlines", "OnWN"]
    assert subsets[0].first == ("a b", "g")
    assert subsets[0].second == ("c", "h")
    assert subsets[0].gold.dtype == np.float64
    np.testing.assert_array_equal(subsets[0].gold, [1.0, 3.0])


def test_further_columns_of_sts_inputs_are_ignored(tmp_path):
    write_sts13(tmp_path, sentences="a\tb\thttp://x\thttp://y\n", gold="5\n")
    assert load_sts(tmp_path, "STS13")[2].second == ("b",)


def test_different_numbers_of_lines_are_bad_input(tmp_path):
    write_sts13(tmp_path, gold="1.0\n\n")
    with pytest.raises(BadInput, match=r"STS\.gs\.FNWN\.txt: 2 lines, but STS\.input\.FNWN\.txt has 3"):
        load_sts(tmp_path, "STS13")
    write_sts13(tmp_path, gold="1.0\n\n2\n3\n")
    with pytest.raises(BadInput, match="4 lines, but"):
        load_sts(tmp_path, "STS13")


@pytest.mark.parametrize(
    ("sentences", "gold", "place"),
    [
        ("a\tb\nc d\n", "1\n2\n", r"STS\.input\.FNWN\.txt:2: no tab"),
        ("a\tb\nc\td\n", "1\ntwo\n", r'STS\.gs\.FNWN\.txt:2: score is "two"'),
        ("a\tb\n", "nan\n", r'STS\.gs\.FNWN\.txt:1: score is "nan"'),
        ("a\tb\n", "\n", r"STS\.input\.FNWN\.txt: no scored pair"),
        ("a\tb\nc\t \n", "1\n2\n", r"STS\.input\.FNWN\.txt:2: a sentence of the pair is empty"),
        ("a\tb\nc\td\n", "5\n97\n", r"STS\.gs\.FNWN\.txt:2: score is 97; expected 0 to 5"),
        ("a\tb\n", "-0.1\n", r"STS\.gs\.FNWN\.txt:1: score is -0.1; expected 0 to 5"),
    ],
)
def test_malformed_sts_lines_name_file_and_line(tmp_path, sentences, gold, place):
    write_sts13(tmp_path, sentences, gold)
    with pytest.raises(BadInput, match=place):
        load_sts(tmp_path, "STS13")


def test_a_missing_subset_names_file_and_remedy(tmp_path):
    inputs, _ = write_sts13(tmp_path)
    inputs.unlink()
    with pytest.raises(
        MissingData, match=r"STS\.input\.OnWN\.txt: no such file; name a folder in the SentEval layout"
    ):
        load_sts(tmp_path, "STS13")


def test_sts_benchmark_has_no_quoting_and_optional_columns(tmp_path):
    text = stsb_line() + stsb_line("5.000", '"Yes', "b", extra=("source", "licence")) + "\n"
    write(tmp_path, "STS/STSBenchmark/sts-dev.csv", text)
    (subset,) = load_sts(tmp_path, "STS-B", "dev")
    assert subset.name == "STS-B"
    assert subset.first == ("A man", '"Yes')
    assert subset.second == ('He said "no', "b")
    np.testing.assert_array_equal(subset.gold, [2.5, 5.0])


def test_a_short_sts_benchmark_line_is_bad_input(tmp_path):
    write(tmp_path, "STS/STSBenchmark/sts-test.csv", stsb_line() + "a\tb\tc\n")
    with pytest.raises(BadInput, match=r"sts-test\.csv:2: 3 tab-separated columns, expected 7"):
        load_sts(tmp_path, "STS-B")


SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"


def test_sick_may_have_windows_line_ends_and_a_byte_order_mark(tmp_path):
    text = f"\ufeff{SICK_HEADER}\r\n1\tA  boy\tB\t4.5\tNEUTRAL\r\n2\tC\tD\t1\tENTAILMENT\r\n"
    write(tmp_path, "SICK/SICK_trial.txt", text)
    (subset,) = load_sts(tmp_path, "SICK-R", "dev")
    assert subset.first == ("A boy", "C")
    assert subset.second == ("B", "D")
    np.testing.assert_array_equal(subset.gold, [4.5, 1.0])


def test_sick_columns_are_found_by_name(tmp_path):
    text = "relatedness_score\tsentence_B\tsentence_A\n2\tb\ta\n"
    write(tmp_path, "SICK/SICK_train.txt", text)
    (subset,) = load_sts(tmp_path, "SICK-R", "train")
    assert (subset.first, subset.second) == (("a",), ("b",))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            f"{SICK_HEADER}\n1\tA\tB\t4.5\n",
            r"SICK_trial\.txt:2: 4 tab-separated columns, but the header has 5",
        ),
        (
            "pair_ID\tsentence_A\tsentence\n",
            r'SICK_trial\.txt:1: the header has no column "sentence_B"; did you',
        ),
        ("", r"SICK_trial\.txt: no scored pair"),
    ],
)
def test_malformed_sick_names_file_and_line(tmp_path, text, place):
    write(tmp_path, "SICK/SICK_trial.txt", text)
    with pytest.raises(BadInput, match=place):
        load_sts(tmp_path, "SICK-R", "dev")


def test_unknown_tasks_and_splits_name_the_nearest(tmp_path):
    with pytest.raises(BadInput, match='did you mean "STS-B"'):
        load_sts(tmp_path, "STSB")
    with pytest.raises(BadInput, match='STS-B has no split "tests"; did you mean "test"'):
        load_sts(tmp_path, "STS-B", "tests")
    with pytest.raises(BadInput, match='STS12 has no split "dev"'):
        load_sts(tmp_path, "STS12", "dev")


def test_only_line_feeds_end_a_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffone\u2028still one\x85\x0cyes\r\ntwo\n\nfour".encode())
    assert list(read_lines(path)) == [(1, "one\u2028still one\x85\x0cyes"), (2, "two"), (3, ""), (4, "four")]


def test_line_ends_of_an_old_machine_and_endless_lines_are_bad_input(tmp_path, monkeypatch):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\rtwo\rthree\r")
    with pytest.raises(BadInput, match=r"lines\.txt: lines end with CR alone"):
        list(read_lines(path))
    monkeypatch.setattr(sts, "LONGEST", 100)
    path.write_bytes(b"one\n" + b"x" * 101)
    with pytest.raises(BadInput, match=r"lines\.txt:2: a line of more than 100 bytes"):
        list(read_lines(path))


def test_packed_and_plain_lines_agree(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_text("a\nb\n")
    packed.write_bytes(gzip.compress(b"a\nb\n"))
    assert list(read_lines(packed)) == list(read_lines(plain)) == [(1, "a"), (2, "b")]


def test_a_cut_packed_file_is_bad_input(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"some words\n" * 1000)[:-20])
    with pytest.raises(BadInput, match=r"a\.txt\.gz: cannot be unpacked"):
        list(read_lines(path))
    path.write_text("not packed at all")
    with pytest.raises(BadInput, match="cannot be unpacked"):
        list(read_lines(path))


def test_bytes_that_are_not_utf8_are_bad_input_without_a_fallback(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("fine é\n".encode() + "caf\xe9\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"a\.txt:2: not UTF-8"):
        list(read_lines(path))
    assert list(read_lines(path, fallback="latin-1")) == [(1, "fine é"), (2, "café")]


def test_a_table_skips_blank_lines_and_keeps_line_numbers(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("x\ty\n1\t2\n\n3\t4\n")
    assert list(read_table(path, ("y", "x"))) == [(2, ["2", "1"]), (4, ["4", "3"])]


@pytest.mark.parametrize("task", STS_SUBSETS)
def test_real_counts_of_the_years(real_data, task):
    subsets = load_sts(real_data, task)
    assert [len(subset.gold) for subset in subsets] == COUNTS[task]
    assert sum(len(subset.first) for subset in subsets) == TOTALS[task]
    assert all(len(subset.first) == len(subset.second) == len(subset.gold) for subset in subsets)
    assert all(subset.gold.min() >= 0 and subset.gold.max() <= 5 for subset in subsets)


@pytest.mark.parametrize(
    ("task", "counts", "lowest"), [("STS-B", (5749, 1500, 1379), 0), ("SICK-R", (4500, 500, 4927), 1)]
)
def test_real_counts_of_the_benchmarks(real_data, task, counts, lowest):
    splits = [load_sts(real_data, task, split)[0] for split in STS_SPLITS[task]]
    assert tuple(len(split.gold) for split in splits) == counts
    assert all(split.gold.min() == lowest and split.gold.max() == 5 for split in splits)


def test_real_positive_pairs_of_the_alignment(real_data):
    golds = [load_sts(real_data, "STS-B", split)[0].gold for split in ("train", "dev", "test")]
    assert [int((gold > 4).sum()) for gold in golds] == [1052, 208, 231]  # methods section 2.4
    assert [int((gold >= 4).sum()) for gold in golds] == [1406, 264, 338]


def test_real_sentences_are_single_spaced(real_data):
    for task in STS_TASKS:
        for subset in load_sts(real_data, task):
            for sentence in (*subset.first, *subset.second):
                assert sentence == " ".join(sentence.split()) != ""


def test_real_first_pairs(real_data):
    (stsb,) = load_sts(real_data, "STS-B", "train")
    assert (stsb.first[1], stsb.second[1]) == (
        "a man is playing a large flute .",
        "a man is playing a flute .",
    )
    assert stsb.gold[1] == 3.8
    (sick,) = load_sts(real_data, "SICK-R")
    assert sick.first[0] == "There is no boy playing outdoors and there is no man smiling"
    assert sick.gold[0] == 3.3
