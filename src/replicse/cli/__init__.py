"""The `replicse` command line, with a module for each verb."""

import atexit
import errno
import gc
import importlib
import io
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Sequence

from replicse.cli.answers import print_error, wrapped
from replicse.cli.parser import Parser, usage
from replicse.errors import BadInput, Failed, is_out_of_memory, nearest, one_line
from replicse.files import FULL, not_written
from replicse.printable import columns
from replicse.runtime.forking import INTERRUPTED
from replicse.runtime.progress import CLEARED, heartbeat

# Error numbers of full or read-only disks.
NOT_WRITTEN = (*FULL, errno.EROFS, errno.EACCES, errno.EPERM)

# Help texts by group and verb; each verb is a module of replicse.cli.
GROUPS = {
    "every day": {
        "plan": "list items, runs and hours",
        "run": "run items or the whole study",
        "status": "show progress and failed jobs",
        "show": "print the table of an item",
        "why": "explain a cell",
        "doctor": "check this machine for a study",
    },
    "analyse": {
        "claims": "test the papers' claims on their numbers and on ours",
        "audit": "check published numbers against each other; runs are not needed",
        "adjudicate": "find the difference in protocol that explains a gap",
        "diagnose": "find out why your number differs from a published number",
        "evaluate": "evaluate any encoder folder or hub id on suites",
        "compare": "compare two results folders of the same runs",
    },
    "write and set up": {
        "report": "write the report of a study, complete or not",
        "keep": "copy a finished study to reports/studies, or export it",
        "init": "create a workspace, a paper or a plug-in",
        "fetch": "download datasets and models of items, or pin the commits",
        "benchmark": "measure this machine, so that plan can estimate hours",
        "validate": "check config, papers and scales",
    },
}
EVERYDAY = next(iter(GROUPS))
# Example arguments of everyday verbs in the help.
EXAMPLES = {
    "run": " simcse/table3",
    "show": " simcse/table3",
    "why": " simcse/table3/p0.1/stsb-dev",
    "doctor": " --scale paper",
}
# Verbs for the workflow, not listed in the help.
INTERNAL = {"job": "run a job of the workflow"}
VERBS = {verb: about for group in GROUPS.values() for verb, about in group.items()}
ABOUT = "Re-run sentence-embedding papers and compare the numbers with the papers'."
HELP_OPTIONS = {"-h", "--help"}
USAGE = "options: replicse VERB --help; docs: replicse help; 0 ok, 1 failed, 2 bad input"


def help_text(groups: Iterable[str]) -> str:
    """Return the help of the verbs in some groups.

    Args:
        groups: names of groups, such as "every day".
    """
    lines: list[str | tuple[str, str]] = [ABOUT]
    for group in groups:
        rows: list[tuple[str, str]] = []
        for verb, about in GROUPS[group].items():
            if group == EVERYDAY:
                rows.append((f"  replicse {verb}{EXAMPLES.get(verb, '')}", about))
            else:
                rows.append((f"  {verb}", about))
        lines += [f"{group}:", *columns(rows, width=shutil.get_terminal_size().columns)]
    return "\n".join(map(str, lines))


def without_verb(words: Sequence[str]) -> int:
    """Handle a command without a known verb: help, version or a mistake.

    Args:
        words: the command-line arguments.

    Returns:
        The exit code: 2 if the verb is unknown, else 0.
    """
    if not words:
        print(help_text([EVERYDAY]), "all verbs: replicse --help", sep="\n")
    elif words[0] in HELP_OPTIONS:
        print(help_text(GROUPS), USAGE, sep="\n")
    elif words[0] == "help":
        print_documentation([name for name in words[1:] if name not in HELP_OPTIONS])
    elif words[0] == "--version":
        from replicse import __version__

        print(f"replicse {__version__}")
    else:
        print_error(f'replicse: unknown verb "{words[0]}"{nearest(words[0], VERBS)}')
        return 2
    return 0


def print_documentation(names: Sequence[str]) -> None:
    """Print pages of the documentation, or the list of pages.

    Args:
        names: names of pages; if empty, the list is printed.

    Raises:
        BadInput: if there is no such page; the message contains the nearest name.
    """
    from replicse.cli.manual import find_pages, read_page

    if names:
        print(*map(read_page, names), sep="\n", end="")
        return
    about = (
        "documentation: replicse help PAGE; formats lists the keys of all files, api the Python interface, cli the help"
        " of every verb, method-in-twenty-lines a file of each kind"
    )
    print(*wrapped([about, f"pages: {', '.join(find_pages())}"]), sep="\n")


def verb_parser(verb: str) -> Parser:
    """Create the argument parser of a verb.

    Args:
        verb: the name of the verb, such as "plan".

    Returns:
        The parser; parsed arguments contain the verb's function as `run`.
    """
    about = (VERBS | INTERNAL)[verb]
    description = f"{about[0].upper()}{about[1:]}."
    parser = Parser(prog=f"replicse {verb}", description=description, add_help=False)
    module = importlib.import_module(f"replicse.cli.{verb}")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    parser.usage = usage(parser)
    return parser


def set_up_output() -> None:
    """Log to stderr, and escape unsupported characters."""
    # A stream is None if the caller closed it, as with `>&-`.
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # the encoding may have no Greek letters
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format=f"{CLEARED * sys.stderr.isatty()}%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
    )
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs each glyph of a PDF's font


def run_command(words: Sequence[str]) -> int:
    """Run the requested command and return the exit code.

    Args:
        words: the command-line arguments. Arguments of `run` after a lone `--` are options of Snakemake.
    """
    if not words or words[0] not in VERBS | INTERNAL:
        return without_verb(words)
    parser = verb_parser(words[0])
    end = words.index("--") if words[0] == "run" and "--" in words else len(words)
    if HELP_OPTIONS & {*words[:end]}:
        parser.explained = "--all" in words
        print(parser.format_help(), end="")
        return 0
    arguments = parser.parse_intermixed_args(words[1:end])
    arguments.typed = words[:end]
    if words[end + 1 :]:
        arguments.further = words[end + 1 :]
    with heartbeat():
        return arguments.run(arguments) or 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        words: the arguments. Default: the arguments of the process.

    Returns:
        0 (success), 1 (failed), 2 (bad input) or 130 (interrupted).
    """
    # Garbage collection would take 0.1 s of the 0.7 s of `plan`, because most imported objects stay alive. pydantic
    # would scan all installed packages for plug-ins, which are not used here.
    gc.set_threshold(400_000, 20, 50)
    atexit.register(gc.freeze)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    words = list(sys.argv[1:] if words is None else words)
    set_up_output()
    if words[:1] == ["job"]:  # handle SIGTERM like Ctrl-C, without a traceback in the log
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    program = " ".join(["replicse", *words[:1]])
    try:
        try:
            return run_command(words)
        finally:
            sys.stdout.flush()
    except BadInput as error:
        print_error(f"{program}: {error}")
        return 2
    except Failed as error:
        print_error(f"{program}: {error}")
        return 1
    except BrokenPipeError:
        # The reader has exited, as in `replicse show ITEM | head`. Without this, Python prints an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print_error(f"{program}: {INTERRUPTED}")
        return 130
    except (MemoryError, RuntimeError, ImportError) as error:
        if not is_out_of_memory(error):
            raise
        remedy = "free memory, or raise the limit of the job (mem_mb of the rule, ulimit -v)"
        print_error(f"{program}: not enough memory ({one_line(error)}); {remedy}")
        return 1
    except OSError as error:
        if error.strerror is None:
            raise
        print_error(f"{program}: {describe_file_error(error)}")
        return 1


def describe_file_error(error: OSError) -> str:
    """Return an error message for a file that cannot be read or written."""
    place = error.filename or "a file"
    if error.errno in NOT_WRITTEN:
        return str(not_written(place, error))
    return f"{place}: {error.strerror}; fix this and start again"


if __name__ == "__main__":
    sys.exit(main())
