#!/bin/sh
# compute-sanitizer's four tools over small shapes of each kernel: masks, variable lengths, several tiles of keys for each tile of rows and,
# where a kernel is persistent, several of those a block. usage: sanitize.sh [ATTENTION_TEST]; needs a GPU and compute-sanitizer.
set -u
test=${1:-build/attention-test}
failed=0
for tool in memcheck racecheck initcheck synccheck; do
  # The suite's own kernels (namespace test) would take most of the time; initcheck must see them write what the others read.
  exclude="--kernel-name-exclude kernel_substring=4test"
  [ $tool = initcheck ] && exclude=
  for kernel in hopper portable; do
    echo "== $tool, $kernel"
    # shellcheck disable=SC2086 # two words or none
    timeout "${SECONDS_EACH:-60}" compute-sanitizer --tool $tool $exclude --error-exitcode 9 --print-limit 5 \
      "$test" --kernel $kernel --only "sanitizer: " --arena-mib 1024 || { echo "FAILED $tool, $kernel"; failed=1; }
  done
done
exit $failed
