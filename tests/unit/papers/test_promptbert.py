"""PromptBERT: full stops at the end of a line."""

from replicse.augment import augment


def test_a_full_stop_ends_a_line_without_an_end_and_nothing_else():
    """PromptBERT's evaluation: none of . ? " ' at the end; an exclamation mark is no end there."""
    lines = ["a b", "a b.", "a b?", 'a "b"', "a 'b'", "a b!", ""]
    ended = ["a b.", "a b.", "a b?", 'a "b"', "a 'b'", "a b!.", ""]
    assert augment(lines, {"name": "full-stop"}) == ended == augment(ended, {"name": "full-stop", "seed": 7})
