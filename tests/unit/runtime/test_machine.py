"""Facts about a processor, and the library used for matrix products."""

import pytest

from replicse.runtime import machine


@pytest.mark.parametrize(
    ("vendor", "flags", "expected"),
    [
        ("AuthenticAMD", "fma avx2 avx512f avx512_bf16", True),
        ("AuthenticAMD", "fma avx2", False),
        ("GenuineIntel", "fma avx2 avx512f amx_bf16", False),
        ("", "", False),
    ],
)
def test_only_amd_processors_with_avx512_multiply_by_onednn(vendor, flags, expected, monkeypatch):
    monkeypatch.setattr(machine, "processor_facts", lambda: {"vendor_id": vendor, "flags": flags})
    assert machine.multiplies_by_onednn.__wrapped__() is expected
