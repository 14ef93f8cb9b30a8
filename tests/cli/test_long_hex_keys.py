"""Hexadecimal keys of so many digits that the images of the keys do not hold their number."""

import subprocess
import sys


def test_hexadecimal_numbers_of_hundreds_of_digits_go_by_value() -> None:
    lines = ["1" + "0" * 300, "f" * 260, "f" * 255, "1" + "0" * 254, "e" * 254]
    command = [sys.executable, "-m", "gpumerge_cli", "sort", "-q", "--sort=hex"]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(lines, key=lambda line: int(line, 16))
