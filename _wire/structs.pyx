"""What the generated structs and messages have in common: versions, equality, text, and encoding."""

from _wire.writer cimport SMALL_BUFFER_BYTES, bytes_written, close_writer, finish_writer, open_writer

from abc import ABCMeta

Buffer = bytes | bytearray | memoryview                 # what messages are decoded from, for annotations

# Most group messages fit, so that the buffer does not grow. (pymalloc serves up to 512 bytes, including the header.)
cdef enum:
    FIRST_BUFFER_BYTES = 448
    SPARE_BYTES = 128                   # a frame's length and header, and ids that are a little longer than the last


cdef int check_version(MessageInfo *info, int version) except -1:
    if info == NULL:
        raise TypeError("only messages made from a definition have versions")
    if version < info.version_min or version > info.version_max:
        name = info.name.decode("ascii")
        raise ValueError(f"{name} has versions {info.version_min} to {info.version_max}, not {version}")
    return 0


cdef int open_message_writer(Writer *w, MessageInfo *info) except -1:
    cdef Py_ssize_t likely = info.last_bytes + SPARE_BYTES
    return open_writer(w, min(max(likely, FIRST_BUFFER_BYTES), SMALL_BUFFER_BYTES), info.name)


cdef list as_list(object elements):
    return elements if elements is None or type(elements) is list else list(elements)


class Struct(metaclass=ABCMeta):
    """The type of structs for Python. In C they have no base class (codegen/modules.py has the reason), but FIELDS."""

    @classmethod
    def __subclasshook__(cls, other):
        return hasattr(other, "FIELDS") if cls is Struct else NotImplemented


cdef object fields_are_equal(object one, object other):
    if type(one) is not type(other):
        return NotImplemented
    return all(getattr(one, name) == getattr(other, name) for name in one.FIELDS)


cdef str fields_text(object one):
    fields = ", ".join(f"{name}={getattr(one, name)!r}" for name in one.FIELDS)
    return f"{type(one).__name__}({fields})"


cdef class Message:
    FIELDS = ()
    ARRAYS = ()

    cdef int write(self, Writer *w, int16_t version) except -1:
        raise NotImplementedError(type(self).__name__)

    def __eq__(self, other):
        return fields_are_equal(self, other)

    def __repr__(self):
        return fields_text(self)

    cdef MessageInfo *info(self) noexcept:
        return NULL

    def encode(self, int version):
        """Encode the body, without a header. Raises ValueError for an unknown version or an invalid value."""
        cdef Writer w
        cdef MessageInfo *info = self.info()
        check_version(info, version)
        open_message_writer(&w, info)
        try:
            self.write(&w, <int16_t>version)
            info.last_bytes = bytes_written(&w)
            return finish_writer(&w)
        finally:
            close_writer(&w)
