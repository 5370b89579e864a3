"""Load plug-ins of papers, workspaces and installed packages.

A plug-in is the file `method.py` of a paper's folder, a Python file, a folder with `__init__.py`, or an entry
point of the group `replicse.plugins`. It adds the entries in the modules, the suites in the dict `SUITES` and
the families of encoders in the dict `FAMILIES`. A plug-in is versioned as one unit: a change to any line
re-runs everything that uses it.

The modules of a paper's folder belong to the package `papers.<paper>`: `papers.mine.method`, and the modules
that it imports from there. The methods of all papers are loaded with any plug-ins, so configs and jobs do not
list them.
"""

import hashlib
import symtable
import sys
from collections import ChainMap
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
from replicse.errors import BadInput, MissingData, line_in
from replicse.files import below
from replicse.registry.encoders import FAMILIES, has_family
from replicse.registry.registry import Registry, current
from replicse.registry.signatures import signature_problems
from replicse.registry.suites import OTHERS, SUITES, Suite
from replicse.workspace import PACKAGE, looked_up, modules_in, packaged, workflow_folder

METHODS = "papers"  # the package of the papers' folders
GROUP = "replicse.plugins"
INSTALLED = f"{GROUP}:"  # before the name of an entry point
REMEDY = "fix it, or remove it from plugins in config.yaml"
GONE = "put it back, or remove it from plugins in config.yaml and from the papers that use it"


@dataclass(frozen=True)
class Plugin:
    """A plug-in: the name in a config, module, file or folder, and SHA-256."""

    name: str
    module: str
    place: Path = field(compare=False)  # several copies of a workflow may contain the same folder of a paper
    sha256: str
    imported: str  # the module to import; may be a submodule of the package
    version: str = ""

    @property
    def installed(self) -> bool:
        """Return whether it belongs to an installed package."""
        return bool(self.version)

    @property
    def method(self) -> bool:
        """Return whether it is the method of a paper."""
        return self.module.startswith(f"{METHODS}.")

    @property
    def file(self) -> Path:
        """Return the file to import if the plug-in is not an installed package."""
        if self.place.is_file():
            return self.place
        return self.place / ("method.py" if self.method else "__init__.py")

    def record(self) -> dict[str, str]:
        """Return the description of the plug-in for a provenance file."""
        version = {"version": self.version} if self.version else {}
        return {"name": self.name, "sha256": self.sha256, **version}


def use_plugins(names: Iterable[str], workflow: Path | None = None) -> None:
    """Load the package's registry, the papers' methods and some plug-ins.

    All other plug-ins are unloaded, and changed files are imported again.

    Args:
        names: The names of the plug-ins.
        workflow: The workflow whose papers' methods are loaded, after the package's papers and before the
            workspace's. Default: the workflow of this process.

    Raises:
        BadInput: If a plug-in does not exist or cannot be imported, adds a name that already exists, or has an
            entry whose code does not exist. The current registry does not change.
    """
    before, wanted = current().plugins, _wanted(names, workflow or workflow_folder())
    # Importing and checking the methods of ten papers takes 0.1 s, which a job of a job server can skip.
    if list(map(vars, before.values())) == list(map(vars, wanted.values())):
        return
    _forget(before, wanted)
    # Check all plug-ins before the first import, because _forget would also remove other modules of the same name.
    for plugin in wanted.values():
        if not plugin.installed and not plugin.method:
            check_module(plugin.place)
    registry = Registry.of_package()
    try:
        for plugin in wanted.values():
            registry = _joined(registry, plugin)
    except BaseException:  # also Ctrl-C
        _forget(wanted, before)
        raise
    Registry.in_use = replace(registry, plugins=MappingProxyType(wanted))


def installed_plugins() -> list[str]:
    """Return the names of the plug-ins of installed packages."""
    return sorted(f"{INSTALLED}{name}" for name in entry_points(group=GROUP).names)


def plugins_of(code: Iterable[str]) -> list[str]:
    """Return the names of the plug-ins that define some code.

    Args:
        code: A list of `module` or `module:name`. Papers' methods are skipped.
    """
    known = current().plugins
    used = {known[_unit(each)] for each in code if _unit(each) in known}
    return sorted(plugin.name for plugin in used if not plugin.method)


def unit_of(code: str) -> str:
    """Return the code to digest: for code of a plug-in, the entire plug-in.

    Args:
        code: `module` or `module:name`.
    """
    return _unit(code) if _unit(code) in current().plugins else code


def suite_code(suite: str) -> str:
    """Return the module of a suite, or the plug-in that defines it.

    Args:
        suite: The name of the suite.
    """
    return current().homes.get(("SUITES", suite)) or current().suites[suite].module


def family_code(family: str) -> str:
    """Return the plug-in that defines a family of encoders, or "".

    Args:
        family: The name of the family.
    """
    return current().homes.get(("FAMILIES", family), "")


def plugin_places() -> dict[str, Path]:
    """Return the place of each plug-in, and of modules next to it, by module."""
    known = current().plugins.values()
    near = [modules_in(plugin.place.parent) for plugin in known if not plugin.installed and not plugin.method]
    return dict(ChainMap({plugin.module: plugin.place for plugin in known}, *near))


def recorded_plugins() -> list[dict[str, str]]:
    """Return the records of the loaded plug-ins.

    Methods of this workflow are skipped, because the commit already identifies them.
    """
    home = packaged("workflow").resolve()
    return [plugin.record() for plugin in current().plugins.values() if not plugin.place.is_relative_to(home)]


def _unit(code: str) -> str:
    """Return the top-level package or module of some code."""
    names = code.partition(":")[0].split(".")
    if names[0] == METHODS:
        return ".".join(names[:2])
    return names[0]


def _wanted(names: Iterable[str], workflow: Path) -> dict[str, Plugin]:
    """Return the papers' methods and the named plug-ins by module.

    Raises:
        BadInput: If two plug-ins are the same module.
    """
    wanted = {plugin.module: plugin for plugin in _methods(workflow)}
    for plugin in map(_plugin, dict.fromkeys(names)):
        other = wanted.setdefault(plugin.module, plugin)
        if other != plugin:
            raise BadInput(
                f'plug-ins "{other.name}" and "{plugin.name}" are both the module {plugin.module}; rename a plug-in'
            )
    return wanted


def _methods(workflow: Path) -> Iterator[Plugin]:
    """Yield the methods of all papers; for equal keys the last one."""
    homes = (packaged("workflow"), workflow)
    files = chain.from_iterable(looked_up(home, f"{METHODS}/*/method.py") for home in homes)
    folders = {file.parent.name: file.parent for file in files}
    for key, folder in folders.items():
        if not key.isidentifier():
            raise BadInput(
                f"{folder}: the key of a paper with a method.py should be a module name; start the key with a letter"
                " and use letters, digits and _"
            )
        module, place = f"{METHODS}.{key}", folder.resolve()
        yield Plugin(f"{METHODS}/{key}", module, place, _sha256(folder, "*.py"), f"{module}.method")


def _plugin(name: str) -> Plugin:
    """Return the plug-in with a name; BadInput if it is not a plug-in."""
    if name.startswith(INSTALLED):
        return _of_package(name)
    place = below(Path(), name, "a plug-in's file or folder of the workspace")
    if not place.exists():
        raise MissingData(f'plug-in "{name}": the file or folder does not exist; {GONE}')
    is_module = place.is_file() and place.suffix == ".py"
    if not is_module and not (place / "__init__.py").is_file():
        raise BadInput(f'plug-in "{name}": expected a Python file, or a folder with __init__.py')
    if not place.stem.isidentifier():
        raise BadInput(f'plug-in "{name}": "{place.stem}" is not a module name; use letters, digits and _')
    return Plugin(name, place.stem, place, _sha256(place), place.stem)


def _of_package(name: str) -> Plugin:
    points = entry_points(group=GROUP, name=name.removeprefix(INSTALLED))
    point = next(iter(points), None)
    spec = find_spec(_unit(point.module)) if point else None
    if point is None or spec is None or not spec.origin:
        raise MissingData(f'plug-in "{name}" is not installed; install the package again')
    place = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
    version = point.dist.version if point.dist else "unknown"
    return Plugin(name, _unit(point.module), place, _sha256(place), point.module, version)


def _sha256(place: Path, pattern: str = "**/*") -> str:
    """Return the SHA-256 of a file, or of names and contents in a folder.

    By default, all files below the folder are included, except those in `__pycache__`.
    """
    if place.is_file():
        return hashlib.sha256(place.read_bytes()).hexdigest()
    digest = hashlib.sha256()
    for file in sorted(place.glob(pattern)):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.relative_to(place).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _joined(registry: Registry, plugin: Plugin) -> Registry:
    """Create a registry that also contains the names in a plug-in."""
    with _placed(plugin):
        _import(plugin)
        suites, families = _tables(plugin, registry)
    registry = registry.joined(plugin.module, _modules(plugin).values(), suites, families)
    with _placed(plugin):
        for problem in _without_code(plugin, registry, suites, families):
            raise UserMessage(problem)
    for problem in signature_problems(registry.entries_below(plugin.module), suites):
        raise BadInput(f"{problem}; {'fix it' if plugin.method else REMEDY}")
    return registry


@contextmanager
def _placed(plugin: Plugin) -> Iterator[None]:
    """Turn errors in the block into BadInput with the plug-in's file and line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps what `__set_name__` raises
            raise error.__cause__ from None
        place = _line_of(error, plugin)
        if isinstance(error, UserMessage):
            raise BadInput(f"{place}: {error}") from None
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInput(f"{place}: {problem}; {'fix it' if plugin.method else REMEDY}") from None


def _modules(plugin: Plugin) -> dict[str, ModuleType]:
    """Return the imported modules of a plug-in by name."""
    inside = f"{plugin.module}."
    return {name: each for name, each in list(sys.modules.items()) if f"{name}.".startswith(inside)}


def _tables(plugin: Plugin, registry: Registry) -> Iterator[dict[str, Any]]:
    """Yield a plug-in's suites and families; UserMessage if not valid."""
    for table, package, what, exists in (
        ("SUITES", SUITES, "suite", lambda name: name in registry.suites or name in OTHERS),
        ("FAMILIES", FAMILIES, "family", lambda name: has_family(name, registry.families)),
    ):
        given = getattr(sys.modules[plugin.imported], table, {})
        if given is package:
            raise UserMessage(f"it imports {table} of the package; define a new dict {table} instead")
        if not isinstance(given, dict):
            raise UserMessage(f"{table} is not a dict from names to code; make it a dict, or rename it")
        for name in filter(exists, given):
            raise UserMessage(f'the {what} "{name}" already exists; choose another name')
        yield given


def check_module(place: Path) -> None:
    """Raise BadInput if another Python module has the name of a plug-in.

    Args:
        place: The file or folder of the plug-in.
    """
    other = find_spec(place.stem)
    own = place if place.is_file() else place / "__init__.py"
    if other and (not other.origin or Path(other.origin).resolve() != own.resolve()):
        raise BadInput(f"{place}: a Python module {place.stem} already exists; rename the plug-in")


def _import(plugin: Plugin) -> None:
    if plugin.installed:
        import_module(plugin.imported)
        return
    if plugin.method:
        _make_package(plugin)
    if plugin.imported not in sys.modules:  # tests of a plug-in may have imported it already
        file = plugin.file.resolve()
        loader = _FromSource(plugin.imported, str(file))
        spec = spec_from_file_location(plugin.imported, file, loader=loader)
        if spec is None:
            raise ImportError(f"{file} cannot be imported")
        sys.modules[plugin.imported] = module_from_spec(spec)
        _compile_what_is_in(file.parent)
        loader.exec_module(sys.modules[plugin.imported])


class _FromSource(SourceFileLoader):
    """Compile a module from the source at each import.

    Python's cache notices a change of a file only if the size, or the time in whole seconds, differs.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _compile_what_is_in(folder: Path) -> None:
    """Import the modules of a folder from their sources."""
    sys.path_importer_cache[str(folder)] = FileFinder(str(folder), (_FromSource, SOURCE_SUFFIXES))


def _make_package(plugin: Plugin) -> None:
    """Register the folder of a paper as the package of the modules."""
    _compile_what_is_in(plugin.place)
    for name, places in ((METHODS, []), (plugin.module, [str(plugin.place)])):
        package = sys.modules.setdefault(name, ModuleType(name))
        package.__path__ = places


def _forget(plugins: Mapping[str, Plugin], others: Mapping[str, Plugin]) -> None:
    """Remove the modules of a workspace's plug-ins, unless `others` has them."""
    for plugin in plugins.values():
        if others.get(plugin.module) != plugin and not plugin.installed:
            for name in _modules(plugin):
                del sys.modules[name]


def _without_code(
    plugin: Plugin, registry: Registry, suites: Mapping[str, Suite], families: Mapping[str, str]
) -> Iterator[str]:
    """Yield an error for each entry, suite or family without existing code."""
    named = {entry.__qualname__: entry.implementation for entry in registry.entries_below(plugin.module)}
    for name, suite in suites.items():
        named[f'suite "{name}"'] = f"{suite.module}:evaluate"
    for name, code in families.items():
        named[f'family "{name}"'] = code
    for what, code in named.items():
        if not _is_there(code, plugin):
            yield f'the code "{code}" of {what} does not exist; define it, or set implementation'


def _is_there(code: str, plugin: Plugin) -> bool:
    module, _, name = code.partition(":")
    if module in sys.modules:
        return hasattr(sys.modules[module], name)
    places = {plugin.module: plugin.place, "replicse": PACKAGE}
    unit = _unit(code)
    if unit not in places:
        return True  # the code of another package is checked when it is used
    path = places[unit].parents[unit.count(".")].joinpath(*module.split("."))
    file = path.with_suffix(".py")
    if not file.is_file():
        file = path / "__init__.py"
    if not file.is_file():
        return False
    table = symtable.symtable(file.read_text(encoding="utf-8"), str(file), "exec")
    for symbol in table.get_symbols():
        if symbol.get_name() == name and (symbol.is_assigned() or symbol.is_imported()):
            return True
    return False


def _line_of(error: BaseException, plugin: Plugin) -> str:
    """Return file and line of a plug-in's error, or the plug-in's path."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    return line_in(error, plugin.place) or str(plugin.place)
