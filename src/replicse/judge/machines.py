"""The machines that results were made on: one spec gives other numbers on another processor, which rounds otherwise."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from replicse.checked import Checked
from replicse.registry.digests import digest

FAMILIES = ("amx", "avx512", "avx2", "sve", "asimd")
# Settings that change no sum: how many threads there are is told apart, where they run and what is printed is not.
SILENT = ("THREADS", "VERBOSE", "OMP_")


class Machine(Checked):
    """What changes the numbers of one spec; blank where a record does not say it.

    On a GPU the processor and its threads are left out. `flags` holds the families of a processor's instructions and
    a digest of them all, `kernel` the libraries that compute products and the settings that steer them, and
    the parts that batches were split into.
    """

    processor: str = ""
    flags: str = ""
    device: str = ""
    threads: str = ""
    torch: str = ""
    kernel: str = ""

    def __str__(self) -> str:
        """Return all that is known as text."""
        named = f"{self.processor} ({self.flags})" if self.flags else self.processor
        return ", ".join(filter(None, [named, self.device, self.threads, self.torch, self.kernel]))

    def fits(self, other: "Machine") -> bool:
        """Return whether nothing that both say differs."""
        return all(one == two for (_, one), (_, two) in zip(self, other, strict=True) if one and two)


def machine_of(record: Mapping[str, Any]) -> Machine:
    """Return the machine of a provenance record, of this version or an earlier one that said less."""
    hardware, numerics, kernel = (_part(record, name) for name in ("hardware", "numerics", "kernel"))
    parts = [
        f"{name} {record[name]}" for name in ("processes", "chunk") if record.get(name) not in (None, 0, 1)
    ]
    version = _part(numerics, "torch_build").get("__version__")
    steered = [
        f"{name}={value}"
        for name, value in _part(numerics, "settings").items()
        if not any(word in name for word in SILENT)
    ]
    made = {
        "torch": f"torch {version}" if version else "",
        # Of word vectors, which no device is chosen for, the kernels are those of any machine with this processor.
        "kernel": ", ".join([*(f"{name} {value}" for name, value in kernel.items()), *steered, *parts])
        if kernel and record.get("device")
        else "",
    }
    if record.get("accelerator"):
        return Machine(device=str(record["accelerator"]), **made)
    flags, threads = str(hardware.get("kernel_flags", "")), record.get("threads")
    families = [name for name in FAMILIES if name in flags]
    return Machine(
        processor=str(hardware.get("processor", "")),
        flags=" ".join([*families, f"#{digest(sorted(flags.split()), 4)}"]) if flags else "",
        device=str(record.get("device", "")),
        threads=f"{threads} thread{'' if threads == 1 else 's'}" if threads else "",
        **made,
    )


def _part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = record.get(name)
    return part if isinstance(part, Mapping) else {}


def recorded(record: Mapping[str, Any]) -> list[Machine]:
    """Return the machines of a record: the one it was finished on, and those that a resumed run began on."""
    return [machine_of(each) for each in (record, *record.get("resumed_from", ()))] if record else []


def distinct(machines: Iterable[Machine]) -> Counter[Machine]:
    """Return how often each machine occurs, those first that name their device, and of them the fullest.

    One that says less than another and contradicts it in nothing is counted with it: word vectors know of no GPU.
    """
    counts = Counter(machines)
    totals: Counter[Machine] = Counter()
    for machine in sorted(
        counts, key=lambda one: (not one.device, -sum(bool(text) for _, text in one), str(one))
    ):
        fuller = next(filter(machine.fits, totals), machine)
        totals[fuller] += counts[machine]
    return totals


def mixture(machines: Iterable[Machine]) -> str:
    """Return a sentence that marks what several machines made; blank where one did."""
    counts = distinct(machines)
    return f"made on {len(counts)} machines: {' | '.join(map(str, counts))}" if len(counts) > 1 else ""
