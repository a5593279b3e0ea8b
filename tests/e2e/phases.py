"""The workload of ergon-simload as a file."""
import json
import os


def phases_file(folder, work, name="phases.json"):
    """The path of FOLDER/NAME with the work: a list of phases, a whole document, or any text."""
    path = os.path.join(folder, name)
    if isinstance(work, list):
        work = {"phases": work}
    with open(path, "w", encoding="utf-8") as file:
        file.write(work if isinstance(work, str) else json.dumps(work))
    return path
