"""A frozen masked-LM that proposes word pieces, for augmentations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from replicse.data.tokenizer import load_tokenizer, special_ids
from replicse.encoder.batch import TokenBatch
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput
from replicse.registry.artefacts import TOKENIZER

BATCH_TOKENS = 4096


class Proposer:
    """A masked-LM without dropout that proposes word pieces.

    Args:
        folder: The folder of an encoder.

    Raises:
        BadInput: If the encoder has no masked-LM head.
    """

    def __init__(self, folder: str) -> None:
        self.backbone = open_backbone(Path(folder)).eval()
        if not self.backbone.predicts_tokens:
            raise BadInput(
                f"{folder}: the encoder does not have the masked-LM head that this augmentation requires; use another"
                " encoder"
            )
        self.max_length = self.backbone.max_length
        self.tokenizer = load_tokenizer(Path(folder) / TOKENIZER, self.max_length)
        special = special_ids(self.tokenizer)
        self.mask = special.mask
        self.special = [special.pad, special.unk, special.cls, special.sep, special.mask]

    def pieces(self, lines: Sequence[str], at_most: int | None = None) -> list[np.ndarray]:
        """Return the ids of each line with special tokens.

        Args:
            lines: A list of lines.
            at_most: The number of tokens at which lines are truncated. Default: the limit of the encoder.

        Returns:
            A list of int64 arrays, (length,).
        """
        self.tokenizer.enable_truncation(at_most or self.max_length)
        return [np.array(encoding.ids) for encoding in self.tokenizer.encode_batch(list(lines))]

    def text(self, rows: Sequence[np.ndarray]) -> list[str]:
        """Decode rows of ids, without special tokens.

        Args:
            rows: A list of arrays of ids, (length,).

        Returns:
            A list of strings.
        """
        return self.tokenizer.decode_batch([row.tolist() for row in rows], skip_special_tokens=True)

    @torch.inference_mode()
    def fill(
        self,
        rows: Sequence[np.ndarray],
        places: Sequence[np.ndarray],
        avoid: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """Replace pieces of rows by the most likely pieces.

        Special tokens are not used as replacements. All places of a row are masked at once.

        Args:
            rows: A list of arrays of token ids, (length,).
            places: A list with the places to replace in each row, (n,).
            avoid: A list with the id of a piece for each place, (n,), which is not used there. Default: no piece
                is avoided.

        Returns:
            Copies of the rows with the replacements.
        """
        result = [row.copy() for row in rows]
        order = [row for row in range(len(rows)) if len(places[row])]
        order.sort(key=lambda row: len(rows[row]))
        for some in _batches(order, rows):
            masked = [rows[row].copy() for row in some]
            for line, row in zip(masked, some, strict=True):
                line[places[row]] = self.mask
            batch = TokenBatch.from_rows(masked)
            packed = [places[row] + int(batch.offsets[number]) for number, row in enumerate(some)]
            states = self.backbone(batch).last[torch.from_numpy(np.concatenate(packed))]
            logits = self.backbone.token_logits(states)
            logits[:, self.special] = -torch.inf
            if avoid is not None:
                unwanted = torch.from_numpy(np.concatenate([avoid[row] for row in some]))
                logits[torch.arange(len(logits)), unwanted] = -torch.inf
            ends = np.cumsum([len(places[row]) for row in some])
            for row, pieces in zip(some, np.split(logits.argmax(dim=1).numpy(), ends[:-1]), strict=True):
                result[row][places[row]] = pieces
        return result


def _batches(order: Sequence[int], rows: Sequence[np.ndarray]) -> list[list[int]]:
    """Split length-sorted row numbers into batches of BATCH_TOKENS tokens."""
    batches: list[list[int]] = []
    for row in order:
        if not batches or (len(batches[-1]) + 1) * len(rows[row]) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(row)
    return batches
