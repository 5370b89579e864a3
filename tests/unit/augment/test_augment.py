"""Augmentations: counts, order, determinism, and independence of lines."""

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replicse.augment import augment
from replicse.augment import eda as eda_module
from replicse.augment import synonyms as synonyms_module
from replicse.errors import BadInput, MissingData

WORD = st.text(alphabet="abcdeXYZ.,'", min_size=1, max_size=6)
LINE = st.lists(WORD, min_size=1, max_size=30).map(" ".join)
LINES = st.lists(LINE, min_size=1, max_size=8)
SEED = st.integers(0, 2**40)
SHARE = st.integers(1, 100).map(lambda percent: percent / 100)

PPDB = "synonyms/ppdb.txt"
PARAPHRASES = {
    "NN": [("chef", "cook"), ("chef", "kitchener"), ("soup", "broth"), ("kitchen", "galley")],
    "VBD": [("tasted", "sampled")],
    "JJ": [("tasty", "delicious")],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "synonyms").mkdir()
    rows = ""
    for tag, pairs in PARAPHRASES.items():
        for one, other in pairs:
            rows += f"[{tag}] ||| {one} ||| {other} ||| AGigaSim=0.9 ||| 0-0 ||| Equivalence\n"
    (folder / PPDB).write_text(rows)
    return folder


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def changes(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """Return the pairs of words that differ in two lists of equal length."""
    return [(old, new) for old, new in zip(before, after, strict=True) if old != new]


TEXT_ONLY = [
    {"name": "crop", "keep": 0.7},
    {"name": "crop", "keep": 0.7, "unit": "character", "position": "prefix"},
    {"name": "deletion", "rate": 0.3},
    {"name": "delete-one-word"},
]
EDA = {"name": "eda", "alpha": 0.2, "source": "ppdb", "file": PPDB}
SYNONYM = {"name": "synonym", "words": 1, "source": "ppdb", "file": PPDB}


# Every augmentation


@pytest.mark.parametrize("spec", [*TEXT_ONLY, EDA, SYNONYM], ids=lambda spec: spec["name"])
@given(lines=LINES, seed=SEED)
@settings(max_examples=20)
def test_a_line_depends_on_its_place_and_seed_but_on_no_other_line(spec, root, lines, seed):
    spec = {**spec, "seed": seed}
    result = augment(lines, spec, root=root)
    assert len(result) == len(lines) and all(map(str.strip, result))
    assert augment(lines, spec, root=root) == result
    others = ["something else entirely"] * (len(lines) - 1)
    assert augment([*others, lines[-1]], spec, root=root)[-1] == result[-1]


@pytest.mark.parametrize(
    "spec", [*TEXT_ONLY, {"name": "next-sentence"}, EDA, SYNONYM], ids=lambda spec: spec["name"]
)
def test_no_lines_blank_lines_and_one_word_lines(spec, root):
    assert augment([], spec, root=root) == []
    if spec["name"] != "next-sentence":
        assert augment(["", "zebra"], {**spec, "seed": 1}, root=root)[0] == ""
    if spec.get("unit") != "character":
        assert augment(["zebra"], spec, root=root) == ["zebra"]


# Crop


@given(line=LINE, keep=SHARE, seed=SEED)
def test_crop_keeps_a_contiguous_run_of_whole_words(line, keep, seed):
    words = line.split()
    kept = max(1, round(keep * len(words)))
    [cropped] = augment([line], {"name": "crop", "keep": keep, "seed": seed})
    runs = [words[i : i + kept] for i in range(len(words) - kept + 1)]
    assert cropped.split() in runs
    [prefix] = augment([line], {"name": "crop", "keep": keep, "position": "prefix", "seed": seed})
    assert prefix.split() == words[:kept]


@given(line=LINE, percent=st.integers(1, 100), seed=SEED)
def test_crop_of_characters_is_exact_to_the_character(line, percent, seed):
    kept = max(1, percent * len(line) // 100)
    spec = {"name": "crop", "keep": percent / 100, "unit": "character", "seed": seed}
    assert augment([line], {**spec, "position": "prefix"}) == [line[:kept]]
    [window] = augment([line], spec)
    assert len(window) == kept and window in line and window.strip()


# Deletion


@given(line=LINE, rate=st.integers(0, 100), seed=SEED)
@example(line=" ".join("a" * 30), rate=90, seed=0)  # (1 - 0.9) * 30 is 2.9999999999999996
def test_deletion_counts_and_order(line, rate, seed):
    words = line.split()
    n = len(words)
    spec = {"name": "deletion", "rate": rate / 100, "seed": seed}
    [rounded] = augment([line], spec)
    assert len(rounded.split()) == max(1, n - round(rate / 100 * n))
    [floored] = augment([line], {**spec, "rounding": "keep-floor"})
    assert len(floored.split()) == max(1, (100 - rate) * n // 100)
    assert is_subsequence(rounded.split(), words) and is_subsequence(floored.split(), words)


@given(line=LINE, seed=SEED)
def test_delete_one_word(line, seed):
    words = line.split()
    [shorter] = augment([line], {"name": "delete-one-word", "seed": seed})
    if len(words) == 1:
        assert shorter == line
    else:
        assert shorter.split() in [words[:i] + words[i + 1 :] for i in range(len(words))]


# Next sentence


def test_next_sentence_is_uniform_over_its_reach():
    lines = list(map(str, range(3001)))
    result = augment(lines, {"name": "next-sentence", "reach": 3})
    steps = np.array(result[:-3], dtype=int) - np.arange(2998)
    assert set(steps) == {1, 2, 3} and np.bincount(steps)[1:].min() > 900
    assert result[-2:] == ["3000", "3000"], "the last line follows itself"
    assert augment(lines[:4], {"name": "next-sentence", "reach": 1}) == ["1", "2", "3", "3"]


# Synonyms through nlpaug


LINE_WITH_MARKS = "The  Chef tasted (twice!) a tasty soup;  in the kitchen."
REPLACED = [
    *(
        ("Chef", "Cook"),
        ("Chef", "Kitchener"),
        ("tasted", "sampled"),
        ("tasty", "delicious"),
        ("soup", "broth"),
    ),
    ("kitchen", "galley"),
]


def test_one_synonym_and_nothing_else_changes(root):
    known = {LINE_WITH_MARKS.replace(one, other) for one, other in REPLACED}
    assert set(augment([LINE_WITH_MARKS] * 200, SYNONYM, root=root)) == known


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (["soup"] * 10, 3),
        (["soup"] * 11, 4),
        (["soup"] * 60, 10),
        (["soup"], 1),
        (["soup", *["zebra"] * 6], 1),
    ],
)
def test_a_rate_replaces_its_share_rounded_up_and_at_most_ten(root, line, count):
    spec = {"name": "synonym", "rate": 0.3, "source": "ppdb", "file": PPDB}
    for new in augment([" ".join(line)] * 20, spec, root=root):
        assert len(changes(line, new.split())) == count


def test_synonyms_are_seeded_and_leave_the_global_generators_alone(root):
    spec = {"name": "synonym", "rate": 0.3, "source": "ppdb", "file": PPDB}
    lines = [LINE_WITH_MARKS, "", "A chef tasted soup."] * 4
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), np.random.random()
    random.seed(1)
    np.random.seed(1)
    result = augment(lines, spec, root=root)
    assert (random.random(), np.random.random()) == expected
    assert augment(lines, {**spec, "seed": 7}, root=root) != result


@given(line=st.text(alphabet="ab soup,.'-\té", max_size=30), seed=SEED)
@settings(max_examples=50)
def test_put_back_pieces_restore_any_text(line, seed):
    from nlpaug.util.text.tokenizer import Tokenizer

    class Nothing:
        def substitute(self, text):
            return Tokenizer.tokenizer(text)

    assert synonyms_module._replace_words(Nothing(), line) == line


# WordNet


def write_wordnet(folder: Path) -> None:
    """Write a small database in WordNet's format, without optional files.

    Debian's package does not contain the optional files either.
    """
    synsets = {
        "noun": [("n", ["chef"]), ("n", ["soup", "pottage_stew"]), ("n", ["physician", "doctor", "medic"])],
        "verb": [("v", ["taste", "savor"]), ("v", ["doctor", "sophisticate"])],
        "adj": [("a", ["tasty", "toothsome"])],
        "adv": [("r", ["quickly", "speedily"])],
    }
    for kind, rows in synsets.items():
        text, index = "  1 header Wordnet 3.0 Copyright\n", {}
        for pos, words in rows:
            offset = len(text)
            frames = " 01 + 08 00" if kind == "verb" else ""
            listed = " ".join(f"{word} 0" for word in words)
            text += f"{offset:08d} 05 {pos} {len(words):02x} {listed} 000{frames} | gloss\n"
            for word in words:
                index.setdefault((word, pos), []).append(f"{offset:08d}")
        (folder / f"data.{kind}").write_text(text)
        entries = ""
        for (word, pos), offsets in sorted(index.items()):
            entries += f"{word} {pos} {len(offsets)} 0 {len(offsets)} 0 {' '.join(offsets)}  \n"
        (folder / f"index.{kind}").write_text(entries)
        (folder / f"{kind}.exc").write_text("")


@pytest.fixture
def wordnet(tmp_path, monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    write_wordnet(tmp_path)
    return tmp_path


def test_wordnet_is_read_from_the_folder_of_a_system_package(wordnet):
    spec = {"name": "synonym", "words": 1, "tagger": "lexicon"}
    found = augment(["The physician tastes a tasty soup."] * 80, spec)
    assert set(found) == {
        "The doctor tastes a tasty soup.",
        "The medic tastes a tasty soup.",
        "The physician taste a tasty soup.",
        "The physician savor a tasty soup.",
        "The physician tastes a toothsome soup.",
        "The physician tastes a tasty pottage stew.",
    }


def test_absent_wordnet_and_tagger_are_named_with_the_remedy(wordnet, monkeypatch):
    with pytest.raises(MissingData, match="averaged_perceptron_tagger_eng"):
        augment(["a soup"], {"name": "synonym", "words": 1})
    monkeypatch.setenv("WNSEARCHDIR", str(wordnet / "absent"))
    monkeypatch.setattr(Path, "is_file", lambda self: False)
    with pytest.raises(MissingData, match="wordnet-base"):
        augment(["a soup"], {"name": "synonym", "words": 1})


# EDA


def eda_operation(name, words, alpha, seed):
    synonyms = {"soup": ("broth", "pottage"), "chef": ("cook",)}
    return getattr(eda_module, name)(words, alpha, random.Random(seed), lambda word: synonyms.get(word, ()))


EDA_WORDS = st.lists(st.sampled_from(["soup", "Chef", "(soup,", "zebra", "a"]), min_size=1, max_size=30)


@given(words=EDA_WORDS, alpha=SHARE, seed=SEED)
def test_eda_operations_change_the_number_of_words_they_should(words, alpha, seed):
    most = max(1, int(alpha * 100 + 0.5) * len(words) // 100)
    able = sum(re.sub(r"\W", "", word).lower() in ("soup", "chef") for word in words)
    replaced = eda_operation("replace_synonyms", words, alpha, seed)
    changed = changes(words, replaced)
    assert len(changed) == min(able, most)
    allowed = {"soup": ("broth", "pottage"), "Chef": ("Cook",), "(soup,": ("(broth,", "(pottage,")}
    for old, new in changed:
        assert new in allowed[old]
    longer = eda_operation("insert_synonyms", words, alpha, seed)
    assert len(longer) - len(words) == (most if able else 0)
    assert is_subsequence(words, longer)
    assert set(Counter(longer) - Counter(words)) <= {"broth", "pottage", "cook"}
    swapped = eda_operation("swap_words", words, alpha, seed)
    assert Counter(swapped) == Counter(words)
    assert len(changes(words, swapped)) <= 2 * most
    shorter = eda_operation("delete_words", words, alpha, seed)
    assert shorter and is_subsequence(shorter, words)


def test_eda_uses_all_four_operations_and_keeps_letter_case(root):
    line = "A Chef tasted the tasty soup, Anna."
    result = [new.split() for new in augment([line] * 300, EDA, root=root)]
    lengths = Counter(len(new) - 7 for new in result)
    assert lengths[1] > 40 and sum(count for size, count in lengths.items() if size < 0) > 30
    same = [new for new in result if len(new) == 7 and new != line.split()]
    replaced = [" ".join(new) for new in same if sorted(new) != sorted(line.split())]
    assert len(replaced) > 40 and len(same) - len(replaced) > 40
    assert set(replaced) == {line.replace(one, other) for one, other in REPLACED[:-1]}


def test_eda_cleans_as_its_reference_code_where_that_is_asked_for(root):
    assert eda_module.clean_line("A Chef's well-known  dish, 3 times.") == "a chefs well known dish times"
    assert eda_module.clean_line("1984?") == "1984?"
    result = augment(
        ["A Chef tasted the tasty soup, Anna."] * 60, {**EDA, "cleaning": "reference"}, root=root
    )
    assert all(re.fullmatch("[a-z ]+", line) for line in result)
    assert any("cook tasted the tasty soup anna" in line for line in result)


# Errors


@cases
def test_bad_specs_name_parameter_value_and_expectation(spec, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        augment(["a line"], spec)


def test_absent_and_malformed_ppdb_files_are_named(tmp_path):
    spec = {"name": "synonym", "words": 1, "source": "ppdb", "file": "ppdb.txt"}
    with pytest.raises(MissingData, match=r"ppdb\.txt does not exist"):
        augment(["a line"], spec, root=tmp_path)
    row = "[NN] ||| chef ||| cook ||| AGigaSim=0.9 ||| 0-0 ||| Equivalence\n"
    for broken in (b"chef\tcook\n", b"[NN] ||| caf\xe9 ||| bar |||\n"):
        (tmp_path / "ppdb.txt").write_bytes(row.encode() + broken)
        with pytest.raises(BadInput, match=r"ppdb\.txt, line 2: expected"):
            augment(["a line"], spec, root=tmp_path)


def test_ppdb_is_read_as_nlpaug_reads_it(tmp_path):
    from nlpaug.model.word_dict import Ppdb

    rows = """[NN] ||| chef ||| cook
[NN/NNP] ||| chef ||| boss
[VB] ||| chef ||| cater
[JJ] ||| old ||| aged
[IN] ||| in ||| inside
[DT] ||| the ||| that
[RB] ||| at once ||| now
[VP/NP] ||| run ||| race
[RB] ||| at once ||| right away
[CD] ||| two ||| 2
[NN] ||| chef ||| caf\\xc3"""
    path = tmp_path / "ppdb.txt"
    end = " ||| AGigaSim=0.9 ||| 0-0 ||| Equivalence\n"
    path.write_text(rows.replace("\n", end) + end)
    theirs = Ppdb(str(path))
    ours = synonyms_module.read_ppdb(path)
    for word in ("chef", "old", "in", "the", "at once", "run", "two", "absent"):
        for pos in "nvasr":
            assert ours.get(word, {}).get(pos, []) == theirs.predict(word, pos=pos)
