"""Ctrl-C pressed twice, tested in a separate process."""

import os
import signal
import socket
import subprocess
import sys
import time
import tomllib

import pytest
from places import CHECKOUT

from replicse.runtime.forking import ADDRESS

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
    """The first Ctrl-C should interrupt; the second should be ignored.

    A second Ctrl-C once interrupted the clean-up with a traceback.
    """
    with subprocess.Popen([sys.executable, "-c", CODE], text=True, stdout=-1, stderr=-1) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ending\n"
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        said, errors = process.communicate(timeout=120)
    assert (process.returncode, said, errors) == (0, "ended\n", "")


# Objects of a module are deleted last, after Python has restored the default action of signals.
EXITING = """
import os, signal
from replicse.runtime.interrupts import interrupt_once

class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)

last = Last()
interrupt_once()
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("ended")
"""


def test_a_second_press_does_not_kill_a_process_that_exits():
    """A second Ctrl-C should not change the exit code of an interrupted process.

    On a busy machine, a job once ended as killed by SIGINT after its sentence was printed.
    """
    done = subprocess.run([sys.executable, "-c", EXITING], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_waits_for_the_server_is_interrupted_in_one_sentence(tmp_path, number):
    """A job that waits for the server is interrupted with a sentence.

    The log once ended in a traceback, or was empty, and the job was counted as failed.
    """
    (tmp_path / ADDRESS).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / ADDRESS))
        listener.listen()
        words = [sys.executable, "-m", "replicse", "job", "data.json"]
        with subprocess.Popen(words, cwd=tmp_path, text=True, stderr=-1) as job:
            # The job sends stderr to the server, so the pipe can stay open until the connection is closed.
            with listener.accept()[0]:
                for _ in range(3):
                    job.send_signal(number)
                job.wait(timeout=120)
            errors = job.stderr.read()
    assert (job.returncode, errors) == (130, "replicse job data.json: interrupted; start it again\n")


def test_ctrl_c_ends_a_module_that_is_imported_without_a_traceback(tmp_path):
    """Ctrl-C during the import of a module should cause no traceback.

    When Snakemake was imported, Ctrl-C once printed a traceback.
    """
    (tmp_path / "slow.py").write_text(
        "import sys, time\nassert sys.argv[1:] == ['-n']\nprint(__name__, flush=True)\ntime.sleep(60)\n"
    )
    words = [sys.executable, "-m", "replicse.runtime.interrupts", "slow", "-n"]
    with subprocess.Popen(words, cwd=tmp_path, text=True, stdout=-1, stderr=-1) as process:
        assert process.stdout.readline() == "__main__\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120) == ("", "")
    assert process.returncode == -signal.SIGINT


# A finder of modules that raises KeyboardInterrupt at the import of a module, as Ctrl-C does.
INTERRUPTING = """
import sys
from importlib import import_module

class Interrupting:
    @staticmethod
    def find_spec(name, *_):
        if name == interrupted:
            raise KeyboardInterrupt

module, function, interrupted = sys.argv[1:]
sys.meta_path.insert(0, Interrupting)
sys.argv[1:] = ["plan"]
sys.exit(getattr(import_module(module), function)())
"""


@pytest.mark.parametrize("module", ["replicse.cli", "replicse.cli.answers", "replicse.cli.plan"])
def test_ctrl_c_during_the_imports_of_a_verb_is_a_sentence(module):
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    program = settings["project"]["scripts"]["replicse"].split(":")
    words = [sys.executable, "-c", INTERRUPTING, *program, module]
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "replicse plan: interrupted; start it again\n"
