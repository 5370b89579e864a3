"""PromptBERT: full stops at the end of a sentence."""

from replicse.augment import augment


def test_a_full_stop_ends_a_line_without_an_end_and_nothing_else():
    """A full stop is added to lines without an end.

    As in PromptBERT's evaluation, a line ends with . ? " or '; an exclamation mark does not count.
    """
    lines = ["a b", "a b.", "a b?", 'a "b"', "a 'b'", "a b!", ""]
    ended = ["a b.", "a b.", "a b?", 'a "b"', "a 'b'", "a b!.", ""]
    assert augment(lines, {"name": "full-stop"}) == ended == augment(ended, {"name": "full-stop", "seed": 7})
