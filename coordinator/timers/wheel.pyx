# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A hierarchical timing wheel (Varghese and Lauck 1987, scheme 7) with a tick of one millisecond.

A deadline is read as a number of eleven digits of six bits. A timer lies on the level of the highest digit in which its
deadline differs from the present time, in the slot which that digit names. Three things follow:

- Every deadline on a level comes before every deadline on the levels above, and slots of a level come in order: the
  earliest occupied slot is two `ctz` away.
- When time enters a slot above level 0, its timers move to lower levels: each timer at most ten times.
- Equal deadlines always share a slot, so appending to the slot's list keeps them in the order they were started.
"""

cimport cython
from cpython.list cimport PyList_GET_SIZE
from libc.stdint cimport UINT32_MAX
from libc.stdlib cimport free, malloc, realloc

cdef extern from *:
    int count_leading_zeros "__builtin_clzll"(unsigned long long) noexcept
    int count_trailing_zeros "__builtin_ctzll"(unsigned long long) noexcept

cdef uint32_t NIL = UINT32_MAX


cdef inline int64_t start_of_slot(int64_t now_ms, uint32_t digit, int shift) noexcept:
    """The first millisecond of a slot: the digits above its level as in `now_ms`, its own digit, then zeros."""
    cdef uint64_t higher_digits = ~((<uint64_t>SLOTS_PER_LEVEL << shift) - 1)
    return (now_ms & higher_digits) | (<uint64_t>digit << shift)


# No tp_clear: it would set `keys` to None. The list has its own, which breaks any cycle through a key; what comes later
# (only destructors can) finds the list empty and every number stale.
@cython.no_gc_clear
cdef class TimerWheel:

    def __cinit__(self, int64_t start_ms=0):
        if start_ms < 0:
            raise ValueError(f"start_ms is before the epoch: {start_ms}")
        cdef uint32_t slot
        self.now_ms = start_ms
        self.keys = []
        self.first_free = NIL
        for slot in range(<uint32_t>SLOTS):
            self.slots[slot].first = self.slots[slot].last = NIL

    def __dealloc__(self):
        cdef uint32_t chunk
        for chunk in range(self.chunk_count):
            free(self.chunks[chunk])
        free(self.chunks)

    @property
    def capacity(self):
        return self.node_count

    cpdef uint64_t start(self, object key, int64_t deadline_ms) except 0:
        if self.first_free == NIL:
            self.add_node()
        cdef uint32_t index = self.first_free
        cdef Node *node = self.node_at(index)
        if index >= PyList_GET_SIZE(self.keys):
            raise RuntimeError("the wheel has been garbage collected")
        self.first_free = node.next
        node.deadline_ms = deadline_ms
        self.place(index, node)
        self.pending += 1
        self.keys[index] = key
        return (<uint64_t>node.generation << 32) | index

    cpdef bint restart(self, uint64_t timer, int64_t deadline_ms) noexcept:
        cdef Node *node = self.live_node(timer)
        if node == NULL:
            return False
        self.unlink(node)
        node.deadline_ms = deadline_ms
        self.place(<uint32_t>timer, node)
        return True

    cpdef bint cancel(self, uint64_t timer) noexcept:
        cdef Node *node = self.live_node(timer)
        if node == NULL:
            return False
        self.unlink(node)
        self.release(<uint32_t>timer, node)
        return True

    cpdef list advance(self, int64_t now_ms):
        cdef list due = self.overdue_by_deadline()
        cdef int level, shift
        cdef uint32_t digit
        cdef int64_t slot_start_ms
        while self.occupied_levels:
            level = count_trailing_zeros(self.occupied_levels)
            shift = level * SLOT_BITS
            digit = count_trailing_zeros(self.occupied_slots[level])
            slot_start_ms = start_of_slot(self.now_ms, digit, shift)
            if slot_start_ms > now_ms:
                break
            self.now_ms = slot_start_ms
            if level == 0:
                self.fire(digit, due)
            else:
                self.cascade(level * SLOTS_PER_LEVEL + digit)
                self.fire(OVERDUE_SLOT, due)        # those due at the slot's very start
        if now_ms > self.now_ms:
            self.now_ms = now_ms
        return due

    cpdef int64_t next_deadline_ms(self) noexcept:
        if self.slots[OVERDUE_SLOT].first != NIL:
            return self.now_ms
        if self.occupied_levels == 0:
            return -1
        cdef int level = count_trailing_zeros(self.occupied_levels)
        return self.slots[level * SLOTS_PER_LEVEL + count_trailing_zeros(self.occupied_slots[level])].earliest_ms

    cdef Node *node_at(self, uint32_t index) noexcept:
        return &self.chunks[index >> NODES_PER_CHUNK_BITS][index & (NODES_PER_CHUNK - 1)]

    cdef Node *live_node(self, uint64_t timer) noexcept:
        """The node of a pending timer, NULL for a number that is stale or was never given."""
        cdef uint32_t index = <uint32_t>timer
        if index >= PyList_GET_SIZE(self.keys):
            return NULL
        cdef Node *node = self.node_at(index)
        return node if timer >> 32 != 0 and node.generation == timer >> 32 else NULL

    cdef int add_node(self) except -1:
        """Put one more node on the empty free list."""
        cdef uint32_t index = self.node_count
        cdef void *grown
        if index == NIL:
            raise MemoryError("2^32 timers")
        if index >> NODES_PER_CHUNK_BITS == self.chunk_count:
            grown = realloc(self.chunks, (self.chunk_count + 1) * sizeof(Node *))
            if grown == NULL:
                raise MemoryError()
            self.chunks = <Node **>grown
            self.chunks[self.chunk_count] = <Node *>malloc(NODES_PER_CHUNK * sizeof(Node))
            if self.chunks[self.chunk_count] == NULL:
                raise MemoryError()
            self.chunk_count += 1
        self.keys.append(None)
        self.node_count += 1
        self.node_at(index).generation = 1
        self.node_at(index).next = NIL
        self.first_free = index
        return 0

    cdef void place(self, uint32_t index, Node *node) noexcept:
        """Append a node to the slot where its deadline belongs as seen from `now_ms`."""
        cdef int level
        cdef uint32_t digit
        if node.deadline_ms <= self.now_ms:
            node.slot = OVERDUE_SLOT
        else:
            level = (63 - count_leading_zeros(self.now_ms ^ node.deadline_ms)) // SLOT_BITS
            digit = (node.deadline_ms >> (level * SLOT_BITS)) & (SLOTS_PER_LEVEL - 1)
            node.slot = level * SLOTS_PER_LEVEL + digit
            self.occupied_slots[level] |= <uint64_t>1 << digit
            self.occupied_levels |= <uint32_t>1 << level
        cdef Slot *slot = &self.slots[node.slot]
        node.previous = slot.last
        node.next = NIL
        if slot.last == NIL:
            slot.first = index
            slot.earliest_ms = node.deadline_ms
        else:
            self.node_at(slot.last).next = index
            if node.deadline_ms < slot.earliest_ms:
                slot.earliest_ms = node.deadline_ms
        slot.last = index

    cdef void unlink(self, Node *node) noexcept:
        cdef Slot *slot = &self.slots[node.slot]
        if node.previous == NIL:
            slot.first = node.next
        else:
            self.node_at(node.previous).next = node.next
        if node.next == NIL:
            slot.last = node.previous
        else:
            self.node_at(node.next).previous = node.previous
        if slot.first == NIL and node.slot != OVERDUE_SLOT:
            self.mark_empty(node.slot)

    cdef void mark_empty(self, uint32_t slot) noexcept:
        cdef uint32_t level = slot >> SLOT_BITS
        self.occupied_slots[level] &= ~(<uint64_t>1 << (slot & (SLOTS_PER_LEVEL - 1)))
        if self.occupied_slots[level] == 0:
            self.occupied_levels &= ~(<uint32_t>1 << level)

    cdef void release(self, uint32_t index, Node *node) noexcept:
        """Give an unlinked node back and drop its key: last, for a destructor may call the wheel again."""
        self.pending -= 1
        node.generation += 1
        if node.generation != 0:     # after 2^32 timers a node is retired, or an old number could fit again
            node.next = self.first_free
            self.first_free = index
        self.keys[index] = None

    cdef void cascade(self, uint32_t slot) noexcept:
        """Move the timers of a slot that time has entered to the levels below, in their order."""
        cdef uint32_t index = self.slots[slot].first
        cdef uint32_t following
        cdef Node *node
        self.slots[slot].first = self.slots[slot].last = NIL
        self.mark_empty(slot)
        while index != NIL:
            node = self.node_at(index)
            following = node.next
            self.place(index, node)
            index = following

    cdef int fire(self, uint32_t slot, list due) except -1:
        """Move the keys of a slot's timers to `due`; every step leaves the wheel whole."""
        cdef uint32_t index
        cdef Node *node
        while self.slots[slot].first != NIL:
            index = self.slots[slot].first
            node = self.node_at(index)
            due.append(self.keys[index])
            self.unlink(node)
            self.release(index, node)
        return 0

    cdef list overdue_by_deadline(self):
        """Fire the timers that were started too late; only these may lie in their slot out of order."""
        cdef list due = []
        cdef list deadlines_ms = []
        cdef uint32_t index = self.slots[OVERDUE_SLOT].first
        while index != NIL:
            deadlines_ms.append(self.node_at(index).deadline_ms)
            index = self.node_at(index).next
        self.fire(OVERDUE_SLOT, due)
        if len(due) < 2:
            return due
        return [due[position] for position in sorted(range(len(due)), key=deadlines_ms.__getitem__)]
