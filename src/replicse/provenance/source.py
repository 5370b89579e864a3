"""Digests of code and data files.

A job runs again when the digest of something that it uses changes.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, Failed
from replicse.files import read_json, sha256_of, write_json

PACKAGE = Path(__file__).resolve().parents[1]
THIS_FILE = Path(__file__).read_bytes()  # cached digests are only valid for this version of the file
# Modules that check, report and record. They do not change numbers.
WITHOUT_NUMBERS = {
    "replicse", "replicse.checked", "replicse.errors", "replicse.provenance", "replicse.provenance.record",
    "replicse.runtime", "replicse.runtime.forking", "replicse.runtime.locks", "replicse.runtime.progress",
}  # fmt: skip
# The registry has the names of code and the defaults of parameters, which are in the specification of a job. Only
# these modules of the registry also compute something.
REGISTRY = "replicse.registry."
COMPUTING = {"replicse.registry.procedures", "replicse.registry.run_options"}
MODULE_NAME = re.compile(r"replicse(\.\w+)+(:\w+)?")
# The digest of a module and the names that it imports.
Module = tuple[str, list[str]]


def package_sha256() -> str:
    """Return the SHA-256 of the names and contents of the package's files."""
    digest = hashlib.sha256()
    for path in _files(PACKAGE):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def modules_of(value: object) -> set[str]:
    """Return the modules that implement validated data, such as a run.

    Args:
        value: A validated model, or a dict, list or tuple of models.

    Returns:
        A set with the module of each model's class, and `module:name` of the function or class that
        implements it.
    """
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        found = {type(value).__module__}
        if implementation := getattr(value, "implementation", ""):
            found.add(implementation)
        for name in fields:
            found |= modules_of(getattr(value, name))
        return found
    if isinstance(value, Mapping):
        value = tuple(value.values())
    found = set()
    if isinstance(value, tuple | list):
        for entry in value:
            found |= modules_of(entry)
    return found


class SourceCode:
    """The modules of the package and of plug-ins as a graph of imports.

    All imports of a module count, and so do strings that contain the name of a module of the package.
    Comments, docstrings and formatting do not change a digest. Parsing all modules takes 0.7 s, so digests of
    unchanged files are cached.

    Args:
        root: The folder of the package. Default: this package.
        cache: A JSON file for the digests of files. Default: parse all files.
        plugins: A dict from the names of plug-ins to their files or folders. Default: no plug-ins.
    """

    def __init__(
        self, root: Path = PACKAGE, cache: Path | None = None, plugins: Mapping[str, Path] | None = None
    ) -> None:
        self.root, self.cache, self.plugins = root, cache, plugins or {}
        self._known = _read_cache(cache)
        self._modules: dict[str, Module] = {}
        self._module_of = functools.cache(self._find_module)
        self._file = functools.cache(self._find_file)

    def digest(self, *names: str) -> str:
        """Compute the digest of modules and everything that they import.

        Args:
            *names: Strings `module` or `module:name`. A package means all of its modules.

        Returns:
            The SHA-256 of the code, including data files of the packages, a hexadecimal string.

        Raises:
            ModuleNotFoundError: If the package does not have a module.
        """
        before = len(self._known)
        codes: dict[str, str] = {}
        pending = list(chain.from_iterable(map(self._expand, names)))
        while pending:
            module = pending.pop()
            if module in codes or not _counts(module):
                continue
            codes[module], imports = self._module(module)
            pending += filter(None, map(self._module_of, imports))
            package = module.rpartition(".")[0]
            if package and self._file(package):
                pending.append(package)
        lines = [f"{module}\0{code}" for module, code in codes.items()]
        lines += [f"{name}\0{content}" for package, name, content in self._data_files if package in codes]
        if self.cache and len(self._known) > before:
            _write_cache(self.cache, self._known)
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()

    def _expand(self, name: str) -> list[str]:
        """Return the modules of a name."""
        module = name.partition(":")[0]
        file, home = self._file(module), self._home(module)
        if home is None or (file is None and module not in self.plugins):
            raise ModuleNotFoundError(f"{self.root}: the package does not contain module {module}")
        if file is None:
            files = [*self.plugins[module].glob("*.py")]
        elif file.name == "__init__.py":
            files = [*file.parent.rglob("*.py")]
        else:
            return [module]
        modules = [".".join(path.relative_to(home).with_suffix("").parts) for path in files]
        return [name.removesuffix(".__init__") for name in modules]

    def _find_module(self, name: str) -> str | None:
        """Return the module of an import.

        Returns None if it is not part of the package or of a plug-in.
        """
        module, _, part = name.partition(":")
        if part and self._file(f"{module}.{part}"):
            return f"{module}.{part}"
        return module if self._file(module) else None

    def _home(self, module: str) -> Path | None:
        """Return the folder that contains the top-level package of a module.

        Returns None for modules of other packages. In a wheel, they are in the same folder as this package.
        """
        for name, place in self.plugins.items():
            if f"{module}.".startswith(f"{name}."):
                return place.parents[name.count(".")]
        return self.root.parent if f"{module}.".startswith(f"{self.root.name}.") else None

    def _find_file(self, module: str) -> Path | None:
        home = self._home(module)
        if home is None:
            return None
        path = home.joinpath(*module.split("."))
        files = (path.with_suffix(".py"), path / "__init__.py")
        return next((file for file in files if file.is_file()), None)

    def _module(self, module: str) -> Module:
        """Return the digest of a module and the imports."""
        if module not in self._modules:
            file = self._file(module)
            # A package might have no __init__.py.
            content = file.read_bytes() if file else b""
            key = hashlib.sha256(THIS_FILE + module.encode() + content).hexdigest()
            if key not in self._known:
                is_package = file is not None and file.name == "__init__.py"
                self._known[key] = _parse(
                    ast.parse(content), module if is_package else module.rpartition(".")[0]
                )
            self._modules[module] = self._known[key]
        return self._modules[module]

    @functools.cached_property
    def _data_files(self) -> list[tuple[str, str, str]]:
        """Return package, name and SHA-256 of each file that is not Python code."""
        entries = []
        packages = [place for place in self.plugins.values() if (place / "__init__.py").is_file()]
        for root in (self.root, *packages):
            for file in _files(root):
                if file.suffix != ".py":
                    home = next(folder for folder in file.parents if (folder / "__init__.py").is_file())
                    package = ".".join(home.relative_to(root.parent).parts)
                    entries.append((package, file.relative_to(root).as_posix(), sha256_of(file)))
        return entries


def _counts(module: str) -> bool:
    """Return whether numbers can depend on a module."""
    if module in WITHOUT_NUMBERS:
        return False
    return module in COMPUTING or not f"{module}.".startswith(REGISTRY)


def _parse(tree: ast.Module, package: str) -> Module:
    """Return the digest of a syntax tree and the imports.

    Imports are `module` or `module:name`.

    Args:
        tree: The syntax tree of a module.
        package: The package of the module, for relative imports.
    """
    imports = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = package.split(".")[: package.count(".") + 2 - node.level]
                source = ".".join(filter(None, [*parents, source]))
            imports |= {f"{source}:{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and MODULE_NAME.fullmatch(str(node.value)):
            imports.add(str(node.value))
    words: list[str] = []
    _add_code(tree.body, words)
    return hashlib.sha256("\n".join(words).encode()).hexdigest(), sorted(imports)


def contents_digest(root: Path, files: Iterable[Path], cache: Path | None) -> str:
    """Compute the SHA-256 of the names and contents of files.

    Args:
        root: Names are relative to this folder if a file is below it.
        files: The files.
        cache: A JSON file for the digest of each file by size, dates and inode; None to read all files. The
            inode's change date is included, because an edit in place can restore the modification date.

    Returns:
        A hexadecimal string.
    """
    entries, digest = _read_cache(cache), hashlib.sha256()
    before = len(entries)
    for file in sorted(files):
        facts = file.stat()
        key = f"{file.resolve()} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"
        if key not in entries:
            entries[key] = sha256_of(file)
        name = file.relative_to(root) if file.is_relative_to(root) else file
        digest.update(f"{name.as_posix()}\0{entries[key]}\n".encode())
    if cache and len(entries) > before:
        _write_cache(cache, entries)
    return digest.hexdigest()


def _read_cache(cache: Path | None) -> dict[str, Any]:
    """Return the content of a cache, or {} if it is missing or broken."""
    try:
        return dict(read_json(cache)) if cache else {}
    except (BadInput, TypeError, ValueError):
        return {}


def _write_cache(cache: Path, entries: Mapping[str, Any]) -> None:
    """Write a cache; nothing changes if it cannot be written."""
    with suppress(OSError, BadInput, Failed):
        write_json(cache, entries)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _add_code(node: object, words: list[str]) -> None:
    """Append a syntax tree to words.

    Positions, docstrings and empty fields of newer Python versions are skipped.
    """
    if isinstance(node, ast.AST):
        words.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != [] and name not in ("ctx", "type_comment", "kind"):
                words.append(f"{name}(")
                _add_code(value, words)
                words.append(")")
    elif isinstance(node, list):
        for entry in node:
            # A statement that is only a constant has no effect: a docstring or an ellipsis.
            if not (isinstance(entry, ast.Expr) and isinstance(entry.value, ast.Constant)):
                _add_code(entry, words)
    else:
        words.append(f"{type(node).__name__} {node!r}")
