"""What is done with each name of a subscription.

Compiled, because a member may subscribe to as many topics as a request may have elements.
"""


def change_counts(dict counts not None, tuple names not None, Py_ssize_t by):
    cdef Py_ssize_t count
    for name in names:
        count = <Py_ssize_t>counts.get(name, 0) + by
        if count:
            counts[name] = count
        else:
            counts.pop(name, None)
