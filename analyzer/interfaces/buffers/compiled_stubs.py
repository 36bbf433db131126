"""Decodes RPC stubs with the parsers compiled from ksy/, which are loaded with the first stub that only they read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct

from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers.compiled_parsers import (
    PARSER_ERRORS,
    Encoding,
    FieldSpec,
    JsonValue,
    guid_of,
    is_guid,
    located,
    parser,
    type_of,
    unfinished_in,
)
from analyzer.interfaces.buffers.stub_decoding import ArrayLayout, Interface, Side, StubDecode
from analyzer.interfaces.buffers.windows_text import code_page_text, utf16_text

_SPECS = {"perflib-v2": "ms_pcq_stubs", "winreg": "ms_rrp_stubs", "svcctl": "ms_scmr_stubs"}


def compiled_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool = False, big_endian: bool = False
) -> StubDecode:
    """Decodes an RPC stub like `decode_stub`, but only with the compiled parser."""
    stub, error, notes = parse_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian)
    body = getattr(stub, side, None)
    found = _ReadParameters(Encoding(big_endian), unfinished_in(stub) if error is not None else ())
    if isinstance(body, KaitaiStruct):
        found.visit(body)
    if error is not None:
        error.params = found.params
        raise error
    return StubDecode(found.params, found.data, found.data_start, found.status, stub._io.pos(), found.layout, notes)


def parse_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool, big_endian: bool
) -> tuple[Any, DecodeError | None, tuple[str, ...]]:
    """Parses an RPC stub with recorded positions, as far as possible. Returns the compiled object, the error that ended it, and
    notes."""
    stub, error = _try_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian, has_referent=False)
    if error is not None and interface == "perflib-v2" and side == "request":
        # The IDL makes szMachine a reference pointer, which leaves nothing on the wire; a peer that took it for a unique
        # one sends a referent first (MS-PCQ section 6; C706 14.3.10).
        other, failed = _try_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian, has_referent=True)
        if failed is None:
            return other, None, ("szMachine is preceded by a referent, as if it were a unique pointer",)
    return stub, error, ()


def _try_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool, big_endian: bool, has_referent: bool
) -> tuple[Any, DecodeError | None]:
    """Parses an RPC stub with the compiled parser as far as possible. Returns the compiled object, and the error that ended it."""
    stream = KaitaiStream(BytesIO(data))
    arguments = [opnum, side == "response", ndr64, big_endian]
    if interface == "perflib-v2":
        arguments.append(has_referent)
    stub = parser(_SPECS[interface], "positions")(*arguments, stream)
    try:
        stub._read()
    except PARSER_ERRORS as error:
        return stub, located(stub, error, len(data))
    if not hasattr(stub, side) or isinstance(getattr(stub, side), bytes):
        return stub, DecodeError(f"opnum {opnum} is not described", field="opnum")
    return stub, None


# Parameters that no result holds: the password of the account that a service runs as.
_SECRET = frozenset({"lpPassword"})
# Parameters with parameters of their own.
_STRUCTURES = frozenset({"MsScmrStubs.ServiceStatus", "MsScmrStubs.ServiceConfig"})


class _ReadParameters:
    """Collects the parameters of a compiled stub that were read to their end.

    `unfinished` are the objects in which reading ended, by identity.
    """

    def __init__(self, reading: Encoding, unfinished: Iterable[int]) -> None:
        self.reading = reading
        self.unfinished = frozenset(unfinished)
        self.params: dict[str, JsonValue] = {}
        self.data: bytes | None = None
        self.data_start = 0
        self.status: int | None = None
        self.layout: ArrayLayout | None = None

    def visit(self, body: Any) -> None:
        for field in type_of(body).fields:
            value = getattr(body, field.name, None)
            if not self._was_read(body, field) and type(value).__qualname__ not in _STRUCTURES:
                continue
            if field.name == "status":
                self.status = value
            elif field.spelling in ("lpData", "lpvalueBuf"):
                self._array(
                    value if type(value).__qualname__ != "MsRrpStubs.OptionalData" else getattr(value, "array", None)
                )
            elif field.spelling in _SECRET:
                continue
            elif not field.is_filler:
                self.params[field.spelling] = self._value(value)

    def _was_read(self, body: Any, field: FieldSpec) -> bool:
        return id(body) not in self.unfinished or "end" in body._debug.get(field.name, ())

    def _array(self, array: Any) -> None:
        if array is None:
            return
        self.data = array.data
        self.data_start = array._debug["data"]["start"]
        self.layout = ArrayLayout(array.max_count, getattr(array, "offset", None), getattr(array, "actual_count", None))

    def _value(self, value: Any) -> JsonValue:
        if value is None or isinstance(value, int):
            return None if value is None else int(value)
        if is_guid(value):
            return guid_of(value)
        match type(value).__qualname__:
            case "Ndr.ContextHandle":
                return {"attributes": value.attributes, "uuid": guid_of(value.uuid)}
            case "MsScmrStubs.NarrowText":
                return code_page_text(value.string.data, 1252)
            case "MsScmrStubs.OptionalData":
                array = getattr(value, "array", None)
                return None if array is None else array.data.hex()
            case "MsScmrStubs.Arguments":
                array = getattr(value, "array", None)
                return None if array is None else [self._value(one) for one in array.strings]
            case "MsScmrStubs.Argument":
                return self._value(getattr(value, "wide", None) or getattr(value, "narrow", None))
            case name if name in _STRUCTURES:
                fields = [
                    field
                    for field in type_of(value).fields
                    if not field.is_filler and field.spelling[0] != "(" and self._was_read(value, field)
                ]
                return {field.spelling: self._value(getattr(value, field.name, None)) for field in fields}
            case "MsPcqStubs.MachineName" | "MsRrpStubs.UnicodeString" | "MsScmrStubs.Text":
                string = getattr(value, "string", None)
                return None if string is None else utf16_text(string.data, big_endian=self.reading.big_endian)
            case "MsRrpStubs.Filetime":
                return int(value.high << 32 | value.low)
            case "MsRrpStubs.SecurityAttributes":
                inside = getattr(value, "value", None)
                if inside is None:
                    return None
                return {
                    "nLength": inside.length,
                    "cbOutSecurityDescriptor": inside.descriptor_len,
                    "bInheritHandle": inside.inherit,
                }
            case "MsRrpStubs.RvalentArray":
                return [
                    {
                        "ve_valuename": self._value(getattr(referents, "value_name", None)),
                        "ve_valuelen": entry.value_len,
                        "ve_valueptr": self._value(getattr(referents, "value_ptr", None)),
                        "ve_type": int(entry.value_type),
                    }
                    for entry, referents in zip(value.entries, value.referents, strict=True)
                ]
        # The rest are unique pointers to the types above and to integers, and integers with alignment.
        return self._value(getattr(value, "value", None))
