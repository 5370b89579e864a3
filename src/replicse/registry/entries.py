"""What all parameters in the registry share: a class below their base is an entry, by the one name that it says."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
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
from replicse.errors import BadInput, check_known


class Entry(Checked):
    """Parameters that a file names by the value of `key`.

    A class that gives `key` itself is the base of some entries, and as a type any of those that the registry in use has
    when a value is read: one that a plug-in brings is read as those of the package are. A class below it that annotates
    that field with the Literal of one name is an entry by this name; others hold what entries share.
    `implementation` names module and function or class of what the parameters are for; where it is not given, the
    function of the entry's name in the module `home`, for an entry of a plug-in in the plug-in's own module.
    """

    key: ClassVar[str]
    implementation: ClassVar[str]
    home: ClassVar[str]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Have the implementation that an entry does not give."""
        if cls.entry_name() and "implementation" not in vars(cls):
            cls.implementation = f"{cls._home()}:{cls.entry_name().replace('-', '_')}"

    @classmethod
    def base(cls) -> type["Entry"]:
        """Return the class that gives `key`."""
        return next(each for each in cls.__mro__ if "key" in vars(each))

    @classmethod
    def entry_name(cls) -> str:
        """Return the name of an entry; blank for a base and for what entries share."""
        if "key" in vars(cls) or getattr(cls, "key", None) not in cls.__annotations__:
            return ""
        (name,) = get_args(cls.model_fields[cls.key].annotation)
        return name

    @classmethod
    def known(cls) -> Mapping[str, Any]:
        """Return the classes of the registry in use that are below the base, by name."""
        from replicse.registry.registry import current

        return current().entries.get(cls.base(), {})

    @classmethod
    def _home(cls) -> str:
        """Return the module of the code: that of `home` where the same package gives it, else the class's own."""
        giver = next((each for each in cls.__mro__ if "home" in vars(each)), cls)
        alike = giver.__module__.partition(".")[0] == cls.__module__.partition(".")[0]
        return getattr(cls, "home", cls.__module__) if alike else cls.__module__

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the schema of a class, for a base that of the entries that there are when a value is read."""
        if "key" not in vars(cls):
            return handler(source)
        return no_info_plain_validator_function(cls._read)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        """Return the JSON schema of a class, for a base that of all entries."""
        every = "key" in vars(cls) and _discriminated(cls.key, *cls.known().values())
        return handler(every.core_schema if every else schema)

    @classmethod
    def _read(cls, value: Any) -> Any:
        """Return the entry of plain data, by its own class: the schema of all of them is for mistakes alone."""
        with suppress(ValidationError, LookupError, TypeError):
            return cls.known()[value[cls.key]].model_validate(value)
        return _discriminated(cls.key, *cls.known().values()).validate_python(value)

    def made_by(self) -> Any:
        """Return the function or class that the parameters are for; BadInput where that of a plug-in fails."""
        try:
            return resolve_name(self.implementation)
        except Exception as error:
            if self.__module__.startswith("replicse."):
                raise
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            raise BadInput(
                f"{self.implementation} cannot be imported ({problem}); fix the plug-in"
            ) from error

    @classmethod
    def check_changes(cls, what: str) -> AfterValidator:
        """Return the check of parameters to change, by the names of entries, each of which is `what` in its errors."""

        def check(value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
            known = cls.known()
            for name, parameters in value.items():
                check_known(name, known, f'no {what} is named "{name}"', UserMessage)
                if problem := known[name].problem({cls.key: name, **parameters}, partly=True):
                    raise UserMessage(f"{name}: {problem}")
            return value

        return AfterValidator(check)

    @classmethod
    def reader(cls, part: str, where: str) -> Callable[..., Any]:
        """Return the function that gives the entry of plain data, or BadInput; both names are of its errors."""
        fields: dict[str, Any] = {part: (cls, ...)}
        document = create_model(part, __base__=Checked, **fields)

        def read(values: object, where: str = where) -> Any:
            return getattr(document.of({part: values}, where), part)

        return read


class NamedEntry(Entry):
    """Entries that a file may also write by their name alone, where they have no parameters but their defaults."""

    @model_serializer(mode="wrap")
    def _spelt(self, serialise: SerializerFunctionWrapHandler) -> str | dict[str, Any]:
        """Return the name alone where there are no parameters."""
        plain = serialise(self)
        return plain[self.key] if len(plain) == 1 else plain

    @property
    def spelling(self) -> str | dict[str, Any]:
        """Return how a file writes it: its name, or a mapping with its parameters."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def _spelt_out(cls, value: object) -> object:
        """Return the parameters that a name stands for; UserMessage where no entry has it."""
        if not isinstance(value, str):
            return value
        if value not in cls.known():
            # A near name is another function, as mean for max.
            raise UserMessage(f'no {cls.key} is named "{value}"; known: {", ".join(sorted(cls.known()))}')
        return {cls.key: value}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the schema of a class; that of the base takes a name for an entry without parameters."""
        schema = super().__get_pydantic_core_schema__(source, handler)
        return no_info_before_validator_function(cls._spelt_out, schema) if "key" in vars(cls) else schema

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        """Return the JSON schema of a class, for the base that of all entries and their names."""
        written = super().__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [{"enum": [*cls.known()]}, written]} if "key" in vars(cls) else written


@cache
def _discriminated(key: str, *entries: type[Entry]) -> TypeAdapter[Any]:
    kind: Any = Annotated[Union[entries], Field(discriminator=key)]  # noqa: UP007
    return TypeAdapter(kind)
