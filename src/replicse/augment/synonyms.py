"""Synonym replacement through nlpaug, and the thesauri (WordNet, PPDB) it reads.

nlpaug draws and replaces the words. Its own thesauri stay unused: its WordNet downloads what is absent and knows no
system package; its PPDB names no line of a broken file, and takes 3.9 s and 370 MiB of 400,000 lines where `read_ppdb`
takes 1.7 s and 170 MiB; and to import it takes 4.6 s, which EDA, 0.1 s for 5,000 lines, needs for nothing else.
"""

import functools
import io
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
NO_SYNONYM = "DT"  # nlpaug leaves determiners alone
TAGS = {"n": "NN", "v": "VB", "a": "JJ", "s": "JJ", "r": "RB"}
PARTS_OF_SPEECH = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS", "NP"), "n"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBZ", "VBP"), "v"),
    **dict.fromkeys(("JJ", "JJR", "JJS", "IN"), "as"),
    **dict.fromkeys(("RB", "RBR", "RBS"), "r"),
}

# Closed-class words. Thesauri list unrelated nouns under some of them ("a" the vitamin, "in" the inch).
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
    """What nlpaug asks of a dictionary: synonyms of a word (of one part of speech) and tags of a sentence."""

    predict: Callable[..., list[str]]  # (word, pos=None)
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
    """Return every line with some words replaced by synonyms that nlpaug draws; all other characters stay.

    Either `words` or `rate` is given: `words: 1` replaces one word (SimCSE, Table 1); `rate: 0.3` replaces that
    share, 1 to 10 words, as nlpaug does by default (what the reproducibility study ran). nlpaug draws among all
    words but determiners; where the drawn word has no synonym, nothing changes. `source` is `wordnet`, or `ppdb`
    with `file`. `tagger` is `perceptron` (NLTK's; the default for WordNet) or `lexicon` (the part of speech with
    most entries in the thesaurus, words it lacks are never drawn; the default for PPDB). Raises BadInput for a
    malformed file, MissingData where the thesaurus or the tagger is absent.
    """
    least, most = (1, 10) if words is None else (words, words)
    thesaurus = open_thesaurus(source, file, tagger or ("perceptron" if source == "wordnet" else "lexicon"))
    augmenter = _augmenter(thesaurus, source, least, most, rate or 0.3)
    result = []
    with _global_randomness_restored(seed):
        for index, line in enumerate(lines):
            global_random.seed(f"{seed}/{index}")
            result.append(_replaced(augmenter, line))
    return result


def _augmenter(thesaurus: Thesaurus, source: str, least: int, most: int, share: float) -> Any:
    from nlpaug.augmenter.word import SynonymAug

    class Augmenter(SynonymAug):
        """nlpaug's augmenter on our thesaurus: its own loaders download, and cache PPDB by bare file name."""

        @classmethod
        def get_model(cls, *_: Any) -> Thesaurus:
            return thesaurus

    return Augmenter(aug_src=source, aug_min=least, aug_max=most, aug_p=share, reverse_tokenizer=list)


def _replaced(augmenter: Any, line: str) -> str:
    """Return the line with nlpaug's replacements put back between the original blanks."""
    tokens = augmenter.substitute(line)
    if isinstance(tokens, str):  # nothing could be replaced
        return line
    new = iter(tokens)
    return "".join(piece if piece.isspace() else next(new) for piece in PIECES.findall(line))


@contextmanager
def _global_randomness_restored(seed: int) -> Iterator[None]:
    """Give nlpaug, which draws from the global generators, seeded ones; restore them afterwards."""
    python_state, numpy_state = global_random.getstate(), np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        global_random.setstate(python_state)
        np.random.set_state(numpy_state)


# Thesauri


def open_thesaurus(source: str, file: Path | None, tagger: str) -> Thesaurus:
    """Return WordNet, or the PPDB of a file, with parts of speech by a tagger.

    Raises BadInput for a malformed file, MissingData where the data is absent.
    """
    predict, senses = _wordnet() if source == "wordnet" or file is None else _ppdb(file)
    return Thesaurus(predict, _perceptron_tags() if tagger == "perceptron" else _lexicon_tags(senses))


def _lexicon_tags(senses: Callable[[str], dict[str, int]]) -> Callable[..., list[tuple[str, str]]]:
    @functools.cache
    def tag(word: str) -> str:
        entries = {} if word in FUNCTION_WORDS else senses(word)
        return TAGS[max(entries, key=lambda pos: entries[pos])] if any(entries.values()) else NO_SYNONYM

    # Lower case: nlpaug looks the tagged word up as it is, and restores the capital letter itself.
    return lambda tokens: [(token.lower(), tag(token.lower())) for token in tokens]


def _perceptron_tags() -> Callable[..., list[tuple[str, str]]]:
    from nltk.tag import PerceptronTagger

    try:
        return PerceptronTagger().tag
    except LookupError as error:
        raise MissingData(
            "NLTK's part-of-speech tagger is absent: run "
            "`python -m nltk.downloader averaged_perceptron_tagger_eng`, or set the augmentation's "
            "`tagger: lexicon`"
        ) from error


def _ppdb(file: Path) -> tuple[Callable, Callable]:
    if not file.is_file():
        raise MissingData(
            f"{file} is absent: put a PPDB text file there, or change the augmentation's `file`"
        )
    entries = read_ppdb(file)

    def predict(word: str, pos: str | None = None) -> list[str]:
        by_pos = entries.get(word, {})
        return by_pos.get(pos, []) if pos else [name for names in by_pos.values() for name in names]

    return predict, lambda word: {pos: len(names) for pos, names in entries.get(word, {}).items()}


def read_ppdb(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return word -> part of speech (n, v, a, s, r) -> paraphrases of a PPDB text file.

    What nlpaug's reader leaves out is left out: escaped bytes, paraphrases of another number of words and
    closed word classes. That reader itself imports torch, and names no line. Raises BadInput for a malformed
    line.
    """
    entries: dict[str, dict[str, list[str]]] = {}
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                constituents, phrase, paraphrase = (part.strip() for part in line.decode().split("|||")[:3])
            except ValueError as error:
                raise BadInput(
                    f"{path}, line {number}: expected UTF-8 text "
                    "`[NN] ||| word ||| paraphrase ||| features ||| alignment ||| entailment`"
                ) from error
            escaped = b"\\ x" in line or b"xc3" in line
            if escaped or len(phrase.split()) != len(paraphrase.split()):
                continue
            for constituent in constituents[1:-1].split("/"):
                for pos in PARTS_OF_SPEECH.get(constituent, ""):
                    entries.setdefault(phrase, {}).setdefault(pos, []).append(paraphrase)
    return entries


def _wordnet_place() -> Any:
    """Return where the WordNet database is: NLTK's copy first, then the folder of a system package."""
    import nltk

    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except LookupError:
            continue
    # WNSEARCHDIR is WordNet's own variable for its database; the other folder is Debian's wordnet-base.
    for folder in (os.environ.get("WNSEARCHDIR"), "/usr/share/wordnet"):
        if folder and (Path(folder) / "data.noun").is_file():
            if folder not in nltk.data.path:
                nltk.data.path.append(folder)  # NLTK reads nothing outside its own search path
            return folder
    raise MissingData(
        "WordNet is absent: run `python -m nltk.downloader wordnet`, or install a WordNet 3.0 database "
        "(Debian: wordnet-base) and, if it is not found by itself, set WNSEARCHDIR to the folder of data.noun"
    )


def _wordnet() -> tuple[Callable, Callable]:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        """NLTK's reader without what system packages leave out and synonyms do not need."""

        def open(self, file: str) -> Any:
            if file == "lexnames":  # names of the lexicographers' files
                return io.StringIO("".join(f"{number:02d} file{number} 0\n" for number in range(45)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the map to other versions: it serves other languages only."""

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions")
        reader = Reader(_wordnet_place(), None)

    def predict(word: str, pos: str | None = None) -> list[str]:
        return [lemma.name() for synset in reader.synsets(word, pos=pos) for lemma in synset.lemmas()]

    return predict, lambda word: {pos: len(reader.synsets(word, pos=pos)) for pos in "nvar"}
