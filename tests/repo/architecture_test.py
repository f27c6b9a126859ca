"""Holds the includes of the tree to the table in docs/architecture.md."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
allowed = {}
for line in (root / "docs/architecture.md").read_text().splitlines():
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) == 5 and (cells[1].startswith("src/") or cells[1] == "attention"):
        allowed[cells[1]] = set(cells[2].split())

failures = []
folders = {f"src/{path.name}" for path in (root / "src").iterdir() if path.is_dir()}
for folder in sorted(folders - set(allowed)):
    failures.append(f"{folder} has no row in docs/architecture.md")
for folder in sorted(set(allowed) - folders - {"attention"}):
    failures.append(f"docs/architecture.md has a row for {folder}, which does not exist")

rooms = {path.name for path in (root / "src").iterdir() if path.is_dir()}
for folder, others in allowed.items():
    for file in sorted((root / folder).rglob("*")):
        if file.suffix not in {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}:
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([a-z0-9_]+)/', line)
            if not match or match.group(1) not in rooms:
                continue
            target = f"src/{match.group(1)}"
            if target != folder and target not in others:
                failures.append(f"{file.relative_to(root)}:{number}: {folder} may not include {target}")

print("\n".join(failures) or f"{len(allowed)} folders keep to docs/architecture.md")
sys.exit(bool(failures))
