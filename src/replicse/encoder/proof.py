"""An engine proves itself: its states are those that `transformers` gives for each row alone, to rounding."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from replicse.encoder.backbone import Backbone
from replicse.encoder.batch import TokenBatch
from replicse.encoder.huggingface import TransformersBackbone
from replicse.errors import BadInput, refusing

TOLERANCE = 1e-5  # of the length of a token's vector
_LENGTHS = (1, 2, 5, 5, 9, 17, 33, 64, 128)
_LONGEST = 512


def probe_rows(backbone: Backbone, padding: int | None) -> list[np.ndarray]:
    """Return rows of token ids, the same ones at each call: short and long, of all the vocabulary but its padding."""
    generator = np.random.default_rng(0)
    ids = np.setdiff1d(np.arange(backbone.vocabulary), [] if padding is None else [padding])
    most = min(backbone.max_length, _LONGEST)
    lengths = [length for length in _LENGTHS if length < most] + [most]
    return [generator.choice(ids, length) for length in lengths]


@torch.inference_mode()
def states_alone(theirs: TransformersBackbone, rows: Sequence[np.ndarray]) -> list[Tensor]:
    """Return the last states of each row, (tokens, width), by the library's own call without any padding."""
    options = {"use_cache": False} if theirs.causal else {}
    states = []
    for row in rows:
        ids = torch.from_numpy(row)[None]
        with refusing(
            f"{theirs.model.config.model_type}: transformers cannot encode {len(row)} tokens with it"
        ):
            output = theirs.model(input_ids=ids, attention_mask=torch.ones_like(ids), **options)
        states.append(output.last_hidden_state[0])
    return states


@torch.inference_mode()
def differs(ours: Backbone, rows: Sequence[np.ndarray], expected: Sequence[Tensor]) -> bool:
    """Return whether rows encoded in one batch become other states than expected."""
    found = ours(TokenBatch.from_rows(rows)).last
    return not equal(found.numpy(), torch.cat(list(expected)).numpy())


def equal(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Return whether vectors are equal to rounding, row by row."""
    if ours.shape != theirs.shape:
        return False
    length = np.linalg.norm(theirs, axis=1).clip(1e-6)
    return bool((np.linalg.norm(ours - theirs, axis=1) <= TOLERANCE * length).all())


def prove_batches(theirs: TransformersBackbone) -> tuple[list[np.ndarray], list[Tensor]]:
    """Find out whether padding changes what the library's engine computes; `alone` is then set.

    Returns the probe and its states. Raises BadInput where a row changes with its neighbours even without padding.
    """
    training = theirs.training
    theirs.eval()
    rows = probe_rows(theirs, theirs.model.config.pad_token_id)
    states = states_alone(theirs, rows)
    theirs.alone = differs(theirs, rows, states)
    if theirs.alone and any(
        differs(theirs, [row, row[::-1].copy()], [state, *states_alone(theirs, [row[::-1].copy()])])
        for row, state in zip(rows, states, strict=True)
    ):
        family = theirs.model.config.model_type
        raise BadInput(
            f"{family}: a sentence's vector depends on the other sentences of its batch; choose another"
        )
    theirs.train(training)
    return rows, states
