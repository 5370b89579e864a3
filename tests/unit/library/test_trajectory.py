"""Load the checkpoints of a run one after another."""

import pytest
from tiny_encoders import mlp, tiny
from tokenizers import Tokenizer, models, pre_tokenizers

from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.files import write_json
from replicse.library.trajectory import list_checkpoints

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
SENTENCES = ["a b c", "d e", "f g h a"]


@pytest.fixture
def steps(tmp_path):
    """Create two checkpoints with different weights and heads."""
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    folders = [tmp_path / name for name in ("step-0", "step-10")]
    for folder in folders:
        tiny().save(folder, mlp(32), tmp_path / "tokenizer.json")
    return folders


@pytest.mark.parametrize("pooling", ["cls", "cls-head", "random-head", "mean"])
def test_the_next_checkpoint_reads_like_one_opened_afresh(steps, pooling):
    vectors = SentenceEncoder.open(steps[0], pooling)
    before = vectors(SENTENCES)
    vectors.reload(steps[1])
    fresh = SentenceEncoder.open(steps[1], pooling)(SENTENCES)
    assert vectors(SENTENCES) == pytest.approx(fresh, abs=1e-6)
    assert abs(before - fresh).max() > 1e-3


def test_steps_are_read_in_the_order_of_training_and_none_is_bad_input(tmp_path):
    write_json(
        tmp_path / "metrics.json",
        {"seconds": 1.0, "checkpoints": ["trajectory/step-0", "trajectory/step-10"]},
    )
    assert [step for step, _ in list_checkpoints(tmp_path)] == [0, 10]
    write_json(tmp_path / "metrics.json", {"seconds": 1.0, "checkpoints": []})
    with pytest.raises(BadInput, match="did not keep checkpoints"):
        list_checkpoints(tmp_path)
