"""The code of an entry or suite is refused at once if its call does not fit it."""

from importlib import import_module
from pathlib import Path

import pytest
from cases import cases

from replicse.errors import BadInput
from replicse.registry.plugins import use_plugins
from replicse.registry.registry import current
from replicse.registry.signatures import signature_problems

HEADER = """from typing import ClassVar, Literal
from replicse.checked import Count
from replicse.registry.augmentations import AugmentationParameters
from replicse.registry.encoders import PostprocessingParameters
from replicse.registry.procedures import ScheduleParameters
from replicse.registry.suite_options import SuiteOptions
from replicse.registry.suites import COUNT, Suite
from replicse.registry.terms import TermParameters
"""
ENTRIES = {
    "text": """class SwapParameters(AugmentationParameters):
    name: Literal["swap"]
    rate: float = 0.1
""",
    "tokens": """class SwapParameters(AugmentationParameters):
    of_tokens: ClassVar[bool] = True
    sees_tokenizer: ClassVar[bool] = True
    name: Literal["swap"]
""",
    "term": """class NearParameters(TermParameters):
    term: Literal["near"]
""",
    "schedule": """class RisingParameters(ScheduleParameters):
    schedule: Literal["rising"]
""",
    "postprocess": """class TopParameters(PostprocessingParameters):
    implementation: ClassVar[str] = "mine:Top"
    name: Literal["top"]
    directions: int = 1
""",
    "suite": """class LetterOptions(SuiteOptions):
    limit: Count
    alphabet: str = "latin"
SUITES = {"letters": Suite(__name__, "letters", {"n": COUNT}, options=LetterOptions)}
""",
}


@pytest.fixture(autouse=True)
def _no_plugins_afterwards():
    yield
    use_plugins([])


@cases
def test_a_call_that_does_not_fit_is_one_sentence(entry, code, told):
    Path("mine.py").write_text(HEADER + ENTRIES[entry] + code)
    if told is None:
        use_plugins(["mine.py"])
        return
    with pytest.raises(BadInput) as error:
        use_plugins(["mine.py"])
    assert str(error.value) == f"mine.py:{told}; fix it, or remove it from plugins in config.yaml"


def test_all_entries_and_suites_of_the_package_and_its_papers_fit():
    use_plugins([])
    registry = current()
    entries = []
    for known in registry.entries.values():
        entries += known.values()
    for entry in entries:
        import_module(entry.implementation.partition(":")[0])
    for suite in registry.suites.values():
        import_module(suite.module)
    assert len(entries) > 60
    assert [*signature_problems(entries, registry.suites)] == []
