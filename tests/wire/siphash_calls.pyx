# cython: language_level=3
"""SipHash, which Python code cannot call, for its test."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

from _wire.siphash cimport Hash, Secret, little_endian_word, siphash


def siphash_of(bytes secret, bytes data):
    cdef Secret key
    cdef Hash found
    key.low = little_endian_word(<const uint8_t *>PyBytes_AS_STRING(secret), 8)
    key.high = little_endian_word(<const uint8_t *>PyBytes_AS_STRING(secret) + 8, 8)
    found = siphash(&key, <const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return found.low.to_bytes(8, "little") + found.high.to_bytes(8, "little")
