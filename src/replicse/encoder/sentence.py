"""Sentences to vectors: every distinct one is tokenised and encoded once, in batches of similar length."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from replicse.data.tokenizer import TokenizerSettings, load_tokenizer, tokenizer_from_vocabulary
from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead, random_head, stored_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import need_of, pool
from replicse.encoder.stored import LARGEST_CONFIG, read_config
from replicse.errors import BadInput, MissingData
from replicse.files import below, read_json
from replicse.registry.artefacts import TOKENIZER
from replicse.registry.encoders import Engine
from replicse.runtime.devices import device_for

# Padded tokens of one batch: a CPU wants its working set in the cache, a GPU wants to be full.
BATCH_TOKENS = {"cpu": 2048, "cuda": 65536}
_TOKENISED_AT_ONCE = 4096
# Where the variance of all vectors is this share of their mean square, they differ by a millionth of their length,
# which is what fp32 rounds in a few layers: any score would rank rounding. The least share of all encoders of the
# embedded and the compact study is 0.18, that of a random encoder behind a projector whose running means are not yet
# there 1e-8: no honest run comes near, be it without dropout or without a term of variance.
COLLAPSED = 1e-12
_HUB_ID = re.compile(r"(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w.-]+))?")


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
        pooling: str,
        max_length: int = 512,
        batch_tokens: int | None = None,
    ) -> None:
        self.backbone, self.head, self.pooling = backbone, head, pooling
        self.need = need_of(pooling)
        length = min(max_length, backbone.max_length)
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else load_tokenizer(tokenizer, length)
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(length)
        # Ids may have gaps: the number of tokens says less than the largest of them.
        largest = max(self.tokenizer.get_vocab().values(), default=0)
        if largest >= backbone.vocabulary:
            raise BadInput(
                f"the tokenizer has token ids up to {largest}, but the encoder knows "
                f"{backbone.vocabulary}; use the tokenizer that belongs to the encoder"
            )
        self.device = backbone.input_embeddings.device
        self.batch_tokens = batch_tokens or BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"])
        self._tokens: dict[str, bytes] = {}
        self._vectors: dict[bytes, np.ndarray] = {}

    @classmethod
    def open(
        cls,
        folder_or_hub_id: str | Path,
        pooling: str,
        max_length: int = 512,
        device: str | None = None,
        batch_tokens: int | None = None,
        engine: Engine = "auto",
    ) -> "SentenceEncoder":
        """Open a Hugging Face or sentence-transformers folder, or a hub id (`name/model[@revision]`).

        Of a sentence-transformers folder only the transformer is read: `pooling` decides. The device is the
        first GPU where there is one. Raises BadInput where the pooling needs a head that was not stored.
        """
        need_of(pooling)
        folder = transformer_folder(_local_folder(str(folder_or_hub_id)))
        backbone = open_backbone(folder, engine)
        head, chosen = _head_for(pooling, folder, backbone.hidden), device_for(device)
        if head is not None:
            head.to(chosen)
        return cls(backbone.to(chosen), head, _open_tokenizer(folder), pooling, max_length, batch_tokens)

    def reload(self, folder: Path, head_seed: int = 0) -> None:
        """Take the weights of another checkpoint of the same run; tokens are kept.

        A random head is none of the checkpoint's: it is drawn anew from `head_seed`.
        """
        self.backbone.load_state_dict(open_backbone(folder, self.backbone.engine).state_dict())
        if self.pooling == "cls-head":
            self.head.load_state_dict(_head_for(self.pooling, folder, self.backbone.hidden).state_dict())
        elif self.pooling == "random-head":
            self.head = random_head(self.backbone.hidden, head_seed).to(self.device)
        self.forget()

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return float32 vectors (n, hidden) in the order of the sentences."""
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
            for sentence, encoding in zip(some, self.tokenizer.encode_batch_fast(some), strict=True):
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
        start = 0
        for stop, following in enumerate(rows[1:], 1):
            size, longest = stop - start, len(rows[stop - 1])
            full = (size + 1) * len(following) > self.batch_tokens
            if full or (len(following) > longest and 2 * size * longest >= self.batch_tokens):
                yield rows[start:stop]
                start = stop
        yield rows[start:]

    def _encode_batch(self, rows: list[np.ndarray]) -> Tensor:
        batch = TokenBatch.from_rows(rows).to(self.device)
        return pool(self.backbone(batch, self.need), batch, self.pooling, self.head).float()


def _local_folder(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    hub_id = _HUB_ID.fullmatch(name)
    if hub_id is None:
        raise MissingData(f"{name}: no such folder, and no hub id (name/model or name/model@revision) either")
    from replicse.data.hub import download_encoder

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "replicse" / "encoders" / name.replace("/", "--")
    return download_encoder(hub_id["repo"], hub_id["revision"], folder)


def transformer_folder(folder: Path) -> Path:
    """Return the folder of the transformer in a sentence-transformers folder; any other folder as it is."""
    file = folder / "modules.json"
    if not file.exists():
        return folder
    modules = read_json(file, LARGEST_CONFIG)
    first = modules[0] if isinstance(modules, list) and modules else None
    path = first.get("path") if isinstance(first, dict) else None
    if not isinstance(path, str):
        raise BadInput(f"{file}: no list of modules that each name a path; fetch the encoder again")
    # The transformer often lies in the folder itself.
    return below(folder, path, f"the path of a module below the folder in {file}") if path else folder


def _head_for(pooling: str, folder: Path, hidden: int) -> SentenceHead | None:
    """Return the head that a pooling applies; BadInput where it is not stored."""
    if pooling == "random-head":
        return random_head(hidden)
    if pooling != "cls-head":
        return None
    head = stored_head(folder)
    if head is None:
        raise BadInput(f"{folder}: no head (pooler.dense) is stored there; choose pooling cls")
    if head.inputs != hidden:
        raise BadInput(
            f"{folder}: the head takes {head.inputs} numbers, the encoder gives {hidden}; fetch it again"
        )
    return head


def _open_tokenizer(folder: Path) -> Tokenizer:
    file, vocabulary = folder / TOKENIZER, folder / "vocab.txt"
    if file.is_file():
        return load_tokenizer(file, None)
    if read_config(folder).get("model_type") in ("bert", "distilbert") and vocabulary.is_file():
        return tokenizer_from_vocabulary(vocabulary, TokenizerSettings.read(folder).do_lower_case)
    from replicse.encoder.huggingface import backend_tokenizer

    return backend_tokenizer(folder)
