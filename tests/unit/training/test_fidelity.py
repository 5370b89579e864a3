"""Our training against plain training, step by step, at a small size.

benchmarks/fidelity.py does the same for BERT-base.
"""

import random
import sys

import pytest
import torch
from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import fidelity

SMALL = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
# At ten times this rate, a rounding difference of 1e-6 in the first losses grows to 1e-2 within fifty steps.
SIZE = fidelity.Size(SMALL, 500, 8, 16, 1e-4)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def lines():
    """Return a list of random sentences of very different lengths."""
    drawn = random.Random(0)
    words = ["".join(drawn.choices("abcdefghijklmnop", k=drawn.randint(2, 6))) for _ in range(300)]
    return [" ".join(drawn.choices(words, k=drawn.randint(1, 9))) for _ in range(1200)]


@pytest.mark.parametrize("name", [name for name in fidelity.CASES if name not in fidelity.AMPLIFIED])
def test_fifty_steps_are_those_of_the_plain_trainer(name, lines, tmp_path):
    found = fidelity.compared(name, SIZE, lines, tmp_path)
    assert found["loss_difference"] < 1e-4
    assert found["weight_difference"] < 1e-3
    # The change of the weights should be equal, too, except for gradients that are only rounding.
    assert found["difference_of_way"] < 5e-2
    assert abs(found["first_loss"] - found["last_loss"]) > 1e-3


@pytest.mark.parametrize("name", fidelity.AMPLIFIED)
def test_in_float64_all_steps_are_those_of_the_plain_trainer_to_rounding(name, lines, tmp_path):
    found = fidelity.compared(name, SIZE, lines, tmp_path, torch.float64)
    assert found["loss_difference"] < 1e-11
    assert found["difference_of_way"] < 1e-8
    assert abs(found["first_loss"] - found["last_loss"]) > 1e-3
