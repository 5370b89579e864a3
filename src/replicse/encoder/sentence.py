"""Encoders of sentences.

Each distinct sentence is encoded once, in batches of similar length.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import normalize

from replicse.checked import excerpt
from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.folders import check_folder, encoder_folder
from replicse.encoder.heads import SentenceHead, load_head, random_head
from replicse.encoder.huggingface import UNLIMITED
from replicse.encoder.modules import ORIGINAL, has_modules, list_modules, transformer_folder
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.proof import equal
from replicse.encoder.sentence_transformers import LibraryEncoder, open_library_encoder, read_declared
from replicse.encoder.stored import UnusableWeights
from replicse.encoder.tokenizer import CalledTokenizer, check_length, folder_tokenizer
from replicse.errors import BadInput, one_line
from replicse.registry.encoders import MAX_LENGTH, Engine
from replicse.registry.poolings import Own, PoolingParameters, pooling_of
from replicse.runtime.devices import device_for
from replicse.runtime.memory import give_back
from replicse.runtime.progress import follow_encoding

log = logging.getLogger(__name__)
# Padded tokens of a batch: few on a CPU to fit into the cache, many on a GPU to use it fully.
BATCH_TOKENS = {"cpu": 2048, "cuda": 65536}
_TOKENISED_AT_ONCE = 4096
# The least variance of vectors as a share of their mean square. With this share, vectors differ by a millionth of their
# length, which is the rounding error of fp32 in a few layers, and scores would depend on rounding. The smallest share
# in the embedded and compact studies is 0.18, and 1e-8 for a random encoder with an untrained projector.
COLLAPSED = 1e-12
# Number of batches after which glibc returns freed memory to the system, because batches of other shapes cannot reuse
# it: 600 of 1,040 MiB for the seven STS sets at 6x384. Mapping each block separately would cost a quarter of the time.
_GIVEN_BACK_EVERY = 16


class SentenceEncoder:
    """An encoder of sentences with one pooling.

    Each distinct sentence is encoded once, sorted by length. Sentences with equal tokens (e.g. in upper and lower case
    for an uncased encoder) share a vector. Vectors are cached; call `forget` after the weights have changed.

    Args:
        backbone: the encoder.
        head: the sentence head, used if the pooling has a head.
        tokenizer: the tokenizer, or the path of a tokenizer.json.
        pooling: the pooling.
        max_length: the number of tokens to truncate rows to.
        normalised: whether to normalise vectors.
    """

    def __init__(
        self,
        backbone: Backbone,
        head: SentenceHead | None,
        tokenizer: Path | Tokenizer | CalledTokenizer,
        pooling: PoolingParameters,
        max_length: int = MAX_LENGTH,
        normalised: bool = False,
    ) -> None:
        self.backbone, self.head, self.normalised = backbone, head if pooling.head else None, normalised
        self.pooling, self.max_length = pooling, min(max_length, backbone.max_length)
        self.tokenizer = load_tokenizer(tokenizer, None) if isinstance(tokenizer, Path) else tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        special = self.tokenizer.num_special_tokens_to_add(is_pair=False)
        check_length(max_length, special)
        self.read = SentencePooling(pooling, backbone, self.tokenizer)
        self.tokenizer.enable_truncation(self.read.max_sentence_tokens(self.max_length))
        # Ids may have gaps, so the largest id counts and not the number of tokens.
        largest = max(self.tokenizer.get_vocab().values(), default=0)
        if largest >= backbone.vocabulary:
            raise BadInput(
                f"{backbone.tokenizer_file.parent}: the tokenizer has token ids up to {largest}, but the encoder"
                f" knows {backbone.vocabulary}; use the tokenizer that belongs to the encoder"
            )
        self.device, self.dtype = backbone.device, next(backbone.parameters()).dtype
        self.batch_tokens = BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"])
        self._batches = 0
        self._tokens: dict[str, bytes] = {}
        self._vectors: dict[bytes, np.ndarray] = {}

    @classmethod
    def open(
        cls,
        folder_or_hub_id: str | Path,
        pooling: str | Mapping[str, Any] | PoolingParameters | None = None,
        max_length: int | None = None,
        device: str | None = None,
        engine: Engine = "auto",
    ) -> "SentenceEncoder | LibraryEncoder":
        """Load the encoder of a folder or a hub id in fp32.

        Args:
            folder_or_hub_id: a folder of transformers, sentence-transformers, peft or model2vec, or a hub id
                (`name/model[@revision]`).
            pooling: the pooling of the transformer. Default (or "own"): the modules of a sentence-transformers folder,
                `cls` for other folders.
            max_length: the number of tokens to truncate rows to; default: the value in the folder, at most
                512 with a pooling.
            device: the device; default: the first GPU if there is one.
            engine: `auto`, or the engine to use.

        Returns:
            The encoder, a LibraryEncoder if only sentence-transformers can compute it.

        Raises:
            BadInput: the pooling needs a head that is not stored, or no engine can load the folder.

        Example:
            >>> encoder = SentenceEncoder.open("my-encoder", pooling="mean")
            >>> encoder.encode(["A man is playing a guitar."]).shape
            (1, 384)
        """
        folder = encoder_folder(folder_or_hub_id)
        named = pooling_of(pooling) if pooling else None
        if isinstance(named, Own):
            named = None
        original = folder / ORIGINAL if has_modules(folder / ORIGINAL) else folder
        if named is None and has_modules(original):
            check_folder(folder)
            return cls._open_declared(original, max_length, device, engine)
        if original != folder and named == pooling_of("cls"):
            # "cls" is the default of a row in a study.
            raise BadInput(f"{folder}: declares a pooling of its own; write pooling: own, or another by name")
        if named is not None and has_modules(folder):
            log.info("%s: using pooling %s (--pooling), not the folder's modules.json", folder, named)
        transformer = transformer_folder(folder)
        return cls._open_transformer(transformer, named or pooling_of("cls"), max_length, device, engine)

    @classmethod
    def _open_transformer(
        cls,
        folder: Path,
        pooling: PoolingParameters,
        max_length: int | None,
        device: str | None,
        engine: Engine,
        normalised: bool = False,
    ) -> "SentenceEncoder":
        """Load the encoder of a transformer's folder."""
        backbone = open_backbone(folder, engine)
        tokenizer, special, longest = folder_tokenizer(folder)
        if special is not None:
            backbone.special = special
        if backbone.unread:
            first, more = backbone.unread[0], len(backbone.unread) - 1
            log.info(
                "%s: not read, next to the encoder: %s%s", folder, first, f" and {more} more" * (more > 0)
            )
        backbone.to(device_for(device))
        if max_length is not None and max_length > backbone.max_length:
            log.info("%s: rows are cut at its %d positions", folder, backbone.max_length)
        length = min(MAX_LENGTH, longest) if max_length is None else max_length
        encoder = cls(backbone, None, tokenizer, pooling, length, normalised)
        encoder._open_head(folder)
        return encoder

    @classmethod
    def _open_declared(
        cls,
        folder: Path,
        max_length: int | None,
        device: str | None,
        engine: Engine,
    ) -> "SentenceEncoder | LibraryEncoder":
        """Load a folder of modules with an engine or sentence-transformers."""
        library = open_library_encoder(folder, str(device_for(device)), max_length)
        first = list_modules(folder)[0].kind
        try:
            encoder = cls._open_equal(folder, library, device, engine) if first == "Transformer" else None
            if encoder is not None:
                return encoder
            why = "no engine gives its vectors" if first == "Transformer" else f"its first module is {first}"
        except UnusableWeights:
            raise
        # All errors: the library can encode the probe, so it is used instead.
        except Exception as error:
            why = one_line(error)
        if engine != "auto":
            raise BadInput(f"{folder}: engine {engine} cannot read it ({why}); leave the engine out")
        alone = ", each sentence alone, because padding changes its vectors" * library.alone
        log.info("%s is read by sentence-transformers%s: %s", folder, alone, why)
        return library

    @classmethod
    def _open_equal(
        cls, folder: Path, library: LibraryEncoder, device: str | None, engine: Engine
    ) -> "SentenceEncoder | None":
        """Load an encoder if an engine computes the vectors of the library.

        Returns None if there is no such engine. Weights are loaded in any case, because the library does not report
        weights that do not fit.
        """
        declared = read_declared(library.model)
        transformer = transformer_folder(folder)
        if declared is None:
            backbone = open_backbone(transformer, "transformers")
            library.unread, library.code = backbone.unread, backbone.code
            return None
        length = library.max_length or UNLIMITED
        encoder = cls._open_transformer(
            transformer, pooling_of(declared.pooling), length, device, engine, declared.normalised
        )
        library.unread, library.code = encoder.backbone.unread, encoder.backbone.code
        if not equal(encoder(library.texts), library.expected):
            return None
        encoder.forget()
        return encoder

    def reload(self, folder: Path, head_seed: int = 0) -> None:
        """Load the weights of another checkpoint of the same run.

        Tokens stay cached.

        Args:
            folder: the folder of the checkpoint.
            head_seed: the seed of a random head, which is not part of a checkpoint.
        """
        self.backbone.load_state_dict(open_backbone(folder, self.backbone.engine).state_dict())
        self._open_head(folder, head_seed)
        self.forget()

    def _open_head(self, folder: Path, seed: int = 0) -> None:
        """Load or initialise the head of the pooling."""
        hidden, kind = self.backbone.hidden, self.pooling.head
        if kind == "random":
            self.head = random_head(hidden, seed).to(self.device)
        elif kind:
            head = load_head(folder)
            if head is None:
                raise BadInput(
                    f"{folder}: no head (pooler.dense) is stored there; choose a pooling without, such as cls"
                )
            if head.inputs != hidden:
                raise BadInput(
                    f"{folder}: the head takes {head.inputs} numbers, the encoder gives {hidden}; it is of another one"
                )
            self.head = head.to(self.device)

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences, or one string, as float32 vectors.

        Args:
            sentences: the sentences, or a string.

        Returns:
            The vectors, (n, width), in the order of the sentences; (width,) for a string.
        """
        return self([sentences])[0] if isinstance(sentences, str) else self(sentences)

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences as float32 vectors (n, width), in their order."""
        self.prepare(sentences)
        return np.stack([self._vectors[self._tokens[sentence]] for sentence in sentences])

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences without a cached vector, sorted by length.

        If several suites need vectors, call this once with the sentences of all suites.

        Args:
            sentences: the sentences; repeated sentences are encoded once.
        """
        distinct = list(dict.fromkeys(sentences))
        self._tokenise([sentence for sentence in distinct if sentence not in self._tokens])
        wanted = {self._tokens[sentence] for sentence in distinct} - self._vectors.keys()
        self._encode(sorted(wanted, key=lambda tokens: (len(tokens), tokens)))

    def rows(self, sentences: Iterable[str]) -> list[np.ndarray]:
        """Return the token ids of each sentence with special tokens.

        Args:
            sentences: the sentences.

        Returns:
            An int32 array for each sentence, truncated to the maximum length.
        """
        wanted = list(sentences)
        self._tokenise([sentence for sentence in dict.fromkeys(wanted) if sentence not in self._tokens])
        return [np.frombuffer(self._tokens[sentence], dtype=np.int32) for sentence in wanted]

    def forget(self) -> None:
        """Clear cached vectors after a change of the weights.

        Tokens stay cached.
        """
        self._vectors.clear()

    def clear(self) -> None:
        """Clear cached vectors and tokens to save memory."""
        self.forget()
        self._tokens.clear()

    def collapsed(self) -> str:
        """Return an error message if all cached vectors are equal.

        Differences by rounding are ignored. Returns an empty string if the vectors differ.
        """
        vectors = np.array([*self._vectors.values()], dtype=np.float64)
        if len(vectors) < 2 or not np.isfinite(vectors).all():
            return ""  # scores of vectors that are not finite have their own errors
        spread = vectors.var(axis=0).sum() / max((vectors**2).sum(axis=1).mean(), np.finfo(float).tiny)
        if spread >= COLLAPSED:
            return ""
        return (
            f"the encoder has collapsed, the vectors of {len(vectors):,} sentences are one (their variance is"
            f" {spread:.0e} of their mean square)"
        )

    def _tokenise(self, sentences: list[str]) -> None:
        for start in range(0, len(sentences), _TOKENISED_AT_ONCE):
            some = sentences[start : start + _TOKENISED_AT_ONCE]
            texts = [self.pooling.text(sentence) for sentence in some]
            least = self.backbone.min_length
            for sentence, encoding in zip(some, self.tokenizer.encode_batch_fast(texts), strict=True):
                if len(encoding.ids) < least:
                    problem = "no token"
                    if least > 1:
                        problem = f"{len(encoding.ids)} tokens, of at least {least},"
                    raise BadInput(
                        f"the text {excerpt(sentence)} has {problem} for this tokenizer; leave it out"
                    )
                self._tokens[sentence] = np.asarray(encoding.ids, dtype=np.int32).tobytes()

    @torch.inference_mode()
    def _encode(self, keys: list[bytes]) -> None:
        if not keys:
            return
        parts = [part for part in (self.backbone, self.head) if part is not None]
        training = [part.training for part in parts]
        for part in parts:
            part.eval()
        rows = [np.frombuffer(key, dtype=np.int32) for key in keys]
        # Copied from the device only once, so that packing the next batch does not wait for a GPU.
        vectors = torch.cat([self._encode_batch(some) for some in self.batches(rows)]).cpu().numpy()
        for part, before in zip(parts, training, strict=True):
            part.train(before)
        self._vectors.update(zip(keys, vectors, strict=True))

    def batches(self, rows: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        """Split length-sorted rows into batches of limited padded size.

        The padded size is at most `batch_tokens`. A batch that is at least half full ends before longer rows, because
        rows of equal length need no padding. If padding changes vectors, every batch has rows of equal length.

        Args:
            rows: the token ids of each row, sorted by length.
        """
        return follow_encoding(self._split_rows(rows), sum(map(len, rows)))

    def _split_rows(self, rows: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        start, least = 0, self.pooling.padded_to
        lengths = [max(len(row), least) for row in rows]
        for stop, following in enumerate(lengths[1:], 1):
            size, longest = stop - start, lengths[stop - 1]
            is_full = (size + 1) * following > self.batch_tokens
            may_end = self.backbone.alone or 2 * size * longest >= self.batch_tokens
            if is_full or (following > longest and may_end):
                yield rows[start:stop]
                start = stop
        yield rows[start:]

    def _encode_batch(self, rows: list[np.ndarray]) -> Tensor:
        batch = TokenBatch.from_rows(rows).to(self.device)
        vectors = self.read(self.backbone, batch)
        vectors = (vectors if self.head is None else self.head(vectors)).float()
        self._batches += 1
        if self._batches % _GIVEN_BACK_EVERY == 0:
            give_back()
        return normalize(vectors) if self.normalised else vectors
