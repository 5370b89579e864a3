"""Wait for another process."""

import time
from collections.abc import Callable


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until a condition is true.

    Args:
        holds: Function that returns the condition.
        seconds: Time limit. Default: 20.

    Raises:
        AssertionError: If the condition is not true before the time limit.
    """
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never held"
        time.sleep(0.01)
