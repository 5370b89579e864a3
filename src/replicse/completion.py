"""Tab completion of the command line: `eval "$(register-python-argcomplete replicse)"` in bash or zsh."""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

# What completes the values of an argument, by the argument's name.
NAMES = {
    "item": "items",
    "items": "items",
    "name": "items",
    "cell": "cells",
    "scale": "scales",
    "study": "studies",
}


def complete(verbs: Mapping[str, str], add_arguments: Callable[[str, argparse.ArgumentParser], Any]) -> None:
    """Print what may follow on the line that the shell completes, and exit.

    `verbs` are all verbs with a line of help; only the verb of the line is given its arguments.
    """
    import argcomplete

    parser = argparse.ArgumentParser(prog="replicse")
    parsers = parser.add_subparsers()
    given = next(iter(os.environ.get("COMP_LINE", "").split()[1:]), "")
    for verb, about in verbs.items():
        below = parsers.add_parser(verb, help=about)
        if verb == given:
            add_arguments(verb, below)
            for argument in below._actions:
                if argument.dest in NAMES:
                    setattr(argument, "completer", Completer(NAMES[argument.dest]))  # noqa: B010
    argcomplete.autocomplete(parser)


class Completer:
    """Completes names of items, cells, scales or committed studies."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
        """Return the names that begin with what was typed."""
        workflow = getattr(parsed_args, "workflow", None)
        if workflow is None:
            from replicse.workspace import workflow_folder

            workflow = workflow_folder()
        return [name for name in names_of(self.kind, workflow, prefix) if name.startswith(prefix)]


def names_of(kind: str, workflow: Path, prefix: str) -> Iterator[str]:
    """Yield the names of a kind; of cells only those of the item that was typed."""
    if kind == "studies":
        from replicse.study.results.folder import committed

        yield from committed()
    elif kind == "scales":
        from replicse.study.plan.choose import load_scales

        yield from load_scales(workflow)
    else:
        from replicse.study.paper.papers import load_papers

        papers = load_papers(workflow)
        items = {item.id: item for paper in papers.values() for item in paper.items.values()}
        if kind == "items":
            yield from [*papers, *items]
        elif (item := items.get("/".join(prefix.split("/")[:2]))) is None:
            yield from (f"{name}/" for name in items)
        else:
            for row in item.rows:
                yield from (f"{item.id}/{row.id}/{column.id}" for column in item.columns)
