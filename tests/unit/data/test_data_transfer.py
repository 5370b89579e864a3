import numpy as np
import pytest

from replicse.data.transfer import TREC_CLASSES, load_transfer
from replicse.errors import BadInput, MissingData

MRPC_HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"


def write(root, name, content):
    path = root / "SentEval" / "downstream" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


@pytest.mark.parametrize(
    ("task", "ones", "zeros"),
    [
        ("MR", "MR/rt-polarity.pos", "MR/rt-polarity.neg"),
        ("CR", "CR/custrev.pos", "CR/custrev.neg"),
        ("SUBJ", "SUBJ/subj.objective", "SUBJ/subj.subjective"),
        ("MPQA", "MPQA/mpqa.pos", "MPQA/mpqa.neg"),
    ],
)
def test_two_class_sets_keep_blank_lines_as_empty_sentences(tmp_path, task, ones, zeros):
    write(tmp_path, ones, "good  one .\n\n another \n \n")
    write(tmp_path, zeros, "bad .\n\n")
    split = load_transfer(tmp_path, task).splits["all"]
    assert split.first == ("good one .", "", "another", "", "bad .", "")
    assert split.second is None
    assert split.labels.dtype == np.int64
    assert split.labels.tolist() == [1, 1, 1, 1, 0, 0]


def test_latin_1_lines_are_read_beside_utf8_lines(tmp_path):
    write(tmp_path, "MR/rt-polarity.pos", "clich\xe9\n".encode("latin-1") + "cliché\n".encode())
    write(tmp_path, "MR/rt-polarity.neg", "b\n")
    assert load_transfer(tmp_path, "MR").splits["all"].first == ("cliché", "cliché", "b")


def test_sst2_has_three_splits(tmp_path):
    for split, text in {"train": "a b\t1\nc\t0\n", "dev": "d\t0\n", "test": "e\t1\r\n"}.items():
        write(tmp_path, f"SST/binary/sentiment-{split}", text)
    task = load_transfer(tmp_path, "SST2")
    assert {split: (part.first, part.labels.tolist()) for split, part in task.splits.items()} == {
        "train": (("a b", "c"), [1, 0]),
        "dev": (("d",), [0]),
        "test": (("e",), [1]),
    }


def test_trec_is_latin_1_and_labelled_by_coarse_class(tmp_path):
    others = "".join(f"{name}:other {name} ?\n" for name in TREC_CLASSES)
    train = f"DESC:manner How did caf\xe9s  start ?\nNUM:date When\x85 ?\n{others}".encode("latin-1")
    write(tmp_path, "TREC/train_5500.label", train)
    write(tmp_path, "TREC/TREC_10.label", "ABBR:exp What is AI ?\n")
    task = load_transfer(tmp_path, "TREC")
    assert task.splits["train"].first[:2] == ("How did cafés start ?", "When ?")
    assert [TREC_CLASSES[label] for label in task.splits["train"].labels] == ["DESC", "NUM", *TREC_CLASSES]
    assert task.splits["test"].labels.tolist() == [0]


def test_mrpc_has_a_byte_order_mark_windows_line_ends_and_no_quoting(tmp_path):
    text = f'\ufeff{MRPC_HEADER}\r\n1\t11\t12\t"He  said\tHe said .\r\n0\t13\t14\tA\tB"\r\n'
    write(tmp_path, "MRPC/msr_paraphrase_train.txt", text)
    write(tmp_path, "MRPC/msr_paraphrase_test.txt", f"{MRPC_HEADER}\n1\t1\t2\tx\ty\n")
    split = load_transfer(tmp_path, "MRPC").splits["train"]
    assert split.first == ('"He said', "A")
    assert split.second == ("He said .", 'B"')
    assert split.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("task", "name", "text", "place"),
    [
        ("SST2", "SST/binary/sentiment-train", "a\t1\nb 1\n", r"sentiment-train:2: no tab"),
        ("SST2", "SST/binary/sentiment-train", "a\t2\n", r'sentiment-train:1: label is "2"; expected 0 or 1'),
        (
            "TREC",
            "TREC/train_5500.label",
            "NUM:date a\nNUN:date b\n",
            r'\.label:2: .*"NUN"; did you mean "NUM"',
        ),
        ("MRPC", "MRPC/msr_paraphrase_train.txt", f"{MRPC_HEADER}\n1\t2\t3\ta\n", r"train\.txt:2: 4 tab"),
        (
            "MRPC",
            "MRPC/msr_paraphrase_train.txt",
            f"{MRPC_HEADER}\nx\t2\t3\ta\tb\n",
            r'train\.txt:2: label is "x"',
        ),
        ("MRPC", "MRPC/msr_paraphrase_train.txt", MRPC_HEADER, r"train\.txt: no rows"),
    ],
)
def test_malformed_lines_name_file_and_line(tmp_path, task, name, text, place):
    write(tmp_path, name, text)
    with pytest.raises(BadInput, match=place):
        load_transfer(tmp_path, task)


@pytest.mark.parametrize("empty", ["MR/rt-polarity.pos", "MR/rt-polarity.neg"])
def test_an_empty_class_is_refused(tmp_path, empty):
    for name in ("MR/rt-polarity.pos", "MR/rt-polarity.neg"):
        write(tmp_path, name, "" if name == empty else "a\nb\n")
    with pytest.raises(BadInput, match=f"{empty}: no rows; fetch the file again"):
        load_transfer(tmp_path, "MR")


@pytest.mark.parametrize(
    ("task", "files", "problem"),
    [
        (
            "SST2",
            {f"SST/binary/sentiment-{split}": "a\t1\n" for split in ("train", "dev", "test")},
            "class 0",
        ),
        ("TREC", dict.fromkeys(("TREC/train_5500.label", "TREC/TREC_10.label"), "NUM:x a\n"), "class ABBR"),
        (
            "MRPC",
            {
                f"MRPC/msr_paraphrase_{split}.txt": f"{MRPC_HEADER}\n0\t1\t2\ta\tb\n"
                for split in ("train", "test")
            },
            "class 1",
        ),
    ],
)
def test_a_class_that_nothing_can_be_learned_of_is_refused(tmp_path, task, files, problem):
    for name, text in files.items():
        write(tmp_path, name, text)
    with pytest.raises(BadInput, match=f"{next(iter(files)).rpartition('/')[2]}: no row of {problem}"):
        load_transfer(tmp_path, task)


def test_a_missing_file_and_an_unknown_task(tmp_path):
    write(tmp_path, "CR/custrev.pos", "a\n")
    with pytest.raises(
        MissingData, match=r"custrev\.neg: no such file; name a folder in the SentEval layout.*data\.source"
    ):
        load_transfer(tmp_path, "CR")
    with pytest.raises(BadInput, match='"SST" is no transfer task; did you mean "SST2"'):
        load_transfer(tmp_path, "SST")


# Methods section 2.3 counts lines, the 2 + 2 blank ones of CR and the 1 + 2 of MPQA among them.
@pytest.mark.parametrize(
    ("task", "ones", "zeros"),
    [
        ("MR", 5331, 5331),
        ("CR", 2407, 1368),
        ("SUBJ", 5000, 5000),
        ("MPQA", 3312, 7294),
    ],
)
def test_real_counts_of_two_class_sets(real_data, task, ones, zeros):
    split = load_transfer(real_data, task).splits["all"]
    assert np.bincount(split.labels).tolist() == [zeros, ones]
    assert len(split.first) == ones + zeros
    assert sum(not sentence for sentence in split.first) == {"CR": 4, "MPQA": 3}.get(task, 0)


@pytest.mark.parametrize(
    ("task", "counts"),
    [
        ("SST2", {"train": 67349, "dev": 872, "test": 1821}),
        ("TREC", {"train": 5452, "test": 500}),
        ("MRPC", {"train": 4076, "test": 1725}),
    ],
)
def test_real_counts_of_split_sets(real_data, task, counts):
    splits = load_transfer(real_data, task).splits
    assert {split: len(part.first) for split, part in splits.items()} == counts
    assert {split: len(part.labels) for split, part in splits.items()} == counts
    assert all(sentence for part in splits.values() for sentence in (*part.first, *(part.second or ())))


def test_real_classes(real_data):
    mrpc = load_transfer(real_data, "MRPC").splits
    assert (mrpc["train"].labels.sum(), mrpc["test"].labels.sum()) == (2753, 1147)
    assert len(mrpc["train"].second) == 4076
    trec = load_transfer(real_data, "TREC").splits["train"]
    assert set(trec.labels.tolist()) == set(range(6))
    assert any("sisterðcity" in question for question in trec.first)
    assert trec.first[0] == "How did serfdom develop in and then leave Russia ?"
