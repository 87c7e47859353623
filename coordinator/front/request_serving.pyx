"""From the frame of a request to the call of its handler.

Compiled: each request goes this way that a connection does not answer itself.
"""

from _wire.headers cimport RequestHeader, request_header

from functools import partial

from _wire.errors import MalformedMessage
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_ELEMENTS
from coordinator.front.long_messages import TooLong, not_in_steps
from coordinator.front.request_context import RequestContext

CLIENT_ID_CHARACTERS_MAX = 1_024
cdef Py_ssize_t CHARACTERS_MAX = CLIENT_ID_CHARACTERS_MAX


cdef class RequestServing:
    cdef readonly dict routes
    cdef readonly object route
    cdef readonly object _run
    cdef readonly object _environment
    cdef readonly object _elements_max

    def __init__(self, chain, run, environment):
        self.routes, self.route = chain.routes, chain.route
        self._run, self._environment = run, environment
        self._elements_max = environment.config[SOCKET_REQUEST_MAX_ELEMENTS]

    def _serve(self, connection, frame):
        cdef RequestHeader header
        cdef Py_ssize_t body_start
        cdef str client_id
        try:
            header = request_header(frame, 0, &body_start)
            version = header.api_version
            route = self.routes.get(header.api_key)
            if route is None:
                route = self.route(header.api_key)
            if route is None or not route.min_version <= version <= route.max_version:
                self._reject_unsupported(connection, header, route)
                return
            try:
                request = route.decode(frame, version, body_start, False, self._elements_max, not_in_steps)
            except TooLong:
                request = None
        except MalformedMessage as problem:
            connection.reject(str(problem))
            return
        client_id = header.client_id or ""
        call = connection.call = RequestContext(
            None,
            version,
            client_id if len(client_id) <= CHARACTERS_MAX else client_id[:CHARACTERS_MAX],
            connection.client_host,
            self._environment,
            0,
            0,
            connection,
            route,
            request,
            header.correlation_id,
        )
        if request is None:
            connection.is_long = True
            self._run(partial(self._handle_long, frame, body_start), request, call)
        else:
            self._run(route.handler, request, call)
