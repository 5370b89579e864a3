"""Handle Ctrl-C: no traceback at start-up; only the first ends a process.

The program `python -m replicse.runtime.interrupts MODULE ARGUMENT...` runs a module. Until the module calls
`interrupt_once`, Ctrl-C ends it without a traceback.
"""

import atexit
import runpy
import signal
import sys
from types import FrameType


def interrupt_once(*signals: int) -> None:
    """Raise KeyboardInterrupt for the first Ctrl-C and ignore further ones.

    Unlike SIG_IGN, a handler is not inherited by processes that are started later. But Python restores the default
    action of handled signals when it exits, so signals are ignored by SIG_IGN from then on.

    Args:
        *signals: Signals with the same effect as Ctrl-C, such as SIGTERM.
    """
    numbers = (signal.SIGINT, *signals)

    def stop(_: int, frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, lambda *_: None)
            atexit.register(signal.signal, number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, stop)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
