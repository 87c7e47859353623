"""Freeing messages with very many elements a few at a time: at once it takes a third of the time of decoding them."""

from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject

from _wire.steps cimport ELEMENTS_IN_STEP


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *one) noexcept


cdef class Release:
    """Frees messages. What others hold as well is left as it is."""

    cdef object pause
    cdef Py_ssize_t left_in_step

    def __init__(self, pause):
        self.pause = pause
        self.left_in_step = ELEMENTS_IN_STEP

    def run(self, list messages not None):
        """Empty the list, and free what nobody else holds; `pause` is called after each 500 elements."""
        self.empty(messages)

    cdef int empty(self, list elements) except -1:
        while PyList_GET_SIZE(elements):
            element = elements.pop()
            if Py_REFCNT(<PyObject *>element) == 1:
                self.empty_arrays(element)
            element = None
            self.left_in_step -= 1
            if self.left_in_step <= 0:
                self.left_in_step = ELEMENTS_IN_STEP
                self.pause()
        return 0

    cdef int empty_arrays(self, object struct) except -1:
        """Empty the arrays of a struct that nobody else holds."""
        for name in <tuple>getattr(type(struct), "ARRAYS", ()):
            elements = getattr(struct, name)
            if type(elements) is list and Py_REFCNT(<PyObject *>elements) == 2:    # the struct's, and this one
                self.empty(<list>elements)
            elements = None
        return 0
