"""Facts about a processor, and the library used for matrix products."""

import pytest

from replicse.runtime import machine


@pytest.mark.parametrize(
    ("vendor", "flags", "expected"),
    [
        ("AuthenticAMD", "fma avx2 avx512f avx_vnni avx512_bf16", True),
        ("AuthenticAMD", "fma avx2 avx512f avx512_bf16", False),
        ("AuthenticAMD", "fma avx2 avx_vnni", False),
        ("AuthenticAMD", "fma avx2", False),
        ("GenuineIntel", "fma avx2 avx512f avx_vnni amx_bf16", False),
        ("", "", False),
    ],
)
def test_only_amd_processors_with_avx512_and_vnni_multiply_by_onednn(vendor, flags, expected, monkeypatch):
    monkeypatch.setattr(machine, "processor_facts", lambda: {"vendor_id": vendor, "flags": flags})
    assert machine.multiplies_by_onednn.__wrapped__() is expected
