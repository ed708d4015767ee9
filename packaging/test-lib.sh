# shellcheck shell=bash
# shellcheck disable=SC2317  # functions are called by check
# shellcheck disable=SC2154  # the sourcing script sets test_name
# Shared by the tests of packages; sourced, never run. They print TAP.

# shellcheck source=packaging/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

number=0 failed=0
log=$logs/$test_name.log
mkdir -p -- "$logs"
# A script that runs within another one has its root.
if [[ ! ${root-} ]]; then
	root=$(mktemp -d)
	trap 'umount "$root/proc" 2>/dev/null; rm -rf --one-file-system -- "$root" "$root".*' EXIT
fi

check() {
	local what=$1

	shift
	number=$((number + 1))
	if "$@" >"$log" 2>&1 </dev/null; then
		printf 'ok %d %s\n' "$number" "$what"
	else
		tail -n 20 -- "$log" | sed 's/^/# /'
		printf 'not ok %d %s\n' "$number" "$what"
		failed=1
	fi
}

# must STEP... - what the tests need; without it, this script ends
must() {
	local step

	for step; do
		$step >"$log" 2>&1 </dev/null || { tail -n 20 -- "$log" >&2 && die "failed: $step"; }
	done
}

# wait_for COMMAND... - a minute at most; what it says at last is shown
wait_for() {
	local end=$((SECONDS + 60))

	while ! "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || { echo "not in time: $*"; "$@"; return; }
		sleep 0.2
	done
}

finish() {
	printf '1..%d\n' "$number"
	exit "$failed"
}

inside() { chroot "$root" /usr/bin/env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }

# make_root PACKAGE... - Debian 12 with these packages, from the mirrors of this machine
make_root() {
	local IFS=,

	mmdebstrap --variant=apt --include="$*" --skip=cleanup/apt/lists bookworm "$root" &&
		cp -- /etc/resolv.conf "$root/etc/" &&
		mount -t proc proc "$root/proc" &&
		files >"$root.before"
}

# Files that a package could leave behind, without those of users and apt
files() {
	(cd -- "$root" && find . \( -path ./proc -o -path ./run -o -path ./root -o -path ./tmp -o \
		-path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o \
		-path ./var/log \) -prune -o -print | sort)
}

# installs FILE...
installs() {
	local -a names=("${@##*/}")

	cp -- "$@" "$root/tmp/" && inside apt-get install -y "${names[@]/#//tmp/}"
}

# Sets perf_packages: what make deb has made
find_packages() {
	mapfile -t perf_packages < <(find "$packages" -maxdepth 1 -name 'perf-flight*.deb' 2>/dev/null)
	((${#perf_packages[@]} == 2)) || die "no packages in $packages (make deb)"
}

# leaves_nothing PACKAGE... - remove them, with the libraries that came with them
leaves_nothing() {
	inside apt-get autoremove -y --purge "$@" && files | diff "$root.before" -
}
