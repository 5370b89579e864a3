"""Sentences to vectors: every distinct one is tokenised and encoded once, in batches of similar length."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.functional import normalize

from replicse.checked import shown
from replicse.data.tokenizer import TokenizerSettings, load_tokenizer, tokenizer_from_vocabulary
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead, random_head, stored_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.sentence_transformers import read_modules
from replicse.encoder.stored import read_config
from replicse.errors import BadInput, MissingData
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import MAX_LENGTH, Engine
from replicse.registry.poolings import PoolingParameters, pooling_of
from replicse.runtime.devices import device_for
from replicse.runtime.memory import give_back

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
_HUB_ID = re.compile(r"(?P<repo>\w[\w.-]*(/[\w.-]+)?)(@(?P<revision>[\w.-]+))?")


class SentenceEncoder:
    """Encode sentences with one pooling; every distinct sentence once, length-sorted.

    Sentences that become the same tokens (case and spacing, for an uncased encoder) share one vector. Vectors
    are kept over calls; `forget` drops them when the weights have changed.
    """

    def __init__(
        self,
        backbone: Backbone,
        head: SentenceHead | None,
        tokenizer: Path | Tokenizer,
        pooling: PoolingParameters,
        max_length: int = MAX_LENGTH,
        batch_tokens: int | None = None,
        normalised: bool = False,
    ) -> None:
        self.backbone, self.head, self.normalised = backbone, head if pooling.head else None, normalised
        self.pooling, self.max_length = pooling, max_length
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else load_tokenizer(tokenizer, None)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        special = self.tokenizer.num_special_tokens_to_add(is_pair=False)
        if max_length <= special:
            raise BadInput(
                f"max_length is {max_length}, but a row has {special} special tokens; give at least {special + 1}"
            )
        self.read = SentencePooling(pooling, backbone, self.tokenizer)
        self.tokenizer.enable_truncation(self.read.sentence_tokens(min(max_length, backbone.max_length)))
        # Ids may have gaps: the number of tokens says less than the largest of them.
        largest = max(self.tokenizer.get_vocab().values(), default=0)
        if largest >= backbone.vocabulary:
            raise BadInput(
                f"the tokenizer has token ids up to {largest}, but the encoder knows "
                f"{backbone.vocabulary}; use the tokenizer that belongs to the encoder"
            )
        self.device = backbone.input_embeddings.device
        self.batch_tokens = batch_tokens or BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"])
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
        batch_tokens: int | None = None,
        engine: Engine = "auto",
    ) -> "SentenceEncoder":
        """Open a Hugging Face or sentence-transformers folder, or a hub id (`name/model[@revision]`).

        Where `pooling` is given, only the transformer of a sentence-transformers folder is read. Where it is not, such
        a folder's own pooling, normalisation and longest row hold; of any other folder it is `cls`. `max_length` counts
        tokens (512). The device is the first GPU where there is one.
        Raises BadInput where the pooling needs a head that was not stored, or a folder has modules that are not
        computed here.
        """
        modules = read_modules(encoder_folder(folder_or_hub_id), only_transformer=pooling is not None)
        params = pooling_of(pooling or modules.pooling or "cls")
        backbone, tokenizer = open_backbone(modules.transformer, engine), open_tokenizer(modules.transformer)
        backbone.to(device_for(device))
        length = (modules.max_length or MAX_LENGTH) if max_length is None else max_length
        encoder = cls(backbone, None, tokenizer, params, length, batch_tokens, modules.normalised)
        encoder._open_head(modules.transformer)
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
                    f"{folder}: the head takes {head.inputs} numbers, the encoder gives {hidden}; fetch it again"
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
                if not encoding.ids:
                    raise BadInput(
                        f"the text {shown(sentence)} has no token for this tokenizer; leave it out"
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

        A run that is half full ends where longer rows begin: rows of one length need no padding and no mask.
        """
        start, least = 0, self.pooling.padded_to
        lengths = [max(len(row), least) for row in rows]
        for stop, following in enumerate(lengths[1:], 1):
            size, longest = stop - start, lengths[stop - 1]
            full = (size + 1) * following > self.batch_tokens
            if full or (following > longest and 2 * size * longest >= self.batch_tokens):
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


def encoder_folder(folder_or_hub_id: str | Path) -> Path:
    """Return the folder of an encoder, downloaded where it is a hub id; MissingData where it is neither."""
    name = str(folder_or_hub_id)
    if Path(name).is_dir():
        return Path(name)
    hub_id = _HUB_ID.fullmatch(name)
    if hub_id is None:
        raise MissingData(f"{name}: no such folder, and no hub id (name/model or name/model@revision) either")
    from replicse.data.hub import download_encoder

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "replicse" / "encoders" / name.replace("/", "--")
    try:
        return download_encoder(hub_id["repo"], hub_id["revision"], folder)
    except MissingData as error:
        raise MissingData(f"{name}: no such folder here; as the hub id that it may be: {error}") from error


def open_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of an encoder's folder: its tokenizer.json, or what its other files give."""
    file, vocabulary = folder / TOKENIZER, folder / "vocab.txt"
    if file.is_file():
        return load_tokenizer(file, None)
    if read_config(folder).get("model_type") in ("bert", "distilbert") and vocabulary.is_file():
        return tokenizer_from_vocabulary(vocabulary, TokenizerSettings.read(folder).do_lower_case)
    from replicse.encoder.huggingface import backend_tokenizer

    return backend_tokenizer(folder)
