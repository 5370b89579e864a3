"""Digests of code and data files.

A job runs again when the digest of something that it uses changes.
"""

import ast
import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    "replicse.registry.entries", "replicse.registry.plugins", "replicse.registry.registry",
    "replicse.registry.signatures", "replicse.yaml_text",
    "replicse.runtime", "replicse.runtime.forking", "replicse.runtime.locks", "replicse.runtime.progress",
}  # fmt: skip
# Modules of which only the functions, classes and constants that are used count. The registry describes much more than
# a job uses, and the others call code that the job names itself.
PARTIAL = ("replicse.registry.", "replicse.library.", "replicse.cli.stages.", "replicse.cli.render.")
# What validation computes is in the specification of a job.
VALIDATING = {"field_validator", "model_validator", "model_serializer"}
MODULE_NAME = re.compile(r"replicse(\.\w+)+(:\w+)?")
# The digest of a module or definition, and the names that it imports.
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
        A set with `module:name` of each model's class, and of the function or class that implements it.
    """
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        found = {f"{type(value).__module__}:{type(value).__qualname__}"}
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
    unchanged files are cached. By default, there are no plug-ins and no digest is cached.

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
        self._definitions = functools.cache(self._read_definitions)
        self._data_files = functools.cache(self._list_data_files)
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
            if module in codes or module.partition(":")[0] in WITHOUT_NUMBERS:
                continue
            codes[module], imports = self._module(module)
            used = [name for name in map(self._module_of, imports) if name]
            if ":" in module:
                pending += [name for name in used if ":" in name]
                continue
            pending += used
            package = module.rpartition(".")[0]
            if package and self._file(package):
                pending.append(package)
        lines = [f"{module}\0{code}" for module, code in codes.items()]
        plugins = [place for name, place in self.plugins.items() if name in codes]
        for place in (self.root, *plugins):
            lines += [
                f"{name}\0{content}" for package, name, content in self._data_files(place) if package in codes
            ]
        if self.cache and len(self._known) > before:
            _write_cache(self.cache, self._known)
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()

    def _expand(self, name: str) -> list[str]:
        """Return the modules of a package or plug-in, or the name itself."""
        module, _, part = name.partition(":")
        file, home = self._file(module), self._home(module)
        if home is None or (file is None and module not in self.plugins):
            raise ModuleNotFoundError(f"{self.root}: the package does not contain module {module}")
        if _is_partial(module):
            return [name] if part else []
        if file is None:
            files = [*self.plugins[module].glob("*.py")]
        elif file.name == "__init__.py":
            files = [*file.parent.rglob("*.py")]
        else:
            return [module]
        modules = [".".join(path.relative_to(home).with_suffix("").parts) for path in files]
        modules = [name.removesuffix(".__init__") for name in modules]
        return [name for name in modules if not _is_partial(name)]

    def _find_module(self, name: str) -> str | None:
        """Return the module or definition of an import.

        A definition is `module:name`, for modules of which only the used definitions count. Returns None if the import
        is not part of the package or of a plug-in.
        """
        module, _, part = name.partition(":")
        if part and self._file(f"{module}.{part}"):
            module, part = f"{module}.{part}", ""
        if not self._file(module):
            return None
        if not _is_partial(module):
            return module
        return f"{module}:{part}" if part in self._definitions(module) else None

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
        """Return the digest and imports of a module or of `module:name`."""
        if module not in self._modules:
            name, _, part = module.partition(":")
            if part:
                self._modules[module] = self._definitions(name).get(part, ("", []))
            else:
                self._modules[module] = self._parsed(name, _parse)
        return self._modules[module]

    def _read_definitions(self, module: str) -> dict[str, Module]:
        return {name: (code, imports) for name, (code, imports) in self._parsed(module, _parse_parts).items()}

    def _parsed(self, module: str, parse: Callable[[ast.Module, str, str], Any]) -> Any:
        """Parse a module, unless the cache contains the same file."""
        file = self._file(module)
        # A package might have no __init__.py.
        content = file.read_bytes() if file else b""
        key = hashlib.sha256(THIS_FILE + module.encode() + content).hexdigest()
        if key not in self._known:
            is_package = file is not None and file.name == "__init__.py"
            package = module if is_package else module.rpartition(".")[0]
            self._known[key] = parse(ast.parse(content), module, package)
        return self._known[key]

    def _list_data_files(self, root: Path) -> list[tuple[str, str, str]]:
        """Return package, name and SHA-256 of each file that is not Python code."""
        entries = []
        for file in _files(root) if (root / "__init__.py").is_file() else ():
            if file.suffix != ".py":
                home = next(folder for folder in file.parents if (folder / "__init__.py").is_file())
                package = ".".join(home.relative_to(root.parent).parts)
                entries.append((package, file.relative_to(root).as_posix(), sha256_of(file)))
        return entries


def _is_partial(module: str) -> bool:
    """Return whether only the used definitions of a module count."""
    return f"{module}.".startswith(PARTIAL)


def _parse(tree: ast.Module, module: str, package: str) -> Module:
    """Return the digest of a syntax tree and the imports.

    Imports are `module` or `module:name`.

    Args:
        tree: The syntax tree of a module.
        module: The name of the module.
        package: The package of the module, for relative imports.
    """
    return _digest_code(tree.body), sorted({name for _, name in _imports_in(tree, package)})


def _parse_parts(tree: ast.Module, module: str, package: str) -> dict[str, Module]:
    """Return the digest and the imports of each definition of a module.

    Functions, classes and constants that a definition uses count as imports, also of the same module.
    See `_parse` for the arguments.
    """
    known = dict(_imports_in(tree, package))
    # Other modules can import a name from here that is defined elsewhere.
    parts: dict[str, Module] = {name: ("", [source]) for name, source in known.items()}
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _names_of(statement):
            defined.setdefault(name, []).append(statement)
    known |= {name: f"{module}:{name}" for name in defined}
    for name, statements in defined.items():
        body = [_without_fields(statement) for statement in statements]
        used = {source for _, source in _imports_in(ast.Module(body, []), package)}
        for node in chain.from_iterable(map(ast.walk, body)):
            if isinstance(node, ast.Name) and node.id in known:
                used.add(known[node.id])
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                # A definition of a module that is imported as a whole.
                used.add(f"{known.get(node.value.id, '').replace(':', '.')}:{node.attr}")
        parts[name] = (_digest_code(body), sorted(used - {f"{module}:{name}"}))
    return parts


def _names_of(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _without_fields(statement: ast.stmt) -> ast.stmt:
    """Return a class without fields and validators.

    Their values are in the specification of a job. Other statements are returned unchanged.
    """
    if not isinstance(statement, ast.ClassDef):
        return statement
    body = []
    for part in statement.body:
        is_field = isinstance(part, ast.AnnAssign) and "ClassVar" not in ast.unparse(part.annotation)
        decorators = " ".join(map(ast.unparse, getattr(part, "decorator_list", ())))
        if not is_field and not VALIDATING & {*re.findall(r"\w+", decorators)}:
            body.append(part)
    return ast.ClassDef(statement.name, statement.bases, statement.keywords, body, statement.decorator_list)


def _imports_in(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """Yield the imports of a syntax tree.

    An import is the name in the code, and `module` or `module:name`.
    A string that contains the name of a module counts as an import.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = package.split(".")[: package.count(".") + 2 - node.level]
                source = ".".join(filter(None, [*parents, source]))
            for alias in node.names:
                yield alias.asname or alias.name, f"{source}:{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name
        elif isinstance(node, ast.Constant) and MODULE_NAME.fullmatch(str(node.value)):
            yield str(node.value), str(node.value)


def _digest_code(body: Iterable[ast.stmt]) -> str:
    words: list[str] = []
    _add_code(list(body), words)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


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
    """Write a cache file; if that is not possible, there is no cache."""
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
