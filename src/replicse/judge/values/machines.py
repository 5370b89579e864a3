"""The machines that computed results.

Processors round differently, so the numbers of a job depend on the machine.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from replicse.checked import Checked
from replicse.registry.digests import digest

FAMILIES = ("amx", "avx512", "avx2", "sve", "asimd")
# Skipped settings: thread counts are recorded separately, pinning and verbosity do not change results.
SILENT = ("THREADS", "VERBOSE", "OMP_")
# Packages whose version can change numbers, in addition to torch.
PACKAGES = ("numpy", "scipy", "scikit-learn", "tokenizers", "transformers", "sentence-transformers")


class Machine(Checked):
    """The properties of a machine that change numbers.

    By default, a property is an empty string: the record does not contain it. On a GPU, the processor and its threads
    are empty.

    Attributes:
        processor: the name of the processor.
        flags: the families of its instructions, and a digest of all instructions.
        device: the accelerator, or the device as torch names it.
        threads: the number of threads, such as "4 threads".
        torch: the version of torch.
        kernel: the libraries that compute products, the settings that change their results, and the parts of split
            batches.
        packages: the versions of other packages that compute numbers.
    """

    processor: str = ""
    flags: str = ""
    device: str = ""
    threads: str = ""
    torch: str = ""
    kernel: str = ""
    packages: str = ""

    def __str__(self) -> str:
        """Return the known properties as a string."""
        named = f"{self.processor} ({self.flags})" if self.flags else self.processor
        return ", ".join(
            filter(None, [named, self.device, self.threads, self.torch, self.kernel, self.packages])
        )

    def fits(self, other: "Machine") -> bool:
        """Return whether all properties known for both machines are equal."""
        pairs = zip(self, other, strict=True)
        return all(not ours or not theirs or ours == theirs for (_, ours), (_, theirs) in pairs)


def machine_of(record: Mapping[str, Any]) -> Machine:
    """Parse the machine of a provenance record.

    Records of earlier versions can have fewer keys.
    """
    hardware = _part(record, "hardware")
    version = _part(_part(record, "numerics"), "torch_build").get("__version__")
    torch = f"torch {version}" if version else ""
    kernel = _describe_kernel(record)
    versions = _part(record, "versions")
    packages = ", ".join(f"{name} {versions[name]}" for name in PACKAGES if name in versions)
    if record.get("accelerator"):
        return Machine(device=str(record["accelerator"]), torch=torch, kernel=kernel, packages=packages)
    threads = ""
    if record.get("threads"):
        count = record["threads"]
        threads = f"{count} thread" if count == 1 else f"{count} threads"
    return Machine(
        processor=str(hardware.get("processor", "")),
        flags=_summarise_flags(str(hardware.get("kernel_flags", ""))),
        device=str(record.get("device", "")),
        threads=threads,
        torch=torch,
        kernel=kernel,
        packages=packages,
    )


def _describe_kernel(record: Mapping[str, Any]) -> str:
    """Return the libraries and settings that compute products.

    Returns an empty string if they are unknown, and for word vectors: their results are the same on all machines with
    the same processor.
    """
    kernel = _part(record, "kernel")
    if not kernel or not record.get("device"):
        return ""
    parts = [f"{name} {value}" for name, value in kernel.items()]
    for name, value in _part(_part(record, "numerics"), "settings").items():
        if not any(word in name for word in SILENT):
            parts.append(f"{name}={value}")
    for name in ("processes", "chunk"):
        if record.get(name) not in (None, 0, 1):
            parts.append(f"{name} {record[name]}")
    return ", ".join(parts)


def _summarise_flags(flags: str) -> str:
    """Return families of instructions and a digest: `avx512 avx2 #1a2b`."""
    if not flags:
        return ""
    families = [name for name in FAMILIES if name in flags]
    return " ".join([*families, f"#{digest(sorted(flags.split()), 4)}"])


def _part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = record.get(name)
    return part if isinstance(part, Mapping) else {}


def recorded_machines(record: Mapping[str, Any]) -> list[Machine]:
    """Return the machines of a provenance record.

    The machine where the run finished is first. The machines where a resumed run was started follow.

    Args:
        record: the record; an empty dict gives an empty list.
    """
    if not record:
        return []
    return [machine_of(each) for each in (record, *record.get("resumed_from", ()))]


def count_machines(machines: Iterable[Machine]) -> Counter[Machine]:
    """Count how often each machine occurs.

    A machine with fewer known properties is counted as another machine if it does not contradict it. For example, word
    vectors have no GPU in their record.

    Args:
        machines: the machines, with duplicates.

    Returns:
        The counts. Machines with a device are first, then machines with the most known properties.
    """
    counts = Counter(machines)
    totals: Counter[Machine] = Counter()
    for machine in sorted(counts, key=_order_of_machine):
        fuller = next(filter(machine.fits, totals), machine)
        totals[fuller] += counts[machine]
    return totals


def _order_of_machine(machine: Machine) -> tuple[bool, int, str]:
    known = sum(bool(text) for _, text in machine)
    return not machine.device, -known, str(machine)


def matching_names(machines: Iterable[Machine], known: Iterable[Machine]) -> list[str]:
    """Return the names of the known machines that match some machines.

    Args:
        machines: the machines to look up.
        known: the known machines, as returned by `count_machines`.

    Returns:
        List of names without duplicates.
    """
    candidates = list(known)
    names: dict[str, None] = {}  # an ordered set
    for machine in machines:
        names[str(next(filter(machine.fits, candidates)))] = None
    return list(names)


def describe_mixture(machines: Iterable[Machine]) -> str:
    """Return a sentence about results from several machines.

    Args:
        machines: the machines, with duplicates.

    Returns:
        The sentence; an empty string for a single machine.
    """
    counts = count_machines(machines)
    if len(counts) < 2:
        return ""
    return f"computed on {name_count(counts)}: {' | '.join(map(str, counts))}"


def name_count(machines: Collection[Machine]) -> str:
    """Return the number of different machines as a string.

    Args:
        machines: the machines, without duplicates.

    Returns:
        A string such as "2 machines", or "2 sets of package versions" if the machines are the same otherwise.
    """
    apart = {machine.replace(packages="") for machine in machines}
    return f"{len(machines)} machines" if len(apart) > 1 else f"{len(machines)} sets of package versions"
