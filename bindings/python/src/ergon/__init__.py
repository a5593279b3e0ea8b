"""Names for parts of a program, so that `ergon measure` can say the energy of each.

Outside of `ergon measure` nothing is loaded and nothing happens.
"""
import ctypes
import functools
import os
import sys
import warnings

__all__ = ["region", "measuring"]
__version__ = "0.1.0"


def _load():
    if not os.environ.get("ERGON_REGIONS"):
        return None
    library = None
    for name in (os.environ.get("ERGON_REGION_LIBRARY"), "libergon_region.so"):
        if not name:
            continue
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    if library is None:
        warnings.warn("ergon: libergon_region.so cannot be loaded, so regions are not recorded", RuntimeWarning,
                      stacklevel=2)
        return None
    library.ergon_region_begin.argtypes = [ctypes.c_char_p]
    library.ergon_region_begin.restype = ctypes.c_uint64
    library.ergon_region_end.argtypes = [ctypes.c_uint64]
    library.ergon_region_end.restype = None
    library.ergon_measuring.restype = ctypes.c_int
    return library if library.ergon_measuring() else None


_library = _load()


def measuring():
    """Whether regions are recorded."""
    return _library is not None


def _synchronize():
    """Waits for the GPU work of PyTorch, where it is loaded and has used a GPU."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.synchronize()


class region:  # noqa: N801, used like a function
    """A named part of the program: `with region("step"):`, or a decorator.

    sync: wait for PyTorch's GPU work at both ends, so that the region holds its own work and not its neighbour's.
    """

    __slots__ = ("_name", "_sync", "_open")

    def __init__(self, name, *, sync=True):
        self._name = str(name).encode("utf-8", "replace")
        self._sync = sync
        self._open = []

    def __enter__(self):
        if _library is not None:
            if self._sync:
                _synchronize()
            self._open.append(_library.ergon_region_begin(self._name))
        return self

    def __exit__(self, kind, value, traceback):
        if self._open:
            if self._sync:
                _synchronize()
            _library.ergon_region_end(self._open.pop())
        return False

    def __call__(self, function):
        name, sync = self._name, self._sync

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with region(name.decode("utf-8"), sync=sync):
                return function(*args, **kwargs)

        return inside
