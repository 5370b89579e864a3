"""PromptBERT's vectors and steps in float64, with `transformers`.

The positions are given explicitly.
"""

import micro
import pytest
import torch
from one_step import cosine, opened

from replicse.data.tokenizer import load_tokenizer

FIRST, SECOND = ("mi ko", "tu {mask} ba"), ("re", "zo {mask} mi")


def promptbert(folder):
    """Return a trainer of PromptBERT with a tiny encoder."""
    denoised = {"pooling": "mask", "denoise": True, "head": True}
    first = {**denoised, "template": " {text} ".join(FIRST)}
    second = {**denoised, "template": " {text} ".join(SECOND)}
    steps = {"batch_size": 8, "learning_rate": 1e-3, "steps": 10, "epochs": 2}
    views, still = [{"column": "text"}, {"column": "text", "pooling": second}], {"hidden": 0, "attention": 0}
    job = micro.job(
        folder, count=44, views=views, pooling={"train": first}, optimisation=steps, dropout=still
    )
    return micro.trainer_of(job, folder)


class Template:
    """Token ids before and after a sentence, including special tokens.

    Args:
        parts: Strings before and after the sentence, with {mask}.
        file: Path of the tokenizer.
    """

    def __init__(self, parts, file):
        tokenizer = load_tokenizer(file, None)
        self.cls, self.sep, self.mask = map(tokenizer.token_to_id, ("[CLS]", "[SEP]", "[MASK]"))
        words = [part.format(mask="[MASK]").split() for part in parts]
        before, after = (list(map(tokenizer.token_to_id, each)) for each in words)
        assert None not in (*before, *after)
        self.before, self.after = [self.cls, *before], [*after, self.sep]

    def row(self, sentence):
        """Return the ids of a sentence in the template."""
        return [*self.before, *sentence[1:-1], *self.after]

    def denoised(self, bert, sentence, free):
        """Return the state of the mask for a sentence minus the template's.

        The template alone has the same positions as around the sentence.

        Args:
            bert: BERT of `transformers`.
            sentence: List of token ids, with special tokens.
            free: Whether the template's state has a gradient.
        """
        row, alone = self.row(sentence), [*self.before, *self.after]
        first = len(self.before) + len(sentence) - 2
        places = [*range(len(self.before)), *range(first, first + len(self.after))]
        state = bert(input_ids=torch.tensor([row])).last_hidden_state[0, row.index(self.mask)]
        with torch.set_grad_enabled(free):
            states = bert(
                input_ids=torch.tensor([alone]), position_ids=torch.tensor([places])
            ).last_hidden_state
        return state - states[0, alone.index(self.mask)]


def sentences_of(column):
    return [ids.tolist() for ids in column.tokens.split(column.lengths.tolist())]


def loss_by_hand(bert, weight, bias, sentences, templates, free):
    """Compute InfoNCE at temperature 0.05 in one direction, logit by logit.

    Each sentence is encoded separately.
    """

    def vectors(template):
        return [torch.tanh(weight @ template.denoised(bert, each, free) + bias) for each in sentences]

    first, second = map(vectors, templates)
    loss = 0
    for place, anchor in enumerate(first):
        logits = torch.stack([cosine(anchor, other) for other in second]) / 0.05
        loss = loss + torch.log(torch.exp(logits).sum()) - logits[place]
    return loss / len(sentences)


def test_a_step_of_promptbert_is_that_written_out(tmp_path, double):
    """A step of PromptBERT equals a separate implementation.

    This includes loss and gradient, also through the template alone.
    """
    trainer = promptbert(tmp_path)
    (source,), dense = trainer.sources, trainer.model.head.dense
    bert = opened(tmp_path / "start", trainer.model.backbone)
    trainer.model.double()
    templates = [Template(parts, trainer.job.tokenizer) for parts in (FIRST, SECOND)]
    weight = dense.weight.detach().clone().requires_grad_()
    bias = dense.bias.detach().clone().requires_grad_()
    columns, labels = next(source.data.batches(0, 1))
    gradients, norms = {}, {}
    for free in (True, False):
        expected = loss_by_hand(bert, weight, bias, sentences_of(columns[0]), templates, free)
        gradients[free] = torch.autograd.grad(expected, [*bert.parameters(), weight, bias])
        norms[free] = float(torch.nn.utils.get_total_norm(gradients[free]))
    loss, norm = trainer._update(0, source, columns, labels)
    assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-7)
    assert float(norm) == pytest.approx(norms[True], rel=1e-7)
    # With a constant bias, the loss would be equal, but not the gradients.
    assert norms[False] != pytest.approx(norms[True], rel=1e-3)
    for ours, place in ((trainer.model.backbone.input_embeddings, 0), (dense.weight, -2), (dense.bias, -1)):
        clipped = gradients[True][place] * min(1, 1 / norms[True])
        torch.testing.assert_close(ours.grad, clipped, rtol=1e-6, atol=1e-9)
