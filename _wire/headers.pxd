"""Headers of requests and responses, for compiled servers."""

from libc.stdint cimport int16_t, int32_t

from _wire.reader cimport Reader
from _wire.structs cimport Message
from _wire.writer cimport Writer


cdef struct HeaderFields:
    int16_t api_key
    int16_t api_version
    int32_t correlation_id
    const char *client_id               # UTF-8 within the frame, not checked; valid as long as the frame is
    Py_ssize_t client_id_size           # -1 for null


cdef class RequestHeader:
    cdef readonly int16_t api_key
    cdef readonly int16_t api_version
    cdef readonly int32_t correlation_id
    cdef readonly str client_id
    cdef tuple fields(self)


cpdef int request_header_version(int api_key, int api_version) except -1
cpdef int response_header_version(int api_key, int api_version) except -1

# Reads up to the first byte of the body. Unknown API keys are read as not flexible.
cdef int read_request_header(Reader *r, HeaderFields *header) except -1

# The header, of any key and version, and where the body begins in `frame`.
cdef RequestHeader request_header(frame, Py_ssize_t start, Py_ssize_t *body_start)

cdef int write_response_header(Writer *w, int32_t correlation_id, int header_version) except -1

cpdef bytes encode_response(int32_t correlation_id, Message message, int version, list apart=*, pause=*)
cdef list frame_parts(bytes frame, list apart)
