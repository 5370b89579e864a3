"""The user's corpora: tables with a header, and errors with line numbers."""

import csv
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from replicse.cli import main
from replicse.data.corpora import read_corpus
from replicse.data.delimited import LONGEST_CELL
from replicse.data.tables import table_rows
from replicse.errors import BadInput


def test_sentences_and_pairs_are_read_by_their_headings(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    first, second = ["A first sentence.", '"Ünïcode" ‹quoted›'], ["An other, text", "It's text"]
    given = zip(first, ("one", "two"), ("An  other, text", second[1]), strict=True)
    file = table([dict(zip(("sentence", "label", "second"), row, strict=True)) for row in given])
    recipe = {"format": "table", "file": file.name}
    root = tmp_path / "elsewhere"
    assert read_corpus(root, {**recipe, "text": "sentence"}) == {"text": first}
    pairs = {**recipe, "anchor": "sentence", "positive": "second"}
    assert read_corpus(root, pairs) == {"anchor": first, "positive": second}
    triplets = {**pairs, "negative": "label"}
    assert read_corpus(root, triplets)["negative"] == ["one", "two"]
    assert read_corpus(root, {**recipe, "text": "second", "limit": 1}) == {"text": second[:1]}
    with pytest.raises(BadInput, match=rf"{file.name}:\d+:"):
        read_corpus(root, {**recipe, "text": "sentense"})


@cases
def test_a_broken_table_is_refused_with_its_line(tmp_path, monkeypatch, name, content, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content.encode())
    with pytest.raises(BadInput, match=problem):
        read_corpus(tmp_path, {"format": "table", "file": name, "text": "sentence"})


def read(file, headings="ab"):
    """Return the rows of a table as a list of lists.

    The default headings are "a" and "b".
    """
    return [list(cells) for _, cells in table_rows(str(file), [*headings], [*headings[1:]])]


@cases
def test_quotes_and_blanks_are_read_as_the_file_was_written(tmp_path, note, name, content, rows):
    (tmp_path / name).write_bytes(content.encode())
    assert read(tmp_path / name, "ab"[: len(rows[0])]) == rows, note


# A cell with a tab and a line end could be parsed as two rows.
cells = st.text('ab", \t', max_size=5) | st.text('ab", \n', max_size=5)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5))
def test_what_a_csv_writer_writes_with_tabs_is_read_as_it_was(tmp_path_factory, rows):
    file = tmp_path_factory.mktemp("table") / "a.tsv"
    with file.open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows([("a", "b"), *rows])
    words = []
    for row in rows:
        words.append([" ".join(cell.split()) for cell in row])
    if all(map(all, words)):
        assert read(file) == words
    else:
        with pytest.raises(BadInput, match="is empty"):
            read(file)


def test_a_cell_may_be_a_document_but_not_the_rest_of_the_file(tmp_path):
    file, text = tmp_path / "a.csv", "word " * 32_000
    file.write_text(f"a,b\n{text},1\n")
    assert read(file) == [[text.strip(), "1"]]
    file.write_text('a,b\n"' + "x" * LONGEST_CELL + "\n")
    with pytest.raises(
        BadInput, match=r"a\.csv:2: a cell has more than 16,777,216 characters; close the quotes"
    ):
        read(file)


def test_decimals_and_binary_text_of_parquet_are_numbers_and_text(tmp_path):
    """Decimals and binary strings of parquet are loaded.

    Files exported by Spark, DuckDB or BigQuery were once refused: "no text in sentence1 or score".
    """
    columns = {
        "a": pyarrow.array([b"One.", "Zwölf.".encode()], pyarrow.binary()),
        "b": pyarrow.array([Decimal("4.00"), Decimal("3.25")], pyarrow.decimal128(4, 2)),
        "c": pyarrow.array(["x", "y"]).dictionary_encode(),
        "d": pyarrow.array([b"One.", b"\xff"], pyarrow.large_binary()),
        "e": pyarrow.array([["x"], ["y"]]),
        "f": pyarrow.array(["x", None]),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [["One.", "4"], ["Zwölf.", "3.25"]]
    assert read(tmp_path / "a.parquet", "cb") == [["x", "4"], ["y", "3.25"]]
    problems = {
        "b": ':1: "b" is 4.0, a number; expected a string; change the cell, or remove the row',
        "d": ':2: "d" is not UTF-8 text',
        "e": ":1: \"e\" is ['x'], a list; expected a string",
        "f": ':2: "f" is null',
    }
    for heading, problem in problems.items():
        with pytest.raises(BadInput, match=re.escape(f"a.parquet{problem}")):
            read(tmp_path / "a.parquet", heading)


@pytest.mark.parametrize(
    ("separator", "encoding"), [(";", "cp1252"), (";", "utf-8"), (",", "cp1252"), ("\t", "utf-16")]
)
@pytest.mark.parametrize("declared", [False, True])
def test_a_file_of_another_program_is_refused_with_the_command_that_converts_it(
    tmp_path, monkeypatch, separator, encoding, declared
):
    """If a file cannot be parsed, the error contains a convert command.

    If the file began with sep=; the command once wrote a file without the header.
    """
    monkeypatch.chdir(tmp_path)
    decimal = ",5" if separator == ";" else ""
    first = f"sep={separator}\n" if declared else ""
    text = f'{first}Satz{separator}Wert\n"Schön ist\'s."{separator}4{decimal}\n'
    Path("Übung 1.CSV").write_text(text, encoding=encoding)
    problem = f"text in {encoding}; this writes commas and utf-8: python -c "
    with pytest.raises(BadInput, match=problem) as error:
        read("Übung 1.CSV", ["Satz", "Wert"])
    words = shlex.split(str(error.value).partition("utf-8: ")[2])
    subprocess.run([sys.executable, *words[1:]], check=True)
    quoted = '"Schön ist\'s."' if separator == "\t" else "Schön ist's."
    assert read("Übung 1.utf8.csv", ["Satz", "Wert"]) == [[quoted, "4.5" if separator == ";" else "4"]]


def test_a_papers_own_corpus_is_told_where_it_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("REPLICSE_WORKFLOW", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0 and main(["init", "paper", "mine"]) == 0
    folder = tmp_path / "papers" / "mine"
    own = "corpora:\n  own: {format: table, file: papers/mine/mine.csv, text: sentence}\n"
    (folder / "corpora.yaml").write_text(own)
    recipes, like = folder / "recipes.yaml", "  like: simcse/unsup\n"
    recipes.write_text(recipes.read_text().replace(like, f"{like}  corpus: own\n"))
    capsys.readouterr()
    assert main(["run", "--dry-run", "mine"]) == 2
    assert "papers/mine/mine.csv: file not found; put it there" in capsys.readouterr().err
