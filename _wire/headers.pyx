"""Headers of requests and responses, and complete frames.

A request header of version 1 is API key, API version, correlation id and client id; version 2 adds tagged fields but
keeps the client id's int16 length, so that a server can read it whatever the version (KIP-482). A response header is
the correlation id, from version 1 on with tagged fields. The answer to ApiVersions always has version 0: a client must
understand it before it knows anything (KIP-511).
"""

from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, uint8_t, uint32_t

from _wire.big_endian cimport store_uint32
from _wire.reader cimport (
    Reader, at, close_reader, decode_utf8, open_reader, read_int16, read_int32, read_string_length, skip_tags, take,
)
from _wire.steps cimport ELEMENTS_AT_FIRST
from _wire.structs cimport check_version, open_message_writer
from _wire.writer cimport (
    Writer, bytes_written, close_writer, finish_writer, reserve, write_int16, write_int32, write_nullable_string,
    write_uvarint,
)

from _wire.messages import FLEXIBLE_FROM

cdef enum:
    API_VERSIONS = 18
    API_KEYS = 128                      # more than Kafka has
    NEVER_FLEXIBLE = 32767
    FRAME_LENGTH_BYTES = 4

cdef int16_t flexible_from[API_KEYS]


cdef int fill_flexible_from() except -1:
    cdef int key
    for key in range(API_KEYS):
        flexible_from[key] = FLEXIBLE_FROM.get(key, NEVER_FLEXIBLE)
    return 0


fill_flexible_from()


cdef inline bint is_flexible(int api_key, int api_version) noexcept:
    return 0 <= api_key < API_KEYS and api_version >= flexible_from[api_key]


cpdef int request_header_version(int api_key, int api_version) except -1:
    return 2 if is_flexible(api_key, api_version) else 1


cpdef int response_header_version(int api_key, int api_version) except -1:
    return 1 if api_key != API_VERSIONS and is_flexible(api_key, api_version) else 0


cdef int read_request_header(Reader *r, HeaderFields *header) except -1:
    header.api_key = read_int16(at(r, b"api_key"))
    header.api_version = read_int16(at(r, b"api_version"))
    header.correlation_id = read_int32(at(r, b"correlation_id"))
    header.client_id_size = read_string_length(at(r, b"client_id"), False)
    header.client_id = NULL
    if header.client_id_size >= 0:
        header.client_id = <const char *>take(r, header.client_id_size)
    if is_flexible(header.api_key, header.api_version):
        skip_tags(at(r, b"tagged fields"))
    return 0


cdef class RequestHeader:
    def __init__(self, int16_t api_key, int16_t api_version, int32_t correlation_id, str client_id=None):
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    def __eq__(self, other):
        if not isinstance(other, RequestHeader):
            return NotImplemented
        return self.fields() == (<RequestHeader>other).fields()

    cdef tuple fields(self):
        return self.api_key, self.api_version, self.correlation_id, self.client_id

    def __repr__(self):
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r})"
        )


def decode_request_header(frame, Py_ssize_t start=0):
    """Return the header, of any key and version, and the position of the body in `frame`."""
    cdef Py_ssize_t body_start
    header = request_header(frame, start, &body_start)
    return header, body_start


cdef RequestHeader request_header(frame, Py_ssize_t start, Py_ssize_t *body_start):
    cdef Reader r
    cdef HeaderFields fields
    open_reader(&r, frame, start, b"RequestHeader", 1)
    try:
        read_request_header(&r, &fields)
        body_start[0] = start + (r.position - r.start)
        client_id = None
        if fields.client_id != NULL:
            r.position = <const uint8_t *>fields.client_id
            client_id = decode_utf8(at(&r, b"client_id"), fields.client_id_size)
        return RequestHeader(fields.api_key, fields.api_version, fields.correlation_id, client_id)
    finally:
        close_reader(&r)


def decode_response_header(frame, int api_key, int api_version, Py_ssize_t start=0):
    """Return correlation id and position of the body in the response to a request of this key and version."""
    cdef Reader r
    cdef int header_version = response_header_version(api_key, api_version)
    open_reader(&r, frame, start, b"ResponseHeader", <int16_t>header_version)
    try:
        correlation_id = read_int32(at(&r, b"correlation_id"))
        if header_version >= 1:
            skip_tags(at(&r, b"tagged fields"))
        return correlation_id, start + (r.position - r.start)
    finally:
        close_reader(&r)


cdef int write_request_header(
    Writer *w, int16_t api_key, int16_t api_version, int32_t correlation_id, str client_id
) except -1:
    write_int16(w, api_key)
    write_int16(w, api_version)
    write_int32(w, correlation_id)
    write_nullable_string(w, client_id, False)
    if is_flexible(api_key, api_version):
        write_uvarint(w, 0)
    return 0


cdef int write_response_header(Writer *w, int32_t correlation_id, int header_version) except -1:
    write_int32(w, correlation_id)
    if header_version >= 1:
        write_uvarint(w, 0)
    return 0


cdef bytes finish_frame(Writer *w):
    """Write the length field at the start of the frame."""
    store_uint32(w.start, <uint32_t>(bytes_written(w) + w.apart_bytes - FRAME_LENGTH_BYTES))
    return finish_writer(w)


def encode_request(int32_t correlation_id, str client_id, Message message not None, int version):
    """Encode a complete frame, with its length field."""
    cdef Writer w
    check_version(message.info(), version)
    open_message_writer(&w, message.info())
    try:
        reserve(&w, FRAME_LENGTH_BYTES)
        write_request_header(&w, message.info().api_key, <int16_t>version, correlation_id, client_id)
        message.write(&w, <int16_t>version)
        message.info().last_bytes = bytes_written(&w)
        return finish_frame(&w)
    finally:
        close_writer(&w)


cpdef bytes encode_response(int32_t correlation_id, Message message, int version, list apart=None, pause=None):
    """Encode a complete frame, with its length field. The body is encoded in place, without a copy.

    Large records are left out and appended to `apart`, if that is there, as (position in the frame, records).
    `pause` is called after many elements or bytes, and again and again after some more, with the bytes of the buffer.
    """
    cdef Writer w
    if message is None:
        raise TypeError("the message of a response is None")
    check_version(message.info(), version)
    open_message_writer(&w, message.info())
    w.apart = <PyObject *>apart if apart is not None else NULL
    if pause is not None:
        w.pause = <PyObject *>pause
        w.left_in_step = ELEMENTS_AT_FIRST
    try:
        reserve(&w, FRAME_LENGTH_BYTES)
        write_response_header(&w, correlation_id, response_header_version(message.info().api_key, version))
        message.write(&w, <int16_t>version)
        message.info().last_bytes = bytes_written(&w)
        return finish_frame(&w)
    finally:
        close_writer(&w)


cdef list frame_parts(bytes frame, list apart):
    """The pieces of a frame, with those that were left `apart` in their places."""
    cdef Py_ssize_t start = 0, position
    cdef list parts = []
    view = memoryview(frame)
    for position, records in apart:
        parts.append(view[start:position])
        parts.append(records)
        start = position
    if start < len(frame):
        parts.append(view[start:])
    return parts
