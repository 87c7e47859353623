"""Integers in memory, big endian as all that Kafka sends and stores."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef extern from "arpa/inet.h":                     # one instruction each, which shifts are not at every -O level
    uint16_t htons(uint16_t value) noexcept nogil
    uint32_t htonl(uint32_t value) noexcept nogil
    uint16_t ntohs(uint16_t value) noexcept nogil
    uint32_t ntohl(uint32_t value) noexcept nogil


cdef inline uint16_t load_uint16(const uint8_t *p) noexcept nogil:
    cdef uint16_t value
    memcpy(&value, p, 2)
    return ntohs(value)


cdef inline uint32_t load_uint32(const uint8_t *p) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, p, 4)
    return ntohl(value)


cdef inline uint64_t load_uint64(const uint8_t *p) noexcept nogil:
    return (<uint64_t>load_uint32(p) << 32) | load_uint32(p + 4)


cdef inline void store_uint16(uint8_t *p, uint16_t value) noexcept nogil:
    value = htons(value)
    memcpy(p, &value, 2)


cdef inline void store_uint32(uint8_t *p, uint32_t value) noexcept nogil:
    value = htonl(value)
    memcpy(p, &value, 4)


cdef inline void store_uint64(uint8_t *p, uint64_t value) noexcept nogil:
    store_uint32(p, <uint32_t>(value >> 32))
    store_uint32(p + 4, <uint32_t>value)
