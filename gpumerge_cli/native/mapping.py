"""Files that lie in memory, written there by many threads at once."""

from __future__ import annotations

import ctypes

from gpumerge_cli.buffers import Bytes, address_of
from gpumerge_cli.native.library import library


class Mapping:
    """The first `nbytes` bytes of an open file, which must exist. Raises OSError if they cannot be mapped.

    address: of the first one, until `close`. If the file system loses bytes of it, a thread that writes them goes on,
    and the mapping is `lost`; without the library's help SIGBUS would end the program.
    """

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.nbytes = nbytes
        self.address: int = library().gm_map(descriptor, nbytes) or 0
        if not self.address:
            raise OSError("the file cannot be mapped")
        self._ahead: list[int] = []

    @property
    def lost(self) -> bool:
        """Whether any of its bytes were lost."""
        return bool(library().gm_map_lost(self.address))

    def write(self, position: int, data: Bytes) -> bool:
        """Copy `data` to byte `position`; False if bytes of the mapping were lost. Any thread may call it."""
        assert 0 <= position <= self.nbytes - len(data), "beyond the mapping"
        lib = library()
        return bool(lib.gm_map_write(self.address, position, address_of(data), len(data)) == lib.DONE)

    def populate(self, processes: int) -> None:
        """Start so many processes that bring its pages into memory, the first ones first, until `close`.

        Writes to pages that are in memory are faster. Systems that cannot do it ahead do it as pages are written.
        """
        ids = (ctypes.c_int64 * processes)()
        started = library().gm_map_ahead(self.address, self.nbytes, processes, ids)
        self._ahead += ids[:started]

    def close(self) -> None:
        """Unmap it, once no call uses it any more; a second call does nothing."""
        ids, self._ahead = self._ahead, []
        library().gm_map_ahead_end((ctypes.c_int64 * len(ids))(*ids), len(ids))
        address, self.address = self.address, 0
        if address:
            library().gm_unmap(address)
