"""The `replicse` command line: a verb per subcommand, each importing only what it needs."""

import argparse
import errno
import importlib
import logging
import sys
from collections.abc import Sequence

from replicse import __version__
from replicse.errors import BadInput, Failed
from replicse.files import not_written

# A disk that is full or not to be written.
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)

# verb: (module below replicse.commands, one line of help)
VERBS = {
    "plan": ("study", "list items, runs and evaluations of the study, shared ones once"),
    "validate": ("study", "check config, papers and scales; say what is wrong in one sentence"),
    "status": ("study", "say what is done and what is missing"),
    "show": ("study", "print one item with its deltas"),
    "why": ("judge", "tell the story of one cell"),
    "claims": ("judge", "test what the papers state, on their numbers and on ours"),
    "audit": ("judge", "check the papers' own arithmetic; nothing is run"),
    "adjudicate": ("judge", "say which difference of protocol explains a gap"),
    "compare": ("compare", "hold two results folders of the same runs against each other"),
    "lock": ("lock", "resolve the commits of hub artefacts and show what differs from the lock file"),
    "fetch": ("fetch", "download all that items need from outside, for a study without network"),
    "schemas": ("study", "write JSON schemas of all kinds of files, for editors"),
    "data": ("prepare", "prepare the data root: embedded world, local folder or hub download"),
    "tokenizer": ("prepare", "train a tokenizer, or make one of a vocabulary file"),
    "backbone": ("prepare", "bring a released encoder into the results folder"),
    "prepare": ("prepare", "tokenise one column of a corpus into a store"),
    "train": ("train", "train one run"),
    "evaluate": ("evaluate", "evaluate any encoder folder or hub id on suites"),
    "geometry": ("evaluate", "alignment and uniformity of an encoder, or of a run's trajectory"),
    "count": ("evaluate", "count what needs no encoder: sizes, rows, lexical overlap"),
    "tabulate": ("study", "turn evaluations into the result of one item"),
    "judge": ("judge", "judge claims, adjudication and audit of a study, and collect its values"),
    "figures": ("render", "draw one item"),
    "report": ("render", "write the report of all items, or a committed study again"),
    "keep": ("render", "put a study that has run among the committed ones"),
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs; a verb's own arguments are added by its module."""
    top = argparse.ArgumentParser(
        prog="replicse",
        description="Re-run sentence-embedding papers; each number beside the reported one.",
        epilog="Exit codes: 0 ok, 1 failed, 2 bad input. `replicse VERB --help` shows an example of each verb.",
    )
    top.add_argument("--version", action="version", version=f"replicse {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, (_, text) in VERBS.items():
        verbs.add_parser(verb, help=text, add_help=False)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    words = list(sys.argv[1:] if words is None else words)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
    )
    if not words or words[0] not in VERBS:
        parser().parse_args(words)
    module = importlib.import_module(f"replicse.commands.{VERBS[words[0]][0]}")
    own = argparse.ArgumentParser(
        prog=f"replicse {words[0]}",
        description=VERBS[words[0]][1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    action = getattr(module, f"{words[0]}_verb")(own)
    try:
        return action(own.parse_args(words[1:])) or 0
    except BadInput as error:
        print(f"replicse {words[0]}: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"replicse {words[0]}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except OSError as error:
        if error.strerror is None:
            raise
        place, full = error.filename or "a file", error.errno in NOT_WRITTEN
        told = (
            not_written(place, error) if full else f"{place}: {error.strerror}; put it right and start again"
        )
        print(f"replicse {words[0]}: {told}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
