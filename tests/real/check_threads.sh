#!/bin/sh
# NVRTC and nvJitLink, used by several threads for several architectures at once: one architecture, one code.
#     check_threads.sh PROGRAM LIBRARY-GLOB FILE
# Looks for the library in the project's toolchains, then in NAMESAKE_LIBRARIES; without it, says so and ends with 77.
set -eu
library=$(find -L ${NAMESAKE_TOOLCHAINS:-} ${NAMESAKE_LIBRARIES:-} -name "$2" 2>/dev/null | head -n 1)
[ -n "$library" ] || { echo "skipped: no $2; set NAMESAKE_LIBRARIES=FOLDER (that holds it)"; exit 77; }
lines=$("$1" "$library" "$3" sm_80 sm_90 sm_100a --threads 6)
[ "$(echo "$lines" | wc -l)" = 18 ] || { echo "$lines"; echo "18 cubins were expected"; exit 1; }
[ "$(echo "$lines" | cut -d' ' -f2- | sort -u | wc -l)" = 3 ] || { echo "$lines"; echo "three codes were expected"; exit 1; }
