"""Compare the signature of a plug-in's code with its call."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from replicse.errors import nearest, relative_path
from replicse.registry.entries import Entry
from replicse.registry.suites import Suite

# Options of a suite that the job sets, so that they are always arguments.
FROM_JOB = ("folder", "encoder", "model", "results")
MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Call:
    """The arguments of a call.

    Args:
        positional: The names of the positional arguments.
        keywords: The names of the keyword arguments.
        optional: The keyword arguments that are only passed if a file sets them. Default: empty.
        source: The class whose fields are the keyword arguments. Default: "".
    """

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    source: str = ""


def signature_problems(entries: Iterable[type[Entry]], suites: dict[str, Suite]) -> Iterator[str]:
    """Yield a sentence for each function that its call does not fit.

    Code that is not imported yet is skipped, because importing it may import torch.

    Args:
        entries: The classes of entries.
        suites: A dict from names to suites.
    """
    for entry in entries:
        code = _imported(entry.implementation)
        if isinstance(code, type):
            code = getattr(code, entry.called_method, None)
        if callable(code) and entry.positional_names():
            call = Call(entry.positional_names(), tuple(entry.keyword_names()), source=entry.__qualname__)
            yield from _mismatches(code, call, f'{entry.key} "{entry.entry_name()}"')
    for name, suite in suites.items():
        for function, positional in (("evaluate", ("root", "vectors")), ("sentences", ("root",))):
            code = _imported(f"{suite.module}:{function}")
            if code:
                yield from _mismatches(code, _call_of_suite(suite, positional), f'suite "{name}"')


def _call_of_suite(suite: Suite, positional: tuple[str, ...]) -> Call:
    fields = suite.options.model_fields
    optional = {name for name, field in fields.items() if not field.is_required() and name not in FROM_JOB}
    names = tuple(dict.fromkeys([*suite.fixed, *fields]))
    return Call(positional, names, frozenset(optional - suite.fixed.keys()), suite.options.__qualname__)


def _imported(code: str) -> Any:
    """Return an object of an imported module; None if it is not imported."""
    module, _, name = code.partition(":")
    return getattr(sys.modules.get(module), name, None)


def _mismatches(code: Callable[..., Any], call: Call, what: str) -> Iterator[str]:
    """Yield a sentence for the first argument that does not fit a function."""
    try:
        signature = inspect.signature(code)
    except (TypeError, ValueError):  # code that is not Python has no signature
        return
    problem = next(_misfits(signature, call), "")
    if problem:
        function = inspect.unwrap(code)
        place = getattr(function, "__code__", None)
        location = f"{relative_path(place.co_filename)}:{place.co_firstlineno}: " if place else ""
        yield f"{location}{what}: {function.__qualname__}{problem}"


def _misfits(signature: inspect.Signature, call: Call) -> Iterator[str]:
    parameters = signature.parameters.values()
    takes = [each.name for each in parameters if each.kind not in MANY]
    listed = f"; it takes {', '.join(takes) or 'none'}"
    any_keyword = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    places = [
        each.name for each in parameters if each.kind not in MANY and each.kind is not each.KEYWORD_ONLY
    ]
    any_position = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    if len(places) < len(call.positional) and not any_position:
        yield f" is called with {', '.join(call.positional)} as positional arguments{listed}"
    free = [
        each
        for each in parameters
        if each.kind not in MANY and each.name not in places[: len(call.positional)]
    ]
    names = [each.name for each in free if each.kind is not each.POSITIONAL_ONLY]
    for keyword in call.keywords:
        if keyword not in names and not any_keyword:
            unset = [name for name in names if name not in call.keywords]
            yield f' does not take the argument "{keyword}" of {call.source}{listed}{_suggest(keyword, unset)}'
    for each in free:
        if each.default is not each.empty:
            continue
        if each.name not in call.keywords:
            source = f", which is not a field of {call.source}" if call.keywords else ""
            passed = ", ".join([*call.positional, *call.keywords])
            yield f' needs the argument "{each.name}"{source}; it is called with {passed}; remove it, or add a default'
        elif each.name in call.optional:
            yield f' needs the argument "{each.name}", but {call.source} has a default for it; add the default here'


def _suggest(keyword: str, names: list[str]) -> str:
    near = nearest(keyword, names)
    return near if near.startswith("; did") else "; add it"
