# shellcheck shell=bash
# What ./quickstart, ./check and .ci/run share: packages, configuring and building. Sourced, after
# `set -euo pipefail`, with the repository's root as the current directory.

assay_name=${0##*/}        # who speaks in the messages
assay_logs=build/logs      # what the steps print goes here, one file a step
assay_tail=40              # how much of it is shown when a step fails

assay_needed=(
  g++ cmake ninja-build ccache
  libgtest-dev libgmock-dev libbenchmark-dev librapidcheck-dev
  libhdf5-dev hdf5-tools zlib1g-dev libzip-dev libxxhash-dev
  libeigen3-dev libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev librandom123-dev
  libboost-math-dev libmpfr-dev libopenblas-pthread-dev
  libopenmpi-dev openmpi-bin
  python3 python3-h5py python3-numpy
  pybind11-dev python3-dev python3-pytest python3-pytest-xdist
  python3-pip python3-venv python3-setuptools python3-wheel
)
# Beside these, what tests start. A test whose program is missing is skipped, which CI counts as a failure.
# shellcheck disable=SC2034  # read by ./check and .ci/run
assay_needed_by_tests=(dpkg-dev file git groff-base strace zsh chromium cppcheck doxygen python3-torch doctest-dev catch2)

say() { printf '%s: %s\n' "$assay_name" "$*"; }

stop() {
  printf '%s: %s\n' "$assay_name" "$*" >&2
  exit 1
}

# In a terminal, shows the counter of ninja's last line ("[12/80]") while it builds.
assay_progress() {
  local line
  while IFS= read -r line; do
    if [[ $line =~ ^\[[0-9]+/[0-9]+\] ]]; then printf '\r  %s ' "${BASH_REMATCH[0]}"; fi
  done
  printf '\r\033[K'
}

# assay_step NAME LOG COMMAND...: runs the command with its output in build/logs/LOG; when it fails,
# shows the end of that file and stops.
assay_step() {
  local name=$1 log=$assay_logs/$2 status=0
  shift 2
  mkdir -p "$assay_logs" || stop "cannot write under $PWD/build"
  if [[ -t 1 ]]; then
    "$@" </dev/null 2>&1 | tee "$log" | assay_progress || status=$?
  else
    "$@" </dev/null >"$log" 2>&1 || status=$?
  fi
  ((status == 0)) && return
  {
    printf '\n'
    tail -n "$assay_tail" "$log"
    printf '\n'
  } >&2
  stop "$name failed (exit code $status). Above: the end of $log${assay_hint:+ -- $assay_hint}"
}

# assay_test PRESET [ARGUMENT...]: runs ctest, whose summary is the end of the output. Fails if no test ran, and with
# CI=true if a test was skipped that tests/skipped.txt does not explain. The results stay in build/.../tests.xml.
assay_test() {
  local preset=$1 status=0 results=Testing/tests.xml build
  shift
  build=build/$(assay_build_folder "$preset")
  rm -f "$build/$results"
  ctest --preset "$preset" --no-tests=error --output-on-failure --parallel "${CTEST_PARALLEL_LEVEL:-$(nproc)}" \
    --output-junit "$results" --test-output-size-passed 100000000 "$@" || status=$?
  [[ -e $build/$results ]] || return "$((status ? status : 1))"
  if ! python3 -B tests/check_results.py "$build/$results" && [[ ${CI:-} == true ]]; then
    say "the skipped tests above count as failures" >&2
    status=1
  fi
  return "$status"
}

# The build folder of a test preset, below build/.
assay_build_folder() {
  case $1 in
    quick | nightly) printf 'release\n' ;;
    *) printf '%s\n' "$1" ;;
  esac
}

# assay_packages [PACKAGE...]: installs what is missing of assay_needed and of the arguments. Says
# nothing and calls no apt when nothing is.
assay_packages() {
  local status package missing=() as_root=()
  local -A present=()
  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here, so packages are not checked; on Debian 12 these are used: ${assay_needed[*]} $*"
    return
  fi
  while read -r status package; do
    if [[ $status == installed ]]; then present[$package]=1; fi
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${assay_needed[@]}" "$@" 2>/dev/null)
  for package in "${assay_needed[@]}" "$@"; do
    [[ -n ${present[$package]:-} ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  say "installing with apt: ${missing[*]}"
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      stop "this needs root and there is no sudo. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
    if [[ -t 0 ]]; then
      sudo -v || stop "sudo refused. As root: apt-get install ${missing[*]}"
    else
      as_root+=(-n)  # nobody is there to type a password
    fi
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  local apt=(apt-get -o DPkg::Lock::Timeout=120)
  assay_hint="is the network there? As root: apt-get update" \
    assay_step "apt-get update" apt-update.log "${as_root[@]}" "${apt[@]}" update
  assay_step "apt-get install" apt-install.log \
    "${as_root[@]}" "${apt[@]}" install --yes --no-install-recommends "${missing[@]}"
}

# As many jobs as processors, but no more than memory carries: the largest compilations take
# some 1.5 GiB. CMAKE_BUILD_PARALLEL_LEVEL overrides it.
assay_jobs() {
  local jobs memory
  jobs=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null || true)
  if [[ -n $memory ]] && ((memory < jobs)); then jobs=$memory; fi
  ((jobs >= 1)) || jobs=1
  printf '%s\n' "${CMAKE_BUILD_PARALLEL_LEVEL:-$jobs}"
}

# assay_configure PRESET [ARGUMENT...]
assay_configure() {
  local hint=
  if [[ -e build/$1/CMakeCache.txt ]]; then
    hint="if the reason is not plain, remove build/$1 and try again"
  fi
  assay_hint=$hint assay_step "configuring (cmake --preset $1)" "$1-configure.log" \
    cmake --preset "$@"
}

# assay_build PRESET [TARGET...]: all targets when none is named.
assay_build() {
  local preset=$1 targets=()
  shift
  if (($#)); then targets=(--target "$@"); fi
  assay_step "building (cmake --build --preset $preset)" "$preset-build.log" \
    cmake --build --preset "$preset" --parallel "$(assay_jobs)" "${targets[@]}"
}
