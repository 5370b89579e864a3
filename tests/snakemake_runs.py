"""Run Snakemake on a copy of the checkout, for tests of the workflow."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from places import ROOT
from snakemake import cli as snakemake_cli

SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def ran(*words, **options):
    """Run a command; return output and exit code.

    Args:
        words: Words of the command.
        options: Further arguments of `subprocess.run`.
    """
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def snakemake(folder, *words, env=None, cores="2"):
    """Run Snakemake in a folder; return output and exit code.

    A dry run without `env` is forked from this process, which is faster.

    Args:
        folder: Copy of the checkout.
        words: Arguments of Snakemake.
        env: Environment of the process. Default: the environment of this process.
        cores: Number of cores as a string, or None to omit the option. Default: "2".
    """
    words = [*(["--cores", cores] if cores else []), *words]
    if "-n" in words and env is None:
        return planned(folder, words)
    return ran(str(SNAKEMAKE), *words, cwd=folder, env=env)


def planned(folder, words):
    """Dry-run Snakemake in a fork; return the same as `ran`.

    Importing Snakemake would take more than half of the time.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if not child:
            code = 1
            try:
                os.chdir(folder)
                for stream, number in ((out, 1), (err, 2)):
                    os.dup2(stream.fileno(), number)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                # Import the code in the folder again.
                for name in [name for name in sys.modules if name.split(".")[0] in ("replicse", "papers")]:
                    del sys.modules[name]
                snakemake_cli.main(words)
            except SystemExit as ended:
                code = ended.code
            except Exception:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def copied(folder):
    """Copy all files that a study needs to a folder, including caches."""
    # Python writes bytecode under a temporary name, which may no longer exist when it should be copied.
    being_written = shutil.ignore_patterns("*.pyc.*")
    for name in ("workflow", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=being_written)
    for name in ("Snakefile", "config.yaml", "environment.yml"):
        shutil.copy(ROOT / name, folder)
    return folder


def jobs(output):
    """Parse the job counts of a dry run."""
    table = output.partition("Job stats:")[2].partition("Reasons")[0]
    return {name: int(count) for name, count in re.findall(r"^([a-z_]\w*)\s+(\d+)$", table, re.MULTILINE)}
