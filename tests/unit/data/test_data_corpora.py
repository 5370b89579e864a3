import gzip
import json
from collections import Counter
from itertools import combinations, permutations

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from papers.cropping.texts import split_chunks

from replicse.data.corpora import read_corpus
from replicse.errors import BadInput
from replicse.registry.corpora import corpus_of


def nli_file(root, rows, name="nli.jsonl"):
    """Write labelled pairs as JSON lines, by default to `nli.jsonl`."""
    keys = ("sentence1", "sentence2", "gold_label")
    text = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    (root / name).write_text(text)
    return name


def corpus(root, text, **spec):
    (root / "corpus").write_text(text)
    return read_corpus(root, {"file": "corpus", **spec})


def test_lines_as_written_are_those_of_the_authors_loader(tmp_path):
    """Lines are kept as in the authors' loader.

    If empty lines are skipped and spaces are collapsed, the corpus has fewer than 1,000,000 rows.
    """
    datasets = pytest.importorskip("datasets")
    text = "first  line\n\n led and ended by spaces \n \none\u2028line\nlast"
    found = corpus(tmp_path, text, format="lines", as_written=True, rows=6)["text"]
    loaded = datasets.load_dataset(
        "text", data_files=str(tmp_path / "corpus"), cache_dir=str(tmp_path / "cache")
    )
    assert found == [line or " " for line in loaded["train"]["text"]]
    assert len(corpus(tmp_path, text, format="lines")["text"]) == 4
    with pytest.raises(BadInput, match="as_written without min_words and max_words"):
        corpus(tmp_path, text, format="lines", as_written=True, min_words=2)


@cases
def test_lines_of_a_wanted_number_of_words_keep_their_order(tmp_path, text, options, kept):
    assert corpus(tmp_path, text, format="lines", **options) == {"text": kept}
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    packed = corpus_of({"format": "lines", "file": "a.gz", "name": "wiki", **options})
    assert read_corpus(tmp_path, packed) == {"text": kept}


def test_a_sample_is_random_repeatable_and_in_file_order(tmp_path):
    lines = [f"line {i}" for i in range(100)]
    text = "\n".join(lines)
    first = corpus(tmp_path, text, format="lines", sample={"rows": 10, "seed": 1})["text"]
    assert first == corpus(tmp_path, text, format="lines", sample={"rows": 10, "seed": 1})["text"]
    assert first != corpus(tmp_path, text, format="lines", sample={"rows": 10, "seed": 2})["text"]
    assert len(set(first)) == 10 and min(map(lines.index, first)) < 50 < max(map(lines.index, first))
    assert first == sorted(first, key=lines.index)
    assert corpus(tmp_path, text, format="lines", sample={"rows": 100, "seed": 2})["text"] == lines


@cases
def test_column_order_decides_the_roles_of_triples(tmp_path, text, anchors, positives, negatives):
    expected = {"anchor": anchors, "positive": positives, **({"negative": negatives} if negatives else {})}
    assert corpus(tmp_path, text, format="triples") == expected


@cases
def test_malformed_lines_name_file_and_line(tmp_path, kind, text, place):
    (tmp_path / "corpus").write_text(text)
    files = {"files": ["corpus"], "labels": ["neutral"]} if kind == "nli-pairs" else {"file": "corpus"}
    with pytest.raises(BadInput, match=place):
        read_corpus(tmp_path, {"format": kind, **files})


NLI_ROWS = [
    ("p", "p follows", "entailment"),
    ("q", "q clashes", "contradiction"),
    ("p", "p  clashes", "contradiction"),
    ("r", "r follows", "entailment"),
    ("p", "p follows again", "entailment"),
    ("q", "nobody knows", "-"),
    ("p", "p may be", "neutral"),
    ("q", "q follows", "entailment"),
]


def test_nli_takes_the_first_hypothesis_of_each_class_by_premise(tmp_path):
    files = [nli_file(tmp_path, NLI_ROWS[:4], "1"), nli_file(tmp_path, NLI_ROWS[4:], "2")]

    def rows(**spec):
        columns = read_corpus(tmp_path, {"format": "nli", "files": files, **spec})
        return tuple(columns), list(zip(*columns.values(), strict=True))

    names = ("anchor", "positive", "negative")
    every = [("p", "p follows", "p clashes"), ("q", "q follows", "q clashes")]
    assert rows() == (names, every)
    assert rows(neutral="neutral") == ((*names, "neutral"), [(*every[0], "p may be")])
    assert rows(positive="neutral", negative="entailment") == (names, [("p", "p may be", "p follows")])
    wanted = [row[:2] for row in NLI_ROWS if row[2] in ("entailment", "neutral")]
    assert rows(format="nli-pairs", labels=["entailment", "neutral"]) == (names[:2], wanted)


def test_captions_of_one_image_are_paired(tmp_path):
    texts = {"1.jpg": list("abcde"), "2#x.jpg": ["f", "g  g"], "3.jpg": ["h"]}
    text = ""
    for image, group in texts.items():
        for k, caption in enumerate(group):
            text += f"{image}#{k}\t{caption}\n"
    columns = corpus(tmp_path, text, format="captions")
    expected = [*combinations("abcde", 2), ("f", "g g")]
    assert list(zip(*columns.values(), strict=True)) == expected
    assert corpus(tmp_path, text, format="captions", limit=3)["positive"] == ["b", "c", "d"]
    apart = corpus(tmp_path, "1#0\ta\n2#0\tb\n1#1\tc\n", format="captions")
    assert apart == {"anchor": ["a"], "positive": ["c"]}
    assert corpus(tmp_path, text, format="caption-lines") == {"text": [*"abcde", "f", "g g", "h"]}


@cases
def test_a_wrong_recipe_says_what_is_wrong(tmp_path, spec, message):
    (tmp_path / "x").write_text("1\n2\n3\n")
    with pytest.raises(BadInput, match=message):
        read_corpus(tmp_path, spec)


# The numbers of rows are in shared/data/README.md.
@cases
def test_real_counts(real_data, spec, columns, rows):
    found = read_corpus(real_data, spec)
    assert list(map(len, found.values())) == [rows] * columns


A, B, C, D = ("a" * 30, "b" * 40, "c" * 30, "d" * 35)


def by_hand(text, sentences, shortest, longest):
    """Return the chunks of a text as in the code of Gonzalez-Marquez et al.

    A slow loop over sentences.

    Args:
        text: The text of a document.
        sentences: Number of sentences in a chunk.
        shortest: Minimum number of characters of a sentence.
        longest: Maximum number of characters of a sentence.
    """
    parts = text.split(".")
    chunks = []
    for start in range(len(parts) - (sentences - 1)):
        if not shortest <= len(parts[start]) <= longest:
            continue
        chunk, count = "", 0
        for part in parts[start:]:
            if shortest <= len(part) <= longest:
                chunk, count = chunk + part.strip() + ". ", count + 1
            if count == sentences:
                chunks.append(chunk.strip())
                break
    return chunks


@given(st.text(alphabet="ab. ", max_size=120), st.integers(1, 3), st.integers(1, 6), st.integers(0, 12))
def test_chunks_are_those_of_a_slow_loop(text, sentences, shortest, more):
    assert split_chunks(text, sentences, shortest, shortest + more) == by_hand(
        text, sentences, shortest, shortest + more
    )


def test_each_visit_draws_two_different_chunks_of_a_text_that_has_two(tmp_path):
    lines = [f"{A}.", f"{B}.", f"{C}.", f"{D}", "", "Title", f"{A}.", "", f"{D}.", f"{A}.", f"{B}.", ""]
    (tmp_path / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    documents = {"format": "documents", "file": "texts.txt"}
    texts = [f"{A}. {B}. {C}. {D}.", f"Title. {A}.", f"{D}. {A}. {B}."]
    assert read_corpus(tmp_path, documents) == {"text": texts}
    spec = {"format": "chunks", "documents": documents, "shortest": 20, "longest": 50, "visits": 200}
    found = read_corpus(tmp_path, spec)
    assert found == read_corpus(tmp_path, spec) != read_corpus(tmp_path, {**spec, "seed": 1})
    pairs = list(zip(found["anchor"], found["positive"], strict=True))
    chosen = [by_hand(texts[place], 2, 20, 50) for place in (0, 2)]
    for place, chunks in enumerate(chosen):  # A text with a single chunk is not used.
        drawn = Counter(pairs[place::2])
        wanted = set(permutations(chunks, 2))
        assert set(drawn) == wanted and sum(drawn.values()) == 200
        assert min(drawn.values()) > 200 / len(wanted) / 2
    assert len(pairs) == 400


def test_documents_of_a_table_have_classes_where_a_heading_names_them(tmp_path):
    (tmp_path / "texts.csv").write_text("abstract,field\nOne. Two.,x\nThree.,y\n", encoding="utf-8")
    spec = {"format": "documents", "file": "texts.csv", "text": "abstract"}
    assert read_corpus(tmp_path, spec) == {"text": ["One. Two.", "Three."]}
    assert read_corpus(tmp_path, {**spec, "label": "field"})["class"] == ["x", "y"]
