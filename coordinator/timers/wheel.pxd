cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    SLOT_BITS = 6
    SLOTS_PER_LEVEL = 64      # 1 << SLOT_BITS: one machine word says which slots of a level are occupied
    LEVELS = 11               # 11 * 6 = 66 bits: any int64 deadline has a place, so there is no overflow list
    OVERDUE_SLOT = 704        # LEVELS * SLOTS_PER_LEVEL: started with a deadline that had passed already
    SLOTS = 705
    NODES_PER_CHUNK_BITS = 14
    NODES_PER_CHUNK = 16384   # 1 << NODES_PER_CHUNK_BITS; 24 bytes each, a chunk's pages are touched only when used


cdef struct Node:             # a timer, 24 bytes; its key is keys[index of the node]
    int64_t deadline_ms
    uint32_t previous         # neighbours in the slot; `next` also chains the free list
    uint32_t next
    uint32_t generation       # changes when the timer ends: an old number no longer fits
    uint32_t slot


cdef struct Slot:
    int64_t earliest_ms       # no timer of the slot is due before; exact until that timer is cancelled
    uint32_t first
    uint32_t last


@cython.final
cdef class TimerWheel:
    cdef readonly int64_t now_ms
    cdef readonly Py_ssize_t pending
    cdef list keys
    cdef Node **chunks
    cdef uint32_t chunk_count
    cdef uint32_t node_count  # nodes handed out so far, in use or on the free list
    cdef uint32_t first_free
    cdef uint32_t occupied_levels
    cdef uint64_t occupied_slots[LEVELS]
    cdef Slot slots[SLOTS]

    cpdef uint64_t start(self, object key, int64_t deadline_ms) except 0
    cpdef bint restart(self, uint64_t timer, int64_t deadline_ms) noexcept
    cpdef bint cancel(self, uint64_t timer) noexcept
    cpdef list advance(self, int64_t now_ms)
    cpdef int64_t next_deadline_ms(self) noexcept

    cdef Node *node_at(self, uint32_t index) noexcept
    cdef Node *live_node(self, uint64_t timer) noexcept
    cdef int add_node(self) except -1
    cdef void place(self, uint32_t index, Node *node) noexcept
    cdef void unlink(self, Node *node) noexcept
    cdef void mark_empty(self, uint32_t slot) noexcept
    cdef void release(self, uint32_t index, Node *node) noexcept
    cdef void cascade(self, uint32_t slot) noexcept
    cdef int fire(self, uint32_t slot, list due) except -1
    cdef list overdue_by_deadline(self)
