cimport cython
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef enum:
    SLOT_BITS = 6
    SLOTS_PER_LEVEL = 64      # 1 << SLOT_BITS: one machine word marks the occupied slots of a level
    LEVELS = 11               # 11 * 6 = 66 bits: any int64 deadline has a slot, so there is no overflow list
    OVERDUE_SLOT = 704        # LEVELS * SLOTS_PER_LEVEL: timers that were started after their deadline
    SLOTS = 705
    CACHE_LINE_BYTES = 64
    NODES_PER_RUN = 13        # as many as fit a cache line
    SEAT_BITS = 4             # enough for the index of a place in a run
    CHUNK_BITS = 12
    NODES_PER_CHUNK = 4096    # 1 << CHUNK_BITS; a chunk's pages are touched only when used


cdef struct Node:             # a timer, 16 bytes; its key is keys[index of the node]
    int64_t deadline_ms
    uint32_t seat             # index of the run << SEAT_BITS | place in it; also chains the free list
    uint32_t generation       # changes when the timer ends, which makes its number stale


cdef struct Run:              # consecutive nodes of a slot, 64 bytes
    uint32_t previous         # neighbours in the slot; `next` also chains the free list
    uint32_t next
    uint32_t slot
    uint32_t nodes[NODES_PER_RUN]


cdef struct Chunk:            # as many runs as nodes: no run in use is empty, so there is a free one when a timer moves
    Run runs[NODES_PER_CHUNK]
    Node nodes[NODES_PER_CHUNK]
    uint16_t occupied[NODES_PER_CHUNK]   # a bit per place of a run; separate, so that a cancel need not load the run


cdef struct Slot:
    int64_t earliest_ms       # no timer of the slot is due before; exact unless a timer was cancelled
    uint32_t first            # and last run
    uint32_t last


@cython.final
cdef class TimerWheel:
    cdef readonly int64_t now_ms
    cdef readonly Py_ssize_t pending
    cdef list keys
    cdef Chunk **chunks
    cdef uint32_t chunk_count
    cdef uint32_t node_count  # nodes handed out so far, in use or on the free list
    cdef uint32_t run_count   # the same of runs
    cdef uint32_t first_free_node
    cdef uint32_t first_free_run
    cdef uint32_t occupied_levels
    cdef uint64_t occupied_slots[LEVELS]
    cdef Slot slots[SLOTS]

    cpdef uint64_t start(self, object key, int64_t deadline_ms) except 0
    cpdef bint restart(self, uint64_t timer, int64_t deadline_ms) noexcept
    cpdef bint cancel(self, uint64_t timer) noexcept
    cpdef list advance(self, int64_t now_ms)
    cpdef int64_t next_deadline_ms(self) noexcept

    cdef Node *node_at(self, uint32_t index) noexcept
    cdef Run *run_at(self, uint32_t index) noexcept
    cdef uint16_t *occupied_at(self, uint32_t run_index) noexcept
    cdef Node *live_node(self, uint64_t timer) noexcept
    cdef int add_node(self) except -1
    cdef int add_chunk(self) except -1
    cdef void place(self, uint32_t index, Node *node) noexcept
    cdef void unlink(self, Node *node) noexcept
    cdef uint32_t append_run(self, uint32_t slot_index) noexcept
    cdef void remove_run(self, uint32_t index) noexcept
    cdef void mark_empty(self, uint32_t slot_index) noexcept
    cdef uint32_t read_run(self, uint32_t index, uint32_t *nodes) noexcept
    cdef void prefetch_run(self, uint32_t index) noexcept
    cdef void release(self, uint32_t index, Node *node) noexcept
    cdef void cascade(self, uint32_t slot_index) noexcept
    cdef int fire(self, uint32_t slot_index, list due) except -1
    cdef list overdue_by_deadline(self)
