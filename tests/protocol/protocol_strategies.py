"""Hypothesis strategies for every event of the protocol, derived from the structs themselves."""

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect
from omnitalk.protocol.client import InputAudioBufferAppend

WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**53), 2**53)
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | WHOLE | FINITE | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
JSON_OBJECTS = st.dictionaries(WORDS, JSON_VALUES, max_size=3)
PICTURES = st.builds(bytes.__add__, st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"]), st.binary(max_size=20))


def of_type(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    match kind:
        case inspect.IntType():
            return st.integers(kind.ge if kind.ge is not None else -(2**53), kind.le if kind.le is not None else 2**53)
        case inspect.FloatType():
            return st.floats(kind.ge, kind.le, allow_nan=False, allow_infinity=False)
        case inspect.StrType():
            return WORDS
        case inspect.BytesType():
            return st.binary(max_size=40)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.AnyType():
            return JSON_VALUES
        case inspect.LiteralType():
            return st.sampled_from(list(kind.values))
        case inspect.ListType():
            return st.lists(of_type(kind.item_type), max_size=3)
        case inspect.VarTupleType():
            return st.lists(of_type(kind.item_type), max_size=3).map(tuple)
        case inspect.DictType():
            return st.dictionaries(WORDS, of_type(kind.value_type), max_size=3)
        case inspect.UnionType():
            return st.one_of([of_type(each) for each in kind.types])
        case inspect.StructType():
            return structs(kind.cls)
        case inspect.Metadata():
            return of_type(kind.type)
        case _:
            raise AssertionError(f"No strategy for {kind}")


@st.composite
def structs(draw: st.DrawFn, cls: type[Any]) -> Any:
    """Instances of a struct: any field that may be left out is sometimes left out."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    fields: dict[str, Any] = {}
    for field in info.fields:
        if not field.required and draw(st.booleans()):
            continue
        kind = field.type
        if isinstance(kind, inspect.UnionType):
            kinds = tuple(each for each in kind.types if not _is_unset(each))
            kind = kinds[0] if len(kinds) == 1 else inspect.UnionType(kinds)
        fields[field.name] = draw(of_type(kind))
    return cls(**fields)


def _is_unset(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.CustomType) and kind.cls is msgspec.UnsetType


@st.composite
def appends(draw: st.DrawFn) -> InputAudioBufferAppend:
    """Valid appends: sound or pictures, and real picture bytes."""
    event: InputAudioBufferAppend = draw(structs(InputAudioBufferAppend))
    event.audio = draw(st.binary(min_size=1, max_size=40))
    event.max_slice_nums = draw(st.sampled_from([None, 1]))
    event.video_frames = draw(st.lists(PICTURES, min_size=1, max_size=2) | st.just(msgspec.UNSET))
    event.format = draw(st.sampled_from(["pcm16", "pcm_f32le", "g711_ulaw", "g711_alaw"]) | st.just(msgspec.UNSET))
    event.overlap_action = draw(st.sampled_from(["barge_in", "listen", "drop"]) | st.just(msgspec.UNSET))
    return event
