"""The job server forks jobs, with the same results as separate processes."""

import json
import os
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from until import until

from replicse.cli import job_server
from replicse.runtime.forking import ADDRESS, delegate

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="servers need Linux's process descriptors"
)

# A server without imports. The first argument of a job is a command.
MADE_UP = """
import os, sys, time, types
from replicse.cli import job_server as server

def main(words):
    sys.stdout.reconfigure(errors="backslashreplace")
    if words[0] == "say":
        print("out", os.environ["WORD"], os.path.basename(os.getcwd()), "papers.simcse.method" in sys.modules)
        built = [kind.__pydantic_complete__ for kind in sys.modules["replicse.checked"].Checked.__subclasses__()]
        print("models", len(built) > 5 and all(built))
        print("imported", "wave" in sys.modules)
        print("err", file=sys.stderr)
        return int(words[1]) if words[1].isdigit() else 0
    with open(words[1], "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)

sys.modules["replicse.cli"] = types.SimpleNamespace(main=main)
server.PRELOADED = {"train": ("wave",), "figures": ("starts_a_thread",), "evaluate": ("slow",)}
server._optimise_nothing = lambda: None
server.serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
"""


@contextmanager
def served(home):
    """Start a server of test jobs.

    The parent of the server is a separate process, so that tests can end it.

    Yields:
        The address, the process of the server, and the parent.
    """
    parent = subprocess.Popen(["sleep", "60"])
    folder = home / "server"
    folder.mkdir()
    address = str(folder / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        words = [sys.executable, "-c", MADE_UP, str(listener.fileno()), str(parent.pid), address]
        # The output of a job is a pipe: Python's buffered position in a file failed ("Illegal seek").
        with (home / "said").open("w") as out, (home / "errors").open("w") as errors:
            process = subprocess.Popen(
                words, pass_fds=[listener.fileno()], stdout=out, stderr=errors, cwd=home
            )
    yield address, process, parent
    for one in (parent, process):
        one.kill()
        one.wait()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Yield the address of a server that tests must not end."""
    with served(tmp_path_factory.mktemp("shared")) as (address, *_):
        yield address


@pytest.fixture
def server(tmp_path):
    with served(tmp_path) as parts:
        yield parts


def client(address, *words, folder=None, **environment):
    """Start the process of a job as a rule does.

    If the server is not used, the process prints "plain".

    Args:
        address: Address of the server.
        words: Arguments of the job.
        folder: Working directory. Default: the current folder.
        environment: Additional environment variables.
    """
    code = (
        "import os, sys; from replicse.runtime.forking import delegate; code = delegate(sys.argv[1], sys.argv[2:]);"
        + ("print('plain' if code is None else ''); sys.exit(code or 0)")
    )
    words, piped = (
        [sys.executable, "-c", code, address, *words],
        {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE},
    )
    return subprocess.Popen(words, cwd=folder, env={**os.environ, **environment}, text=True, **piped)


def gone(process):
    """Return whether a process has ended or is a zombie."""
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_job_has_its_clients_folder_environment_output_exit_code_and_what_its_server_has_made(
    shared, tmp_path
):
    job = client(shared, "say", "2", folder=tmp_path, WORD="word")
    out, err = job.communicate()
    assert out.splitlines()[:2] == [f"out word {tmp_path.name} True", "models True"]
    assert (err, job.returncode) == ("err\n", 2)


def sleeping(address, note):
    """Start a job that sleeps, and wait until it runs.

    Args:
        address: Address of the server.
        note: File to which the job writes its process id.

    Returns:
        The process that waits for the job, and the id of the job's process.
    """
    job = client(address, "sleep", str(note))
    until(lambda: note.exists() and note.read_text())
    return job, int(note.read_text())


@pytest.mark.parametrize("setting", [{"OMP_NUM_THREADS": "7"}, {"MKL_CBWR": "AVX2"}])
def test_a_job_of_other_numerical_settings_or_without_its_server_runs_as_a_plain_process(
    shared, tmp_path, setting
):
    assert client(shared, "say", "0", WORD="w", **setting).communicate()[0].strip() == "plain"
    assert delegate(str(tmp_path / "none"), ["say", "0"]) is None
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "dead"))
        listener.listen()
    assert delegate(str(tmp_path / "dead"), ["say", "0"]) is None


def test_the_modules_of_a_stage_are_imported_before_the_first_job_of_the_stage(server, tmp_path):
    answers = []
    for stage in ("tabulate", "train", "tabulate"):
        (tmp_path / "job.json").write_text(json.dumps({"stage": stage}))
        answers.append(client(server[0], "say", "job.json", folder=tmp_path, WORD="w").communicate()[0])
    assert ["imported True" in answer for answer in answers] == [False, True, True]


def test_a_job_whose_client_is_killed_during_imports_does_not_run(server, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, time\nopen('started', 'w').close()\nwhile not os.path.exists('killed'): time.sleep(0.01)\n"
    )
    (tmp_path / "job.json").write_text(json.dumps({"stage": "evaluate"}))
    job = client(server[0], "sleep", str(tmp_path / "job.json"), folder=tmp_path)
    until((tmp_path / "started").exists)
    job.kill()
    job.wait()
    (tmp_path / "killed").touch()
    job.communicate()  # ends when the server has closed the streams of the job
    assert "imported" in client(server[0], "say", "0", WORD="w").communicate()[0]
    assert "stage" in (tmp_path / "job.json").read_text(), "the job did not write its process id"
    assert "Traceback" not in (tmp_path / "errors").read_text()


def test_a_server_whose_imports_start_a_thread_ends_and_the_job_runs_as_a_plain_process(server, tmp_path):
    (tmp_path / "starts_a_thread.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
    )
    (tmp_path / "job.json").write_text(json.dumps({"stage": "figures"}))
    assert client(server[0], "say", "job.json", folder=tmp_path, WORD="w").communicate()[0].strip() == "plain"
    assert server[1].wait(20) == 0
    assert not Path(server[0]).exists()


def test_a_job_whose_client_is_killed_ends_and_others_run_beside_it(shared, tmp_path):
    job, process = sleeping(shared, tmp_path / "pid")
    assert client(shared, "say", "0", WORD="quick").wait() == 0
    assert not gone(process)
    job.kill()
    job.communicate()
    until(lambda: gone(process))


def test_a_killed_server_takes_its_jobs_with_it_and_their_clients_say_so(server, tmp_path):
    job, process = sleeping(server[0], tmp_path / "pid")
    server[1].kill()
    assert "ended without an exit code; run it again" in job.communicate()[1]
    assert job.returncode == 1
    until(lambda: gone(process))


def test_a_server_finishes_its_jobs_and_ends_after_its_parent(server, tmp_path):
    address, process, parent = server
    job, _ = sleeping(address, tmp_path / "pid")
    parent.kill()
    parent.wait()
    time.sleep(0.2)
    assert process.poll() is None, "it has a job"
    # A request can arrive at the same time as the end of the parent.
    with socket.socket(socket.AF_UNIX) as late:
        late.connect(address)
        job.kill()
        assert process.wait(20) == 0
    assert not Path(address).exists()


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_only_the_owner_can_connect_to_the_server(tmp_path, monkeypatch, umask):
    """Other users should not be able to connect, because a job runs code.

    With a permissive umask, a member of the group could run code as the owner.
    """
    monkeypatch.chdir(tmp_path)
    Path(ADDRESS).parent.mkdir()
    monkeypatch.setattr(job_server.subprocess, "Popen", lambda *_, **__: None)
    before = os.umask(umask)
    try:
        job_server.start(1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path(ADDRESS).stat().st_mode) == 0o600
