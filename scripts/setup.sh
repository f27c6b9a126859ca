# Shared by quickstart and test: what must be on the machine before anything can be built.
# Sourced, with the repository's root as working folder.

# A header stands for its package: true wherever it came from.
missing_packages() {
  missing=
  need() { # need PACKAGE TEST…
    package=$1; shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
  }
  header() { find /usr/include /usr/local/include -maxdepth "${2:-3}" -path "*/$1" -print -quit 2>/dev/null | grep -q .; }
  need g++ sh -c 'command -v c++ || command -v g++'
  need cmake command -v cmake
  need ninja-build sh -c 'command -v ninja || command -v ninja-build'
  need python3 command -v python3
  need python3-pip python3 -m pip --version
  need libcli11-dev header CLI/CLI.hpp
  need libfmt-dev header fmt/format.h
  need nlohmann-json3-dev header nlohmann/json.hpp
  need libtomlplusplus-dev header toml++/toml.h
  need libexpected-dev header tl/expected.hpp
  need libxxhash-dev header xxhash.h
  need liblz4-dev header lz4.h
  need zlib1g-dev header zlib.h
  need libsqlite3-dev header sqlite3.h
  need libzstd-dev header zstd.h
  if [ -n "${1:-}" ]; then
    need libgtest-dev header gtest/gtest.h
    need librapidcheck-dev header rapidcheck.h 2
  fi
  if [ "${1:-}" = sanitizers ]; then
    need clang command -v clang++
    need libclang-rt-dev sh -c 'test -n "$(find "$(clang -print-resource-dir)" -name "libclang_rt.fuzzer*" 2>/dev/null)"'
  fi
}

install_packages() { # install_packages [tests|sanitizers]
  missing_packages "${1:-}"
  [ -z "$missing" ] && return 0
  if command -v apt-get >/dev/null; then
    as_root=
    if [ "$(id -u)" != 0 ]; then
      as_root="sudo -n"
      if ! sudo -n true 2>/dev/null; then
        echo "$0: missing packages; type: sudo apt-get install$missing" >&2
        return 1
      fi
    fi
    echo "installing$missing" >&2
    $as_root apt-get update -qq >/dev/null || true
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null || return 1
    missing_packages "${1:-}"
    [ -z "$missing" ] && return 0
  fi
  echo "$0: missing, please install what your system calls:$missing" >&2
  return 1
}

configure() { # configure FOLDER OPTION…
  folder=$1; shift
  mkdir -p "$folder"
  cmake -S . -B "$folder" -G Ninja "$@" >"$folder/cmake.log" 2>&1 || { cat "$folder/cmake.log" >&2; return 1; }
}

# Clang's build for fuzzing, which also has every test under the address and undefined sanitizers.
configure_fuzzers() { # configure_fuzzers FOLDER
  configure "$1" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DNAMESAKE_FUZZERS=ON -DNAMESAKE_TESTS=ON
}

# The compilers that the product compares and the tests need, in a folder of the project's, whatever else
# is installed. What is there already is not asked for again, so a second start needs no network.
get_toolchains() {
  store=${NAMESAKE_TOOLCHAINS:-$PWD/build/toolchains}
  [ -d "$store/12.9.86" ] || build/namesake toolchain add 12.9.86 || return 1
  [ -d "$store/nvcc-13.0.88" ] || build/namesake toolchain add 13.0.88 --front-end || return 1
  [ -n "$(find "$store" -maxdepth 1 -name 'nvdisasm-*' -print -quit)" ] ||
    build/namesake toolchain add newest nvdisasm || return 1
}
