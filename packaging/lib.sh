# shellcheck shell=bash
# shellcheck disable=SC2034  # used by the scripts that source it
# Shared by the scripts that build packages; sourced, never run.

# shellcheck source=lab/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../lab/lib.sh"

packages=$build/deb
maintainer_name=${DEBFULLNAME:-Perf Flight Recorder}
maintainer_email=${DEBEMAIL:-series@localhost}

# With the time of the last commit, the same sources make the same package.
commit_date() { date -u -d "@$(git -C "$repo" log -1 --format=%ct)" "$@"; }

# The version of the base, and the day of the series
package_version() {
	printf '%s+flight%s\n' "$(make -s -C "$linux" kernelversion)" "$(commit_date +%Y%m%d)"
}
