#!/usr/bin/env bash
# make_arm64_sysroot.sh FOLDER: a folder with the C library, headers and libraries of Debian's
# arm64 packages that assay is built and tested with, which cmake/arm64.cmake cross-builds against. The
# packages come from the apt sources of this machine, with an apt state of their own below FOLDER: this
# machine's architectures, lists and installed packages stay as they are. Needs no root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/setup.sh

assay_name=make_arm64_sysroot
(($# == 1)) || stop "call it with the folder to make, as in: cmake/make_arm64_sysroot.sh build/arm64-sysroot"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || stop "this needs apt-get and dpkg-deb"
mkdir -p "$1" || stop "cannot make $1"
root=$(cd "$1" && pwd)
state=$root/.apt

# What a program of the target links, of the packages that cmake/setup.sh names, and the C library; tools
# that run while building are this machine's.
wanted=(libc6-dev libstdc++6)
for package in "${assay_needed[@]}"; do
  case $package in
    libopenmpi-dev | pybind11-dev | python3-dev | dpkg-dev) ;;  # assay-mpi and the Python module are left out
    lib*-dev | *-dev) wanted+=("$package") ;;
  esac
done

mkdir -p "$state"/{lists/partial,archives/partial,conf}
: >"$state/status"  # nothing is installed there, so that apt names every dependency
cat >"$state/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
Dir::State "$state";
Dir::State::lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Cache::archives "$state/archives";
Debug::NoLocking "true";
# A host's hooks may throw the packages away that it has just fetched, or speak of the host.
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
export APT_CONFIG=$state/apt.conf DEBIAN_FRONTEND=noninteractive

assay_step "lists of arm64's packages" arm64-update.log apt-get update
assay_step "packages of arm64" arm64-download.log \
  apt-get install --yes --download-only -o APT::Sandbox::User=root "${wanted[@]}"

# Beside the files what dpkg would know of them, by which packages for arm64 are made: whose each file is
# and what a program that needs a library depends on.
database=$root/var/lib/dpkg
rm -rf "$database"
mkdir -p "$database/info"
printf '1\n' >"$database/info/format"
count=0
for package in "$state"/archives/*.deb; do
  assay_step "unpacking ${package##*/}" arm64-unpack.log dpkg-deb --extract "$package" "$root"
  name=$(dpkg-deb --field "$package" Package)
  if [[ $(dpkg-deb --field "$package" Multi-Arch) == same ]]; then name+=:arm64; fi
  dpkg-deb --fsys-tarfile "$package" | tar --list | sed 's,^\./,/,; s,/$,,; s,^$,/.,' >"$database/info/$name.list"
  dpkg-deb --ctrl-tarfile "$package" | tar --extract --to-stdout ./shlibs \
    >"$database/info/$name.shlibs" 2>/dev/null || rm "$database/info/$name.shlibs"
  { dpkg-deb --field "$package" && printf 'Status: install ok installed\n\n'; } >>"$database/status"
  count=$((count + 1))
done

# Links that begin at / would lead into this machine.
while IFS= read -r -d '' link; do
  target=$(readlink "$link")
  ln -sfn "$(realpath --canonicalize-missing --no-symlinks --relative-to="${link%/*}" "$root$target")" "$link"
done < <(find "$root" -path "$state" -prune -o -type l -lname '/*' -print0)

# What update-alternatives would link when the package is installed: one BLAS of several.
libraries=$root/usr/lib/aarch64-linux-gnu
for name in libopenblas.so libopenblas.so.0; do
  [[ -e $libraries/$name ]] || ln -s "openblas-pthread/$name" "$libraries/$name"
done
say "$count packages in $root; now: cmake --preset arm64"
