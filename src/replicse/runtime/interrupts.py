"""Ctrl-C that is pressed twice: the first ends a process, and the second does not disturb how it ends."""

import signal
from types import FrameType


def interrupt_once() -> None:
    """Let the first Ctrl-C of this process raise KeyboardInterrupt, and further ones do nothing.

    A handler, unlike SIG_IGN, is not inherited by the processes that are started afterwards.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
