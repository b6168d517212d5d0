"""JSON to models and back, as strictly and as leniently as the API server's decoder, and with its ideas of null.

Decoding follows Kubernetes' JSON rules: field names are case-sensitive, `null` is an absent field, a `null` list item
is an empty item, integers are JSON integers of their size, unknown fields are collected for the caller to judge. It
must not judge values. Both directions are linear in the size of the object and use bounded stack.
"""

import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from berth.workload.models.model import Model
from berth.workload.times import format_time, parse_time

ModelT = TypeVar("ModelT", bound=Model)

# Templates nest at most four levels deep in a valid Workload; a document that nests deeper than this is not looked at.
MAX_NESTING = 64


class DecodeError(ValueError):
    """The JSON has another type than the field, so that no object can be made of it.

    Attributes:
        field: where, as in `spec.podGroupTemplates[0].name`; empty for the object itself.
        problem: what is wrong there.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}" if field else problem)


class Reading:
    """One reading of one document: what to do with unknown fields, and those that were found."""

    __slots__ = ("depth", "keep", "unknown")

    def __init__(self, *, keep: bool = False) -> None:
        self.keep = keep
        self.unknown: list[str] = []
        self.depth = 0


_Reader = Callable[[Any, str, Reading], Any]
_Writer = Callable[[Any, bool], Any]


class _Field(NamedTuple):
    attribute: str
    name: str
    default: Any
    read: _Reader
    write: _Writer


def decode(model: type[ModelT], data: object, reading: Reading, path: str = "") -> ModelT:
    """Make a model of parsed JSON.

    Args:
        model: the type to make.
        data: dicts, lists, strings, numbers, booleans and None.
        reading: collects the names of unknown fields; with `keep`, their values go into `extra`.
        path: the field that `data` stands in, for messages.

    Raises:
        DecodeError: a value has the wrong type, or the document nests too deeply. The first one found.
    """
    if not isinstance(data, dict):
        raise DecodeError(path, f"expected an object, not {_describe(data)}")
    if reading.depth >= MAX_NESTING:
        raise DecodeError(path, f"nests deeper than {MAX_NESTING} objects")
    reading.depth += 1
    fields = _by_name(model)
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in data.items():
        field = fields.get(name)
        if field is None:
            if not model.partial:
                reading.unknown.append(_child(path, name))
            if model.partial or reading.keep:
                extra[name] = value
        elif value is not None:
            values[field.attribute] = field.read(value, _child(path, name), reading)
    if extra:
        values["extra"] = extra
    reading.depth -= 1
    return model(**values)


def encode(model: Model, *, served: bool = False) -> dict[str, Any]:
    """Make JSON of a model. Unset fields are left out.

    Args:
        model: any model, also one that would not pass validation.
        served: write the nulls and empty objects that an API server writes for unset fields.
    """
    out: dict[str, Any] = {}
    for field in _in_order(type(model)):
        value = getattr(model, field.attribute)
        if value != field.default:
            out[field.name] = field.write(value, served)
        elif served and field.attribute in model.served:
            out[field.name] = None if value is None or value == () else field.write(value, served)
    if model.extra:
        out.update(model.extra)
    return out


def field_names(model: type[Model]) -> frozenset[str]:
    """The JSON names that a model knows."""
    return frozenset(_by_name(model))


@cache
def _in_order(model: type[Model]) -> tuple[_Field, ...]:
    return tuple(
        _Field(info.name, info.encode_name, _default_of(info), _reader(info.type), _writer(info.type))
        for info in msgspec.structs.fields(model)
        if info.name != "extra"
    )


@cache
def _by_name(model: type[Model]) -> dict[str, _Field]:
    return {field.name: field for field in _in_order(model)}


def _default_of(info: msgspec.structs.FieldInfo) -> Any:
    if info.default is not msgspec.NODEFAULT:
        return info.default
    return info.default_factory()  # mappings: msgspec copies an empty default for each object


@cache
def _reader(kind: Any) -> _Reader:
    kind = _without_none(kind)
    origin = typing.get_origin(kind)
    if origin is tuple:
        return _list_reader(typing.get_args(kind)[0])
    if origin is Mapping:
        return _read_map
    if origin is typing.Annotated:
        _, bounds = typing.get_args(kind)
        return _int_reader(bounds.ge, bounds.le)
    if isinstance(kind, type) and issubclass(kind, Model):
        return lambda value, path, reading: decode(kind, value, reading, path)
    return _SCALARS[kind]


@cache
def _writer(kind: Any) -> _Writer:
    kind = _without_none(kind)
    if typing.get_origin(kind) is tuple:
        write = _writer(typing.get_args(kind)[0])
        return lambda value, served: [write(item, served) for item in value]
    if typing.get_origin(kind) is Mapping:
        return lambda value, _: dict(value)
    if kind is datetime:
        return lambda value, _: format_time(value)
    if isinstance(kind, type) and issubclass(kind, Model):
        return lambda value, served: encode(value, served=served)
    return lambda value, _: value


def _without_none(kind: Any) -> Any:
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        (kind,) = [part for part in typing.get_args(kind) if part is not type(None)]
    return kind


def _list_reader(item: Any) -> _Reader:
    read = _reader(item)
    empty: Callable[[], Any] = item if item is not Any else lambda: None

    def read_list(value: Any, path: str, reading: Reading) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise DecodeError(path, f"expected a list, not {_describe(value)}")
        return tuple(
            empty() if item is None else read(item, f"{path}[{index}]", reading) for index, item in enumerate(value)
        )

    return read_list


def _int_reader(low: int, high: int) -> _Reader:
    def read_int(value: Any, path: str, _: Reading) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise DecodeError(path, f"expected a whole number, not {_describe(value)}")
        if not low <= value <= high:
            raise DecodeError(path, f"is outside {low} to {high}")
        return value

    return read_int


def _read_map(value: Any, path: str, _: Reading) -> dict[str, str]:
    if not isinstance(value, dict):
        raise DecodeError(path, f"expected an object, not {_describe(value)}")
    out: dict[str, str] = {}
    for key, item in value.items():
        if not isinstance(key, str) or not (item is None or isinstance(item, str)):
            raise DecodeError(_child(path, key), f"expected strings, not {_describe(item)}")
        out[key] = item or ""
    return out


def _read_string(value: Any, path: str, _: Reading) -> str:
    if not isinstance(value, str):
        raise DecodeError(path, f"expected a string, not {_describe(value)}")
    return value


def _read_bool(value: Any, path: str, _: Reading) -> bool:
    if not isinstance(value, bool):
        raise DecodeError(path, f"expected true or false, not {_describe(value)}")
    return value


def _read_time(value: Any, path: str, reading: Reading) -> datetime:
    time = parse_time(_read_string(value, path, reading))
    if time is None:
        raise DecodeError(path, "expected a time like 2026-09-01T00:00:00Z")
    return time


_WORDS = {
    type(None): "null",
    bool: "true or false",
    str: "a string",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
}
_SCALARS: dict[Any, _Reader] = {str: _read_string, bool: _read_bool, datetime: _read_time, Any: lambda value, *_: value}


def _child(path: str, name: object) -> str:
    shown = name if isinstance(name, str) else f"<{type(name).__name__}>"  # YAML has keys that JSON has not
    return f"{path}.{shown}" if path else shown


def _describe(value: object) -> str:
    return _WORDS.get(type(value), f"a {type(value).__name__}")
