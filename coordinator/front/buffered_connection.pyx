"""The sending half of a connection: responses are buffered, and those of one loop iteration are sent with one write."""

from _wire.headers cimport frame_parts


cdef class BufferedConnection:
    def unsent_bytes(self):
        """How many bytes of responses the client has not read yet."""
        return self.transport.get_write_buffer_size()

    def pause_writing(self):
        self.congested = True
        self.note_unsent()

    cdef note_unsent(self):
        """Begin to wait for the client to read, and report what it has not read."""
        cdef Py_ssize_t unsent = self.transport.get_write_buffer_size()
        if unsent:
            self.congested_ms = self.now_ms()
            self.congested_bytes = unsent
        self.dispatcher.holds_responses(self, self.kept_bytes(unsent))

    def kept_bytes(self, Py_ssize_t unsent):
        """What is in memory while so many bytes are unsent: a response in one piece is kept whole until its end."""
        return max(unsent, self.whole_bytes) if unsent else 0

    cdef buffer_response(self, bytes response):
        """Buffer an encoded response until `flush`."""
        self.out.append(response)
        self.out_bytes += len(response)

    cdef buffer_apart(self, bytes response, list apart):
        """Buffer an encoded response, from which large records were left `apart`: they are not copied."""
        if not apart:
            self.buffer_response(response)
            return
        for part in frame_parts(response, apart):
            self.out.append(part)
            self.out_bytes += len(part)

    cdef flush(self):
        cdef bint was_congested
        cdef Py_ssize_t size = self.out_bytes
        if self.out:
            parts, self.out, self.out_bytes = self.out, [], 0
            if self.meter is not None:
                self.meter.bytes_out += size
            was_congested = self.congested
            if not was_congested:
                self.whole_bytes = 0
            if len(parts) == 1:
                self.whole_bytes = max(self.whole_bytes, size)
                self.transport.write(parts[0])
            elif size > BYTES_HELD_AT_MOST:
                self.transport.writelines(parts)
            else:
                self.transport.write(b"".join(parts))
            if was_congested:
                self.congested_bytes += size
                self.dispatcher.holds_responses(self, self.kept_bytes(self.transport.get_write_buffer_size()))

    cdef end(self):
        self.flush()
        self.transport.close()
        if not self.congested:
            self.note_unsent()
