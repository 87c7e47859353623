"""Attributes that lead to others.

Compiled, because each event about a member or a group reads several. No properties: from Python 3.13 on a dataclass
with slots looks into the code of each, which must be a function in Python.
"""

cimport cython

from sys import intern


@cython.final
cdef class Attribute:
    cdef tuple names

    def __init__(self, str path not None):
        self.names = tuple([intern(name) for name in path.split(".")])

    def __get__(self, instance, owner):
        if instance is None:
            return self
        for name in self.names:
            instance = getattr(instance, name)
        return instance


def attribute(str path not None):
    return Attribute(path)
