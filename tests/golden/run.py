"""Golden tests of the command line: run.py BIN FILE...

A .test file holds comments (#) and cases. A case is the command, its exit status, and what it printed:

    $ ergon exlain
    exit 2
    ! error: there is no command 'exlain'

`| ` starts a line of stdout, `! ` one of stderr; `|~` and `!~` mark a stream that does not end with a line feed. The
commands run in bash, in an empty folder with links `samples` (data/samples), `data` (tests/golden/data) and `root` (the
repository), and where it is there `shared` (the public measurements). A line `needs shared` skips the file without them;
`needs COMMAND` skips it where this build does not offer the command. ERGON_UPDATE_GOLDEN=1 rewrites what was expected.
Exit status 77: everything was skipped.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.environ.get("ERGON_SHARED_DATA") or os.path.join(os.path.dirname(ROOT), "shared", "data")


def parse(text):
    """The file as blocks: a comment block is a list of lines, a case a dict."""
    blocks = []
    for line in text.split("\n")[:-1] if text.endswith("\n") else text.split("\n"):
        if line.startswith("$ "):
            blocks.append({"command": line[2:], "expected": []})
        elif blocks and isinstance(blocks[-1], dict) and re.match(r"exit \d+$|[|!](~$| |$)|\+ ", line):
            if line.startswith("+ "):
                blocks[-1]["command"] += "\n" + line[2:]
            else:
                blocks[-1]["expected"].append(line)
        elif line == "" or line.startswith("#") or line.startswith("needs "):
            if not blocks or isinstance(blocks[-1], dict):
                blocks.append([])
            blocks[-1].append(line)
        else:
            raise ValueError(f"a line is no part of a test: {line!r}")
    return blocks


def stream(mark, raw):
    text = raw.decode("utf-8", "backslashreplace")
    if text == "":
        return []
    lines = text.split("\n")
    unfinished = lines[-1] != ""
    out = [mark if line == "" else f"{mark} {line}" for line in (lines if unfinished else lines[:-1])]
    return out + [f"{mark}~"] if unfinished else out


def run(command, folder, binaries):
    environment = {
        "PATH": f"{binaries}:/usr/local/bin:/usr/bin:/bin",
        "HOME": folder,
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
    }
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=300, check=False)
    return [f"exit {done.returncode}", *stream("|", done.stdout), *stream("!", done.stderr)]


def missing(needs, binaries):
    """Why the file cannot run here, or an empty text."""
    for need in needs:
        if need == "shared":
            if not os.path.isdir(SHARED):
                return "there is no folder of public measurements (ERGON_SHARED_DATA)"
        else:
            offered = subprocess.run([os.path.join(binaries, "ergon")], capture_output=True, text=True, check=True).stdout
            if not re.search(rf"^  {re.escape(need)} ", offered, re.M):
                return f"this build has no 'ergon {need}'"
    return ""


def test_file(path, binaries):
    """(passed, failed, skipped)"""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    blocks = parse(text)
    cases = [block for block in blocks if isinstance(block, dict)]
    needs = [line[6:].strip() for block in blocks if isinstance(block, list) for line in block if line.startswith("needs ")]
    reason = missing(needs, binaries)
    name = os.path.basename(path)
    if reason:
        print(f"skipped  {name}: {reason}")
        return 0, 0, len(cases)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for link, target in (("samples", "data/samples"), ("data", "tests/golden/data"), ("root", ".")):
            os.symlink(os.path.normpath(os.path.join(ROOT, target)), os.path.join(folder, link))
        if os.path.isdir(SHARED):
            os.symlink(os.path.abspath(SHARED), os.path.join(folder, "shared"))
        for case in cases:
            found = run(case["command"], folder, binaries)
            if found == case["expected"]:
                continue
            if os.environ.get("ERGON_UPDATE_GOLDEN"):
                case["expected"] = found
                continue
            failed += 1
            print(f"FAIL  {name}: $ {case['command']}")
            for line in difflib.unified_diff(case["expected"], found, "expected", "found", lineterm="", n=2):
                print(f"      {line}")
    if os.environ.get("ERGON_UPDATE_GOLDEN"):
        lines = []
        for block in blocks:
            if isinstance(block, dict):
                lines += ["$ " + block["command"].replace("\n", "\n+ "), *block["expected"]]
            else:
                lines += block
        updated = "\n".join(lines) + "\n"
        if updated != text:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(updated)
            print(f"updated  {name}")
    return len(cases) - failed, failed, 0


def main(binaries, paths):
    passed = failed = skipped = 0
    for path in paths:
        results = test_file(path, os.path.abspath(binaries))
        passed, failed, skipped = passed + results[0], failed + results[1], skipped + results[2]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        return 1
    return 77 if passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
