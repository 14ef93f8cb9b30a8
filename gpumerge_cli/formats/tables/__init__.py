"""Tables: files of typed columns, whose values are Arrow's."""

import os

# Arrow's allocator is to keep freed memory for the next batch: to clear new pages takes a third of the time of a merge.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
