"""Encoders of sentences, which encode each distinct sentence once."""

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
from replicse.encoder.collapse import describe_collapse
from replicse.encoder.folders import check_folder, encoder_folder
from replicse.encoder.heads import SentenceHead, head_of_pooling
from replicse.encoder.huggingface import UNLIMITED
from replicse.encoder.modules import ORIGINAL, has_modules, list_modules, transformer_folder
from replicse.encoder.opening import open_backbone
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.proof import equal
from replicse.encoder.sentence_transformers import LibraryEncoder, open_library_encoder, read_declared
from replicse.encoder.splitting import split_rows
from replicse.encoder.stored import UnusableWeights
from replicse.encoder.tokenizer import CalledTokenizer, check_length, check_vocabulary, folder_tokenizer
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
# Number of batches after which glibc returns freed memory to the system, because batches of other shapes cannot reuse
# it: 600 of 1,040 MiB for the seven STS sets at 6x384. Mapping each block separately would cost a quarter of the time.
_GIVEN_BACK_EVERY = 16


class SentenceEncoder:
    """An encoder of sentences with one pooling.

    Each distinct sentence is encoded once, sorted by length. Sentences with equal tokens (e.g. in upper and lower case
    for an uncased encoder) share a vector. Vectors are cached; call `forget` after the weights have changed.

    Args:
        backbone: The transformer.
        head: The sentence head. It is used only if the pooling has a head.
        tokenizer: The tokenizer, or the path of a tokenizer.json.
        pooling: The parameters of the pooling.
        max_length: The number of tokens at which rows are truncated. Default: 512.
        normalised: Whether vectors are scaled to length 1. Default: False.

    Examples:
        >>> encoder = replicse.Encoder.open("bert-base-uncased", pooling="mean")
        >>> encoder(["A man is playing a guitar."]).shape
        (1, 768)
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
        check_vocabulary(self.tokenizer, backbone.vocabulary, backbone.tokenizer_file.parent)
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
            folder_or_hub_id: A folder in the format of transformers, sentence-transformers, peft or
                model2vec, or a hub id (`name/model[@revision]`).
            pooling: A name (`cls`, `mean`, ...) or a dict with parameters such as a template. Default (or
                "own"): the modules of a sentence-transformers folder, `cls` for other folders.
            max_length: The number of tokens at which rows are truncated. Default: the value in the folder, at
                most 512 with a pooling.
            device: `cpu`, `cuda`, ... Default: the first GPU if there is one.
            engine: The engine to use. Default: "auto".

        Returns:
            The encoder. It is a LibraryEncoder if only sentence-transformers can compute the vectors.

        Raises:
            BadInput: If the pooling needs a head that is not stored, or no engine can load the folder.
            MissingData: If the folder or the hub id does not exist (a kind of BadInput).
        """
        folder = encoder_folder(folder_or_hub_id)
        named = pooling_of(pooling) if pooling else None
        if isinstance(named, Own):
            named = None
        original = folder / ORIGINAL if has_modules(folder / ORIGINAL) else folder
        if named is None and has_modules(original):
            check_folder(folder)
            return cls._open_declared(original, max_length, device, engine)
        if original != folder and named == pooling_of("cls"):  # the default of a row in a study
            raise BadInput(
                f"{folder}: the folder declares a pooling; use pooling: own, or the name of another"
            )
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
            others = f" and {more} more" if more else ""
            log.info("%s: ignoring weights outside the encoder: %s%s", folder, first, others)
        backbone.to(device_for(device))
        if max_length is not None and max_length > backbone.max_length:
            log.info(
                "%s: rows are truncated at %d tokens, the limit of the encoder", folder, backbone.max_length
            )
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
        why = f"the first module is {first}"
        if first == "Transformer":
            why = "the engines compute other vectors"
        try:
            encoder = cls._open_equal(folder, library, device, engine) if first == "Transformer" else None
            if encoder is not None:
                return encoder
        except UnusableWeights:
            raise
        except Exception as error:  # the library can encode the probe, so it is used instead
            why = one_line(error)
        if engine != "auto":
            raise BadInput(f"{folder}: engine {engine} cannot load it ({why}); use engine auto")
        alone = ", one sentence at a time, because padding changes the vectors" * library.alone
        log.info("%s: using sentence-transformers%s: %s", folder, alone, why)
        return library

    @classmethod
    def _open_equal(
        cls, folder: Path, library: LibraryEncoder, device: str | None, engine: Engine
    ) -> "SentenceEncoder | None":
        """Load an encoder if an engine computes the same vectors as the library.

        Weights are always loaded, because the library does not report weights that do not fit.
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

        Cached vectors are removed, cached tokens are kept.

        Args:
            folder: The folder of the checkpoint.
            head_seed: The seed of a random head, which is not part of a checkpoint. Default: 0.

        Raises:
            BadInput: If the checkpoint or the head cannot be loaded.

        Examples:
            >>> encoder.reload(Path("runs/first/last"))
        """
        self.backbone.load_state_dict(open_backbone(folder, self.backbone.engine).state_dict())
        self._open_head(folder, head_seed)
        self.forget()

    def _open_head(self, folder: Path, seed: int = 0) -> None:
        """Load or initialise the head of the pooling."""
        if self.pooling.head:
            head = head_of_pooling(folder, self.pooling.head, self.backbone.hidden, seed)
            self.head = head.to(self.device)

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences, or one string, as float32 vectors.

        Args:
            sentences: A list of n sentences, or one string.

        Returns:
            The vectors, (n, width), float32, in the order of the sentences; (width,) for a string.

        Raises:
            BadInput: If a sentence has too few tokens, or is longer than a pooling with padding.

        Examples:
            >>> encoder.encode("A man is playing a guitar.").shape
            (768,)
        """
        return self([sentences])[0] if isinstance(sentences, str) else self(sentences)

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode sentences in their order.

        Args:
            sentences: A list of n sentences.

        Returns:
            The vectors, (n, width), float32.
        """
        self.prepare(sentences)
        return np.stack([self._vectors[self._tokens[sentence]] for sentence in sentences])

    def prepare(self, sentences: Iterable[str]) -> None:
        """Encode all sentences without a cached vector, sorted by length.

        If several suites use the encoder, call this once with the sentences of all suites.

        Args:
            sentences: The sentences; repeated sentences are encoded once.

        Raises:
            BadInput: As `encode`.

        Examples:
            >>> encoder.prepare(["A sentence.", "Another sentence."])
        """
        distinct = list(dict.fromkeys(sentences))
        self._tokenise([sentence for sentence in distinct if sentence not in self._tokens])
        wanted = {self._tokens[sentence] for sentence in distinct} - self._vectors.keys()
        self._encode(sorted(wanted, key=lambda tokens: (len(tokens), tokens)))

    def rows(self, sentences: Iterable[str]) -> list[np.ndarray]:
        """Return the token ids of each sentence with special tokens.

        Args:
            sentences: The sentences.

        Returns:
            A list of int32 arrays, (length,), truncated to the maximum length.

        Raises:
            BadInput: If a sentence has too few tokens.

        Examples:
            >>> len(encoder.rows(["A sentence."])[0])  # with [CLS] and [SEP]
            5
        """
        wanted = list(sentences)
        self._tokenise([sentence for sentence in dict.fromkeys(wanted) if sentence not in self._tokens])
        return [np.frombuffer(self._tokens[sentence], dtype=np.int32) for sentence in wanted]

    def forget(self) -> None:
        """Clear cached vectors after a change of the weights.

        Examples:
            >>> encoder.forget()
        """
        self._vectors.clear()

    def clear(self) -> None:
        """Clear cached vectors and tokens to save memory.

        Examples:
            >>> encoder.clear()
        """
        self.forget()
        self._tokens.clear()

    def describe_collapse(self) -> str:
        """Return an error message if all cached vectors are equal.

        Differences by rounding are ignored.

        Returns:
            A string, empty if the vectors differ.

        Examples:
            >>> encoder.describe_collapse()
            ''
        """
        return describe_collapse(np.array([*self._vectors.values()], dtype=np.float64))

    def _tokenise(self, sentences: list[str]) -> None:
        for start in range(0, len(sentences), _TOKENISED_AT_ONCE):
            some = sentences[start : start + _TOKENISED_AT_ONCE]
            texts = [self.pooling.text(sentence) for sentence in some]
            least = self.backbone.min_length
            for sentence, encoding in zip(some, self.tokenizer.encode_batch_fast(texts), strict=True):
                if len(encoding.ids) < least:
                    problem = "0 tokens"
                    if least > 1:
                        problem = f"{len(encoding.ids)} tokens, of at least {least},"
                    raise BadInput(
                        f"the text {excerpt(sentence)} has {problem} for this tokenizer; remove it, or use another"
                        " encoder"
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

        The padded size is at most `batch_tokens`. A batch that is at least half full ends before longer rows,
        because rows of equal length need no padding. If padding changes vectors, every batch has rows of
        equal length.

        Args:
            rows: A list of the token ids of each row, (length,), sorted by length.

        Returns:
            An iterator over lists of rows. It logs the progress.

        Examples:
            >>> [len(batch) for batch in encoder.batches(encoder.rows(sentences))]
            [2]
        """
        parts = split_rows(rows, self.batch_tokens, self.pooling.padded_to, self.backbone.alone)
        return follow_encoding(parts, sum(map(len, rows)))

    def _encode_batch(self, rows: list[np.ndarray]) -> Tensor:
        batch = TokenBatch.from_rows(rows).to(self.device)
        vectors = self.read(self.backbone, batch)
        vectors = (vectors if self.head is None else self.head(vectors)).float()
        self._batches += 1
        if self._batches % _GIVEN_BACK_EVERY == 0:
            give_back()
        return normalize(vectors) if self.normalised else vectors
