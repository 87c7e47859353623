"""What the generated structs and messages have in common."""

from libc.stdint cimport int16_t

from _wire.writer cimport Writer


cdef struct MessageInfo:
    const char *name                    # JoinGroupRequest
    int16_t api_key                     # -1: no API, but a format inside other bytes
    int16_t version_min
    int16_t version_max
    int16_t flexible_from               # version_max + 1 if it never is
    Py_ssize_t last_bytes               # of the last one that was written: the next one is likely to need as many


cdef int check_version(MessageInfo *info, int version) except -1
cdef int open_message_writer(Writer *w, MessageInfo *info) except -1      # with room for a message like the last one
cdef list as_list(object elements)                  # None, a list as it is, anything else iterable as a new list


# The implementations of == and repr() for structs and messages.
cdef object fields_are_equal(object one, object other)
cdef str fields_text(object one)


cdef class Message:
    """A top-level struct: a request, a response, or a record of an internal topic."""

    cdef int write(self, Writer *w, int16_t version) except -1
    cdef MessageInfo *info(self) noexcept
