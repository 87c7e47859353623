"""The rows of a table as the columns of Arrow, from the start. Compiled: silver and ownership have more rows than there
are events, and a tuple per row, which Arrow takes apart again, cost as much as the decoding of the events.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import msgspec
import pyarrow as pa

cdef object encode = msgspec.json.Encoder().encode
cdef object TEXT = pa.string()
cdef object BINARY = pa.binary()
cdef object NUMBER = pa.int64()
cdef object SMALL_NUMBER = pa.int32()
cdef object BOOLEAN = pa.bool_()
cdef object TIME = pa.timestamp("us", "UTC")

cdef enum:
    FIRST_BYTES = 1024
    MICROSECONDS = 1000                 # of a millisecond


@cython.final
cdef class Bytes:
    """Bytes that grow. Arrow reads them where they lie, when they do not grow any more."""
    cdef uint8_t *start
    cdef Py_ssize_t length
    cdef Py_ssize_t capacity
    cdef bint is_read

    def __cinit__(self):
        self.more(FIRST_BYTES)
        self.length = 0

    def __dealloc__(self):
        free(self.start)

    def __getbuffer__(self, Py_buffer *view, int flags):
        self.is_read = True
        PyBuffer_FillInfo(view, self, self.start, self.length, 1, flags)

    cdef inline uint8_t *more(self, Py_ssize_t count) except NULL:
        """Where the next `count` bytes go, which are part of it from now on."""
        if self.length + count > self.capacity or self.is_read:
            self.grow(self.length + count)
        self.length += count
        return self.start + self.length - count

    cdef int grow(self, Py_ssize_t least) except -1:
        cdef Py_ssize_t new_capacity = max(least, 2 * self.capacity, <Py_ssize_t> FIRST_BYTES)
        cdef uint8_t *moved
        if self.is_read:
            raise BufferError("Arrow has read what would grow")
        moved = <uint8_t *> realloc(self.start, new_capacity)
        if moved is NULL:
            raise MemoryError
        self.start, self.capacity = moved, new_capacity
        return 0


cdef class Column:
    """The values of a column that is appended to. Each kind of column says what is null for want of a place in it."""
    cdef object type
    cdef Bytes values
    cdef Bytes valid                    # a bit per row: whether it is not null
    cdef Py_ssize_t rows
    cdef Py_ssize_t nulls

    def __init__(self, kind):
        self.type = kind
        self.clear()

    cdef clear(self):
        self.values, self.valid = Bytes.__new__(Bytes), Bytes.__new__(Bytes)
        self.rows = self.nulls = 0

    cdef int append(self, object value) except -1:
        raise NotImplementedError

    cdef object mask(self):
        """The bits for Arrow; None says that nothing is null."""
        return pa.py_buffer(self.valid) if self.nulls else None

    cdef object array(self):
        raise NotImplementedError


cdef inline int note(Column column, bint is_valid) except -1:
    """Count a row of a column."""
    cdef Py_ssize_t place = column.rows >> 3
    if place == column.valid.length:
        column.valid.more(1)[0] = 0
    if is_valid:
        column.valid.start[place] |= <uint8_t> (1 << (column.rows & 7))
    else:
        column.nulls += 1
    column.rows += 1
    return 0


@cython.final
cdef class NumberColumn(Column):
    """Of int64, int32 or times, which come in ms and are stored in µs. What does not fit is null."""
    cdef int64_t least
    cdef int64_t most
    cdef int64_t factor

    def __init__(self, kind):
        self.least, self.most, self.factor = INT64_MIN, INT64_MAX, 1
        if kind == SMALL_NUMBER:
            self.least, self.most = -INT32_MAX - 1, INT32_MAX
        elif kind == TIME:
            self.least, self.most, self.factor = INT64_MIN // MICROSECONDS, INT64_MAX // MICROSECONDS, MICROSECONDS
        Column.__init__(self, kind)

    cdef int append(self, object value) except -1:
        cdef int64_t number = 0
        cdef bint is_valid = type(value) is int
        if is_valid:
            try:
                number = value
            except OverflowError:
                is_valid = False
            else:
                is_valid = self.least <= number <= self.most
        (<int64_t *> self.values.more(sizeof(int64_t)))[0] = number * self.factor if is_valid else 0
        return note(self, is_valid)

    cdef object array(self):
        whole = NUMBER if self.type == SMALL_NUMBER else self.type
        found = pa.Array.from_buffers(whole, self.rows, [self.mask(), pa.py_buffer(self.values)], self.nulls)
        return found.cast(self.type)


@cython.final
cdef class FlagColumn(Column):
    """Of truth values, each a bit."""

    cdef int append(self, object value) except -1:
        cdef Py_ssize_t place = self.rows >> 3
        if place == self.values.length:
            self.values.more(1)[0] = 0
        if value is True:
            self.values.start[place] |= <uint8_t> (1 << (self.rows & 7))
        return note(self, value is True or value is False)

    cdef object array(self):
        return pa.Array.from_buffers(self.type, self.rows, [self.mask(), pa.py_buffer(self.values)], self.nulls)


@cython.final
cdef class TextColumn(Column):
    """Of strings or bytes. In a column of strings, a value of another type is its JSON."""
    cdef Bytes ends                     # where each value ends in `values`, as Arrow wants it: the first one is 0
    cdef list full                      # Arrow arrays: each holds `array_bytes_max` at most
    cdef Py_ssize_t array_bytes_max

    def __init__(self, kind, Py_ssize_t array_bytes_max):
        self.full, self.array_bytes_max = [], array_bytes_max
        Column.__init__(self, kind)

    cdef clear(self):
        Column.clear(self)
        self.ends = Bytes.__new__(Bytes)
        (<int32_t *> self.ends.more(sizeof(int32_t)))[0] = 0

    cdef int append(self, object value) except -1:
        cdef const char *text
        cdef Py_ssize_t size = 0
        if value is None:
            self.end()
            return note(self, False)
        if not isinstance(value, (str, bytes)):
            value = bytes(value) if self.type == BINARY else encode(value)
        if isinstance(value, str):
            try:
                text = PyUnicode_AsUTF8AndSize(value, &size)
            except UnicodeEncodeError:  # half of a surrogate pair
                return self.append(value.encode(errors="replace"))
        else:
            text, size = PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        if size > self.array_bytes_max - self.values.length and self.rows:
            self.full.append(self.part())
            self.clear()
        memcpy(self.values.more(size), text, size)
        self.end()
        return note(self, True)

    cdef inline int end(self) except -1:
        (<int32_t *> self.ends.more(sizeof(int32_t)))[0] = <int32_t> self.values.length
        return 0

    cdef object part(self):
        buffers = [self.mask(), pa.py_buffer(self.ends), pa.py_buffer(self.values)]
        found = pa.Array.from_buffers(BINARY, self.rows, buffers, self.nulls)
        if self.type == BINARY:
            return found
        try:
            return found.cast(TEXT)
        except pa.ArrowInvalid:  # bytes that are no UTF-8
            texts = [None if value is None else value.decode(errors="replace") for value in found.to_pylist()]
            return pa.array(texts, TEXT)

    cdef object array(self):
        return pa.chunked_array([*self.full, self.part()], self.type)


cdef Column column_of(object kind, Py_ssize_t array_bytes_max):
    if kind in (TEXT, BINARY):
        return TextColumn(kind, array_bytes_max)
    if kind == BOOLEAN:
        return FlagColumn(kind)
    if kind in (NUMBER, SMALL_NUMBER, TIME):
        return NumberColumn(kind)
    raise TypeError(f"no column of {kind}")


@cython.final
cdef class RowColumns:
    """The rows of a table, kept by column. See row_columns.pyi."""
    cdef object schema
    cdef list columns
    cdef list names
    cdef Py_ssize_t rows

    def __init__(self, schema, Py_ssize_t array_bytes_max=INT32_MAX):
        self.schema = schema
        self.columns = [column_of(field.type, array_bytes_max) for field in schema]
        self.names = [
            field.name.removesuffix("_at") + "_ms" if field.type == TIME else field.name for field in schema
        ]

    def __len__(self):
        return self.rows

    def append(self, row):
        cdef Py_ssize_t place
        cdef PyObject *found
        cdef Py_ssize_t count = len(self.columns)
        if type(row) is tuple:
            if PyTuple_GET_SIZE(row) != count:
                raise ValueError(f"{PyTuple_GET_SIZE(row)} values for {count} columns")
            for place in range(count):
                (<Column> self.columns[place]).append(<object> PyTuple_GET_ITEM(row, place))
        else:
            for place in range(count):
                found = PyDict_GetItem(row, self.names[place])
                (<Column> self.columns[place]).append(None if found is NULL else <object> found)
        self.rows += 1

    def table(self):
        return pa.table([(<Column> column).array() for column in self.columns], schema=self.schema)
