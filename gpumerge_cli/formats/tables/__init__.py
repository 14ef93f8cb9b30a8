"""Tables: files of typed columns, whose values are Arrow's."""

import os

# Arrow's allocator is to keep freed memory for the next batch, for so many milliseconds: to clear new pages takes a
# fifth of the time of a merge.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")
