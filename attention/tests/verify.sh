#!/bin/sh
# Runs the whole suite on this machine's GPU and writes what was verified. A run that was cut short is taken up where it stopped: the log
# keeps what passed. usage: verify.sh [ATTENTION_TEST [VERIFIED.json [LOG]]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
test=${1:-build/attention-test} verified=${2:-results/verified.json} log=${3:-build/attention-test.log}

peers=
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  "$test" --list-peers | python3 "$here/gpu/peers.py" >"$log.peers" && peers="--peers $log.peers"
else
  echo "no torch with a GPU here: bounds are computed from the element type, none from a peer's error" >&2
fi
# shellcheck disable=SC2086 # two words or none
exec "$test" --log "$log" $peers --write "$verified"
