import pytest

from replicse.runtime import memory
from replicse.runtime.memory import NEVER, USUAL, freed_memory_kept

KEPT = dict.fromkeys(USUAL, NEVER)


@pytest.fixture
def asked(monkeypatch):
    """Return a list that records the calls of the C library in order."""
    calls = []
    monkeypatch.setattr(memory, "_mallopt", lambda name, value: calls.append((name, value)))
    monkeypatch.setattr(memory, "_malloc_trim", lambda pad: calls.append(("trim", pad)))
    return calls


def test_what_is_freed_is_kept_in_the_block_and_given_back_after_it_also_where_it_fails(asked):
    with pytest.raises(KeyError), freed_memory_kept():
        assert asked == [*KEPT.items()]
        raise KeyError
    assert asked == [*KEPT.items(), *USUAL.items(), ("trim", 0)]


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory, "_mallopt", None)
    monkeypatch.setattr(memory, "_malloc_trim", None)
    with freed_memory_kept():
        memory.give_back()
