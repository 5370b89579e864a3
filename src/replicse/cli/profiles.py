"""Find Snakemake profiles by name and check their requirements."""

import os
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

from replicse.checked import read_yaml
from replicse.errors import BadInput, nearest
from replicse.spec.config import SHIPPED

# Options of sbatch that the executor refuses in `slurm_extra`, and the resources to set instead. An empty string: the
# executor sets the option itself.
SLURM_RESOURCES = {
    ("--account", "-A"): "slurm_account",
    ("--clusters",): "clusters",
    ("--comment",): "",
    ("--constraint", "-C"): "constraint",
    ("--cpus-per-gpu",): "cpus_per_gpu",
    ("--cpus-per-task", "-c"): "cpus_per_task",
    ("--error", "-e"): "",
    ("--export",): "",
    ("--gpus",): "gpu",
    ("--gres",): "gres",
    ("--job-name", "-J"): "",
    ("--mem",): "mem_mb",
    ("--mem-per-cpu",): "mem_mb_per_cpu",
    ("--nodes", "-N"): "nodes",
    ("--ntasks", "-n"): "tasks",
    ("--ntasks-per-gpu",): "tasks_per_gpu",
    ("--output", "-o"): "",
    ("--parsable",): "",
    ("--partition", "-p"): "slurm_partition",
    ("--qos",): "qos",
    ("--time", "-t"): "runtime",
    ("--workdir", "-D"): "",
}


def check_profile(arguments: Namespace) -> None:
    """Find the profile, and check it and Snakemake's options after `--`.

    Args:
        arguments: the parsed arguments; `profile` is replaced by the folder of the profile.

    Raises:
        BadInput: if the profile does not exist, has options that the executor refuses, or requests absent GPUs.
    """
    if arguments.profile:
        arguments.profile = profile_named(arguments.profile, arguments.workflow)
    for word in arguments.further:
        refuse_options("after --", word)
    if not arguments.dry_run:
        refuse_absent_gpus(arguments.profile, arguments.further)


def profile_named(name: str, workflow: Path) -> str:
    """Return the folder of a Snakemake profile.

    Args:
        name: a profile of the workflow, a path, or a profile in one of Snakemake's folders.
        workflow: the folder of the workflow.

    Raises:
        BadInput: if there is no such profile; the message contains the nearest name.
    """
    folder = workflow / "profiles"
    profiles = {file.parent.name: file.parent for file in sorted(folder.glob("*/config.yaml"))}
    if name in profiles:
        refuse_without_executor(profiles[name] / "config.yaml")
        refuse_options_in_slurm_extra(profiles[name] / "config.yaml")
        return str(profiles[name])
    # Snakemake searches these folders for profiles of the user or the system.
    config_home = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    homes = (Path(), config_home / "snakemake", Path("/etc/xdg/snakemake"))
    existing = [home / name for home in homes if (home / name).exists()]
    if not existing:
        raise BadInput(f'profile "{name}" is not in {folder}{nearest(Path(name).name, profiles)}')
    if (existing[0] / "config.yaml").is_file():
        refuse_options_in_slurm_extra(existing[0] / "config.yaml")
    return name


def refuse_without_executor(file: Path) -> None:
    """Raise BadInput if the executor of a profile is not installed.

    Without this check, Snakemake prints the list of all options.
    """
    executor = (read_yaml(file) or {}).get("executor", "local")
    package = f"snakemake-executor-plugin-{executor}"
    if executor != "local" and not find_spec(package.replace("-", "_")):
        raise BadInput(f"{file}: the executor {executor} is not installed; pip install {package}")
    refuse_unquotable_folder(executor)


def refuse_options_in_slurm_extra(file: Path) -> None:
    """Refuse options of `slurm_extra` that the executor sets.

    The executor refuses such an option, and Snakemake then waits for a job that does not exist.

    Args:
        file: the `config.yaml` of a profile.

    Raises:
        BadInput: if there is such an option; the message names the resource to set.
    """
    settings = read_yaml(file) or {}
    resources = list_resources("default-resources", settings.get("default-resources"))
    by_rule = settings.get("set-resources")
    if isinstance(by_rule, dict):
        for rule, each in by_rule.items():
            resources += list_resources(f"set-resources: {rule}", each)
    else:
        resources += list_resources("set-resources", by_rule)
    for location, text in resources:
        refuse_options(f"{file}: {location}", text)


def refuse_options(location: str, text: str) -> None:
    """Refuse options of `slurm_extra` that the executor sets.

    Args:
        location: the beginning of the error message.
        text: a string like `slurm_extra=--qos=long`.

    Raises:
        BadInput: if there is such an option; the message names the resource to set.
    """
    if "slurm_extra" not in text:
        return
    for options, resource in SLURM_RESOURCES.items():
        for option in options:
            if re.search(rf"(?<![\w-]){option}(=|\s|$)", text):
                remedy = f"set the resource {resource} instead" if resource else "remove it"
                raise BadInput(f"{location}: slurm_extra has {option}, which the executor refuses; {remedy}")


def list_resources(location: str, resources: object) -> list[tuple[str, str]]:
    """Return locations and strings like `slurm_extra=--qos=long`.

    Args:
        location: the keys above the resources in the profile.
        resources: a dict of resources, or a list of strings. Snakemake accepts both.
    """
    if isinstance(resources, dict):
        return [(location, f"{name}={value}") for name, value in resources.items()]
    if isinstance(resources, list):
        return [(location, str(each)) for each in resources]
    return []


def refuse_unquotable_folder(executor: str) -> None:
    """Raise BadInput if an executor cannot quote the name of this folder."""
    folder = str(Path.cwd())
    found = [repr(each) for each in "$`\"'\\" if each in folder]
    if found and executor != "local":
        names = " ".join(found)
        raise BadInput(
            f"{folder}: the executor {executor} cannot quote {names}; use a folder without {names} in the path"
        )


def executor_of(profile: str | None, further: Sequence[str]) -> str:
    """Return the executor of a profile or of an option of Snakemake.

    Args:
        profile: the Snakemake profile, or None.
        further: options of Snakemake.

    Returns:
        The name; "local" by default, and the profile if its file is in one of Snakemake's folders.
    """
    for word, following in pairwise([*further, ""]):
        if word in ("--executor", "-e"):
            return following
        if word.startswith("--executor="):
            return word.partition("=")[2]
    file = Path(profile or "", "config.yaml")
    if profile and not file.is_file():
        return profile
    return str((read_yaml(file) or {}).get("executor", "local")) if profile else "local"


def setting_words(settings: Mapping[str, str], profile: str | None, further: Sequence[str]) -> list[str]:
    """Return settings as words of Snakemake's --config.

    Args:
        settings: a dict from keys to values as YAML.
        profile: the Snakemake profile, or None.
        further: options of Snakemake.

    Returns:
        A list of strings such as "seeds=[0,1]".

    Raises:
        BadInput: if Snakemake cannot quote a value in the scripts of the executor. It quotes as Python does, but a
            shell reads the script, so that a value with an apostrophe could run commands.
    """
    executor = executor_of(profile, further)
    words = [f"{key}={value}" for key, value in settings.items()]
    for word in words:
        if executor != "local" and repr(word) != f"'{word}'":
            raise BadInput(
                f"--config {word.partition('=')[0]}: Snakemake cannot quote an apostrophe, a backslash or a line break"
                f" for the executor {executor}; write the value in {SHIPPED}"
            )
    return words


def refuse_absent_gpus(profile: str | None, further: Sequence[str]) -> None:
    """Raise BadInput if jobs request a GPU, but this machine has no GPU.

    Args:
        profile: the folder of the Snakemake profile, or None.
        further: options of Snakemake, such as "gpu=1".
    """
    file = Path(profile or "", "config.yaml")
    settings = (read_yaml(file) or {}) if profile and file.is_file() else {}
    if settings.get("executor", "local") != "local":
        return
    requests = {str(file): str(settings.get("resources", {}).get("gpu", 0))}
    for word in further:
        if "gpu=" in word:
            requests[word] = word.rpartition("gpu=")[2]
    named = [place for place, count in requests.items() if count.isdecimal() and int(count) > 0]
    if not named:
        return
    import torch

    if not torch.cuda.is_available():
        remedy = "replicse doctor shows the reason; if --profile and gpu= are omitted, jobs run on the CPU"
        raise BadInput(f"{named[0]}: requests GPUs, but torch cannot find a GPU on this machine; {remedy}")
