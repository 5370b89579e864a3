import csv
import gzip
import json
from collections import Counter
from itertools import combinations, permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replicse.data.chunks import chunks_of
from replicse.data.corpora import read_corpus
from replicse.errors import BadInput, MissingData
from replicse.registry.corpora import CorpusFormat, corpus_of

SNLI_TRAIN = [
    "nli/snli/snli_sample_train.jsonl",
    "nli/snli/snli_sample_test.jsonl",
    "nli/snli/snli_1.0_train_head_ent_con.jsonl",
]


def nli_file(root, rows, name="nli.jsonl"):
    keys = ("sentence1", "sentence2", "gold_label")
    text = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    (root / name).write_text(text)
    return name


def corpus(root, text, **spec):
    (root / "corpus").write_text(text)
    return read_corpus(root, {"file": "corpus", **spec})


def test_lines_keep_order_and_drop_blank_ones(tmp_path):
    assert corpus(tmp_path, "b  c\n\n a \r\n   \nb c\n", format="lines") == {"text": ["b c", "a", "b c"]}


def test_lines_of_a_wanted_number_of_words(tmp_path):
    text = "a\na b\na b c\na b c d\n"
    assert corpus(tmp_path, text, format="lines", min_words=2, max_words=3) == {"text": ["a b", "a b c"]}
    assert corpus(tmp_path, text, format="lines", max_words=1) == {"text": ["a"]}
    assert corpus(tmp_path, text, format="lines", min_words=2, limit=1) == {"text": ["a b"]}


def test_models_and_plain_data_are_read_alike(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    plain = {"format": "lines", "file": "a", "name": "wiki", "rows": 2}
    assert read_corpus(tmp_path, corpus_of(plain)) == read_corpus(tmp_path, plain) == {"text": ["one", "two"]}


def test_packed_lines(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_corpus(tmp_path, {"format": "lines", "file": "a.gz", "name": "wiki"}) == {
        "text": ["one", "two"]
    }


def test_a_limit_stops_reading(tmp_path):
    (tmp_path / "a").write_bytes(b"one\ntwo\n\xff\n")
    assert read_corpus(tmp_path, {"format": "lines", "file": "a", "limit": 2}) == {"text": ["one", "two"]}
    with pytest.raises(BadInput, match=r"a:3: not UTF-8"):
        read_corpus(tmp_path, {"format": "lines", "file": "a"})


def test_a_sample_is_random_repeatable_and_in_file_order(tmp_path):
    lines = [f"line {i}" for i in range(100)]
    text = "\n".join(lines)
    first = corpus(tmp_path, text, format="lines", sample={"rows": 10, "seed": 1})["text"]
    assert first == corpus(tmp_path, text, format="lines", sample={"rows": 10, "seed": 1})["text"]
    assert first != corpus(tmp_path, text, format="lines", sample={"rows": 10, "seed": 2})["text"]
    assert len(set(first)) == 10
    assert first == sorted(first, key=lines.index)
    assert corpus(tmp_path, text, format="lines", sample={"rows": 100, "seed": 2})["text"] == lines


def test_samples_reach_every_row(tmp_path):
    text = "\n".join("abcd")
    seen = {
        corpus(tmp_path, text, format="lines", sample={"rows": 1, "seed": s})["text"][0] for s in range(40)
    }
    assert seen == set("abcd")


def test_column_order_decides_the_roles_of_triples(tmp_path):
    text = 'hard_neg,sent0,x\n"a, b",c,"d ""e"""\n'
    expected = {"anchor": ["a, b"], "positive": ["c"], "negative": ['d "e"']}
    assert corpus(tmp_path, text, format="triples") == expected
    assert corpus(tmp_path, "x,y\na,b\nc,d\n", format="triples") == {
        "anchor": ["a", "c"],
        "positive": ["b", "d"],
    }


def test_cells_of_triples_are_one_line_and_never_empty(tmp_path):
    text = 'a,b,c\r\n"two\nlines",,"\u2028x"\r\n\r\n  ,y,z\r\n'
    expected = {"anchor": ["two lines", " "], "positive": [" ", "y"], "negative": ["x", "z"]}
    assert corpus(tmp_path, text, format="triples") == expected


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(cells, cells, cells), max_size=6))
def test_triples_agree_with_any_written_csv(tmp_path, rows):
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([("a", "b", "c"), *rows])
    columns = read_corpus(tmp_path, {"format": "triples", "file": "rows.csv"})
    expected = [tuple(" ".join(cell.split()) or " " for cell in row) for row in rows]
    assert list(zip(*columns.values(), strict=True)) == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a,b,c\n1,2,3\n\n1,2\n", r"corpus:4: 2 columns, but the header has 3"),
        ("a,b,c\n1,2,3,4\n", r"corpus:2: 4 columns"),
        ('a,b\n"x\ny",z\n"never ends,z\nmore\n', r"corpus:4: not CSV"),
        ("a\nb\n", r"corpus:1: 1 columns"),
        ("", r"corpus:1: 0 columns"),
        ("id,sent0,sent1\n1,a,b\n", r'corpus:1: the first of the columns is "id"; expected the anchor'),
    ],
)
def test_malformed_triples_name_file_and_line(tmp_path, text, place):
    with pytest.raises(BadInput, match=place):
        corpus(tmp_path, text, format="triples")


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
    assert read_corpus(tmp_path, {"format": "nli", "files": files}) == {
        "anchor": ["p", "q"],
        "positive": ["p follows", "q follows"],
        "negative": ["p clashes", "q clashes"],
    }
    with_neutral = {"format": "nli", "files": files, "neutral": "neutral"}
    assert read_corpus(tmp_path, with_neutral) == {
        "anchor": ["p"],
        "positive": ["p follows"],
        "negative": ["p clashes"],
        "neutral": ["p may be"],
    }


def test_nli_roles_can_be_exchanged(tmp_path):
    files = [nli_file(tmp_path, NLI_ROWS)]
    spec = {"format": "nli", "files": files, "positive": "neutral", "negative": "entailment"}
    expected = {"anchor": ["p"], "positive": ["p may be"], "negative": ["p follows"]}
    assert read_corpus(tmp_path, spec) == expected


def test_nli_pairs_keep_file_order(tmp_path):
    files = [nli_file(tmp_path, NLI_ROWS)]
    spec = {"format": "nli-pairs", "files": files, "labels": ["entailment", "neutral"]}
    expected = [row[:2] for row in NLI_ROWS if row[2] in ("entailment", "neutral")]
    columns = read_corpus(tmp_path, spec)
    assert list(columns) == ["anchor", "positive"]
    assert list(zip(*columns.values(), strict=True)) == expected


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("{", r"nli:2: expected JSON"),
        ("[1, 2]", r"nli:2: expected JSON"),
        ('{"sentence1": "a", "gold_label": "neutral"}', r"nli:2: expected JSON"),
        ('{"sentence1": "a", "sentence2": null, "gold_label": "neutral"}', r"nli:2: expected JSON"),
        (
            '{"sentence1": "a", "sentence2": "b", "gold_label": "natural"}',
            r'nli:2: .*; did you mean "neutral"',
        ),
    ],
)
def test_malformed_nli_lines_name_file_and_line(tmp_path, line, place):
    nli_file(tmp_path, NLI_ROWS[:1], "nli")
    (tmp_path / "nli").open("a").write(line + "\n")
    with pytest.raises(BadInput, match=place):
        read_corpus(tmp_path, {"format": "nli-pairs", "files": ["nli"], "labels": ["neutral"]})


def test_duplicate_questions(tmp_path):
    text = 'id\tquestion1\tquestion2\tis_duplicate\n1\tWhy "x?\tWhy  x?\t1\n2\tA?\tB?\t0\n'
    assert corpus(tmp_path, text, format="qqp") == {"anchor": ['Why "x?'], "positive": ["Why x?"]}
    with pytest.raises(BadInput, match=r'corpus:4: is_duplicate is "1.0"'):
        corpus(tmp_path, text + "3\tC?\tD?\t1.0\n", format="qqp")


def test_captions_of_one_image_are_paired(tmp_path):
    texts = {"1.jpg": list("abcde"), "2#x.jpg": ["f", "g  g"], "3.jpg": ["h"]}
    text = "".join(
        f"{image}#{k}\t{caption}\n" for image, group in texts.items() for k, caption in enumerate(group)
    )
    columns = corpus(tmp_path, text, format="captions")
    expected = [*combinations("abcde", 2), ("f", "g g")]
    assert list(zip(*columns.values(), strict=True)) == expected
    assert corpus(tmp_path, text, format="captions", limit=3)["positive"] == ["b", "c", "d"]
    assert corpus(tmp_path, text, format="caption-lines") == {"text": [*"abcde", "f", "g g", "h"]}


def test_captions_of_one_image_may_lie_apart(tmp_path):
    text = "1#0\ta\n2#0\tb\n1#1\tc\n"
    assert corpus(tmp_path, text, format="captions") == {"anchor": ["a"], "positive": ["c"]}


@pytest.mark.parametrize("line", ["1.jpg\ta caption", "1.jpg#0 a caption", "1.jpg#0\t "])
def test_malformed_captions_name_file_and_line(tmp_path, line):
    with pytest.raises(BadInput, match=r"corpus:2: expected image#number"):
        corpus(tmp_path, f"1.jpg#0\ta\n{line}\n", format="caption-lines")


def test_sts_sentences_take_both_sides(tmp_path):
    path = tmp_path / "SentEval" / "downstream" / "STS" / "STSBenchmark" / "sts-train.csv"
    path.parent.mkdir(parents=True)
    path.write_text("g\tf\ty\t1\t3\ta\tb\ng\tf\ty\t2\t4\tc\td\n")
    spec = {"format": "sts-sentences", "task": "STS-B", "split": "train"}
    assert read_corpus(tmp_path, spec) == {"text": ["a", "b", "c", "d"]}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"format": "line", "file": "x"}, 'corpus.format is "line"; did you mean "lines"'),
        ({"file": "x"}, "corpus lacks the key .format"),
        (3, "corpus is 3; expected a mapping"),
        (
            {"format": "lines", "file": "x", "min_word": 2},
            'unknown key "min_word" in corpus; did you mean "min_words"',
        ),
        ({"format": "lines"}, 'lacks the key "file"'),
        (
            {"format": "lines", "file": "x.csv"},
            'reads every line of "x.csv" as a sentence; name a format for .csv',
        ),
        ({"format": "lines", "file": "x.jsonl.gz"}, 'reads every line of "x.jsonl.gz" as a sentence'),
        ({"format": "lines", "file": "../x"}, "a file below the data root"),
        ({"format": "lines", "file": "x", "limit": 0}, "corpus.limit is 0"),
        ({"format": "lines", "file": "x", "limit": "nine"}, 'corpus.limit is "nine"'),
        ({"format": "lines", "file": "x", "min_words": True}, "corpus.min_words is True"),
        ({"format": "lines", "file": "x", "sample": 9}, "corpus.sample is 9"),
        (
            {"format": "lines", "file": "x", "limit": 1, "sample": {"rows": 1, "seed": 1}},
            "one of limit and sample",
        ),
        ({"format": "lines", "file": "x", "sample": {"rows": 4, "seed": 1}}, "asks for 4 rows of 3"),
        ({"format": "nli", "files": ["x"], "positive": "entails"}, 'positive is "entails"; did you mean'),
        ({"format": "nli", "files": "x"}, 'files is "x"; expected a list'),
        ({"format": "nli", "files": []}, "files is .*; expected at least 1"),
        ({"format": "nli-pairs", "files": ["x"], "labels": "neutral"}, "expected a list"),
        ({"format": "nli-pairs", "files": ["x"], "labels": ["natural"]}, 'did you mean "neutral"'),
        ({"format": "sts-sentences", "task": "STS-C", "split": "test"}, 'did you mean "STS-B"'),
        ({"format": "sts-sentences", "task": "STS12", "split": "dev"}, "STS12 has no other"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(tmp_path, spec, message):
    (tmp_path / "x").write_text("1\n2\n3\n")
    with pytest.raises(BadInput, match=message):
        read_corpus(tmp_path, spec)


def test_a_missing_corpus_names_file_and_remedy(tmp_path):
    with pytest.raises(MissingData, match=r"wiki\.txt: no such file; .*set data\.source to hub"):
        read_corpus(tmp_path, {"format": "lines", "file": "wiki.txt"})


# Counts of shared/data/README.md.
@pytest.mark.parametrize(
    ("spec", "columns", "rows"),
    [
        ({"format": "lines", "file": "wiki/enwiki_sentences.txt.gz"}, 1, 240933),
        (
            {"format": "lines", "file": "wiki/enwiki_sentences.txt.gz", "min_words": 8, "max_words": 60},
            1,
            182828,
        ),
        ({"format": "lines", "file": "wiki/wiki1m_for_simcse.head.txt.gz"}, 1, 11914),
        ({"format": "lines", "file": "wiki/wikitext-103.valid.tokens.gz"}, 1, 2461),
        ({"format": "lines", "file": "wiki/wikitext-103.test.tokens.gz"}, 1, 2891),
        ({"format": "triples", "file": "nli/nli_triplets_train_part.csv"}, 3, 1456),
        ({"format": "triples", "file": "nli/nli_triplets_devtest.csv"}, 3, 8815),
        ({"format": "qqp", "file": "pairs/qqp/qqp_sample.tsv"}, 2, 7585),
        ({"format": "captions", "file": "pairs/flickr30k/flickr30k_captions_val.tsv.gz"}, 2, 10 * 1014),
        ({"format": "caption-lines", "file": "pairs/flickr30k/flickr30k_captions_val.tsv.gz"}, 1, 5070),
        ({"format": "captions", "file": "pairs/flickr30k/flickr30k_captions_train.tsv.gz"}, 2, 10 * 29000),
        ({"format": "caption-lines", "file": "pairs/flickr30k/flickr30k_captions_train.tsv.gz"}, 1, 145000),
        ({"format": "sts-sentences", "task": "STS-B", "split": "train"}, 1, 2 * 5749),
        ({"format": "sts-sentences", "task": "STS14", "split": "test"}, 1, 2 * 3750),
    ],
)
def test_real_counts(real_data, spec, columns, rows):
    found = read_corpus(real_data, spec)
    assert [len(texts) for texts in found.values()] == [rows] * columns


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("snli/snli_1.0_dev.jsonl", (3329, 3235, 3278)),
        ("snli/snli_1.0_test.jsonl", (3368, 3219, 3237)),
        ("snli/snli_sample_train.jsonl", (6015, 5899, 6086)),
        ("snli/snli_sample_test.jsonl", (652, 663, 685)),
        ("snli/snli_1.0_train_head_ent_con.jsonl", (1050, 0, 1049)),
        ("multinli/multinli_1.0_dev_matched.jsonl", (3479, 3123, 3213)),
        ("anli/anli_test.jsonl", (1070, 1068, 1062)),
    ],
)
def test_real_counts_of_nli_labels(real_data, file, counts):
    for label, rows in zip(("entailment", "neutral", "contradiction"), counts, strict=True):
        spec = {"format": "nli-pairs", "files": [f"nli/{file}"], "labels": [label]}
        assert len(read_corpus(real_data, spec)["anchor"]) == rows


def test_real_triples_follow_a_slow_loop(real_data):
    rows = []
    for file in SNLI_TRAIN:
        for line in (real_data / file).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            rows.append(
                tuple(" ".join(record[key].split()) for key in ("sentence1", "sentence2", "gold_label"))
            )
    expected = []
    for premise in dict.fromkeys(row[0] for row in rows[:400]):
        follows = [row[1] for row in rows if row[0] == premise and row[2] == "entailment"]
        clashes = [row[1] for row in rows if row[0] == premise and row[2] == "contradiction"]
        if follows and clashes:
            expected.append((premise, follows[0], clashes[0]))
    columns = read_corpus(real_data, {"format": "nli", "files": SNLI_TRAIN})
    assert len(expected) > 5
    assert list(zip(*columns.values(), strict=True))[: len(expected)] == expected


COURSE_STS = {
    "file": "minbert/sts-dev.csv", "sentences": ["sentence1", "sentence2"], "label": "similarity", "quoted": True,
}  # fmt: skip


ARTICLES = {"file": "wiki/enwiki_sentences.txt.gz"}


def test_real_columns_of_all_formats_are_clean(real_data):
    specs = [
        {"format": "lines", "file": "wiki/enwiki_sentences.txt.gz", "limit": 2000},
        {"format": "triples", "file": "nli/nli_triplets_train_part.csv"},
        {"format": "nli", "files": SNLI_TRAIN, "limit": 500},
        {"format": "nli-pairs", "files": SNLI_TRAIN, "labels": ["neutral"], "limit": 500},
        {"format": "qqp", "file": "pairs/qqp/qqp_sample.tsv"},
        {"format": "captions", "file": "pairs/flickr30k/flickr30k_captions_val.tsv.gz"},
        {"format": "caption-lines", "file": "pairs/flickr30k/flickr30k_captions_val.tsv.gz"},
        {"format": "sts-sentences", "task": "SICK-R", "split": "dev"},
        {"format": "labelled", **COURSE_STS},
        {"format": "labelled-lines", **COURSE_STS},
        {"format": "transfer-sentences", "task": "TREC"},
        {"format": "documents", **ARTICLES, "limit": 200},
        {"format": "chunks", "documents": {"format": "documents", **ARTICLES, "limit": 200}},
    ]
    # No real file of plain pairs is at hand: ParaNMT could not be had. The others have tests of their own.
    elsewhere = {"pairs", "hub-dataset", "table"}
    assert {spec["format"] for spec in specs} == CorpusFormat.known.keys() - elsewhere
    for spec in specs:
        for texts in read_corpus(real_data, spec).values():
            assert all(text == " ".join(text.split()) != "" for text in texts)


def test_tab_separated_pairs_take_the_first_two_fields(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a  b\tc\t0.9\n\nd\te\n", encoding="utf-8")
    found = read_corpus(tmp_path, {"format": "pairs", "file": "pairs.tsv"})
    assert found == {"anchor": ["a b", "d"], "positive": ["c", "e"]}
    (tmp_path / "broken.tsv").write_text("a\tb\nalone\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"broken\.tsv:2: expected two sentences"):
        read_corpus(tmp_path, {"format": "pairs", "file": "broken.tsv"})


A, B, C, D = ("a" * 30, "b" * 40, "c" * 30, "d" * 35)
LONG = "e" * 60


def by_hand(text, sentences, shortest, longest):
    """Return the chunks of a text as the code of Gonzalez-Marquez et al. makes them, a sentence at a time."""
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


def test_chunks_skip_sentences_of_other_lengths_and_may_overlap():
    text = f"{A}. no. {B}. {LONG}. {C}. {D}."
    assert chunks_of(text, 2, 20, 50) == [f"{A}. {B}.", f"{B}. {C}.", f"{C}. {D}."]
    assert chunks_of(text, 3, 20, 50) == [f"{A}. {B}. {C}.", f"{B}. {C}. {D}."]
    # The blank before a sentence counts.
    assert chunks_of(f"{A}. {B}. {C}.", 2, 20, 40) == [f"{A}. {C}."]
    assert chunks_of(f"{A}.", 2, 20, 50) == chunks_of("", 2, 20, 50) == []


@given(st.text(alphabet="ab. ", max_size=120), st.integers(1, 3), st.integers(1, 6), st.integers(0, 12))
def test_chunks_are_those_of_a_slow_loop(text, sentences, shortest, more):
    assert chunks_of(text, sentences, shortest, shortest + more) == by_hand(
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
    for place, chunks in enumerate(chosen):  # the text with one chunk is never there
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
    with pytest.raises(BadInput, match="text, the heading of the texts"):
        read_corpus(tmp_path, {"format": "documents", "file": "texts.csv"})
    pairs = {"format": "hub-dataset", "parts": [{"path": "a/b"}], "columns": {"a": "anchor", "b": "positive"}}
    with pytest.raises(BadInput, match="a corpus with the column text, not of anchor, positive"):
        read_corpus(tmp_path, {"format": "chunks", "documents": pairs})


def test_sentences_of_a_transfer_set_come_with_their_classes(real_data):
    found = read_corpus(real_data, {"format": "transfer-sentences", "task": "TREC"})
    assert len(found["text"]) == 5952 and set(found["class"]) == set("012345")
