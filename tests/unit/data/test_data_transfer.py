import numpy as np
import pytest
from cases import cases

from replicse.data.transfer import TREC_CLASSES, load_transfer
from replicse.errors import BadInput

MRPC_HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"


@cases
def test_two_class_sets_keep_blank_lines_as_empty_sentences(tmp_path, senteval, task, ones, zeros):
    senteval(f"{task}/{ones}", b"good  caf\xe9 .\n\n another \n \n")
    senteval(f"{task}/{zeros}", "bad .\n\n")
    split = load_transfer(tmp_path, task).splits["all"]
    assert (split.first, split.second) == (("good café .", "", "another", "", "bad .", ""), None)
    assert (split.labels.dtype, split.labels.tolist()) == (np.int64, [1, 1, 1, 1, 0, 0])


def test_trec_is_latin_1_and_labelled_by_coarse_class(tmp_path, senteval):
    others = "".join(f"{name}:other {name} ?\n" for name in TREC_CLASSES)
    train = f"DESC:manner How did caf\xe9s  start ?\nNUM:date When\x85 ?\n{others}".encode("latin-1")
    senteval("TREC/train_5500.label", train)
    senteval("TREC/TREC_10.label", "ABBR:exp What is AI ?\n")
    task = load_transfer(tmp_path, "TREC")
    assert task.splits["train"].first[:2] == ("How did cafés start ?", "When ?")
    assert [TREC_CLASSES[label] for label in task.splits["train"].labels] == ["DESC", "NUM", *TREC_CLASSES]
    assert task.splits["test"].labels.tolist() == [0]


def test_mrpc_has_a_byte_order_mark_windows_line_ends_and_no_quoting(tmp_path, senteval):
    text = f'\ufeff{MRPC_HEADER}\r\n1\t11\t12\t"He  said\tHe said .\r\n0\t13\t14\tA\tB"\r\n'
    senteval("MRPC/msr_paraphrase_train.txt", text)
    senteval("MRPC/msr_paraphrase_test.txt", f"{MRPC_HEADER}\n1\t1\t2\tx\ty\n")
    split = load_transfer(tmp_path, "MRPC").splits["train"]
    assert split.first == ('"He said', "A")
    assert split.second == ("He said .", 'B"')
    assert split.labels.tolist() == [1, 0]


@cases
def test_malformed_files_are_named(tmp_path, senteval, task, files, place):
    for name, text in files.items():
        senteval(name, text)
    with pytest.raises(BadInput, match=place):
        load_transfer(tmp_path, task)


@cases
def test_real_counts(real_data, task, counts):
    """The numbers of rows by class are as in methods 2.3.

    Empty lines count: CR has 2 + 2 of them, MPQA 1 + 2.
    """
    splits = load_transfer(real_data, task).splits
    assert splits.keys() == counts.keys()
    for name, split in splits.items():
        expected = counts[name]
        found = np.bincount(split.labels).tolist() if isinstance(expected, list) else len(split.labels)
        assert found == expected and len(split.first) == len(split.labels)
        assert sum(not sentence for sentence in split.first) == {"CR": 4, "MPQA": 3}.get(task, 0)
    if task == "TREC":
        assert any("sisterðcity" in question for question in splits["train"].first)
