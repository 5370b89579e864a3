"""Plug-ins: papers' methods, files of a workspace and installed packages that bring terms, augmentations, suites, ...

A plug-in is the file `method.py` of a paper's folder, a Python file, a folder with `__init__.py`, or an entry point of
the group `replicse.plugins`. What it defines below a registry's base is registered by being there, and so are the
suites in its table `SUITES` and the families of encoders in its table `FAMILIES`. All of it is one unit: a change to it
runs again what uses anything of it.

The modules of a paper's folder are those of the package `papers.<paper>`: `papers.mine.method`, and others
next to it that it names. All papers' methods are in use whenever any plug-ins are: no config and no job names them.
"""

import ast
import hashlib
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from replicse.checked import UserMessage
from replicse.errors import BadInput, MissingData
from replicse.files import below
from replicse.registry.encoders import FAMILIES, has_family
from replicse.registry.entries import Entry
from replicse.registry.suites import OTHERS, SUITES
from replicse.workspace import PACKAGE, looked_up, packaged, workflow_folder

METHODS = "papers"  # the package of the papers' folders
GROUP = "replicse.plugins"
INSTALLED = f"{GROUP}:"  # before the name of an entry point
REMEDY = "fix it, or take it out of plugins in config.yaml"
GONE = "put it back, or take it out of plugins in config.yaml and what uses it out of the papers"


@dataclass(frozen=True)
class Plugin:
    """A plug-in: as a config names it, its package or module, its file or folder, and the sha256 of its bytes."""

    name: str
    module: str
    place: Path = field(compare=False)  # a paper's folder may be in several copies of a workflow
    sha256: str
    imported: str  # the module that is imported, which of a package may be one inside
    version: str = ""

    @property
    def installed(self) -> bool:
        """Return whether it belongs to a package of this Python, and not to a workspace."""
        return bool(self.version)

    @property
    def method(self) -> bool:
        """Return whether it is the method of a paper."""
        return self.module.startswith(f"{METHODS}.")

    @property
    def file(self) -> Path:
        """Return the file that is imported of a plug-in that no package of this Python has."""
        if self.place.is_file():
            return self.place
        return self.place / ("method.py" if self.method else "__init__.py")

    def record(self) -> dict[str, str]:
        """Return what a provenance says of it."""
        return {"name": self.name, "sha256": self.sha256} | (
            {"version": self.version} if self.version else {}
        )


# The tables that a plug-in may have: the one that it is taken into, what an entry is, and which names exist.
TABLES: dict[str, tuple[dict[str, Any], str, Callable[[str], bool]]] = {
    "SUITES": (SUITES, "suite", lambda name: name in (*SUITES, *OTHERS)),
    "FAMILIES": (FAMILIES, "family", has_family),
}

# By package or module, those whose entries are registered now.
IN_USE: dict[str, Plugin] = {}


def use_plugins(names: Iterable[str], workflow: Path | None = None) -> None:
    """Register what the papers' methods and some plug-ins bring, and nothing of any other.

    A file that has changed is read again. The papers are those of the package, of a workflow (that of this process if
    none is given) and of the workspace.
    BadInput for a plug-in that is not there or cannot be imported, that registers a name which exists, or whose entries
    name code that is not there.
    """
    wanted = {plugin.module: plugin for plugin in _methods(workflow or workflow_folder())}
    for plugin in map(_plugin, dict.fromkeys(names)):
        other = wanted.setdefault(plugin.module, plugin)
        if other != plugin:
            raise BadInput(
                f'plug-ins "{other.name}" and "{plugin.name}" are both the module {plugin.module}; rename one'
            )
    for plugin in list(IN_USE.values()):
        if wanted.get(plugin.module) != plugin and not plugin.installed:
            _drop(plugin)
    for plugin in wanted.values():
        if plugin.module not in IN_USE:
            _register(plugin)
        elif plugin.method:
            IN_USE[plugin.module] = plugin
            _make_package(plugin)


def installed_plugins() -> list[str]:
    """Return the names of the plug-ins of installed packages."""
    return sorted(f"{INSTALLED}{name}" for name in entry_points(group=GROUP).names)


def plugins_of(code: Iterable[str]) -> list[str]:
    """Return the names of the plug-ins that some code (`module` or `module:name`) is of, but for papers' methods."""
    used = {IN_USE[unit] for unit in map(_unit, code) if unit in IN_USE}
    return sorted(plugin.name for plugin in used if not plugin.method)


def unit_of(code: str) -> str:
    """Return what a digest takes for a piece of code: of a plug-in all of it."""
    return _unit(code) if _unit(code) in IN_USE else code


def suite_code(suite: str) -> str:
    """Return the code that an entry of the suites is: of a plug-in all of it."""
    return _home("SUITES", suite) or f"replicse.registry.suites:SUITES[{suite}]"


def family_code(family: str) -> str:
    """Return the plug-in whose code a family of encoders is; blank where no plug-in has brought it."""
    return _home("FAMILIES", family)


def plugin_places() -> dict[str, Path]:
    """Return file or folder of each plug-in in use by its package or module."""
    return {module: plugin.place for module, plugin in IN_USE.items()}


def recorded_plugins() -> list[dict[str, str]]:
    """Return the records of the plug-ins in use, but for the methods of this workflow, which are of its commit."""
    home = packaged("workflow").resolve()
    return [plugin.record() for plugin in IN_USE.values() if not plugin.place.is_relative_to(home)]


def _home(table: str, name: str) -> str:
    """Return the module of the plug-in that has brought what a table names; blank where none has."""
    return next((module for module, plugin in IN_USE.items() if name in _brought(plugin, table)), "")


def _unit(code: str) -> str:
    """Return the package or module that would be the plug-in which some code is of."""
    names = code.partition(":")[0].split(".")
    return ".".join(names[: 2 if names[0] == METHODS else 1])


def _methods(workflow: Path) -> Iterator[Plugin]:
    """Yield the methods of the papers of the package, of a workflow and of the workspace; of one key the last."""
    homes = (packaged("workflow"), workflow)
    files = chain.from_iterable(looked_up(home, f"{METHODS}/*/method.py") for home in homes)
    folders = {file.parent.name: file.parent for file in files}
    for key, folder in folders.items():
        if not key.isidentifier():
            raise BadInput(
                f"{folder}: a paper with a method.py needs a key that is a name of a module; let a letter be its first"
            )
        module = f"{METHODS}.{key}"
        yield Plugin(
            f"{METHODS}/{key}", module, folder.resolve(), _sha256(folder, "*.py"), f"{module}.method"
        )


def _plugin(name: str) -> Plugin:
    """Return the plug-in of a name; BadInput where there is none."""
    if name.startswith(INSTALLED):
        return _of_package(name)
    place = below(Path(), name, "a plug-in's file or folder of the workspace")
    if not place.exists():
        raise MissingData(f'plug-in "{name}": no such file or folder; {GONE}')
    if not (place.suffix == ".py" if place.is_file() else (place / "__init__.py").is_file()):
        raise BadInput(f'plug-in "{name}": expected a file of Python, or a folder with __init__.py')
    if not place.stem.isidentifier():
        raise BadInput(f'plug-in "{name}": "{place.stem}" is no name of a module; use letters, digits and _')
    return Plugin(name, place.stem, place, _sha256(place), place.stem)


def _of_package(name: str) -> Plugin:
    points = entry_points(group=GROUP, name=name.removeprefix(INSTALLED))
    point = next(iter(points), None)
    spec = find_spec(_unit(point.module)) if point else None
    if point is None or spec is None or not spec.origin:
        raise MissingData(f'plug-in "{name}": no installed package has it; install the package again')
    place = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
    version = point.dist.version if point.dist else "unknown"
    return Plugin(name, _unit(point.module), place, _sha256(place), point.module, version)


def _sha256(place: Path, pattern: str = "**/*") -> str:
    """Return the sha256 of a file, or over names and contents of a package's files of some pattern."""
    if place.is_file():
        return hashlib.sha256(place.read_bytes()).hexdigest()
    digest = hashlib.sha256()
    for file in sorted(place.glob(pattern)):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.relative_to(place).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _register(plugin: Plugin) -> None:
    """Import a plug-in, so that its entries are registered, and take what its tables hold."""
    # Before anything is taken: what is dropped again is all that has its name.
    if not plugin.installed and not plugin.method:
        check_module(plugin.place)
    IN_USE[plugin.module] = plugin
    try:
        _import(plugin)
        for table, (known, what, exists) in TABLES.items():
            given = getattr(sys.modules[plugin.imported], table, {})
            if given is known:
                raise UserMessage(f"it imports {table}; give it a table {table} of its own")
            if not isinstance(given, dict):
                raise UserMessage(f"{table} is no mapping of names; give it one, or another name")
            for name, entry in _brought(plugin, table).items():
                if exists(name):
                    raise UserMessage(f'there is a {what} "{name}" already; choose another name')
                known[name] = entry
        for problem in _without_code(plugin):
            raise UserMessage(problem)
    except (Exception, SystemExit) as error:
        place = _line_of(error, plugin)
        _drop(plugin)
        if isinstance(error, UserMessage):
            raise BadInput(f"{place}: {error}") from None
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInput(f"{place}: {problem}; {'fix it' if plugin.method else REMEDY}") from None


def check_module(place: Path) -> None:
    """Raise BadInput where Python has another module of the name of a plug-in's file or folder."""
    other = find_spec(place.stem)
    own = place if place.is_file() else place / "__init__.py"
    if other and (not other.origin or Path(other.origin).resolve() != own.resolve()):
        raise BadInput(f"{place}: Python has a module {place.stem} already; rename the plug-in")


def _import(plugin: Plugin) -> None:
    if plugin.installed:
        import_module(plugin.imported)
        return
    if plugin.method:
        _make_package(plugin)
    if plugin.imported not in sys.modules:  # where its tests have imported it, it is there
        file = plugin.file.resolve()
        loader = _FromSource(plugin.imported, str(file))
        spec = spec_from_file_location(plugin.imported, file, loader=loader)
        sys.modules[plugin.imported] = module_from_spec(spec)
        _compile_what_is_in(file.parent)
        loader.exec_module(sys.modules[plugin.imported])


class _FromSource(SourceFileLoader):
    """Compiles a module each time: Python tells what it keeps compiled from a changed file by size and second alone."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _compile_what_is_in(folder: Path) -> None:
    """Have the modules of a folder imported from their sources."""
    sys.path_importer_cache[str(folder)] = FileFinder(str(folder), (_FromSource, SOURCE_SUFFIXES))


def _make_package(plugin: Plugin) -> None:
    """Have the folder of a paper as the package of its modules."""
    _compile_what_is_in(plugin.place)
    for name, places in ((METHODS, []), (plugin.module, [str(plugin.place)])):
        package = sys.modules.setdefault(name, ModuleType(name))
        package.__path__ = places


def _drop(plugin: Plugin) -> None:
    """Take out of the registries what a plug-in has brought, and forget its modules."""
    for known, name, _ in list(_entries(plugin)):
        del known[name]
    for table, (known, *_) in TABLES.items():
        for name, entry in _brought(plugin, table).items():
            if known.get(name) is entry:
                del known[name]
    for name in [name for name in sys.modules if _unit(name) == plugin.module]:
        del sys.modules[name]
    del IN_USE[plugin.module]


def _entries(plugin: Plugin) -> Iterator[tuple[dict[str, Any], str, type[Entry]]]:
    """Yield registry, name and class of each entry that a plug-in has brought."""
    for known in Entry.registries:
        for name, entry in known.items():
            if _unit(entry.__module__) == plugin.module:
                yield known, name, entry


def _brought(plugin: Plugin, table: str) -> dict[str, Any]:
    """Return what a plug-in brings in one of its tables."""
    brought = getattr(sys.modules.get(plugin.imported), table, None)
    return brought if isinstance(brought, dict) and brought is not TABLES[table][0] else {}


def _without_code(plugin: Plugin) -> Iterator[str]:
    """Yield a sentence for each entry of a plug-in whose code is not there; that code, torch with it, stays unread."""
    named = {entry.__qualname__: entry.implementation for *_, entry in _entries(plugin)}
    named |= {
        f'suite "{name}"': f"{suite.module}:evaluate" for name, suite in _brought(plugin, "SUITES").items()
    }
    named |= {f'family "{name}"': code for name, code in _brought(plugin, "FAMILIES").items()}
    for what, code in named.items():
        if not _is_there(code, plugin):
            yield f'{what} names the code "{code}", which is not there; define it, or give implementation'


def _is_there(code: str, plugin: Plugin) -> bool:
    module, _, name = code.partition(":")
    if module in sys.modules:
        return hasattr(sys.modules[module], name)
    places = {plugin.module: plugin.place, "replicse": PACKAGE}
    unit = _unit(code)
    if unit not in places:
        return True  # of another package: who uses it says so
    path = places[unit].parents[unit.count(".")].joinpath(*module.split("."))
    file = next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)
    if file is None:
        return False
    tree = ast.parse(file.read_bytes(), str(file))
    return any(name in _names(statement) for statement in tree.body)


def _names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a module defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.ImportFrom | ast.Import):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _line_of(error: BaseException, plugin: Plugin) -> str:
    """Return file and line of a plug-in that an error comes from; the plug-in alone where it has no such line."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    home = plugin.place.resolve()
    own = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(home)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(plugin.place)
