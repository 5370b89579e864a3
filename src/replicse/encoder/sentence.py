"""Sentences to vectors: every distinct one is tokenised and encoded once, in batches of similar length."""

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
from replicse.encoder.heads import SentenceHead, random_head, stored_head
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
# Padded tokens of one batch: a CPU wants its working set in the cache, a GPU wants to be full.
BATCH_TOKENS = {"cpu": 2048, "cuda": 65536}
_TOKENISED_AT_ONCE = 4096
# Where the variance of all vectors is this share of their mean square, they differ by a millionth of their length,
# which is what fp32 rounds in a few layers: any score would rank rounding. The least share of all encoders of the
# embedded and the compact study is 0.18, that of a random encoder behind a projector whose running means are not yet
# there 1e-8: no honest run comes near, be it without dropout or without a term of variance.
COLLAPSED = 1e-12
# After so many batches glibc gives back what layers freed: batches of other shapes do not fit in there.
# That was 600 of the 1,040 MiB of the seven STS sets at 6x384. To map each block apart costs a quarter of the time.
_GIVEN_BACK_EVERY = 16


class SentenceEncoder:
    """Encode sentences with one pooling; every distinct sentence once, length-sorted.

    Sentences that become the same tokens (case and spacing, for an uncased encoder) share one vector. Vectors
    are kept over calls; `forget` drops them when the weights have changed.
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
        self.tokenizer.enable_truncation(self.read.sentence_tokens(self.max_length))
        # Ids may have gaps: the number of tokens says less than the largest of them.
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
        """Open the encoder of a folder or a hub id (`name/model[@revision]`) as its own library reads it.

        It is computed in fp32, whatever precision its weights are stored in.

        Args:
            folder_or_hub_id: of transformers, sentence-transformers, peft or model2vec.
            pooling: by default (or "own") a folder of sentence-transformers is read by its modules, any other one by
                `cls`. With a pooling, the transformer alone is read.
            max_length: tokens at which a row is cut; by default the folder's own, 512 at most with a pooling.
            device: by default the first GPU if there is one.
            engine: `auto`, or the only engine that may read it.

        Returns:
            The encoder; a LibraryEncoder if only sentence-transformers computes it.

        Raises:
            BadInput: the pooling needs a head that was not stored, or nobody can read the folder.
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
            # What a row of a study reads if it names no pooling.
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
        """Return the encoder of a transformer's folder."""
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
        """Return a folder of sentence-transformers as that library reads it, by an engine that gives its vectors."""
        library = open_library_encoder(folder, str(device_for(device)), max_length)
        first = list_modules(folder)[0].kind
        try:
            encoder = cls._open_equal(folder, library, device, engine) if first == "Transformer" else None
            if encoder is not None:
                return encoder
            why = "no engine gives its vectors" if first == "Transformer" else f"its first module is {first}"
        except UnusableWeights:
            raise
        # Whatever fails here, the library has encoded the probe.
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
        """Return an encoder of an engine that gives the vectors of the library; None if no engine does.

        Its weights are read also if there is no hope, because the library says nothing of those without a place.
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
        """Take the weights of another checkpoint of the same run; tokens are kept.

        A random head is none of the checkpoint's: it is drawn again from `head_seed`.
        """
        self.backbone.load_state_dict(open_backbone(folder, self.backbone.engine).state_dict())
        self._open_head(folder, head_seed)
        self.forget()

    def _open_head(self, folder: Path, seed: int = 0) -> None:
        """Take the head that the pooling applies from a folder, or draw it; BadInput where it is not stored."""
        hidden, wanted = self.backbone.hidden, self.pooling.head
        if wanted == "random":
            self.head = random_head(hidden, seed).to(self.device)
        elif wanted:
            head = stored_head(folder)
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
        """Return float32 vectors (n, width) in the order of the sentences; of one text, a vector (width,)."""
        return self([sentences])[0] if isinstance(sentences, str) else self(sentences)

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return float32 vectors (n, width) in the order of the sentences."""
        self.prepare(sentences)
        return np.stack([self._vectors[self._tokens[sentence]] for sentence in sentences])

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences that have no vector yet, sorted by length: one pass over several suites."""
        distinct = list(dict.fromkeys(sentences))
        self._tokenise([sentence for sentence in distinct if sentence not in self._tokens])
        wanted = {self._tokens[sentence] for sentence in distinct} - self._vectors.keys()
        self._encode(sorted(wanted, key=lambda tokens: (len(tokens), tokens)))

    def rows(self, sentences: Iterable[str]) -> list[np.ndarray]:
        """Return the token ids of each sentence, special ones included, cut at the encoder's length."""
        wanted = list(sentences)
        self._tokenise([sentence for sentence in dict.fromkeys(wanted) if sentence not in self._tokens])
        return [np.frombuffer(self._tokens[sentence], dtype=np.int32) for sentence in wanted]

    def forget(self) -> None:
        """Drop all vectors, because the encoder's weights have changed; tokens are kept."""
        self._vectors.clear()

    def clear(self) -> None:
        """Drop all vectors and tokens, because there are more sentences than fit into memory."""
        self.forget()
        self._tokens.clear()

    def collapsed(self) -> str:
        """Return why no number can be drawn from the vectors that are kept; blank where they differ, or are none."""
        vectors = np.array([*self._vectors.values()], dtype=np.float64)
        if len(vectors) < 2 or not np.isfinite(vectors).all():
            return ""  # what is not finite has its own reasons where it is scored
        spread = vectors.var(axis=0).sum() / max((vectors**2).sum(axis=1).mean(), np.finfo(float).tiny)
        return (
            f"the encoder has collapsed, the vectors of {len(vectors):,} sentences are one (their variance is"
            f" {spread:.0e} of their mean square)"
            if spread < COLLAPSED
            else ""
        )

    def _tokenise(self, sentences: list[str]) -> None:
        for start in range(0, len(sentences), _TOKENISED_AT_ONCE):
            some = sentences[start : start + _TOKENISED_AT_ONCE]
            texts = [self.pooling.text(sentence) for sentence in some]
            for sentence, encoding in zip(some, self.tokenizer.encode_batch_fast(texts), strict=True):
                if len(encoding.ids) < self.backbone.min_length:
                    least = self.backbone.min_length
                    problem = (
                        "no token" if least == 1 else f"{len(encoding.ids)} tokens, of at least {least},"
                    )
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
        # Copied from the device once at the end, so that a GPU never waits for the packing of the next batch.
        vectors = torch.cat([self._encode_batch(some) for some in self.batches(rows)]).cpu().numpy()
        for part, before in zip(parts, training, strict=True):
            part.train(before)
        self._vectors.update(zip(keys, vectors, strict=True))

    def batches(self, rows: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        """Yield runs of length-sorted rows whose padded size stays within `batch_tokens`.

        A run that is half full ends where longer rows begin: rows of one length need no padding and no mask. Where
        padding changes vectors, every run does.
        """
        return follow_encoding(self._cut(rows), sum(map(len, rows)))

    def _cut(self, rows: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        start, least = 0, self.pooling.padded_to
        lengths = [max(len(row), least) for row in rows]
        for stop, following in enumerate(lengths[1:], 1):
            size, longest = stop - start, lengths[stop - 1]
            full = (size + 1) * following > self.batch_tokens
            enough = self.backbone.alone or 2 * size * longest >= self.batch_tokens
            if full or (following > longest and enough):
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
