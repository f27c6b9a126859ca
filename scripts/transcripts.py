"""Runs the commands of the documents' transcripts again and puts what they print between the markers.

    scripts/transcripts.py BUILD [--check] FILE...

A transcript is a fenced block between <!-- transcript: COMMAND --> and <!-- end -->. They tell of the releases of
ptxas that their text names: where others are at hand, --check ends with exit status 77 (skipped)."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("build", type=pathlib.Path)
parser.add_argument("--check", action="store_true", help="exit 1 if a document is not what the commands print")
parser.add_argument("files", type=pathlib.Path, nargs="+")
arguments = parser.parse_args()

root = pathlib.Path(__file__).resolve().parent.parent
environment = dict(os.environ, COLUMNS="100", NO_COLOR="1", PATH=f"{arguments.build.resolve()}:{os.environ['PATH']}",
                   NAMESAKE_KERNELS=str(root / "kernels"))
block = re.compile(r"(<!-- transcript: (.*?) -->\n)```\n.*?```\n(<!-- end -->)", re.S)


def transcript(match):
    done = subprocess.run(["bash", "-o", "pipefail", "-c", match[2]], cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{match[2]}: exit status {done.returncode}\n{done.stderr}")
    # Times differ from run to run and say nothing about the name.
    lines = [line for line in done.stdout.splitlines() if not line.startswith("time to assemble")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return f"{match[1]}```\n$ {match[2]}\n{text}\n```\n{match[3]}"


def releases(text):
    return set(re.findall(r"ptxas (\d+\.\d+\.\d+)", text))


told = set().union(*(releases(match[0]) for file in arguments.files for match in block.finditer(file.read_text())))
at_hand = releases(subprocess.run([arguments.build.resolve() / "namesake", "toolchain", "list", "--versions"], env=environment, capture_output=True, text=True).stdout)
if arguments.check and told and told != at_hand:
    print(f"SKIPPED: the transcripts tell of ptxas {', '.join(sorted(told))}; at hand: {', '.join(sorted(at_hand)) or 'none'}. "
          f"namesake toolchain add RELEASE fetches one; NAMESAKE_TOOLCHAINS names the folder that holds these alone")
    sys.exit(77)

stale = False
for file in arguments.files:
    before = file.read_text()
    after = block.sub(transcript, before)
    if after == before:
        continue
    stale = True
    if arguments.check:
        print(f"{file} is not what its commands print; type: scripts/transcripts.py {arguments.build} {file}")
    else:
        file.write_text(after)
sys.exit(arguments.check and stale)
