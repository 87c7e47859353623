"""How many elements of arrays are read, written or freed before others have their turn."""

cdef enum:
    ELEMENTS_AT_FIRST = 5000            # of all arrays of a message, until `pause` is called first: about 0.5 ms
    ELEMENTS_IN_STEP = 500              # until it is called again
