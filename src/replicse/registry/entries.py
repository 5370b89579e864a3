"""The base of all registered parameters.

A class below a base is an entry of the registry if it specifies a single name.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, ClassVar, Union, get_args

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    create_model,
    model_serializer,
)
from pydantic_core.core_schema import no_info_before_validator_function, no_info_plain_validator_function

from replicse.checked import Checked, UserMessage
from replicse.errors import (
    BadInput,
    Failed,
    check_known,
    is_out_of_memory,
    line_in,
    one_line,
    relative_path,
)


class Entry(Checked):
    """Parameters that a file selects by the value of `key`.

    A class that defines `key` is a base. Used as a type, it accepts any entry in the registry at the time when
    a value is validated, including the entries of plug-ins. A subclass that annotates the field `key` with a
    Literal of one name is the entry of this name; other subclasses share fields between entries.
    `implementation` is `module:name` of the code that uses the parameters. By default it is the function of the
    entry's name in the module `home`; for an entry of a plug-in, in the plug-in's own module. Its call
    has the positional arguments `called_with` and the keyword arguments `keyword_names`; `called_method` is the
    name of the method that is called, if the code is a class.

    Example:
        class Hinge(TermParameters):
            term: Literal["hinge"]
            margin: Positive = 0.1
    """

    key: ClassVar[str]
    implementation: ClassVar[str]
    home: ClassVar[str]
    called_with: ClassVar[tuple[str, ...]] = ()
    called_method: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Set the default implementation of an entry."""
        if cls.entry_name() and "implementation" not in vars(cls):
            cls.implementation = f"{cls._home()}:{cls.entry_name().replace('-', '_')}"

    @classmethod
    def base(cls) -> type["Entry"]:
        """Return the class that defines `key`."""
        return next(each for each in cls.__mro__ if "key" in vars(each))

    @classmethod
    def entry_name(cls) -> str:
        """Return the name of an entry; empty for a base or a shared class."""
        if "key" in vars(cls) or getattr(cls, "key", None) not in cls.__annotations__:
            return ""
        (name,) = get_args(cls.model_fields[cls.key].annotation)
        return name

    @classmethod
    def keyword_names(cls) -> list[str]:
        """Return the fields that the code gets as keyword arguments."""
        return []

    @classmethod
    def positional_names(cls) -> tuple[str, ...]:
        """Return the names of the positional arguments of the code."""
        return cls.called_with

    @classmethod
    def known(cls) -> Mapping[str, Any]:
        """Return the entries of this base in the current registry, by name."""
        from replicse.registry.registry import current

        return current().entries.get(cls.base(), {})

    @classmethod
    def _home(cls) -> str:
        """Return the module of the code.

        It is `home` if a class of the same package defines it, otherwise the module of this class.
        """
        giver = next((each for each in cls.__mro__ if "home" in vars(each)), cls)
        alike = giver.__module__.partition(".")[0] == cls.__module__.partition(".")[0]
        return getattr(cls, "home", cls.__module__) if alike else cls.__module__

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the schema of a class; a base looks up the entries when used."""
        if "key" not in vars(cls):
            return handler(source)
        return no_info_plain_validator_function(cls._read)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        """Return the JSON schema of a class; for a base, of all entries."""
        every = "key" in vars(cls) and _discriminated(cls.key, *cls.known().values())
        return handler(every.core_schema if every else schema)

    @classmethod
    def _read(cls, value: Any) -> Any:
        """Validate a value with the named class.

        The union of all entries is used only for error messages.
        """
        with suppress(ValidationError, LookupError, TypeError):
            return cls.known()[value[cls.key]].model_validate(value)
        return _discriminated(cls.key, *cls.known().values()).validate_python(value)

    def made_by(self) -> Any:
        """Import the function or class that uses the parameters.

        Returns:
            The object at `implementation`.

        Raises:
            BadInput: If the import of a plug-in's code fails.
        """
        try:
            return resolve_name(self.implementation)
        except Exception as error:
            if self.__module__.startswith("replicse."):
                raise
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise BadInput(
                f"{self.implementation} cannot be imported ({problem}); fix the plug-in"
            ) from error

    @contextmanager
    def name_in_errors(self) -> Iterator[None]:
        """Convert errors of a plug-in's code to BadInput with file and line.

        Another try would fail in the same way. Errors for lack of memory, and errors of the package's own code, are
        not converted.
        """
        try:
            yield
        except (BadInput, Failed):
            raise
        except Exception as error:
            # The training repeats a step in chunks if the memory of a GPU is exhausted.
            if self.__module__.startswith("replicse.") or is_out_of_memory(error):
                raise
            entry = f"{self.key} {getattr(self, self.key)}"
            file = sys.modules[self.implementation.partition(":")[0]].__file__ or ""
            line = line_in(error, Path(file).parent) or relative_path(file)
            problem = f"{type(error).__name__}: {one_line(error)}"
            raise BadInput(f"{entry}: {problem} ({line}); fix the plug-in") from error

    @classmethod
    def check_changes(cls, what: str) -> AfterValidator:
        """Create a validator of changed parameters by entry name.

        Args:
            what: The word for an entry in error messages, such as "term".
        """

        def check(value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
            known = cls.known()
            for name, parameters in value.items():
                check_known(name, known, f'{what} "{name}" does not exist', UserMessage)
                if problem := known[name].problem({cls.key: name, **parameters}, partly=True):
                    raise UserMessage(f"{name}: {problem}")
            return value

        return AfterValidator(check)

    @classmethod
    def reader(cls, part: str, location: str) -> Callable[..., Any]:
        """Create a function that validates JSON-like data as an entry.

        Args:
            part: The name of the data in error messages, such as "corpus".
            location: The location in error messages, unless the function gets another one.
        """
        fields: dict[str, Any] = {part: (cls, ...)}
        document = create_model(part, __base__=Checked, **fields)

        def read(values: object, location: str = location) -> Any:
            return getattr(document.of({part: values}, location), part)

        return read


class NamedEntry(Entry):
    """Base of entries that a file can also specify by name alone."""

    @model_serializer(mode="wrap")
    def _spelt(self, serialise: SerializerFunctionWrapHandler) -> str | dict[str, Any]:
        """Return the name if all parameters have their defaults, else a dict."""
        plain = serialise(self)
        return plain[self.key] if len(plain) == 1 else plain

    @property
    def spelling(self) -> str | dict[str, Any]:
        """Return the entry in the shortest form for a file: a name, or a dict."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def _spelt_out(cls, value: object) -> object:
        """Return the dict of a name.

        Raises:
            UserMessage: If no entry has this name.
        """
        if not isinstance(value, str):
            return value
        if value not in cls.known():
            # Lists all names: the nearest name may be another function, such as mean for max.
            raise UserMessage(f'{cls.key} "{value}" does not exist; known: {", ".join(sorted(cls.known()))}')
        return {cls.key: value}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the schema of a class; a base also accepts names."""
        schema = super().__get_pydantic_core_schema__(source, handler)
        if "key" not in vars(cls):
            return schema
        return no_info_before_validator_function(cls._spelt_out, schema)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        """Return the JSON schema of a class; for a base, of all entries and names."""
        written = super().__get_pydantic_json_schema__(schema, handler)
        if "key" not in vars(cls):
            return written
        return {"anyOf": [{"enum": [*cls.known()]}, written]}


@cache
def _discriminated(key: str, *entries: type[Entry]) -> TypeAdapter[Any]:
    kind: Any = Annotated[Union[entries], Field(discriminator=key)]  # noqa: UP007
    return TypeAdapter(kind)
