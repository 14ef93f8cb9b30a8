"""Tables: files of typed columns, whose values are Arrow's."""

import os

HAS_GLIBC = "CS_GNU_LIBC_VERSION" in os.confstr_names and bool(os.confstr("CS_GNU_LIBC_VERSION"))
"""Whether the C library is glibc."""

# Arrow's allocators are to keep freed memory for the next batch: to clear new pages takes a fifth of the time of a
# merge. Any thread uses the blocks of glibc again. With mimalloc a merge takes a third more memory.
if HAS_GLIBC:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")
