"""What has no place in the repository: machine paths, left-overs, files that are more than one idea."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
if listed.returncode != 0:
    print("not a git checkout: nothing to list")
    sys.exit(77)
files = [root / name for name in listed.stdout.decode().split("\0") if name]
path = re.compile(r"(^|[^A-Za-z0-9_.])/(work|root|home)/[A-Za-z0-9_.]")
left_over = re.compile(r"\b(TODO|FIXME|XXX)\b")
failures = []
for file in files:
    if not file.is_file() or file.suffix in {".ptx", ".cubin"}:
        continue
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        continue
    name = file.relative_to(root)
    code = file.suffix in {".h", ".c", ".cpp", ".cu", ".cuh", ".py"}
    if code and text.count("\n") > 800:
        failures.append(f"{name}: {text.count(chr(10))} lines; is it one idea?")
    if str(name) == "tests/repo/words_test.py":
        continue
    for number, line in enumerate(text.splitlines(), 1):
        if path.search(line):
            failures.append(f"{name}:{number}: a machine path: {line.strip()[:80]}")
        if code and left_over.search(line):
            failures.append(f"{name}:{number}: a left-over: {line.strip()[:80]}")
print("\n".join(failures) or f"{len(files)} files are clean")
sys.exit(bool(failures))
