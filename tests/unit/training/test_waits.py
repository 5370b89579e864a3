"""Kernels and host waits of a step, counted on a simulated GPU."""

import micro
import pytest
import torch
from papers.esimcse.losses import MomentumQueue
from papers.rankcse.losses import RankDistillation
from pretended import pretended_gpu
from tiny_encoders import tiny

from replicse.data.tokenizer import load_tokenizer
from replicse.training.loop import Trainer

SIMCSE = {"objective": [{"term": "infonce", "temperature": 0.05}]}
TEMPLATE = {"pooling": "mask", "template": 'One : "{text}" means {mask} .'}


def count_step(folder, **changes):
    """Return kernels and waits of the third step on a simulated GPU.

    Args:
        folder: Folder of the job.
        changes: Changed settings of the run.

    Returns:
        A dict from a kernel to the number of calls, and a list of waits.
    """
    job = micro.job(folder, selection={"every": 0}, **changes)
    with pretended_gpu() as work:
        trainer = Trainer(job, folder, folder / "out", folder / "state", torch.device("cuda"))
        source = trainer.sources[0]
        for step, (columns, labels) in enumerate(source.data.batches(0, 3)):
            work.kernels.clear()
            work.waits.clear()
            loss, norm = trainer._update(step, source, columns, labels)
            trainer.guard.see(step, loss, norm)
        return dict(work.kernels), list(work.waits)


def teachers(folder):
    """Save a teacher of another width; return the parameters of a term."""
    tokenizer = micro.tokenizer_file(folder)
    vocabulary = load_tokenizer(tokenizer, 64).get_vocab_size()
    tiny(hidden=16, vocabulary=vocabulary).save(folder / "teacher", None, tokenizer)
    return {"teachers": [{"folder": str(folder / "teacher"), "pooling": "cls"}]}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("method", ["simcse", "queue", "mlm", "mlm-in-place", "rankcse", "listmle"])
def test_no_step_waits_for_the_gpu(tmp_path, method, precision):
    """A step should never wait for the GPU.

    The queue once waited once in a step, masking eight times, and a ranking three or four times.
    """
    terms = {
        "simcse": [],
        "queue": [{"term": "momentum-queue", "queue": 24}],
        "mlm": [{"term": "mlm", "weight": 0.1}],
        "mlm-in-place": [{"term": "mlm", "weight": 0.1, "in_place": True}],
        "rankcse": [{"term": "ranking-consistency"}],
        "listmle": [],
    }[method]
    if method in ("rankcse", "listmle"):
        name = "listnet" if method == "rankcse" else "listmle"
        terms = [*terms, {"term": name, **teachers(tmp_path)}]
    momentum = {"momentum": {"decay": 0.995}} if method == "queue" else {}
    objective = [*(SIMCSE["objective"] if method != "queue" else []), *terms]
    _, waits = count_step(tmp_path, objective=objective, precision=precision, **momentum)
    assert not waits


def test_a_template_is_put_around_sentences_without_a_wait(tmp_path):
    """Templates should be added to sentences without waits.

    Each view once waited for the GPU.
    """
    _, waits = count_step(tmp_path, pooling={"train": TEMPLATE, "test": TEMPLATE}, **SIMCSE)
    assert not waits


@pytest.mark.parametrize(("precision", "kernels", "casts"), [("fp32", 68, 0), ("bf16", 99, 31)])
def test_a_layer_launches_no_more_kernels_than_it_did(tmp_path, precision, kernels, casts):
    """A layer should not launch more kernels than expected.

    A launch takes as long as a matrix product of a small batch. 10% more are allowed for other versions of
    torch.
    """
    counted = []
    for layers in (1, 2):
        sizes = {"family": "bert", **micro.SIZES, "layers": layers}
        init = {"fresh": {"architecture": sizes, "tokenizer": {"name": "test"}}}
        counted.append(count_step(tmp_path, precision=precision, init=init, **SIMCSE)[0])
    one, two = counted
    assert sum(two.values()) - sum(one.values()) <= 1.1 * kernels
    assert two.get("aten::_to_copy", 0) - one.get("aten::_to_copy", 0) <= 1.1 * casts


def test_the_count_of_a_queue_stays_on_the_cpu_and_is_saved(tmp_path):
    queue = MomentumQueue.__new__(MomentumQueue)
    torch.nn.Module.__init__(queue)
    queue.register_buffer("filled", torch.tensor(3))
    queue.register_buffer("keys", torch.zeros(4, 2))
    with pretended_gpu():
        queue.to("cuda")
        assert (queue.keys.device.type, queue.filled.device.type) == ("cuda", "cpu")
        assert int(queue.state_dict()["filled"]) == 3


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_list_without_its_own_place_is_that_of_a_mask_with_the_same_gradient(rows):
    similarities = torch.randn(rows, rows, generator=torch.Generator().manual_seed(1), requires_grad=True)
    term = RankDistillation.__new__(RankDistillation)
    torch.nn.Module.__init__(term)
    term.params = type("Parameters", (), {"diagonal": False})
    found = term._lists(similarities)
    expected = similarities[~torch.eye(rows, dtype=torch.bool)].view(rows, rows - 1)
    assert torch.equal(found, expected)
    weights = torch.arange(expected.numel(), dtype=torch.float32).view_as(expected)
    one = torch.autograd.grad((found * weights).sum(), similarities)[0]
    other = torch.autograd.grad((expected * weights).sum(), similarities)[0]
    assert torch.equal(one, other)
