"""Memory that is freed: kept where the next step asks for the same again, given back where it does not."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_LIBRARY = ctypes.CDLL(None)
# Those of glibc; other C libraries have their own ways.
_malloc_trim = getattr(_LIBRARY, "malloc_trim", None)
_mallopt = getattr(_LIBRARY, "mallopt", None)
# From <malloc.h>: how much may be free at the end before it is given back, and from which size a block is mapped apart.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
NEVER = 2**31 - 1
# As far as glibc goes by itself, once blocks of that size were freed.
USUAL = {TRIM_THRESHOLD: 2**26, MMAP_THRESHOLD: 2**25}


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep what is freed in the block, for steps that ask for the same again and again, and give it back at the end.

    Else each step maps its large blocks again, such as the gradient of the token embeddings, and the system clears
    every page of them: 2 to 4% of the CPU time of training 6x384 in bf16 on an AMD EPYC. The peak is 1 to 6% higher.
    """
    set_thresholds(dict.fromkeys(USUAL, NEVER))
    try:
        yield
    finally:
        set_thresholds(USUAL)
        give_back()


def set_thresholds(thresholds: dict[int, int]) -> None:
    """Have the C library keep freed memory as far as some thresholds say; others than glibc go on as they do."""
    if _mallopt is not None:
        for name, value in thresholds.items():
            _mallopt(name, value)


def give_back() -> None:
    """Give memory that is free back to the machine, where the C library can."""
    if _malloc_trim is not None:
        _malloc_trim(0)
