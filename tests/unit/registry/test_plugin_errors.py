"""Mistakes in the code of a plug-in are one sentence with entry, file and line."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_encoders import batch_of, pooled_by, tiny

from replicse.augment import augment
from replicse.encoder.baselines.fitted import FittedVectors
from replicse.errors import BadInput
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.encoders import postprocessing_of
from replicse.registry.plugins import use_plugins
from replicse.registry.poolings import pooling_of

LINES = ["one two", "three four"]
AUGMENTATION = """
from typing import Literal
from replicse.registry.augmentations import AugmentationParameters

class SwapParameters(AugmentationParameters):
    name: Literal["swap"]
    rate: float = 0.1

"""
POOLING = """
from typing import Literal
from replicse.registry.poolings import PoolingParameters

class SumParameters(PoolingParameters):
    pooling: Literal["sum"]

def sum(hidden, batch, pooling):
    return hidden.states[-1][:1, :2]
"""
POSTPROCESSING = """
from typing import ClassVar, Literal
from replicse.registry.encoders import PostprocessingParameters

class TopParameters(PostprocessingParameters):
    implementation: ClassVar[str] = "top:Top"
    name: Literal["top"]
    directions: int = 1

class Top:
    @classmethod
    def fit(cls, vectors, directions):
        self = cls()
        self.mean = vectors.mean(axis=0)
        return self

    def transform(self, vectors):
        return RESULT
"""
SUITE = """
from replicse.registry.suites import COUNT, Suite

SUITES = {"letters": Suite(__name__, "letters", METRICS)}
"""


@pytest.fixture(autouse=True)
def _no_plugins_afterwards():
    yield
    use_plugins([])


def use(name: str, text: str) -> None:
    """Write and load a plug-in."""
    Path(name).write_text(text)
    use_plugins([name])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def swap(lines, *, seed, rate):\n    return lines[0][9]",
            r"name swap: IndexError: .* \(swap.py:10\)",
        ),
        (
            "def swap(lines, *, seed, rate):\n    return lines[1:]",
            "not a list of 2 strings, one for each line",
        ),
        (
            "def swap(lines, *, seed, rate):\n    return [[]] * 2",
            "not a list of 2 strings, one for each line",
        ),
    ],
)
def test_an_error_of_an_augmentation(code, message):
    use("swap.py", AUGMENTATION + code)
    with pytest.raises(BadInput, match=f"{message}.*; fix the plug-in$"):
        augment(LINES, AugmentationParameters.known()["swap"](name="swap"))


def test_vectors_of_a_pooling_with_another_shape():
    use("sum.py", POOLING)
    encoder = tiny()
    pooling = pooled_by("sum", encoder)
    with pytest.raises(
        BadInput, match=r"pooling sum: ValueError: the vectors have shape \(1, 2\); expected 2 rows"
    ):
        pooling(encoder, batch_of([2, 1]))


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_a_lack_of_memory_in_a_plugin_is_not_its_mistake(error):
    """Keep the error, because the training repeats such a step in smaller chunks."""
    use("sum.py", POOLING)
    with pytest.raises(type(error)), pooling_of("sum").name_in_errors():
        raise error


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("vectors[0]", r"transform returned shape \(3,\) for \(2, 3\)"),
        ("vectors - self.average", r"AttributeError: .* \(top.py:18\)"),
    ],
)
def test_an_error_of_a_post_processing(result, message):
    use("top.py", POSTPROCESSING.replace("RESULT", result))
    vectors = FittedVectors(
        lambda sentences: np.ones((2, 3)), postprocessing_of({"name": "top", "fit": "x"}), LINES
    )
    with pytest.raises(BadInput, match=f"name top: .*{message}.*; fix the plug-in$"):
        vectors(LINES)


def test_a_post_processing_gets_its_parameters_and_changes_vectors():
    use("top.py", POSTPROCESSING.replace("RESULT", "vectors - self.mean"))
    rows = np.array([[1.0, 2.0], [3.0, 6.0]])
    vectors = FittedVectors(lambda sentences: rows, postprocessing_of({"name": "top", "fit": "x"}), LINES)
    assert vectors(LINES).tolist() == [[-1.0, -2.0], [1.0, 2.0]] and vectors(LINES).dtype == np.float32


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ('{"n": (0, 5)}', r'metric "n" has the range \(0, 5\); import Range from replicse.registry.ranges'),
        ('{"n": COUNT}, selects=("m",)', 'selects has "m", which is not a metric; known: n'),
    ],
)
def test_a_wrong_metric_of_a_suite_is_refused_when_it_is_loaded(metrics, message):
    with pytest.raises(BadInput, match=rf"letters.py:4: ValueError: {message}.*; fix it, or remove it"):
        use("letters.py", SUITE.replace("METRICS", metrics))


def test_ctrl_c_in_a_class_of_a_plugin_is_no_mistake_of_the_plugin(tmp_path, monkeypatch):
    """After Ctrl-C, an error once asked the user to fix the method of a paper, because Python 3.11 wraps it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "class Named:\n    def __set_name__(self, *_):\n        raise KeyboardInterrupt\nclass Mine:\n    a = Named()\n"
    )
    with pytest.raises(KeyboardInterrupt):
        use_plugins(["mine.py"])
