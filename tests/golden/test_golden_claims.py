"""Synthetic claims, judged by synthetic cells (claims.yaml), as text."""

from pathlib import Path

import yaml

from replicse.judge.claims.claim_outcomes import judge_claim
from replicse.judge.values.readings import Reading
from replicse.spec.claims import Claim

CASES = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))


def reading(told):
    """Create the reading of a cell from a list of values or a dict of fields."""
    fields = told if isinstance(told, dict) else {"values": told}
    tuples = {name: tuple(each) for name, each in fields.items() if isinstance(each, list)}
    return Reading(**fields | tuples)


def test_what_numbers_say_of_a_claim(golden):
    lines = []
    for case in CASES:
        cells = {name: reading(told) for name, told in case["cells"].items()}
        claim = Claim.of({"id": "c", "text": "A sentence.", "place": "1", **case["claim"]}, case["what"])
        found = judge_claim(claim, cells.__getitem__)
        probability = "none" if found.probability is None else f"{found.probability:.4f}"
        lines += [
            f"{case['what']}: {found.outcome}, probability {probability}, {found.n_seeds} seeds",
            f"    {found.reason}; decided by {', '.join(found.decided_by) or 'nothing'}",
            *(f"    {name}: {outcome}" for name, outcome in found.readings.items()),
        ]
    golden("claims.txt", "\n".join(lines))
