"""Files that settings name: read as a whole, within bounds."""

import codecs
from pathlib import Path
from stat import S_ISREG


def read_file(file: Path, most: int) -> bytes:
    """What stands in a regular file, without a byte order mark.

    Args:
        file: which file.
        most: how many bytes it may have.

    Raises:
        ValueError: it cannot be read, or not to its end. The message does not repeat the path, which may hold
            what a variable of the environment holds.
    """
    try:
        regular = S_ISREG(file.stat().st_mode)
        data = _beginning(file, most + 1) if regular else b""
    except (OSError, ValueError) as error:
        raise ValueError(f"the file cannot be read: {getattr(error, 'strerror', error)}") from None
    if not regular:  # a pipe would be waited for, a device may have no end
        raise ValueError("only a regular file is read, no directory, device or pipe")
    if len(data) > most:
        raise ValueError(f"the file is larger than {most} bytes, the most that is read")
    return data.removeprefix(codecs.BOM_UTF8)


def _beginning(file: Path, size: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(size)
