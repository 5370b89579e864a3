"""Ctrl-C pressed twice, in a separate process."""

import signal
import subprocess
import sys
import time

CODE = """
import sys, time
from replicse.runtime.interrupts import interrupt_once
interrupt_once()
try:
    print("begun", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("ending", flush=True)
    time.sleep(1)
    print("ended", flush=True)
"""


def test_only_the_first_of_two_presses_interrupts_and_the_second_leaves_the_end_alone():
    """The second Ctrl-C interrupted the clean-up with a traceback."""
    with subprocess.Popen([sys.executable, "-c", CODE], text=True, stdout=-1, stderr=-1) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ending\n"
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        said, errors = process.communicate(timeout=30)
    assert (process.returncode, said, errors) == (0, "ended\n", "")
