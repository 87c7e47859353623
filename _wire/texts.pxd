"""Texts in memory: what of CPython is faster than its general decoder, and how to know that it may be used."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 max_character)
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void *PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef enum:
    ASCII_MAX = 127


cdef inline bint is_ascii(const uint8_t *text, Py_ssize_t size) noexcept:
    """Whether no byte has its highest bit set. Tests eight bytes at a time; the last eight may overlap."""
    cdef uint64_t high_bits = <uint64_t>0x8080808080808080
    cdef uint64_t word, seen = 0
    cdef Py_ssize_t i = 0
    if size < 8:
        while i < size:
            seen |= text[i]
            i += 1
        return not seen & 0x80
    while i < size - 8:
        memcpy(&word, text + i, 8)
        seen |= word
        i += 8
    memcpy(&word, text + size - 8, 8)
    return not (seen | word) & high_bits
