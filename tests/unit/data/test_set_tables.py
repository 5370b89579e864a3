"""The user's evaluation datasets: tables, and errors with line numbers."""

import json
import tracemalloc

import pandas
import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from replicse.data.set_tables import check_tables, load_labelled, load_pairs
from replicse.errors import BadInput
from replicse.registry.corpora import corpus_of
from replicse.registry.sets import EvaluationSet

PAIRS = {"first": "a", "second": "b", "score": "c", "range": [0, 5]}
LABELS = {"text": "a", "label": "b"}


def set_of(file, **keys):
    return EvaluationSet.of({"file": "x.csv", **keys}, "sets").replace(file=str(file))


def test_pairs_by_subset_and_labels_by_split(table):
    rows = [
        {"a": "One  two.", "b": "Two.", "c": 0, "d": "x", "e": "train"},
        {"a": "Three.", "b": "Two.", "c": 5, "d": "y", "e": "test"},
        {"a": "Four.", "b": "Five.", "c": 2.5, "d": "x", "e": "train"},
    ]
    file = table(rows)
    (whole,) = load_pairs(set_of(file, **PAIRS))
    assert (whole.name, whole.first) == ("all", ("One two.", "Three.", "Four."))
    assert whole.gold.tolist() == [0, 5, 2.5]
    x, y = load_pairs(set_of(file, **PAIRS, subset="d"))
    assert (x.name, x.gold.tolist(), y.name, y.second) == ("x", [0, 2.5], "y", ("Two.",))
    task = load_labelled("mine", set_of(file, text="a", label="c"))
    assert list(task.splits) == ["all"] and task.splits["all"].labels.tolist() == [0, 2, 1], "alphabetical"
    task = load_labelled("mine", set_of(file, text="a", label="b", split="e"))
    found = {name: split.labels.tolist() for name, split in task.splits.items()}
    assert found == {"train": [1, 0], "test": [1]}


@cases
def test_broken_pairs_are_refused_in_a_sentence(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=problem):
        load_pairs(set_of(tmp_path / name, **PAIRS))
    with pytest.raises(BadInput, match=problem):
        check_tables([], {"mine": {"file": str(tmp_path / name), **PAIRS}})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "a,b,s\nOne.,x,train\nTwo.,x,test\n",
            r'a\.csv: every training label is "x"; a classifier needs two labels',
        ),
        ("a,b,s\nOne.,x,train\nTwo.,y,train\n", r"a\.csv: split test is missing"),
        ("a,b,s\nOne.,x,dev\nTwo.,y,test\n", r"a\.csv: split train is missing"),
        ("a,b,s\nOne.,x,train\nTwo.,y,trian\n", r'a\.csv:3: split is "trian"; did you mean "train"'),
        (
            "a,b,s\n1,x,train\n2,y,train\n3,z,test\n",
            r'split train does not contain the label "z" of split test',
        ),
        (
            "a,b,s\n" + "".join(f"One.,{label},train\n" for label in range(501)) + "One.,1,test\n",
            "501 different training labels, but there should be at most 500 classes",
        ),
    ],
)
def test_broken_labels_are_refused_in_a_sentence(tmp_path, content, problem):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(BadInput, match=problem):
        load_labelled("mine", set_of(tmp_path / "a.csv", **LABELS, split="s"))
    with pytest.raises(BadInput, match=problem):
        check_tables([], {"mine": {"file": str(tmp_path / "a.csv"), **LABELS, "split": "s"}})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_is_checked_row_by_row(tmp_path, kind):
    """A table is checked row by row.

    Validating two million pairs once needed 0.9 GB of memory; here the rows have 20 MB.
    """
    file, rows = tmp_path / f"a.{kind}", range(60_000)
    columns = {
        "a": list(map("first {}".format, rows)),
        "b": list(map("second {}".format, rows)),
        "c": [i % 5 for i in rows],
    }
    getattr(pandas.DataFrame(columns), f"to_{kind}")(file, index=False)
    corpus = corpus_of({"format": "table", "file": str(file), "anchor": "a", "positive": "b"})
    tracemalloc.start()
    check_tables([corpus], {"mine": {"file": str(file), **PAIRS}})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000
    missing = corpus_of({**corpus.plain(), "sample": {"rows": 60_001, "seed": 0}})
    with pytest.raises(BadInput, match="is 60001, but there are 60000"):
        check_tables([missing], {})


@settings(max_examples=30)
@given(st.lists(st.lists(st.text(max_size=6), min_size=3, max_size=3), min_size=1, max_size=6))
def test_a_table_is_read_whole_or_refused(tmp_path_factory, rows):
    """A table is loaded completely or refused.

    Whatever the cells of JSON lines contain, no row is skipped and no empty string is kept.
    """
    file = tmp_path_factory.mktemp("set") / "mine.jsonl"
    file.write_text("".join(f"{json.dumps(dict(zip('abc', row, strict=True)))}\n" for row in rows))
    empty = [line for line, row in enumerate(rows, 1) if not all(map(str.split, row[:2]))]
    try:
        task = load_labelled("mine", set_of(file, **LABELS))
    except BadInput as error:
        single = len({" ".join(row[1].split()) for row in rows}) == 1
        assert (
            f"mine.jsonl:{empty[0]}: " in str(error)
            if empty
            else single and "every training label" in str(error)
        )
    else:
        assert not empty
        assert task.splits["all"].first == tuple(" ".join(row[0].split()) for row in rows)


def test_a_label_is_one_however_it_is_written(tmp_path):
    file = tmp_path / "a.jsonl"
    labels = ["1", "1.0", '"1"', "true", '"true"', "2.50"]
    file.write_text("".join(f'{{"a": "One.", "b": {label}}}\n' for label in labels))
    assert load_labelled("mine", set_of(file, **LABELS)).splits["all"].labels.tolist() == [0, 0, 0, 2, 2, 1]
