"""Labelled tasks: labels, losses, heads, dropout schedules and sources."""

import math

import micro
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pydantic import TypeAdapter

from replicse.data.corpora import labels_of, read_corpus
from replicse.data.store import write_store
from replicse.encoder.heads import load_head, make_head
from replicse.encoder.sentence import SentenceEncoder
from replicse.encoder.task_heads import (
    collect_task_heads,
    load_task_heads,
    make_task_head,
    save_task_heads,
    scale_cosines,
)
from replicse.errors import BadInput
from replicse.evaluation.heads import load_labelled
from replicse.evaluation.suites import run_suites
from replicse.objective.terms import Step, make_term
from replicse.registry.corpora import Labelled
from replicse.registry.encoders import ClassifierHead, MlpHead, SimilarityHead
from replicse.registry.run_options import DropoutRates
from replicse.registry.runs import Run
from replicse.registry.terms import Term
from replicse.training.data import TrainingData, alternate_sources
from replicse.training.job import TrainJob
from replicse.training.model import SentenceModel

PAIRS = {
    "format": "labelled",
    "name": "pairs",
    "file": "pairs.tsv",
    "sentences": ["one", "other"],
    "label": "y",
}
SENTIMENT = {"term": "cross-entropy", "task": "sst", "classes": 2}
CLASSES = {**PAIRS, "name": "classes", "file": "classes.tsv", "sentences": ["text"]}


def term(**values):
    return make_term(TypeAdapter(Term).validate_python(values))


class Heads:
    """A model that only has task heads."""

    def __init__(self, **heads):
        self.task_heads = torch.nn.ModuleDict(heads)


def step(vectors, labels, **heads):
    return Step(vectors, [], Heads(**heads), torch.Generator(), labels)


def test_labels_that_the_corpus_does_not_have_are_told_of():
    """If a term needs labels that the corpus lacks, an error is raised.

    If a term does not declare that it uses labels, it would otherwise fail with a NoneType.
    """
    with pytest.raises(BadInput, match="a loss term uses labels, but the corpus does not contain labels"):
        _ = step([], None).labels


# Corpora and stores


def write_table(path, header, rows):
    path.write_text("\n".join(map("\t".join, [header, *rows])) + "\n", encoding="utf-8")


def test_labelled_rows_are_read_with_their_numbers(tmp_path):
    rows = [("0", "a  b", "c", "1.5"), ("1", '"said ""so"" he"', "d", "0")]
    write_table(tmp_path / "pairs.tsv", ("", "one", "other", "y"), rows)
    with pytest.raises(BadInput, match=r'pairs.tsv:3: a cell is in quotes, with "" inside'):
        read_corpus(tmp_path, PAIRS)
    plain = read_corpus(tmp_path, {**PAIRS, "quoted": True})
    assert plain == {"first": ["a b", 'said "so" he'], "second": ["c", "d"], "label": ["1.5", "0"]}
    assert labels_of(plain) == [1.5, 0.0]


# Terms


def test_cross_entropy_against_a_slow_loop():
    head = make_task_head(ClassifierHead(kind="classifier", classes=3), 4)
    vectors, labels = torch.randn(6, 4), torch.tensor([0.0, 1, 2, 2, 1, 0])
    found = term(term="cross-entropy", task="t", classes=3)(step([vectors], labels, t=head))
    logits = head(vectors).tolist()
    slow = 0
    for row, label in zip(logits, labels, strict=True):
        slow += math.log(sum(map(math.exp, row))) - row[int(label)]
    assert found.item() == pytest.approx(slow / 6, abs=1e-6)


@pytest.mark.parametrize(
    ("scaling", "at"),
    [
        ("sigmoid", lambda c: 5 / (1 + math.exp(-c))),
        ("steep-sigmoid", lambda c: 5 / (1 + math.exp(-5 * c))),
        ("linear", lambda c: 5 * (c + 1) / 2),
        ("relu", lambda c: 5 * max(0, c)),
        ("absolute", lambda c: 5 * abs(c)),
    ],
)
def test_squared_error_of_each_scaling_in_closed_form(scaling, at):
    head = make_task_head(SimilarityHead(kind="similarity", scaling=scaling), 2)
    angles = torch.tensor([0.0, 1.0, 2.5])
    one, other = torch.tensor([[1.0, 0.0]] * 3), torch.stack([angles.cos(), angles.sin()], 1)
    labels = torch.tensor([5.0, 2.0, 0.0])
    found = term(term="mean-squared-error", task="t", scaling=scaling)(step([one, other], labels, t=head))
    slow = 0
    for angle, label in zip(angles.tolist(), labels.tolist(), strict=True):
        slow += (at(math.cos(angle)) - label) ** 2
    assert found.item() == pytest.approx(slow / 3, abs=1e-5)
    assert float(scale_cosines(torch.tensor(1.0), scaling)) <= 1


# Dropout schedules


class Recorder(torch.nn.Module):
    """A backbone that only records dropout rates."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def set_dropout(self, hidden, attention, heads):
        self.seen.append((hidden, attention, heads))


def test_a_model_is_given_the_rates_of_the_curriculum_at_its_progress():
    backbone = Recorder()
    rates = DropoutRates(hidden=0.2, attention=0.1, pooled=0.3, heads=0.4, schedule="curriculum", gamma=10)
    model = SentenceModel(backbone, torch.nn.Identity(), False, rates)
    assert backbone.seen == [(0, 0, 0)] and model.pooled_rate == 0
    for progress in (0.05, 0.1, 0.5, 1):
        # Morerio et al. (2017): keep with probability (1 - theta) exp(-gamma t) + theta, where t is the
        # progress.
        given = (1 - math.exp(-10 * progress)) * np.array([0.2, 0.1, 0.4, 0.3])
        model.set_progress(progress)
        assert (*backbone.seen[-1], model.pooled_rate) == pytest.approx(given, abs=1e-12)
    assert DropoutRates(hidden=0.3).factor(0) == 1


def test_adaptive_dropout_keeps_units_as_their_own_input_says():
    torch.manual_seed(0)
    head = make_head(MlpHead(kind="mlp", standout={"alpha": 2, "beta": 0.5}), 6)
    with torch.no_grad():
        head.dense.weight.normal_()
    vectors = torch.randn(1, 6)
    before = vectors @ head.dense.weight.T + head.dense.bias
    kept = 1 / (1 + (-(2 * before + 0.5)).exp())
    head.train()
    drawn = torch.stack([head(vectors)[0] for _ in range(20000)])
    whole = before.tanh()[0]
    torch.testing.assert_close(drawn[0], torch.where(drawn[0] == 0, 0, whole))
    assert torch.allclose((drawn != 0).float().mean(0), kept[0], atol=0.015)
    # At test time, a unit is multiplied by the probability: the expectation in training.
    head.eval()
    assert torch.allclose(head(vectors)[0], drawn.mean(0), atol=0.02)
    assert torch.allclose(head(vectors), kept * before.tanh(), atol=1e-6)


# Runs


def labelled_job(folder, **changes):
    """Return a job on rated pairs and sentiment labels, and the data root.

    The folder of datasets contains development datasets.

    Args:
        folder: Folder of the job and the data root.
        changes: Changed settings of the run.
    """
    folder.mkdir(exist_ok=True)
    base = micro.job(folder)
    sentences, mixed, rated = map(list, zip(*micro.rated_pairs(64), strict=True))
    sides = [int(sentence.split()[0] < "m") for sentence in sentences]
    write_table(
        folder / "pairs.tsv", ("one", "other", "y"), zip(sentences, mixed, map(str, rated), strict=True)
    )
    write_table(folder / "classes.tsv", ("text", "y"), zip(sentences, map(str, sides), strict=True))
    stores = []
    for name, texts, labels in (
        ("first", sentences, rated), ("second", mixed, rated), ("text", sentences, sides)
    ):  # fmt: skip
        stores.append(folder / name)
        write_store(stores[-1], texts, base.tokenizer, 16, {"name": name}, labels=labels)
    values = {
        **base.spec.plain(),
        "corpus": PAIRS,
        "views": [{"column": "first"}, {"column": "second"}],
        "objective": [{"term": "mean-squared-error", "task": "sts"}],
        "beside": [{"corpus": CLASSES, "views": [{"column": "first"}], "objective": [SENTIMENT]}],
        "pooling": {"train": "cls-head", "test": "cls-head"},
        "dropout": {"pooled": 0.3},
        "selection": {"metric": "heads-dev/sst/accuracy", "every": 4, "data": CLASSES},
        "optimisation": {"batch_size": 16, "learning_rate": 5e-3, "epochs": 25},
        **changes,
    }
    spec = Run.of(values, "run")
    return TrainJob(spec, spec.run_id, None, base.tokenizer, stores[: 3 if spec.beside else 2])


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Train a job on two sources; return job, data folder and output."""
    folder = tmp_path_factory.mktemp("learned")
    job = labelled_job(folder / "data")
    micro.trainer_of(job, folder, folder / "data").run()
    return job, folder / "data", folder / "out"


def test_sources_take_turns_and_resume_where_they_were(tmp_path):
    job = labelled_job(tmp_path / "data")
    sources = [TrainingData(job.stores[:2], 16, 7), TrainingData(job.stores[2:], 24, 7)]
    whole = list(alternate_sources(sources, 0, 14))
    places, _, labels = zip(*whole, strict=True)
    assert places == (0, 1) * 7
    assert set(map(len, labels[::2])) == {16}
    for start in (1, 5, 12):
        cut = list(alternate_sources(sources, start, 14))
        for (*_, found), expected in zip(cut, labels[start:], strict=True):
            assert torch.equal(found, expected)
    seen = torch.cat(labels[:8:2])
    assert sorted(seen.tolist()) == sorted(n % 6 for n in range(64))


def test_a_run_on_two_sources_learns_both_and_keeps_its_heads(learned):
    _, _, out = learned
    metrics = micro.metrics(out)
    assert metrics["steps"] == 2 * 25 * 4
    assert metrics["best"]["dev"] > 0.8
    heads = load_task_heads(out / "best", 16)
    assert set(heads) == {"sts", "sst"} and heads["sst"].linear.weight.shape == (2, 16)
    assert load_head(out / "best") is not None


def test_the_suite_reads_the_heads_of_a_checkpoint_and_says_which_are_not_there(learned):
    _, root, out = learned
    tasks = {"sts": PAIRS, "sst": CLASSES, "cfimdb": CLASSES}
    vectors = SentenceEncoder.open(str(out / "best"), "cls-head")
    options = {"heads-dev": {"tasks": tasks, "folder": str(out / "best")}}
    found = run_suites(root, vectors, ["heads-dev"], options)
    numbers = found["suites"]["heads-dev"]
    assert numbers["sst"]["accuracy"] == pytest.approx(micro.metrics(out)["best"]["dev"])
    labelled = load_labelled(root, Labelled.of(PAIRS, "pairs"))
    one, other = (torch.from_numpy(vectors(column)) for column in labelled.columns)
    ratings = 5 * F.cosine_similarity(one, other).sigmoid().numpy()
    assert numbers["sts"]["pearson"] == pytest.approx(np.corrcoef(ratings, labelled.labels)[0, 1], abs=1e-5)
    assert numbers["cfimdb"]["accuracy"] is None
    assert found["failures"]["heads-dev/cfimdb/accuracy"].startswith(
        "this encoder was not trained with a head"
    )


@pytest.mark.parametrize("keep", [True, False])
def test_heads_go_on_along_a_chain_where_asked(learned, tmp_path, keep):
    first, root, out = learned
    chained = labelled_job(
        tmp_path, init={"run": first.run_id, "keep_head": keep},
        optimisation={"batch_size": 16, "learning_rate": 1e-9, "epochs": 1},
    )  # fmt: skip
    chained.init = out / "last"
    micro.trainer_of(chained, tmp_path, root).run()
    wanted = load_task_heads(out / "last", 16)["sst"].linear.weight
    kept = load_task_heads(tmp_path / "out/last", 16)["sst"].linear.weight
    assert torch.allclose(kept, wanted, atol=1e-5) == keep


def test_heads_without_weights_are_saved_and_loaded(tmp_path):
    """The cosine of a pair has no weights, so the file is empty."""
    cosine = make_task_head(SimilarityHead(kind="similarity"), 16)
    save_task_heads(tmp_path, torch.nn.ModuleDict({"sts": cosine}))
    heads = load_task_heads(tmp_path, 16)
    assert list(heads) == ["sts"] and not heads.state_dict()


def test_a_kept_head_of_a_task_with_other_parameters_is_refused_not_replaced():
    terms = [term(term="cross-entropy", task="sst", classes=5).params]
    kept = {"sst": make_task_head(ClassifierHead(kind="classifier", classes=2), 16)}
    with pytest.raises(BadInput, match=r"stored head of task sst .*'classes': 2.* not .*'classes': 5"):
        collect_task_heads(terms, 16, kept)
    assert collect_task_heads(terms, 16, {"other": kept["sst"]})["sst"].linear.out_features == 5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"corpus": {"name": "wiki"}}, "labelled corpus"),
        ({"views": [{"column": "first"}]}, "not on view 1"),
        ({"head": {"kind": "mlp", "standout": {}}, "pooling": {"train": "cls", "test": "cls"}}, "cls-head"),
        ({"beside": []}, "a head of task sst"),
    ],
)
def test_specs_that_cannot_be_trained_are_refused(tmp_path, changes, told):
    with pytest.raises(BadInput, match=told):
        labelled_job(tmp_path / "data", **changes)
