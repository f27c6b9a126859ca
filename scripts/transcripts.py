"""Runs the commands of the documents' transcripts again and puts what they print between the markers.

    scripts/transcripts.py BUILD [--check] FILE...

A transcript is a fenced block between <!-- transcript: COMMAND --> and <!-- end -->. They tell of the assemblers
that their text names: --check leaves out what others are at hand for, and then ends with exit status 77 (skipped)
unless something else is stale."""
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


NAMES = {"libnvrtc": "NVRTC", "libnvJitLink": "nvJitLink"}


def assemblers(text):
    found = re.findall(r"(ptxas|nvlink|NVRTC|nvJitLink|libnvrtc|libnvJitLink) (\d+\.\d+\.\d+)", text)
    return {(NAMES.get(name, name), version) for name, version in found}


def newest(some):
    return max((version for name, version in some if name == "ptxas"), key=lambda version: [int(part) for part in version.split(".")], default="")


told = set().union(*(assemblers(match[0]) for file in arguments.files for match in block.finditer(file.read_text())))
at_hand = assemblers(subprocess.run([arguments.build.resolve() / "namesake", "toolchain", "list", "--versions"], env=environment,
                                    capture_output=True, text=True).stdout)
left_out = []


def can_be_told_here(match):
    """A trace is of all assemblers, the rest of those that it names, or of the newest; what names none is of recorded data."""
    if not told:
        return True
    if "namesake trace" in match[2]:
        return at_hand == told
    return assemblers(match[0]) <= at_hand and newest(at_hand) == newest(told)


def transcript(match):
    if arguments.check and not can_be_told_here(match):
        left_out.append(match[2])
        return match[0]
    done = subprocess.run(["bash", "-o", "pipefail", "-c", match[2]], cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{match[2]}: exit status {done.returncode}\n{done.stderr}")
    # Times differ from run to run and say nothing about the name.
    lines = [line for line in done.stdout.splitlines() if not line.startswith("time to assemble")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return f"{match[1]}```\n$ {match[2]}\n{text}\n```\n{match[3]}"


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
if left_out and not stale:
    print("SKIPPED, as other assemblers are at hand than "
          + ", ".join(" ".join(each) for each in sorted(told)) + ":\n" + "\n".join(left_out))
    sys.exit(77)
sys.exit(arguments.check and stale)
