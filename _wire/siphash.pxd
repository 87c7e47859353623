"""SipHash-2-4 with 128 bits of output (Aumasson and Bernstein; the reference is github.com/veorq/SipHash)."""

from libc.stdint cimport uint8_t, uint64_t


cdef struct Secret:
    uint64_t low
    uint64_t high


cdef struct Hash:
    uint64_t low
    uint64_t high


cdef inline uint64_t rotated(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))


cdef inline void mix(uint64_t *v, int rounds) noexcept nogil:
    while rounds > 0:
        v[0] += v[1]
        v[1] = rotated(v[1], 13) ^ v[0]
        v[0] = rotated(v[0], 32)
        v[2] += v[3]
        v[3] = rotated(v[3], 16) ^ v[2]
        v[0] += v[3]
        v[3] = rotated(v[3], 21) ^ v[0]
        v[2] += v[1]
        v[1] = rotated(v[1], 17) ^ v[2]
        v[2] = rotated(v[2], 32)
        rounds -= 1


cdef inline uint64_t little_endian_word(const uint8_t *p, Py_ssize_t size) noexcept nogil:
    """Of 0 to 8 bytes."""
    cdef uint64_t word = 0
    while size > 0:
        size -= 1
        word = (word << 8) | p[size]
    return word


cdef inline Hash siphash(const Secret *secret, const uint8_t *data, Py_ssize_t size) noexcept nogil:
    cdef uint64_t v[4]
    cdef uint64_t word
    cdef Py_ssize_t left = size
    cdef Hash found
    v[0] = secret.low ^ <uint64_t>0x736F6D6570736575
    v[1] = secret.high ^ <uint64_t>0x646F72616E646F6D ^ 0xEE
    v[2] = secret.low ^ <uint64_t>0x6C7967656E657261
    v[3] = secret.high ^ <uint64_t>0x7465646279746573
    while left >= 8:
        word = little_endian_word(data, 8)
        v[3] ^= word
        mix(v, 2)
        v[0] ^= word
        data += 8
        left -= 8
    word = little_endian_word(data, left) | (<uint64_t>size << 56)
    v[3] ^= word
    mix(v, 2)
    v[0] ^= word
    v[2] ^= 0xEE
    mix(v, 4)
    found.low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    mix(v, 4)
    found.high = v[0] ^ v[1] ^ v[2] ^ v[3]
    return found
