"""Runs commands with -f json and checks every answer against the schema that `ergon schema` prints for it.

check_answers.py ERGON ANSWERS, where ANSWERS lists command lines. "NAME: ergon ..." checks what the command itself writes
to stdout against schema NAME, "NAME: file PATH" a file. The validator knows a part of JSON Schema and refuses the rest,
so that no rule of a schema goes unchecked.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def resolve(reference, root):
    node = root
    assert reference.startswith("#/"), f"only local references are known, not {reference}"
    for part in reference[2:].split("/"):
        node = node[part]
    return node


def faults(value, schema, root, path="$"):
    """Every way in which `value` is not what `schema` says."""
    if schema is True or schema is False:
        return [] if schema else [f"{path}: must not be there"]
    found = []

    def fault(text):
        found.append(f"{path}: {text}")

    for keyword, rule in schema.items():
        if keyword in ANNOTATIONS:
            continue
        if keyword == "$ref":
            found += faults(value, resolve(rule, root), root, path)
        elif keyword == "type":
            names = rule if isinstance(rule, list) else [rule]
            if not any(is_type(value, name) for name in names):
                fault(f"is {json.dumps(value)[:60]}, not {' or '.join(names)}")
        elif keyword == "const":
            if value != rule:
                fault(f"is {json.dumps(value)[:60]}, not {json.dumps(rule)}")
        elif keyword == "enum":
            if value not in rule:
                fault(f"is {json.dumps(value)[:60]}, not one of {json.dumps(rule)}")
        elif keyword == "allOf":
            for part in rule:
                found += faults(value, part, root, path)
        elif keyword == "anyOf":
            if all(faults(value, part, root, path) for part in rule):
                fault("fits no part of anyOf")
        elif keyword == "oneOf":
            if sum(not faults(value, part, root, path) for part in rule) != 1:
                fault("does not fit exactly one part of oneOf")
        elif keyword == "required":
            if isinstance(value, dict):
                for name in rule:
                    if name not in value:
                        fault(f"has no {name}")
        elif keyword == "properties":
            if isinstance(value, dict):
                for name, part in rule.items():
                    if name in value:
                        found += faults(value[name], part, root, f"{path}.{name}")
        elif keyword == "additionalProperties":
            if isinstance(value, dict):
                for name in value.keys() - schema.get("properties", {}).keys():
                    found += faults(value[name], rule, root, f"{path}.{name}")
        elif keyword == "propertyNames":
            if isinstance(value, dict):
                for name in value:
                    found += faults(name, rule, root, f"{path}, name {name}")
        elif keyword == "items":
            if isinstance(value, list):
                for index, item in enumerate(value):
                    found += faults(item, rule, root, f"{path}[{index}]")
        elif keyword in ("minItems", "maxItems"):
            if isinstance(value, list) and (len(value) < rule if keyword == "minItems" else len(value) > rule):
                fault(f"has {len(value)} items, {keyword} is {rule}")
        elif keyword in ("minLength", "maxLength"):
            if isinstance(value, str) and (len(value) < rule if keyword == "minLength" else len(value) > rule):
                fault(f"has {len(value)} characters, {keyword} is {rule}")
        elif keyword == "pattern":
            if isinstance(value, str) and not re.search(rule, value):
                fault(f"is {value!r}, which does not match {rule}")
        elif keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if is_type(value, "number"):
                ok = {
                    "minimum": value >= rule,
                    "maximum": value <= rule,
                    "exclusiveMinimum": value > rule,
                    "exclusiveMaximum": value < rule,
                }[keyword]
                if not ok:
                    fault(f"is {value}, {keyword} is {rule}")
        elif keyword == "uniqueItems":
            if rule and isinstance(value, list) and len({json.dumps(item) for item in value}) != len(value):
                fault("has an item twice")
        else:
            raise ValueError(f"the validator does not know the keyword {keyword!r}")
    return found


def one_document(text):
    """Exactly one JSON document; NaN and Infinity are no JSON."""

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def self_test():
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 1}},
              "additionalProperties": {"enum": [None]}}
    assert not faults({"a": 1, "b": None}, schema, schema)
    for wrong in ([], {}, {"a": 0}, {"a": True}, {"a": 1.5}, {"a": 1, "b": 2}):
        assert faults(wrong, schema, schema), wrong
    try:
        faults(1, {"multipleOf": 2}, {})
        raise AssertionError("an unknown keyword went unseen")
    except ValueError:
        pass


def main(ergon, listing):
    self_test()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    shared = os.environ.get("ERGON_SHARED_DATA") or os.path.join(os.path.dirname(root), "shared", "data")
    run = lambda words, folder: subprocess.run([ergon, *words], cwd=folder, capture_output=True, timeout=600, check=False)
    names = {entry["name"] for entry in one_document(run(["schema", "-f", "json"], root).stdout)["schemas"]}
    offered = run([], root).stdout.decode()
    checked = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(root, "data", "samples"), os.path.join(folder, "samples"))
        os.symlink(os.path.join(root, "tests", "golden", "data"), os.path.join(folder, "data"))
        os.symlink(os.path.join(root, "data", "devices"), os.path.join(folder, "devices"))
        if os.path.isdir(shared):
            os.symlink(shared, os.path.join(folder, "shared"))
        for line in open(listing, encoding="utf-8"):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            words = shlex.split(line)
            expected = words.pop(0)[:-1] if words[0].endswith(":") else None
            if words[0] == "file":
                paths = sorted(glob.glob(words[1], root_dir=folder))
                assert paths, line
                for path in paths:
                    with open(os.path.join(folder, path), encoding="utf-8") as file:
                        schema = one_document(run(["schema", expected], folder).stdout)
                        problems = faults(one_document(file.read()), schema, schema)
                    checked, failed = checked + 1, failed + bool(problems)
                    print("\n      ".join([f"{'FAIL' if problems else 'pass'}  {path} is a {expected}", *problems[:20]]))
                continue
            assert words[0] == "ergon", line
            if not re.search(rf"^  {words[1]} ", offered, re.M):
                print(f"skipped  {line}: this build has no such command")
                continue
            if any(word.startswith("shared/") for word in words) and not os.path.isdir(shared):
                print(f"skipped  {line}: there is no folder of public measurements")
                continue
            done = run([*words[1:], *([] if expected else ["-f", "json"])], folder)
            checked += 1
            try:
                document = one_document(done.stdout)
                name = document["schema"].removeprefix("ergon.").removesuffix("/1")
                assert expected in (None, name), f"wrote ergon.{name}/1"
                assert name in names, f"there is no schema of {document['schema']}"
                assert (name == "error") == (done.returncode >= 2), f"exit status {done.returncode} with {name}"
                schema = one_document(run(["schema", name], folder).stdout)
                problems = faults(document, schema, schema)
            except (ValueError, KeyError, AssertionError) as error:
                problems = [f"{error} (exit status {done.returncode}, stdout {done.stdout[:80]!r}, stderr {done.stderr[:200]!r})"]
            failed += bool(problems)
            print(f"{'FAIL' if problems else 'pass'}  {line}")
            for problem in problems[:20]:
                print(f"      {problem}")
    print(f"{checked - failed} passed, {failed} failed")
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2]))
