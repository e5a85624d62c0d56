"""Files that are whole or not there: what is written takes the place of the old at once."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: a temporary file beside it, flushed to the disk, then renamed over it.

    A kill at any moment leaves the old file or the new one; at worst also a file `.NAME.….tmp`.

    Raises:
        OSError: it cannot be written; the old file is as it was then.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if os.name == "nt":  # a directory cannot be opened there
        return
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
