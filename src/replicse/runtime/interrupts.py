"""Handle a second Ctrl-C: the first ends a process, the second is ignored."""

import signal
from types import FrameType


def interrupt_once() -> None:
    """Raise KeyboardInterrupt for the first Ctrl-C and ignore further ones.

    Unlike SIG_IGN, a handler is not inherited by processes that are started later.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
