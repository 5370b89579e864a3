"""Ctrl-C: quiet while a program starts, and the second press does not disturb how the first one ends it.

As a program, `python -m replicse.runtime.interrupts MODULE ARGUMENT...` runs a module that Ctrl-C ends without a
traceback until the module calls `interrupt_once`.
"""

import runpy
import signal
import sys
from types import FrameType


def interrupt_once(*signals: int) -> None:
    """Let the first Ctrl-C of this process raise KeyboardInterrupt, and further ones do nothing.

    A handler, unlike SIG_IGN, is not inherited by the processes that are started afterwards.

    Args:
        signals: what has the effect of Ctrl-C too, as SIGTERM.
    """
    numbers = (signal.SIGINT, *signals)

    def stop(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, lambda *_: None)
        raise KeyboardInterrupt

    for each in numbers:
        signal.signal(each, stop)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
