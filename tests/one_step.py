"""A training step, compared with a float64 step of `transformers`.

The expected weights are computed with the closed form of Adam's first step.
"""

import micro
import torch
import transformers
from tiny_encoders import pad_rows

LEARNING_RATE, DECAY = 1e-3, 0.01
STEPS = {
    "batch_size": 6, "learning_rate": LEARNING_RATE, "decay": "none", "weight_decay": DECAY, "clip": 1e6, "steps": 3,
}  # fmt: skip
VIEWS = [{"column": "text"}, {"column": "other"}]


def stepped(folder, **changes):
    """Run a step without dropout, and save the encoder before and after.

    Args:
        folder: Folder for the job, and for the encoders in `before` and `after`.
        changes: Changed settings of the run.

    Returns:
        The loss, and a list of token ids for each view and row.
    """
    still = {"hidden": 0, "attention": 0}
    job = micro.job(folder, optimisation=STEPS, dropout=still, selection={"every": 0}, views=VIEWS, **changes)
    trainer = micro.trainer_of(job, folder)
    model, source = trainer.model, trainer.sources[0]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.1)
    columns, labels = next(source.data.batches(0, 1))
    model.backbone.save(folder / "before", model.head)
    loss, _ = trainer._update(0, source, columns, labels)
    model.backbone.save(folder / "after", model.head)
    return float(loss), list(map(rows_of, columns))


def rows_of(batch):
    """Return the token ids of a batch as a list of lists."""
    return [ids.tolist() for ids in batch.tokens.split(batch.lengths.tolist())]


def bert(folder, name):
    return transformers.BertModel.from_pretrained(folder / name).double().eval()


def opened(folder, backbone):
    """Load a backbone's weights into the BERT of `transformers`, in float64."""
    backbone.save(folder)
    options = {"dtype": torch.float64, "add_pooling_layer": False, "attn_implementation": "eager"}
    return transformers.BertModel.from_pretrained(folder, **options).eval()


def states(model, rows, length):
    """Return the last hidden states of padded rows.

    Args:
        model: BERT of `transformers`.
        rows: List of lists of token ids.
        length: Length after padding.

    Returns:
        A tensor of shape (rows, length, hidden).
    """
    tokens, mask = pad_rows(rows, 0, length)
    return model(input_ids=tokens, attention_mask=mask).last_hidden_state


def check_weights(folder, model):
    """Check that AdamW updated exactly the weights that have a gradient.

    The expected values are computed with the closed form of AdamW's first step.

    Args:
        folder: Folder with the encoder in `after`.
        model: The encoder before the step, with gradients.
    """
    after = dict(bert(folder, "after").named_parameters())
    seen = 0
    for name, before in model.named_parameters():
        gradient = before.grad
        if gradient is None:
            assert torch.equal(after[name], before), name
            continue
        expected = before * (1 - LEARNING_RATE * DECAY) - LEARNING_RATE * gradient / (gradient.abs() + 1e-8)
        # Adam takes a full step if a gradient is 0 except for rounding (biases of keys).
        sure = gradient.abs() > 1e-5
        seen += int(sure.sum())
        torch.testing.assert_close(after[name][sure], expected[sure], rtol=0, atol=2e-6)
    assert seen > 1000


def cosine(one, other):
    return (one * other).sum() / (one.square().sum() * other.square().sum()).sqrt()
