# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A hierarchical timing wheel (Varghese and Lauck 1987, scheme 7) with a tick of one millisecond.

A deadline is treated as a number of eleven digits of six bits. The level of a timer is the highest digit in which its
deadline differs from the current time, and its slot on that level is the value of that digit. This has three
consequences:

- All deadlines on a level are earlier than all deadlines on higher levels, and the slots of a level are in order, so
  two `ctz` instructions find the earliest occupied slot.
- When the time reaches a slot above level 0, its timers move to lower levels. Each timer moves at most ten times.
- Equal deadlines are always in the same slot, so appending to its list keeps them in the order of their start.

A slot has a list of runs, and a run has the indexes of up to thirteen timers. If the timers themselves were linked,
each would have to be loaded from memory before the next is known. The timers of a run are prefetched together while the
previous run is handled. A cancelled timer leaves its place in the run empty. A run without timers is removed.
"""

cimport cython
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport UINT32_MAX
from libc.stdlib cimport free, realloc
from posix.stdlib cimport posix_memalign

cdef extern from "Python.h":
    ctypedef struct PyListObject:
        PyObject **ob_item

cdef extern from *:
    """
    static inline void prefetch(const void *address) {
        __builtin_prefetch(address);
        /* GCC omits calls of a function without side effects, so this one needs one. */
        __asm__ volatile("");
    }
    """
    void prefetch(const void *) noexcept
    int count_leading_zeros "__builtin_clzll"(unsigned long long) noexcept
    int count_trailing_zeros "__builtin_ctzll"(unsigned long long) noexcept

cdef uint32_t NIL = UINT32_MAX


cdef inline void swap(PyObject **one, PyObject **other) noexcept:
    cdef PyObject *held = one[0]
    one[0] = other[0]
    other[0] = held


cdef inline int64_t start_of_slot(int64_t now_ms, uint32_t digit, int shift) noexcept:
    """The first millisecond of a slot: the higher digits of `now_ms`, the digit of the slot, then zeros."""
    cdef uint64_t higher_digits = ~((<uint64_t>SLOTS_PER_LEVEL << shift) - 1)
    return (now_ms & higher_digits) | (<uint64_t>digit << shift)


# No tp_clear, because it would set `keys` to None. The list has its own, which breaks any cycle through a key. Later
# calls, which only destructors can make, find an empty list and stale numbers.
@cython.no_gc_clear
cdef class TimerWheel:

    def __cinit__(self, int64_t start_ms=0):
        if start_ms < 0:
            raise ValueError(f"start_ms is before the epoch: {start_ms}")
        cdef uint32_t slot
        self.now_ms = start_ms
        self.keys = []
        self.first_free_node = self.first_free_run = NIL
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
        if self.first_free_node == NIL:
            self.add_node()
        cdef uint32_t index = self.first_free_node
        cdef Node *node = self.node_at(index)
        if index >= PyList_GET_SIZE(self.keys):
            raise RuntimeError("the wheel has been garbage collected")
        self.first_free_node = node.seat
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
        self.keys[<uint32_t>timer] = None      # last, because a destructor may call the wheel
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
                self.fire(OVERDUE_SLOT, due)        # those due at the first millisecond of the slot
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
        return &self.chunks[index >> CHUNK_BITS].nodes[index & (NODES_PER_CHUNK - 1)]

    cdef Run *run_at(self, uint32_t index) noexcept:
        return &self.chunks[index >> CHUNK_BITS].runs[index & (NODES_PER_CHUNK - 1)]

    cdef uint16_t *occupied_at(self, uint32_t run_index) noexcept:
        return &self.chunks[run_index >> CHUNK_BITS].occupied[run_index & (NODES_PER_CHUNK - 1)]

    cdef Node *live_node(self, uint64_t timer) noexcept:
        """The node of a pending timer; NULL for a number that is stale or unknown."""
        cdef uint32_t index = <uint32_t>timer
        if index >= PyList_GET_SIZE(self.keys):
            return NULL
        cdef Node *node = self.node_at(index)
        return node if timer >> 32 != 0 and node.generation == timer >> 32 else NULL

    cdef int add_node(self) except -1:
        """Put one more node on the empty free list."""
        cdef uint32_t index = self.node_count
        if index >> (32 - SEAT_BITS):
            raise MemoryError("2^28 timers")
        if index >> CHUNK_BITS == self.chunk_count:
            self.add_chunk()
        self.keys.append(None)
        self.node_count += 1
        self.node_at(index).generation = 1
        self.node_at(index).seat = NIL
        self.first_free_node = index
        return 0

    cdef int add_chunk(self) except -1:
        cdef void *chunks = realloc(self.chunks, (self.chunk_count + 1) * sizeof(Chunk *))
        cdef void *chunk
        if chunks == NULL:
            raise MemoryError()
        self.chunks = <Chunk **>chunks
        if posix_memalign(&chunk, CACHE_LINE_BYTES, sizeof(Chunk)) != 0:
            raise MemoryError()
        self.chunks[self.chunk_count] = <Chunk *>chunk
        self.chunk_count += 1
        return 0

    cdef void place(self, uint32_t index, Node *node) noexcept:
        """Append a node to the slot of its deadline, relative to `now_ms`."""
        cdef int level
        cdef uint32_t digit
        cdef uint32_t slot_index = OVERDUE_SLOT
        if node.deadline_ms > self.now_ms:
            level = (63 - count_leading_zeros(self.now_ms ^ node.deadline_ms)) // SLOT_BITS
            digit = (node.deadline_ms >> (level * SLOT_BITS)) & (SLOTS_PER_LEVEL - 1)
            slot_index = level * SLOTS_PER_LEVEL + digit
            self.occupied_slots[level] |= <uint64_t>1 << digit
            self.occupied_levels |= <uint32_t>1 << level
        cdef Slot *slot = &self.slots[slot_index]
        if slot.last == NIL or node.deadline_ms < slot.earliest_ms:
            slot.earliest_ms = node.deadline_ms
        cdef uint32_t run_index = slot.last
        if run_index == NIL or self.occupied_at(run_index)[0] >> (NODES_PER_RUN - 1):
            run_index = self.append_run(slot_index)
        cdef uint16_t *occupied = self.occupied_at(run_index)
        cdef uint32_t place = 63 - count_leading_zeros(2 * occupied[0] + 1)   # after the last occupied one
        occupied[0] |= <uint16_t>1 << place
        self.run_at(run_index).nodes[place] = index
        node.seat = run_index << SEAT_BITS | place

    cdef void unlink(self, Node *node) noexcept:
        """Remove a node from its run."""
        cdef uint32_t run_index = node.seat >> SEAT_BITS
        cdef uint16_t *occupied = self.occupied_at(run_index)
        occupied[0] &= ~(<uint16_t>1 << (node.seat & ((1 << SEAT_BITS) - 1)))
        if occupied[0] == 0:
            self.remove_run(run_index)

    cdef uint32_t append_run(self, uint32_t slot_index) noexcept:
        """Append an empty run to a slot. The caller puts a node into it at once."""
        cdef uint32_t index = self.first_free_run
        if index == NIL:
            index = self.run_count
            self.run_count += 1
        else:
            self.first_free_run = self.run_at(index).next
        cdef Slot *slot = &self.slots[slot_index]
        cdef Run *run = self.run_at(index)
        run.previous = slot.last
        run.next = NIL
        run.slot = slot_index
        self.occupied_at(index)[0] = 0
        if slot.last == NIL:
            slot.first = index
        else:
            self.run_at(slot.last).next = index
        slot.last = index
        return index

    cdef void remove_run(self, uint32_t index) noexcept:
        cdef Run *run = self.run_at(index)
        cdef Slot *slot = &self.slots[run.slot]
        if run.previous == NIL:
            slot.first = run.next
        else:
            self.run_at(run.previous).next = run.next
        if run.next == NIL:
            slot.last = run.previous
        else:
            self.run_at(run.next).previous = run.previous
        if slot.first == NIL and run.slot != OVERDUE_SLOT:
            self.mark_empty(run.slot)
        run.next = self.first_free_run
        self.first_free_run = index

    cdef void mark_empty(self, uint32_t slot_index) noexcept:
        cdef uint32_t level = slot_index >> SLOT_BITS
        self.occupied_slots[level] &= ~(<uint64_t>1 << (slot_index & (SLOTS_PER_LEVEL - 1)))
        if self.occupied_slots[level] == 0:
            self.occupied_levels &= ~(<uint32_t>1 << level)

    cdef uint32_t read_run(self, uint32_t index, uint32_t *nodes) noexcept:
        """Copy the indexes of the nodes of a run, in order, and return how many there are."""
        cdef Run *run = self.run_at(index)
        cdef uint32_t left = self.occupied_at(index)[0]
        cdef uint32_t count = 0
        self.prefetch_run(run.next)
        while left:
            nodes[count] = run.nodes[count_trailing_zeros(left)]
            left &= left - 1
            count += 1
        return count

    cdef void prefetch_run(self, uint32_t index) noexcept:
        """Prefetch what is read next: the nodes of the run, and the run after it."""
        if index == NIL:
            return
        cdef Run *run = self.run_at(index)
        cdef uint32_t left = self.occupied_at(index)[0]
        if run.next != NIL:
            prefetch(self.run_at(run.next))
            prefetch(self.occupied_at(run.next))
        while left:
            prefetch(self.node_at(run.nodes[count_trailing_zeros(left)]))
            left &= left - 1

    cdef void release(self, uint32_t index, Node *node) noexcept:
        """Free a node that is in no run. The caller drops its key."""
        self.pending -= 1
        node.generation += 1
        if node.generation != 0:     # after 2^32 timers a node is not reused, so that old numbers stay stale
            node.seat = self.first_free_node
            self.first_free_node = index

    cdef void cascade(self, uint32_t slot_index) noexcept:
        """Move the timers of a slot that the time has reached to lower levels, in order."""
        cdef Slot *slot = &self.slots[slot_index]
        cdef uint32_t nodes[NODES_PER_RUN]
        cdef uint32_t count, place
        while slot.first != NIL:
            count = self.read_run(slot.first, nodes)
            self.remove_run(slot.first)             # first, so that a run is free for a lower slot
            for place in range(count):
                self.place(nodes[place], self.node_at(nodes[place]))

    cdef int fire(self, uint32_t slot_index, list due) except -1:
        """Move the keys of the timers of a slot to `due`. An exception leaves the wheel consistent.

        Each key is swapped with a None. So its reference count does not change, and the key need not be loaded.
        """
        cdef Slot *slot = &self.slots[slot_index]
        cdef PyObject **keys = (<PyListObject *>self.keys).ob_item
        cdef uint32_t nodes[NODES_PER_RUN]
        cdef uint32_t count, place
        cdef Py_ssize_t fired
        while slot.first != NIL:
            count = self.read_run(slot.first, nodes)
            fired = PyList_GET_SIZE(due)
            for _ in range(count):
                due.append(None)                    # may raise, before anything has changed
            for place in range(count):
                swap(&(<PyListObject *>due).ob_item[fired + place], &keys[nodes[place]])
                self.release(nodes[place], self.node_at(nodes[place]))
            self.remove_run(slot.first)
        return 0

    cdef list overdue_by_deadline(self):
        """Fire the timers that were started after their deadline. Only their slot may be out of order."""
        cdef list due = []
        cdef list deadlines_ms = []
        cdef uint32_t nodes[NODES_PER_RUN]
        cdef uint32_t count, place
        cdef uint32_t index = self.slots[OVERDUE_SLOT].first
        while index != NIL:
            count = self.read_run(index, nodes)
            for place in range(count):
                deadlines_ms.append(self.node_at(nodes[place]).deadline_ms)
            index = self.run_at(index).next
        self.fire(OVERDUE_SLOT, due)
        if len(due) < 2:
            return due
        return [due[position] for position in sorted(range(len(due)), key=deadlines_ms.__getitem__)]
