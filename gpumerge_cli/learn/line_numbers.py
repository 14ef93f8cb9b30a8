"""Lines of a source by addresses of its code: the table .debug_line of an ELF file, in the form of DWARF 4.

The format: DWARF Debugging Information Format, version 4, section 6.2.
"""

from __future__ import annotations

import struct

_ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 2, 3, 4, 5, 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_LOAD = 1
_OPERANDS = 8


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return int(value)

    def leb(self, *, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.take("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value

    def text(self) -> str:
        end = self.data.index(0, self.at)
        found = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return found


def line_of(program: bytes, offset: int, file: str) -> int:
    """The line of `file` whose code lies `offset` bytes behind the start of a program in memory; 0 if it has none.

    program: the bytes of an ELF file of 64 bits, little-endian. Never raises for a table that it cannot read.
    """
    try:
        return _line(program, _first_address(program) + offset, file)
    except (struct.error, ValueError, IndexError):
        return 0


def _first_address(program: bytes) -> int:
    (table,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    loads = [struct.unpack_from("<IIQQ", program, table + size * number) for number in range(count)]
    return int(min(address for kind, _, _, address in loads if kind == _LOAD))


def _section(program: bytes, name: bytes) -> bytes:
    (table,) = struct.unpack_from("<Q", program, 40)
    size, count, names = struct.unpack_from("<HHH", program, 58)
    rows = [struct.unpack_from("<IIQQQQ", program, table + size * number) for number in range(count)]
    strings = rows[names][4]
    for label, _, _, _, begin, length in rows:
        at = strings + label
        if program[at : at + len(name) + 1] == name + b"\0":
            return program[begin : begin + length]
    return b""


def _line(program: bytes, address: int, file: str) -> int:
    table = _Reader(_section(program, b".debug_line"))
    while table.at < len(table.data):
        length = table.take("I")
        end = table.at + length
        found = _line_of_unit(table, end, address, file)
        if found:
            return found
        table.at = end
    return 0


def _line_of_unit(table: _Reader, end: int, address: int, file: str) -> int:
    if table.take("H") not in (2, 3, 4):
        return 0
    version_4 = table.data[table.at - 2] == 4
    header = table.take("I")
    program_at = table.at + header
    shortest = table.take("B")
    if version_4:
        table.take("B")
    table.take("B")
    base, spread, first_special = table.take("b"), table.take("B"), table.take("B")
    operands = [table.take("B") for _ in range(first_special - 1)]
    while table.text():
        pass
    files = [""]
    while name := table.text():
        for _ in range(3):
            table.leb()
        files.append(name)
    table.at = program_at
    wanted = {number for number, name in enumerate(files) if name == file or name.endswith("/" + file)}
    at, line, source = 0, 1, 1
    before: tuple[int, int, int] | None = None
    while table.at < end:
        code = table.take("B")
        emitted = ended = False
        if code >= first_special:
            step = code - first_special
            at += step // spread * shortest
            line += base + step % spread
            emitted = True
        elif code == 0:
            size = table.leb()
            behind = table.at + size
            kind = table.take("B")
            if kind == _SET_ADDRESS:
                at = table.take("Q")
            ended = kind == _END_SEQUENCE
            table.at = behind
        elif code == 1:
            emitted = True
        elif code == _ADVANCE_PC:
            at += table.leb() * shortest
        elif code == _ADVANCE_LINE:
            line += table.leb(signed=True)
        elif code == _SET_FILE:
            source = table.leb()
        elif code == _CONST_ADD_PC:
            at += (255 - first_special) // spread * shortest
        elif code == _FIXED_ADVANCE_PC:
            at += table.take("H")
        else:
            for _ in range(operands[code - 1]):
                table.leb()
        if emitted or ended:
            if before is not None and before[0] <= address < at:
                return before[1] if before[2] in wanted else 0
            before = None if ended else (at, line, source)
        if ended:
            at, line, source = 0, 1, 1
    return 0
