#!/bin/sh
# Installs the library into a scratch folder, moves it, and uses it as a stranger does: by find_package and by pkg-config.
# usage: run.sh BUILD_FOLDER EXAMPLE.cpp COMPILER CMAKE_ARGUMENTS…
set -eu
build=$1 example=$2 compiler=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
cmake -S "$here" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DEXAMPLE="$example" "$@" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/build" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$scratch/build/stranger"

PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name namesake-attention.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs namesake-attention)
# shellcheck disable=SC2086 # flags are words
"$compiler" -std=c++17 "$example" $flags -o "$scratch/by_pkg_config"
LD_LIBRARY_PATH=$(dirname "$(find "$scratch/prefix" -name 'libnamesake-attention.*' | head -n 1)") "$scratch/by_pkg_config"
