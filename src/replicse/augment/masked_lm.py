"""Replacement of word pieces by a masked-LM's own proposals (SimCSE Table 1, "MLM k%")."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from replicse.augment.parameters import fraction

BATCH_TOKENS = 4096


def masked_lm(lines: Sequence[str], *, seed: int, ratio: float, encoder: str) -> list[str]:
    """Return lines in which a share of the word pieces is replaced by the best other proposal of a frozen masked-LM.

    The pieces are masked together, the encoder runs without dropout, and the most likely piece that differs from
    the original is taken (methods 8.3). `encoder` is a folder with a masked-LM head.
    """
    import torch

    from replicse.data.tokenizer import load_tokenizer, special_ids
    from replicse.encoder.batch import TokenBatch
    from replicse.encoder.checkpoints import load_encoder
    from replicse.encoder.transformer import ALL_TOKENS
    from replicse.errors import BadInput

    fraction("masked-lm", "ratio", ratio, above_zero=True)
    loaded = load_encoder(Path(encoder))
    if loaded.masked_lm is None:
        raise BadInput(f"{encoder}: holds no masked-LM head; masked-lm needs one")
    model = loaded.encoder.eval()
    tokenizer = load_tokenizer(Path(encoder) / "tokenizer.json", model.config.max_length)
    special = special_ids(tokenizer)
    forbidden = [special.pad, special.unk, special.cls, special.sep, special.mask]
    rows = [np.array(encoding.ids) for encoding in tokenizer.encode_batch(list(lines))]
    chosen = [_chosen(row, forbidden, ratio, (seed, place)) for place, row in enumerate(rows)]
    result = [row.copy() for row in rows]
    order = sorted(
        (place for place in range(len(rows)) if len(chosen[place])), key=lambda place: len(rows[place])
    )
    with torch.inference_mode():
        for some in _batches(order, rows):
            masked = []
            for place in some:
                row = rows[place].copy()
                row[chosen[place]] = special.mask
                masked.append(row)
            batch = TokenBatch.from_rows(masked)
            places = np.concatenate(
                [chosen[place] + int(batch.offsets[index]) for index, place in enumerate(some)]
            )
            states = model(batch, ALL_TOKENS).last[torch.from_numpy(places)]
            logits = loaded.masked_lm(states, model.token_embeddings)
            originals = torch.from_numpy(np.concatenate([rows[place][chosen[place]] for place in some]))
            logits[:, forbidden] = -torch.inf
            logits[torch.arange(len(logits)), originals] = -torch.inf
            proposals = logits.argmax(dim=1).numpy()
            start = 0
            for place in some:
                count = len(chosen[place])
                result[place][chosen[place]] = proposals[start : start + count]
                start += count
    return tokenizer.decode_batch([row.tolist() for row in result], skip_special_tokens=True)


def _chosen(row: np.ndarray, forbidden: list[int], ratio: float, seed: tuple[int, int]) -> np.ndarray:
    """Return the places to replace: the rounded share of the ordinary pieces, at least one where there is any."""
    ordinary = np.flatnonzero(~np.isin(row, forbidden))
    count = min(len(ordinary), max(1, round(ratio * len(ordinary))))
    return np.sort(np.random.default_rng(seed).choice(ordinary, count, replace=False)) if count else ordinary


def _batches(order: list[int], rows: list[np.ndarray]) -> list[list[int]]:
    batches: list[list[int]] = []
    for place in order:
        if not batches or (len(batches[-1]) + 1) * len(rows[place]) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(place)
    return batches
