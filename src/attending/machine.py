"""What this machine has."""

import os


def machine_bytes() -> int | None:
    """Return the bytes of memory that this process may use; ``None`` where that isn't known."""
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                pages = min(pages, int(file.read()))
        except (OSError, ValueError):
            continue
    return int(pages)
