"""Orders of rows, mined negatives, label tables and early stopping."""

from pathlib import Path

import micro
import numpy as np
import pytest
import torch
from tiny_encoders import tiny

from replicse.augment.mining import mined
from replicse.data.corpora import read_corpus
from replicse.data.store import write_store
from replicse.data.tokenizer import load_tokenizer
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.registry.frozen import FrozenModel
from replicse.registry.procedures import OrderParameters
from replicse.training.data import TrainingData

order_of = OrderParameters.reader("order", "run")


@pytest.fixture
def rows(tmp_path):
    """Create a corpus of 30 rows.

    Returns:
        A function from an order and an epoch (default: 0) to a list of rows, the texts, and the labels.
    """
    texts = [*micro.sentences(20, 3), *micro.sentences(10, 3)]
    labels = [float(number % 5 == 0) for number in range(30)]
    write_store(tmp_path / "store", texts, micro.tokenizer_file(tmp_path), 16, {}, None, labels)

    def ordered(order, epoch=0):
        """Return the rows of an epoch as a list; the default epoch is 0."""
        data = TrainingData([tmp_path / "store"], 8, 7, order_of(order))
        found = data.order.made_by()(data, epoch, np.random.default_rng([7, epoch]), data.order).tolist()
        batches = []
        for _, some in data.batches(4 * epoch, 4 * epoch + 4):
            batches += some.tolist()
        assert batches == [labels[row] for row in found], "batches are read in this order"
        return found

    return ordered, texts, labels


def test_each_order_is_what_its_name_says(rows):
    ordered, texts, labels = rows
    assert ordered("sequential", 1) == [*range(30)]
    assert sorted(ordered("shuffled")) == [*range(30)] and ordered("shuffled") != ordered("shuffled", 1)
    assert [labels[row] for row in ordered({"order": "ascending", "by": "label"})] == [0.0] * 24 + [1.0] * 6
    lengths = [len(texts[row].split()) for row in ordered({"order": "ascending", "by": "length"})]
    assert lengths[0] < lengths[-1] and len({*ordered({"order": "ascending", "by": "length"})}) == 30
    assert [labels[row] for row in ordered("balanced")] == [0.0, 1.0] * 15
    distinct = ordered("distinct")
    assert sorted(distinct) == [*range(30)]
    for start in range(0, 24, 8):
        batch = [texts[row] for row in distinct[start : start + 8]]
        assert len({*batch}) == 8


def test_a_mined_line_has_its_rank_by_cosine_among_all_others(tmp_path):
    tokenizer = micro.tokenizer_file(tmp_path)
    torch.manual_seed(1)
    size = load_tokenizer(tokenizer, 64).get_vocab_size()
    tiny(layers=1, vocabulary=size, hidden=16, heads=2, intermediate=16, positions=64).save(
        tmp_path / "one", None, tokenizer
    )
    lines = micro.sentences(40)
    model = FrozenModel.of({"folder": str(tmp_path / "one"), "pooling": "mean"}, "model")
    found = mined(lines, seed=3, model=model, rank=(2, 5))
    vectors = SentenceEncoder.open(tmp_path / "one", "mean", device="cpu")(lines).astype(np.float64)
    ranks = set()
    for line, vector, other in zip(lines, vectors, found, strict=True):
        near = {}
        for each, beside in zip(lines, vectors, strict=True):
            near[each] = sum(vector * beside) / np.sqrt(sum(vector**2) * sum(beside**2))
        del near[line]
        ranks.add(1 + sorted(near, key=near.get, reverse=True).index(other))
    assert ranks == {2, 3, 4, 5}
    with pytest.raises(BadInput, match="rank ends at 40, but the column has 40 different lines"):
        mined(lines, seed=3, model=model, rank=(2, 40))


def test_a_table_of_ones_own_has_pairs_with_a_label():
    file = Path("own.csv").absolute()
    file.write_text("one,two,grade\na b,c d,0.5\ne,f,4\n")
    corpus = {"format": "table", "file": str(file), "first": "one", "second": "two", "label": "grade"}
    found = read_corpus(Path(), corpus)
    assert found == {"first": ["a b", "e"], "second": ["c d", "f"], "label": ["0.5", "4"]}
    Path("own.csv").write_text("one,two,grade\na b,c d,high\n")
    with pytest.raises(BadInput, match='score is "high"; expected a number'):
        read_corpus(Path(), corpus)


def test_patience_ends_a_run_whose_history_has_the_loss_of_each_term(tmp_path):
    job, seen, scores = micro.job(tmp_path, selection={"every": 1, "patience": 2}), [], iter([4, 5, 3, 5, 9])
    trainer = micro.trainer_of(job, tmp_path, on_step=seen.append)
    trainer.checkpoints.score = lambda: next(scores)
    trainer.run()
    metrics = micro.metrics(tmp_path / "out")
    assert (metrics["steps"], metrics["best"]["step"]) == (4, 2)
    read = zip([4, 5, 3, 5], seen, strict=True)
    assert metrics["history"] == [{**each, "dev": score} for score, each in read]
    assert all(each["terms"] == {"infonce": each["loss"]} for each in seen)
