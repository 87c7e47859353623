"""Fields of audit events → records of the topic. Compiled: a new group of one member already causes six.

The structs of `schema.py` alone define an event: their fields are read once, at import. An event is then written from
the values of its fields, without making its struct first; the bytes are those of `schema.encode_event`.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from _wire.writer cimport Writer, bytes_written, close_writer, finish_writer, open_writer, reserve, write_raw
from coordinator.audit.group_state cimport GroupAuditState
from coordinator.audit.partition_owners cimport AuditedMember

from datetime import UTC, datetime
from typing import get_args

import msgspec

from coordinator.audit import schema

cdef tuple SPEC_VERSION = ("ce_specversion", b"1.0")
cdef tuple CONTENT_TYPE = ("content-type", b"application/json")
VARYING = [
    "group_id", "seq", "created_seq", "time_ms", "generation_id_before", "generation_id", "state_before", "state",
]

cdef bytes DIGIT_PAIRS = b"".join(b"%02d" % number for number in range(100))

cdef enum:
    KEY_KEPT_BYTES = 255                # of a group id: a longer one is encoded again with each event
    DIGITS_MAX = 20                     # of an int64, with its sign
    FIRST_BYTES = 512
    SPARE_BYTES = 32                    # by which an event may be longer than the last of its kind
    LIKELY_BYTES_MAX = 16 * 1024        # a buffer begins no larger, however long the last one was


cdef const char *HEXADECIMAL = b"0123456789abcdef"
cdef uint64_t ONES = 0x0101010101010101     # one in each byte
cdef uint64_t HIGH_BITS = 0x8080808080808080
cdef const char *digit_pairs = DIGIT_PAIRS
cdef char[256] escapes                  # byte → what follows the backslash; 0 for a byte that needs none


cdef int fill_escapes() except -1:
    for byte in range(256):
        escapes[byte] = c"u" if byte < c" " else 0
    for byte, letter in zip(b'\b\t\n\f\r"\\', b'btnfr"\\'):
        escapes[byte] = letter
    return 0


fill_escapes()


@cython.final
cdef class Layout:
    """How a struct is written: per field its name, the text before its value, and the layout of a nested struct."""
    cdef tuple names
    cdef tuple texts
    cdef tuple within
    cdef bint is_snapshot               # of schema.MemberSnapshot

    def __init__(self, fields, bytes before_first not None, bint is_snapshot=False):
        self.is_snapshot = is_snapshot
        self.names = tuple([field.name for field in fields])
        self.texts = tuple([(b"," if at else before_first) + key_text(field) for at, field in enumerate(fields)])
        self.within = tuple([layout_within(field.type) for field in fields])


def key_text(field):
    return b'"%b":' % field.encode_name.encode()


def layout_within(field_type):
    """The layout of the struct that this type is or contains; None for most types."""
    if isinstance(field_type, type) and issubclass(field_type, msgspec.Struct):
        return Layout(msgspec.structs.fields(field_type), b"{", field_type is schema.MemberSnapshot)
    return next(filter(None, map(layout_within, get_args(field_type))), None)


@cython.final
cdef class Kind:
    """The parts that all events of a kind have in common."""
    cdef Layout layout                  # of its own fields, those behind the envelope
    cdef bytes opening
    cdef bint is_never_void
    cdef tuple type_header
    cdef Py_ssize_t last_bytes

    def __init__(self, event_class):
        envelope = msgspec.structs.fields(schema.AuditEvent)
        fields = msgspec.structs.fields(event_class)
        tag = schema.TAGS[event_class].encode()
        assert fields[:len(envelope)] == envelope, event_class
        self.layout = Layout(fields[len(envelope):], b",")
        self.opening = b'{"%b":"%b",' % (event_class.__struct_config__.tag_field.encode(), tag)
        self.is_never_void = event_class in schema.NEVER_VOID
        self.type_header = ("ce_type", tag)
        self.last_bytes = FIRST_BYTES


assert [field.name for field in msgspec.structs.fields(schema.MemberSnapshot)] == [
    "member", "subscribed_topics", "partitions", "unnamed_topics", "unnamed_partitions",
]

cdef dict KINDS = {event_class: Kind(event_class) for event_class in schema.TAGS}


def envelope_texts(dict same_for_all):
    """The text before each of the VARYING fields of the envelope, with the fields between that are `same_for_all`."""
    texts, varying, text = [], [], b""
    for field in msgspec.structs.fields(schema.AuditEvent):
        text += key_text(field)
        if field.name in same_for_all:
            text += msgspec.json.encode(same_for_all[field.name]) + b","
        else:
            varying.append(field.name)
            texts.append(text)
            text = b","
    assert varying == VARYING and text == b",", varying
    return tuple(texts)


cdef enum:
    DAY_MS = 86_400_000
    MINUTE_MS = 60_000
    DATE_BYTES = 11                     # 2026-01-31T

cdef int64_t header_ms = -1
cdef tuple header_of_ms = None
cdef int64_t date_day = -1
cdef bytes date_of_day = None


cdef tuple time_header(int64_t at_ms):
    """The same for all events of a turn; the date is found once a day."""
    global header_ms, header_of_ms, date_day, date_of_day
    if header_of_ms is None or at_ms != header_ms:
        if at_ms < 0:
            raise ValueError(f"{at_ms} ms are before 1970")
        if date_of_day is None or at_ms // DAY_MS != date_day:
            text = datetime.fromtimestamp(at_ms // DAY_MS * (DAY_MS // 1000), UTC).isoformat()
            date_day, date_of_day = at_ms // DAY_MS, text[:DATE_BYTES].encode()
        text = clock_text(date_of_day, <int32_t>(at_ms % DAY_MS // MINUTE_MS), <int32_t>(at_ms % MINUTE_MS))
        header_ms, header_of_ms = at_ms, ("ce_time", text)
    return header_of_ms


cdef bytes clock_text(bytes date, int32_t minute, int32_t of_minute):
    """ISO 8601: the date, a time with milliseconds, and the offset of UTC."""
    cdef char[20] text
    cdef bytes made
    memcpy(text, b"00:00:00.000+00:00", 18)
    put_digits(text + 1, minute // 60)
    put_digits(text + 4, minute % 60)
    put_digits(text + 7, of_minute // 1000)
    put_digits(text + 11, of_minute % 1000)
    made = PyBytes_FromStringAndSize(NULL, DATE_BYTES + 18)
    memcpy(PyBytes_AS_STRING(made), PyBytes_AS_STRING(date), DATE_BYTES)
    memcpy(PyBytes_AS_STRING(made) + DATE_BYTES, text, 18)
    return made


cdef void put_digits(char *last, int32_t number) noexcept:
    """The digits of a number over zeros, the last one at `last`."""
    while number:
        last[0] = <char>(c"0" + number % 10)
        number //= 10
        last -= 1


@cython.final
cdef class RecordWriter:
    def __init__(self, node_id, coordinator_epoch):
        self.texts = envelope_texts({
            "schema_version": schema.SCHEMA_VERSION, "node_id": node_id, "coordinator_epoch": coordinator_epoch,
        })
        self.source = ("ce_source", f"/kafka-group-coordinator/nodes/{node_id}".encode())

    def record(
        self, event_class, group_id, GroupAuditState audit_state not None, int64_t time_ms, state_before,
        int64_t generation_id_before, state, int64_t generation_id, dict fields not None,
    ):
        return self.write(
            event_class, group_id, audit_state, time_ms, state_before, generation_id_before, state, generation_id,
            fields,
        )

    cdef tuple write(
        self, event_class, group_id, GroupAuditState audit_state, int64_t time_ms, state_before,
        int64_t generation_id_before, state, int64_t generation_id, dict fields,
    ):
        cdef Kind kind = KINDS[event_class]
        cdef bytes key
        cdef tuple texts = self.texts
        cdef bytes value
        cdef Writer w
        key = audit_state.key
        if key is None:
            key = utf8_of(group_id)
            if len(key) <= KEY_KEPT_BYTES:
                audit_state.key = key
        audit_state.start_event(kind.is_never_void)
        open_writer(&w, min(kind.last_bytes + SPARE_BYTES, LIKELY_BYTES_MAX), b"AuditEvent")
        try:
            write_bytes(&w, kind.opening)
            write_bytes(&w, texts[0])
            write_text(&w, group_id)
            write_integer(&w, texts[1], audit_state.seq)
            write_integer(&w, texts[2], audit_state.created_seq)
            write_integer(&w, texts[3], time_ms)
            write_integer(&w, texts[4], generation_id_before)
            write_integer(&w, texts[5], generation_id)
            write_bytes(&w, texts[6])
            write_text(&w, state_before)
            write_bytes(&w, texts[7])
            write_text(&w, state)
            write_fields(&w, kind.layout, fields)
            kind.last_bytes = bytes_written(&w)
            value = finish_writer(&w)
        finally:
            close_writer(&w)
        ce_id = ("ce_id", event_id(key, audit_state.seq))
        return key, value, (SPEC_VERSION, ce_id, kind.type_header, self.source, time_header(time_ms), CONTENT_TYPE)


cdef bytes utf8_of(text):
    cdef Py_ssize_t size
    cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size)
    return PyBytes_FromStringAndSize(utf8, size)


cdef bytes event_id(bytes key, int64_t seq):
    """`key/seq`."""
    cdef char[DIGITS_MAX] digits
    cdef Py_ssize_t key_bytes = PyBytes_GET_SIZE(key)
    cdef char *first = store_digits(&digits[0] + DIGITS_MAX, seq)
    cdef Py_ssize_t count = &digits[0] + DIGITS_MAX - first
    cdef bytes made = PyBytes_FromStringAndSize(NULL, key_bytes + 1 + count)
    cdef char *to = PyBytes_AS_STRING(made)
    memcpy(to, PyBytes_AS_STRING(key), key_bytes)
    to[key_bytes] = c"/"
    memcpy(to + key_bytes + 1, first, count)
    return made


cdef char *store_digits(char *end, int64_t number) noexcept:
    """Write at most DIGITS_MAX decimal digits that end before `end`; return the first."""
    cdef uint64_t rest = -<uint64_t>number if number < 0 else <uint64_t>number
    while rest >= 100:
        end -= 2
        memcpy(end, &digit_pairs[2 * (rest % 100)], 2)
        rest //= 100
    if rest >= 10:
        end -= 2
        memcpy(end, &digit_pairs[2 * rest], 2)
    else:
        end -= 1
        end[0] = <char>(c"0" + rest)
    if number < 0:
        end -= 1
        end[0] = c"-"
    return end


cdef int write_byte(Writer *w, char byte) except -1:
    reserve(w, 1)[0] = <uint8_t>byte
    return 0


cdef int write_bytes(Writer *w, bytes text) except -1:
    return write_raw(w, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef int write_integer(Writer *w, bytes text_before, int64_t number) except -1:
    cdef char[DIGITS_MAX] digits
    cdef char *first
    if text_before is not None:
        write_bytes(w, text_before)
    if 0 <= number <= 9:
        return write_byte(w, <char>(c"0" + number))
    first = store_digits(&digits[0] + DIGITS_MAX, number)
    return write_raw(w, first, &digits[0] + DIGITS_MAX - first)


cdef int write_text(Writer *w, text) except -1:
    """Raises UnicodeEncodeError for a surrogate, which UTF-8 cannot encode."""
    cdef Py_ssize_t size, at, plain_from = 0
    cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size)
    cdef uint8_t *out
    if is_plain(utf8, size):
        out = reserve(w, size + 2)
        out[0] = out[size + 1] = c'"'
        memcpy(out + 1, utf8, size)
        return 0
    write_byte(w, c'"')
    for at in range(size):
        if escapes[<uint8_t>utf8[at]]:
            write_raw(w, utf8 + plain_from, at - plain_from)
            write_escaped(w, <uint8_t>utf8[at])
            plain_from = at + 1
    write_raw(w, utf8 + plain_from, size - plain_from)
    return write_byte(w, c'"')


cdef bint is_plain(const char *text, Py_ssize_t size) noexcept:
    """Whether a text needs no escapes. Looks at eight bytes at a time; it may say no of one that needs none."""
    cdef uint64_t eight, found = 0
    cdef Py_ssize_t at = 0
    while at + 8 <= size:
        memcpy(&eight, text + at, 8)
        found |= bytes_below(eight, c" ") | bytes_below(eight ^ ONES * c'"', 1) | bytes_below(eight ^ ONES * c"\\", 1)
        at += 8
    if found & HIGH_BITS:
        return False
    while at < size:
        if escapes[<uint8_t>text[at]]:
            return False
        at += 1
    return True


cdef inline uint64_t bytes_below(uint64_t eight, uint64_t bound) noexcept:
    """The high bit of each byte that is below the bound, and perhaps of some that follow one."""
    return (eight - ONES * bound) & ~eight


cdef int write_escaped(Writer *w, uint8_t byte) except -1:
    write_byte(w, c"\\")
    write_byte(w, escapes[byte])
    if escapes[byte] == c"u":
        write_raw(w, b"00", 2)
        write_byte(w, HEXADECIMAL[byte >> 4])
        write_byte(w, HEXADECIMAL[byte & 15])
    return 0


cdef int write_fields(Writer *w, Layout layout, dict fields) except -1:
    """Write the fields of an event after the envelope. They must be in the order of its struct."""
    cdef Py_ssize_t at = 0, count = len(layout.names)
    for name, value in fields.items():
        if at == count or (name is not layout.names[at] and name != layout.names[at]):
            raise_not_the_fields(layout, fields)
        write_bytes(w, layout.texts[at])
        write_value(w, value, layout.within[at])
        at += 1
    if at < count:
        raise_not_the_fields(layout, fields)
    return write_byte(w, c"}")


cdef int raise_not_the_fields(Layout layout, dict fields) except -1:
    raise TypeError(f"the fields are {layout.names}, not {tuple(fields)}")


cdef int write_struct(Writer *w, Layout layout, source) except -1:
    """Write a nested struct from an object with the same attributes."""
    cdef Py_ssize_t at
    for at in range(len(layout.names)):
        write_bytes(w, layout.texts[at])
        write_value(w, getattr(source, layout.names[at]), layout.within[at])
    return write_byte(w, c"}")


cdef bytes member_text(AuditedMember audited, Layout layout):
    """The member as JSON: for thousands of events of its group it is the same."""
    cdef Writer w
    member = audited.member
    details = member.client_details
    if audited.text is None or (details is not audited.text_details and details != audited.text_details):
        open_writer(&w, FIRST_BYTES, b"MemberRef")
        try:
            write_struct(&w, layout, member)
            audited.text = finish_writer(&w)
        finally:
            close_writer(&w)
        audited.text_details = details
    return audited.text


cdef int write_snapshot(Writer *w, AuditedMember audited, Layout layout) except -1:
    """The member as a `schema.MemberSnapshot`: a checkpoint has one of each member of each group."""
    write_bytes(w, layout.texts[0])
    write_bytes(w, member_text(audited, layout.within[0]))
    write_bytes(w, layout.texts[1])
    write_list(w, audited.topics, None)
    write_bytes(w, layout.texts[2])
    write_partitions(w, audited.owned)
    write_integer(w, layout.texts[3], audited.unnamed_topics)
    write_integer(w, layout.texts[4], audited.unnamed_partitions)
    return write_byte(w, c"}")


cdef int write_partitions(Writer *w, tuple partitions) except -1:
    """(topic, index), ascending, as topic → indexes."""
    cdef str last = None
    write_byte(w, c"{")
    for topic, index in partitions:
        if last is not None and (topic is last or topic == last):
            write_integer(w, b",", index)
            continue
        if last is not None:
            write_bytes(w, b"],")
        write_text(w, topic)
        write_integer(w, b":[", index)
        last = topic
    return write_bytes(w, b"}" if last is None else b"]}")


cdef int write_value(Writer *w, value, Layout within) except -1:
    if type(value) is int:
        return write_integer(w, None, value)
    if value is None:
        return write_bytes(w, b"null")
    if type(value) is AuditedMember:
        return write_snapshot(w, value, within) if within.is_snapshot else write_bytes(w, member_text(value, within))
    if isinstance(value, str):
        return write_text(w, value)
    if isinstance(value, bool):
        return write_bytes(w, b"true" if value else b"false")
    if isinstance(value, int):
        return write_integer(w, None, value)
    if isinstance(value, list):
        return write_list(w, value, within)
    if isinstance(value, dict):
        return write_mapping(w, value, within)
    if within is None:
        raise TypeError(f"no value of an audit event: {value!r}")
    return write_struct(w, within, value)


cdef int write_list(Writer *w, list values, Layout within) except -1:
    cdef bint is_first = True
    write_byte(w, c"[")
    for value in values:
        if not is_first:
            write_byte(w, c",")
        write_value(w, value, within)
        is_first = False
    return write_byte(w, c"]")


cdef int write_mapping(Writer *w, dict values, Layout within) except -1:
    cdef bint is_first = True
    write_byte(w, c"{")
    for name, value in values.items():
        if not is_first:
            write_byte(w, c",")
        write_text(w, name)
        write_byte(w, c":")
        write_value(w, value, within)
        is_first = False
    return write_byte(w, c"}")
