"""Comparison of the hidden states of an engine with `transformers`.

`transformers` encodes each row by itself.
"""

import logging
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.huggingface import TransformersBackbone
from replicse.errors import BadInput, refusing

log = logging.getLogger(__name__)
TOLERANCE = 1e-5  # of the length of a token's vector
_LENGTHS = (1, 2, 3, 4, 5, 5, 9, 17, 33, 64, 128)
_LONGEST = 512


def probe_rows(backbone: Backbone, padding: int | None) -> list[np.ndarray]:
    """Create short and long rows of token ids without padding tokens.

    The rows are the same at each call.

    Args:
        backbone: The encoder.
        padding: The id of the padding token, or None if there is none.

    Returns:
        A list of int64 arrays, (length,), sorted by length.
    """
    generator, ids = np.random.default_rng(0), _ids(backbone, padding)
    most = min(backbone.max_length, _LONGEST)
    lengths = [length for length in _LENGTHS if length < most] + [most]
    return [generator.choice(ids, length) for length in lengths]


def _ids(backbone: Backbone, padding: int | None) -> np.ndarray:
    ids = np.arange(backbone.vocabulary)
    return ids if padding is None else ids[ids != padding]


@torch.inference_mode()
def states_alone(theirs: TransformersBackbone, row: np.ndarray) -> Tensor:
    """Compute the last hidden states of one row with `transformers`.

    Args:
        theirs: The encoder.
        row: The token ids, (tokens,), without padding.

    Returns:
        The states, (tokens, width).

    Raises:
        BadInput: If the encoder does not accept a row of this length.
    """
    ids = torch.from_numpy(row)[None]
    with refusing(f"{theirs.model.config.model_type}: transformers cannot encode {len(row)} tokens with it"):
        output = theirs.model(input_ids=ids, attention_mask=torch.ones_like(ids), **theirs.options)
    return output.last_hidden_state[0]


def is_causal(theirs: TransformersBackbone) -> bool:
    """Return whether the first token of a row ignores later tokens.

    This cannot be derived from the family: Gemma is bidirectional with `use_bidirectional_attention`, XLNet always.

    Args:
        theirs: The encoder.
    """
    training = theirs.training
    theirs.eval()
    first, second, other = _ids(theirs, theirs.model.config.pad_token_id)[:3]
    rest = min(theirs.max_length, 8) - 1  # CANINE takes no row of two tokens
    one, two = (states_alone(theirs, np.array([first, *[later] * rest])) for later in (second, other))
    theirs.train(training)
    return equal(one[:1].numpy(), two[:1].numpy())


@torch.inference_mode()
def differs(ours: Backbone, rows: Sequence[np.ndarray], expected: Sequence[Tensor]) -> bool:
    """Return whether hidden states of a batch differ from expected states.

    Args:
        ours: The encoder to check.
        rows: A list of the token ids of each row, (length,).
        expected: A list of the expected states of each row, (length, width).
    """
    found = ours(TokenBatch.from_rows(rows)).last
    return not equal(found.numpy(), torch.cat(list(expected)).numpy())


def equal(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Return whether vectors are equal except for rounding, row by row.

    Args:
        ours: Vectors, (n, width).
        theirs: Vectors to compare with, (n, width).

    Returns:
        True if each difference is at most 1e-5 of the length of the second vector.
    """
    if ours.shape != theirs.shape:
        return False
    length = np.linalg.norm(theirs, axis=1).clip(1e-6)
    return bool((np.linalg.norm(ours - theirs, axis=1) <= TOLERANCE * length).all())


def prove_batches(theirs: TransformersBackbone) -> tuple[list[np.ndarray], list[Tensor]]:
    """Measure how an encoder handles rows and batches.

    Sets `min_length` and `max_length` to the accepted lengths, `alone` to whether padding changes hidden states, and
    `causal` to whether the encoder is causal.

    Args:
        theirs: The encoder. The three attributes are changed.

    Returns:
        The list of accepted probe rows and the list of their hidden states.

    Raises:
        BadInput: If no row is accepted, or states depend on other rows of a batch even without padding.
    """
    training = theirs.training
    theirs.eval()
    rows, states = _measure_lengths(theirs)
    theirs.causal = is_causal(theirs)
    theirs.alone = differs(theirs, rows, states)
    if theirs.alone and any(_depends_on_its_batch(theirs, *each) for each in zip(rows, states, strict=True)):
        family = theirs.model.config.model_type
        raise BadInput(
            f"{family}: a sentence's vector depends on other sentences of the batch; use another encoder"
        )
    theirs.train(training)
    return rows, states


def _measure_lengths(theirs: TransformersBackbone) -> tuple[list[np.ndarray], list[Tensor]]:
    """Set `min_length` and `max_length` of an encoder.

    CANINE, for example, rejects rows shorter than the stride or longer than the number of hash buckets. Returns the
    accepted probe rows and their hidden states.
    """
    rows, states, refused = [], [], {}
    for row in probe_rows(theirs, theirs.model.config.pad_token_id):
        try:
            states.append(states_alone(theirs, row))
            rows.append(row)
        except BadInput as error:
            refused[len(row)] = error
    if not rows:
        raise next(iter(refused.values()))
    shortest, longest = len(rows[0]), len(rows[-1])
    if min(refused, default=shortest) < shortest:
        theirs.min_length = shortest
    longer = [length for length in refused if length > longest]
    if longer:
        theirs.max_length = _find_longest(theirs, longest, min(longer))
        family = theirs.model.config.model_type
        log.info("%s: rows are truncated at %d tokens, the limit of the encoder", family, theirs.max_length)
    return rows, states


def _find_longest(theirs: TransformersBackbone, taken: int, refused: int) -> int:
    """Return the longest accepted length between two lengths, by bisection."""
    token = _ids(theirs, theirs.model.config.pad_token_id)[0]
    while refused - taken > 1:
        length = (taken + refused) // 2
        try:
            states_alone(theirs, np.full(length, token))
            taken = length
        except BadInput:
            refused = length
    return taken


def _depends_on_its_batch(theirs: TransformersBackbone, row: np.ndarray, state: Tensor) -> bool:
    """Return whether hidden states depend on another row of equal length."""
    reverse = row[::-1].copy()
    return differs(theirs, [row, reverse], [state, states_alone(theirs, reverse)])
