"""Compares our declarations of NVML and AMD SMI with the ctypes structures of nvidia-ml-py and amdsmi.

abi_layout.py LAYOUT_PROGRAM: one line a library, `name | expected | found | pass/FAIL`.
"""
import ctypes
import subprocess
import sys
import types


class AnyLibrary:
    """Stands in for a library while a binding is imported: amdsmi looks up every symbol then."""

    def __getattr__(self, name):
        return types.SimpleNamespace()


def bindings():
    import pynvml

    real = ctypes.CDLL
    ctypes.CDLL = lambda *args, **kwargs: AnyLibrary()
    try:
        from amdsmi import amdsmi_wrapper
    finally:
        ctypes.CDLL = real
    return {"nvml": pynvml, "amdsmi": amdsmi_wrapper}


def main():
    modules = bindings()
    counts = {name: [0, []] for name in modules}
    for line in subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.splitlines():
        name, field, ours = line.split()
        library, struct = name.split(":")
        theirs_type = getattr(modules[library], struct)
        theirs = ctypes.sizeof(theirs_type) if field == "." else getattr(theirs_type, field).offset
        counts[library][0] += 1
        if theirs != int(ours):
            counts[library][1].append(f"{struct}.{field}: theirs {theirs}, ours {ours}")
    for library, (total, wrong) in counts.items():
        found = "; ".join(wrong) if wrong else f"{total} equal"
        print(f"layout of {library} structures | {total} sizes and offsets equal | {found} | {'FAIL' if wrong or not total else 'pass'}")


main()
