"""Corpora of one's own: tables by their headings, what is refused with its line, and where they are named."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases

from replicse.cli import main
from replicse.data.corpora import read_corpus
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


@pytest.mark.parametrize(
    ("separator", "encoding"), [(";", "cp1252"), (";", "utf-8"), (",", "cp1252"), ("\t", "utf-16")]
)
def test_how_other_programs_save_a_table_is_told_in_one_sentence_with_what_mends_it(
    tmp_path, monkeypatch, separator, encoding
):
    monkeypatch.chdir(tmp_path)
    Path("Übung 1.CSV").write_text(f"Satz{separator}Wert\nSchön ist's.{separator}4\n", encoding=encoding)
    table = {"format": "table", "text": "Satz"}
    with pytest.raises(
        BadInput, match=f"text in {encoding}; expected commas and utf-8, which this writes: "
    ) as told:
        read_corpus(tmp_path, {**table, "file": "Übung 1.CSV"})
    command = shlex.split(str(told.value).partition("writes: ")[2])
    subprocess.run([sys.executable, *command[1:]], check=True)
    assert read_corpus(tmp_path, {**table, "file": "Übung 1.utf8.csv"}) == {"text": ["Schön ist's."]}


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
    assert "papers/mine/mine.csv: no such file; put it there" in capsys.readouterr().err
