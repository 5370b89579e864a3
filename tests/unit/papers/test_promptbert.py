"""PromptBERT: full stops at the end of a line."""

from replicse.augment import augment


def test_a_full_stop_ends_a_line_without_an_end_and_nothing_else():
    """Add a full stop to lines without an end, as PromptBERT's evaluation.

    A line ends with one of . ? " '; an exclamation mark does not count.
    """
    lines = ["a b", "a b.", "a b?", 'a "b"', "a 'b'", "a b!", ""]
    ended = ["a b.", "a b.", "a b?", 'a "b"', "a 'b'", "a b!.", ""]
    assert augment(lines, {"name": "full-stop"}) == ended == augment(ended, {"name": "full-stop", "seed": 7})
