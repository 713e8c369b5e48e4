"""Settings of the whole process, which programs choose, not libraries."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of <malloc.h>


def apply_malloc_tuning() -> bool:
    """Keeps freed memory of up to 2 GiB in the process, for large messages to be made in.

    They then stop paying for page faults, most of what a message of many MiB costs. Takes some resident
    memory. Once, at the beginning; False where this C library has no such settings.

    Examples
    --------
    >>> import baseband_offload as bo
    >>> bo.apply_malloc_tuning()
    True
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0) == 1 and mallopt(_TRIM_THRESHOLD, 2047 << 20) == 1)
