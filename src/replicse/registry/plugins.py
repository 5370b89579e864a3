"""Plug-ins: papers' methods, files of a workspace and installed packages that bring terms, augmentations, suites, ...

A plug-in is the file `method.py` of a paper's folder, a Python file, a folder with `__init__.py`, or an entry point of
the group `replicse.plugins`. It brings the entries that its modules define, the suites in its table `SUITES` and the
families of encoders in its table `FAMILIES`. All of it is one unit: a change to it runs again what uses anything of it.

The modules of a paper's folder are those of the package `papers.<paper>`: `papers.mine.method`, and others
next to it that it names. All papers' methods are in use whenever any plug-ins are: no config and no job names them.
"""

import hashlib
import symtable
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from replicse.checked import UserMessage
from replicse.errors import BadInput, MissingData
from replicse.files import below
from replicse.registry.encoders import FAMILIES, has_family
from replicse.registry.registry import Registry, current
from replicse.registry.suites import OTHERS, SUITES, Suite
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
        version = {"version": self.version} if self.version else {}
        return {"name": self.name, "sha256": self.sha256, **version}


def use_plugins(names: Iterable[str], workflow: Path | None = None) -> None:
    """Have in use the registry of the package, the papers' methods and some plug-ins, and nothing of any other.

    A file that has changed is read again. The papers are those of the package, of a workflow (that of this process if
    none is given) and of the workspace.
    BadInput for a plug-in that is not there or cannot be imported, that brings a name which exists, or whose entries
    name code that is not there; the registry in use stays.
    """
    before, wanted = current().plugins, _wanted(names, workflow or workflow_folder())
    # As in a job whose server has them: to import and check ten papers' methods takes 0.1 s.
    if [vars(plugin) for plugin in before.values()] == [vars(plugin) for plugin in wanted.values()]:
        return
    _forget(before, wanted)
    # Of all before the first is imported: what is forgotten again has a plug-in's name.
    for plugin in wanted.values():
        if not plugin.installed and not plugin.method:
            check_module(plugin.place)
    registry = Registry.of_package()
    try:
        for plugin in wanted.values():
            registry = _joined(registry, plugin)
    except BadInput:
        _forget(wanted, before)
        raise
    Registry.in_use = replace(registry, plugins=MappingProxyType(wanted))


def installed_plugins() -> list[str]:
    """Return the names of the plug-ins of installed packages."""
    return sorted(f"{INSTALLED}{name}" for name in entry_points(group=GROUP).names)


def plugins_of(code: Iterable[str]) -> list[str]:
    """Return the names of the plug-ins that some code (`module` or `module:name`) is of, but for papers' methods."""
    known = current().plugins
    used = {known[unit] for unit in map(_unit, code) if unit in known}
    return sorted(plugin.name for plugin in used if not plugin.method)


def unit_of(code: str) -> str:
    """Return what a digest takes for a piece of code: of a plug-in all of it."""
    return _unit(code) if _unit(code) in current().plugins else code


def suite_code(suite: str) -> str:
    """Return the module of a suite; the plug-in if a plug-in defines it."""
    return current().homes.get(("SUITES", suite)) or current().suites[suite].module


def family_code(family: str) -> str:
    """Return the plug-in whose code a family of encoders is; blank where no plug-in has brought it."""
    return current().homes.get(("FAMILIES", family), "")


def plugin_places() -> dict[str, Path]:
    """Return file or folder of each plug-in in use by its package or module."""
    return {module: plugin.place for module, plugin in current().plugins.items()}


def recorded_plugins() -> list[dict[str, str]]:
    """Return the records of the plug-ins in use, but for the methods of this workflow, which are of its commit."""
    home = packaged("workflow").resolve()
    return [plugin.record() for plugin in current().plugins.values() if not plugin.place.is_relative_to(home)]


def _unit(code: str) -> str:
    """Return the package or module that would be the plug-in which some code is of."""
    names = code.partition(":")[0].split(".")
    return ".".join(names[: 2 if names[0] == METHODS else 1])


def _wanted(names: Iterable[str], workflow: Path) -> dict[str, Plugin]:
    """Return the papers' methods and the plug-ins of some names by package or module; BadInput where two are alike."""
    wanted = {plugin.module: plugin for plugin in _methods(workflow)}
    for plugin in map(_plugin, dict.fromkeys(names)):
        other = wanted.setdefault(plugin.module, plugin)
        if other != plugin:
            raise BadInput(
                f'plug-ins "{other.name}" and "{plugin.name}" are both the module {plugin.module}; rename one'
            )
    return wanted


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
        module, place = f"{METHODS}.{key}", folder.resolve()
        yield Plugin(f"{METHODS}/{key}", module, place, _sha256(folder, "*.py"), f"{module}.method")


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


def _joined(registry: Registry, plugin: Plugin) -> Registry:
    """Return a registry with what a plug-in brings."""
    with _placed(plugin):
        _import(plugin)
        suites, families = _tables(plugin, registry)
    registry = registry.joined(plugin.module, _modules(plugin).values(), suites, families)
    with _placed(plugin):
        for problem in _without_code(plugin, registry, suites, families):
            raise UserMessage(problem)
    return registry


@contextmanager
def _placed(plugin: Plugin) -> Iterator[None]:
    """Raise as BadInput, with file and line of the plug-in, what goes wrong in the block."""
    try:
        yield
    except (Exception, SystemExit) as error:
        place = _line_of(error, plugin)
        if isinstance(error, UserMessage):
            raise BadInput(f"{place}: {error}") from None
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInput(f"{place}: {problem}; {'fix it' if plugin.method else REMEDY}") from None


def _modules(plugin: Plugin) -> dict[str, ModuleType]:
    """Return the modules of a plug-in that are imported, by name."""
    inside = f"{plugin.module}."
    return {name: each for name, each in list(sys.modules.items()) if f"{name}.".startswith(inside)}


def _tables(plugin: Plugin, registry: Registry) -> Iterator[dict[str, Any]]:
    """Yield suites and families of a plug-in; UserMessage for what is no such table, and for a name that exists."""
    for table, package, what, exists in (
        ("SUITES", SUITES, "suite", lambda name: name in registry.suites or name in OTHERS),
        ("FAMILIES", FAMILIES, "family", lambda name: has_family(name, registry.families)),
    ):
        given = getattr(sys.modules[plugin.imported], table, {})
        if given is package:
            raise UserMessage(f"it imports {table}; give it a table {table} of its own")
        if not isinstance(given, dict):
            raise UserMessage(f"{table} is no mapping of names; give it one, or another name")
        for name in filter(exists, given):
            raise UserMessage(f'there is a {what} "{name}" already; choose another name')
        yield given


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
        if spec is None:
            raise ImportError(f"{file} cannot be imported")
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


def _forget(plugins: Mapping[str, Plugin], others: Mapping[str, Plugin]) -> None:
    """Forget the modules of the plug-ins of a workspace that are not among others as they are."""
    for plugin in plugins.values():
        if others.get(plugin.module) != plugin and not plugin.installed:
            for name in _modules(plugin):
                del sys.modules[name]


def _without_code(
    plugin: Plugin, registry: Registry, suites: Mapping[str, Suite], families: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each of what a plug-in brings whose code is not there; torch and that code stay unread."""
    entries = (entry for known in registry.entries.values() for entry in known.values())
    own = (entry for entry in entries if _unit(entry.__module__) == plugin.module)
    named = {entry.__qualname__: entry.implementation for entry in own}
    named |= {f'suite "{name}"': f"{suite.module}:evaluate" for name, suite in suites.items()}
    named |= {f'family "{name}"': code for name, code in families.items()}
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
    table = symtable.symtable(file.read_text(encoding="utf-8"), str(file), "exec")
    symbols = (each for each in table.get_symbols() if each.is_assigned() or each.is_imported())
    return name in (symbol.get_name() for symbol in symbols)


def _line_of(error: BaseException, plugin: Plugin) -> str:
    """Return file and line of a plug-in that an error comes from; the plug-in alone where it has no such line."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    home = plugin.place.resolve()
    own = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(home)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else str(plugin.place)
