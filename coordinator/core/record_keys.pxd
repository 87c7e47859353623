"""Keys of records, which begin with a type and have names."""

from libc.stdint cimport uint16_t


cpdef bytes record_key(uint16_t key_type, str name, str second=*)
