"""Validation of data from YAML files, and errors for invalid data."""

import pytest
import yaml

from replicse.checked import Checked, Id, Text, checked_entries, checked_yaml, read_yaml
from replicse.errors import BadInput


def read(tmp_path, text):
    file = tmp_path / "a.yaml"
    file.write_text(text, newline="")
    return read_yaml(file)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n",
        "a: 2020-01-01\nb: 0x1f\nc: 1e5\nd: ~\ne: yes\n1: 2\n2.5: [x, {}]\n",
        "!!set {a, b}\n",
        "- !!str 5\n- !!int '7'\n- &a 5\n- *a\n",
        "",
    ],
)
def test_a_document_is_what_the_library_reads(tmp_path, text):
    found = read(tmp_path, text)
    assert found == yaml.safe_load(text)
    assert "&x" not in text or found["a"] is found["c"], "an alias is the node itself"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\na: 2\n", 'a.yaml:2: key "a" is given twice'),
        ("a: {<<: {b: 1}, c: 1, c: 2}\n", 'key "c" is given twice'),
        ("? [1]\n: 2\n", "found unhashable key"),
        ("!!str {a: 1}\n", "expected a scalar node, but found mapping"),
        ("- !foo x\n", "could not determine a constructor"),
        ("a: 1\rb: 2\r", "a line ends with CR alone"),
        ("a:\n\tb: 1\n", "a.yaml:2: a tab, but YAML needs spaces for indentation"),
    ],
)
def test_what_is_no_plain_data_is_refused(tmp_path, text, told):
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text)
    assert told in str(caught.value)


class Entry(Checked):
    """An element of a list."""

    id: Id


def test_a_list_whose_entries_are_commented_out_is_empty(tmp_path):
    (tmp_path / "a.yaml").write_text("# - id: x\n")
    assert checked_entries(tmp_path / "a.yaml", Entry) == []
    (tmp_path / "a.yaml").write_text("id: x\n")
    with pytest.raises(BadInput, match="the document is not a list; begin every entry with a dash"):
        checked_entries(tmp_path / "a.yaml", Entry)


def test_what_a_list_looks_like_is_said():
    class Listed(Checked):
        seeds: tuple[int, ...]

    with pytest.raises(BadInput, match=r'seeds is "0-4"; expected a list, as \[a, b\]'):
        Listed.of({"seeds": "0-4"}, "config.yaml")


def test_a_value_that_is_nested_deeply_is_shortened():
    """The message of a deep list was once a traceback, because `repr` is recursive."""
    seeds = []
    for _ in range(100_000):
        seeds = [seeds]

    class Listed(Checked):
        seeds: Text

    with pytest.raises(BadInput, match=r"seeds is \[{20,}\.\.\.; expected text"):
        Listed.of({"seeds": seeds}, "config.yaml")


@pytest.mark.parametrize(
    "text",
    ["a: " + "[" * 40_000 + "]" * 40_000, "- " * 40_000 + "1\n", "{a: " * 40_000],
    ids=["brackets", "dashes", "braces"],
)
def test_yaml_that_is_nested_too_deeply_is_refused(tmp_path, text):
    """libyaml once ended Python with a segmentation fault."""
    with pytest.raises(BadInput, match=r"a\.yaml: nested more than 1000 levels deep; fix the YAML"):
        read(tmp_path, text)
    assert read(tmp_path, "a: " + "[" * 500 + "]" * 500)
    assert read(tmp_path, f"a: [{'[], ' * 2000}]\n")


def test_an_expected_dict_is_named_with_the_keys():
    class Rates(Checked):
        hidden: float
        attention: float

    class Run(Checked):
        dropout: Rates

    with pytest.raises(BadInput, match=r"dropout is 0\.1; expected a dict of hidden, attention"):
        Run.of({"dropout": 0.1}, "recipes.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# a comment\nid: a\n\nbase: {id: x}\nparts:\n  - id: b\n  - {id: c, ide: d}\n", 7),
        ("id: a\nbase: {id: x}\nparts: [{id: b}]\npart: 3\n", 4),
        ("id: a\nparts:\n  - id: b\nbase:\n\n  id: 7\n", 6),
        ("id: a\nparts: []\n", 1),
    ],
    ids=("a key of an entry", "a key of the document", "a value", "a missing key"),
)
def test_an_error_of_a_file_has_the_line(tmp_path, text, line):
    class Whole(Checked):
        id: Id
        base: Entry
        parts: tuple[Entry, ...]

    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(BadInput) as error:
        checked_yaml(file, Whole)
    assert str(error.value).startswith(f"{file}:{line}: ")


def test_an_error_of_a_list_has_the_line(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("- id: a\n- id: b\n  ide: c\n")
    with pytest.raises(BadInput) as error:
        checked_entries(file, Entry)
    assert str(error.value) == f'{file}:3: b: unknown key "ide"; did you mean "id"?'
