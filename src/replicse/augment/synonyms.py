"""Synonym replacement with nlpaug, and thesauri (WordNet, PPDB) for it.

nlpaug chooses and replaces words. The thesauri of nlpaug are not used: WordNet downloads missing data and does not find
system packages, and PPDB does not name the line of an error and needs 3.9 s and 370 MiB for 400,000 lines, compared
with 1.7 s and 170 MiB for `read_ppdb`. Importing nlpaug takes 4.6 s, which EDA (0.1 s for 5,000 lines) can avoid.
"""

import functools
import io
import itertools
import os
import random as global_random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from replicse.errors import BadInput, MissingData

PIECES = re.compile(r"\w+|\W")
NO_SYNONYM = "DT"  # nlpaug does not replace determiners
TAGS = {"n": "NN", "v": "VB", "a": "JJ", "s": "JJ", "r": "RB"}
PARTS_OF_SPEECH = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS", "NP"), "n"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBZ", "VBP"), "v"),
    **dict.fromkeys(("JJ", "JJR", "JJS", "IN"), "as"),
    **dict.fromkeys(("RB", "RBR", "RBS"), "r"),
}

# Closed-class words. Thesauri contain unrelated nouns for some of them ("a" the vitamin, "in" the inch).
CLOSED_CLASSES = (
    "a an the this that these those some any no every each either neither both all i me my mine we us "
    "our ours you your yours he him his she her hers it its they them their theirs who whom whose "
    "which what where when why how and or but nor so if than then as at by for from in into of off on "
    "onto out over to under up with within without about above after against along among around "
    "before behind below beneath beside between beyond down during near through toward upon am is are "
    "was were be been being have has had having do does did doing will would shall should can could "
    "may might must not there here "
)
FUNCTION_WORDS = frozenset(CLOSED_CLASSES.split())


@dataclass(frozen=True)
class Thesaurus:
    """The interface of a dictionary in nlpaug.

    Attributes:
        predict: A function of a word and optionally `pos` that returns synonyms.
        pos_tag: A function of words that returns pairs of word and part-of-speech tag.
    """

    predict: Callable[..., list[str]]
    pos_tag: Callable[[Sequence[str]], list[tuple[str, str]]]


def synonym(
    lines: Sequence[str],
    *,
    seed: int,
    source: str,
    words: int | None,
    rate: float | None,
    file: Path | None,
    tagger: str | None,
) -> list[str]:
    """Replace words of each line by synonyms that nlpaug chooses.

    Other characters are not changed. nlpaug chooses from all words except determiners. If a chosen word has no synonym,
    it is not changed.

    Args:
        lines: A list of lines.
        seed: The seed of the words.
        source: "wordnet", or "ppdb" with `file`.
        words: The number of words to replace, such as 1 (SimCSE, Table 1), or None to use `rate`.
        rate: The share of words to replace, 1 to 10 words. The default of nlpaug is 0.3, which the
            reproducibility study used.
        file: The PPDB file, or None.
        tagger: "perceptron" (of NLTK; the default for WordNet), or "lexicon" (the part of speech with the
            most entries in the thesaurus; the default for PPDB), which never chooses words that are not in
            the thesaurus.

    Returns:
        A list of the changed lines.

    Raises:
        BadInput: If the file is not valid.
        MissingData: If the thesaurus or the tagger does not exist.
    """
    least, most = (1, 10) if words is None else (words, words)
    default_tagger = "perceptron" if source == "wordnet" else "lexicon"
    thesaurus = open_thesaurus(source, file, tagger or default_tagger)
    augmenter = _make_augmenter(thesaurus, source, least, most, rate or 0.3)
    result = []
    with _seed_global_generators(seed):
        for index, line in enumerate(lines):
            global_random.seed(f"{seed}/{index}")
            result.append(_replace_words(augmenter, line))
    return result


def _make_augmenter(thesaurus: Thesaurus, source: str, least: int, most: int, share: float) -> Any:
    from nlpaug.augmenter.word import SynonymAug

    class Augmenter(SynonymAug):
        """nlpaug's augmenter, which uses our thesaurus instead of loading one."""

        @classmethod
        def get_model(cls, *_: Any) -> Thesaurus:
            return thesaurus

    return Augmenter(aug_src=source, aug_min=least, aug_max=most, aug_p=share, reverse_tokenizer=list)


def _replace_words(augmenter: Any, line: str) -> str:
    """Return the line with nlpaug's replacements between the original spaces."""
    tokens = augmenter.substitute(line)
    if isinstance(tokens, str):  # no word could be replaced
        return line
    new = iter(tokens)
    pieces = []
    for piece in PIECES.findall(line):
        pieces.append(piece if piece.isspace() else next(new))
    return "".join(pieces)


@contextmanager
def _seed_global_generators(seed: int) -> Iterator[None]:
    """Seed the global random generators in a block and restore them."""
    python_state, numpy_state = global_random.getstate(), np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        global_random.setstate(python_state)
        np.random.set_state(numpy_state)


# Thesauri


def open_thesaurus(source: str, file: Path | None, tagger: str) -> Thesaurus:
    """Load WordNet, or PPDB from a file, with a part-of-speech tagger.

    Args:
        source: "wordnet" or "ppdb".
        file: The PPDB file, or None.
        tagger: "perceptron" or "lexicon".

    Raises:
        BadInput: If the file is not valid.
        MissingData: If the thesaurus or the tagger does not exist.
    """
    predict, count_senses = _open_wordnet() if source == "wordnet" or file is None else _open_ppdb(file)
    tag = _open_perceptron() if tagger == "perceptron" else _make_lexicon_tagger(count_senses)
    return Thesaurus(predict, tag)


def _make_lexicon_tagger(
    count_senses: Callable[[str], dict[str, int]],
) -> Callable[..., list[tuple[str, str]]]:
    @functools.cache
    def tag(word: str) -> str:
        entries = {} if word in FUNCTION_WORDS else count_senses(word)
        if not any(entries.values()):
            return NO_SYNONYM
        return TAGS[max(entries, key=lambda pos: entries[pos])]

    # Words are tagged in lower case, because nlpaug looks up the tagged word, and restores capital letters.
    return lambda tokens: [(token.lower(), tag(token.lower())) for token in tokens]


def _open_perceptron() -> Callable[..., list[tuple[str, str]]]:
    from nltk.tag import PerceptronTagger

    try:
        return PerceptronTagger().tag
    except LookupError as error:
        raise MissingData(
            "NLTK's part-of-speech tagger is not installed; run "
            "`python -m nltk.downloader averaged_perceptron_tagger_eng`, or set the augmentation's "
            "`tagger: lexicon`"
        ) from error


def _open_ppdb(file: Path) -> tuple[Callable, Callable]:
    if not file.is_file():
        raise MissingData(
            f"{file} does not exist; put a PPDB text file there, or change the augmentation's `file`"
        )
    entries = read_ppdb(file)

    def predict(word: str, pos: str | None = None) -> list[str]:
        by_pos = entries.get(word, {})
        if pos:
            return by_pos.get(pos, [])
        return list(itertools.chain.from_iterable(by_pos.values()))

    return predict, lambda word: {pos: len(names) for pos, names in entries.get(word, {}).items()}


def read_ppdb(path: Path) -> dict[str, dict[str, list[str]]]:
    """Load the paraphrases in a PPDB text file.

    As in nlpaug's reader, entries with escaped bytes, paraphrases with another number of words, and closed word classes
    are skipped.

    Args:
        path: The PPDB file.

    Returns:
        A dict from words to dicts from parts of speech (n, v, a, s, r) to lists of paraphrases.

    Raises:
        BadInput: If a line is not valid.
    """
    entries: dict[str, dict[str, list[str]]] = {}
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                parts = [part.strip() for part in line.decode().split("|||")[:3]]
                constituents, phrase, paraphrase = parts
            except ValueError as error:
                raise BadInput(
                    f"{path}, line {number}: expected UTF-8 text "
                    "`[NN] ||| word ||| paraphrase ||| features ||| alignment ||| entailment`"
                ) from error
            is_escaped = b"\\ x" in line or b"xc3" in line
            if is_escaped or len(phrase.split()) != len(paraphrase.split()):
                continue
            for constituent in constituents[1:-1].split("/"):
                for pos in PARTS_OF_SPEECH.get(constituent, ""):
                    entries.setdefault(phrase, {}).setdefault(pos, []).append(paraphrase)
    return entries


def _find_wordnet() -> Any:
    """Return the path of the WordNet database of NLTK or of the system."""
    import nltk

    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except LookupError:
            continue
    # WNSEARCHDIR is the variable of WordNet for the database; the other folder is from Debian's wordnet-base.
    for folder in (os.environ.get("WNSEARCHDIR"), "/usr/share/wordnet"):
        if folder and (Path(folder) / "data.noun").is_file():
            if folder not in nltk.data.path:
                nltk.data.path.append(folder)  # NLTK only reads files in the search path
            return folder
    raise MissingData(
        "WordNet is not installed; run `python -m nltk.downloader wordnet`, or install a WordNet 3.0 database "
        "(Debian: wordnet-base) and, if it is not found automatically, set WNSEARCHDIR to the folder of data.noun"
    )


def _open_wordnet() -> tuple[Callable, Callable]:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        """NLTK's reader without files that synonyms do not use.

        System packages do not contain these files.
        """

        def open(self, file: str) -> Any:
            if file == "lexnames":  # names of the lexicographers' files
                return io.StringIO("".join(f"{number:02d} file{number} 0\n" for number in range(45)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map to other versions, which is only for other languages."""

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions")
        reader = Reader(_find_wordnet(), None)

    def predict(word: str, pos: str | None = None) -> list[str]:
        names: list[str] = []
        for synset in reader.synsets(word, pos=pos):
            names += [lemma.name() for lemma in synset.lemmas()]
        return names

    return predict, lambda word: {pos: len(reader.synsets(word, pos=pos)) for pos in "nvar"}
