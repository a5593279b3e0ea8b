# Shared by the scripts: where downloads live, how packages are installed, how results are counted.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${ERGON_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ergon}
mkdir -p "$cache"

say() { printf 'ergon: %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "cannot run '$*' as this user" "run it as root, or install sudo"; fi
}

# install_packages NAME...: installs the Debian packages that are missing, and says which.
install_packages() {
  local missing=() p
  for p in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing: ${missing[*]}"
  as_root apt-get update -qq || say "the package lists could not be refreshed; trying the ones that are here"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    die "the Debian packages could not be installed: ${missing[*]}" "check the network, then run the same command again"
}

# Everything is built with the jobs that the memory allows: about 1.5 GB a compiler.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1500000)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# The folder of public measurements, or nothing.
shared_data() {
  local folder=${ERGON_SHARED_DATA:-$root/../shared/data}
  if [ -d "$folder" ]; then (cd "$folder" && pwd); fi
}
