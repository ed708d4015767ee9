# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the commands in this folder: where things are, a git that no
# user's configuration can change, messages, and what an entry is made of.

set -euo pipefail
export LC_ALL=C

me=series/$(basename "$0")
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$repo/build

die() { printf '%s: error: %s\n' "$me" "$1" >&2; shift; [ $# = 0 ] || printf '  %s\n' "$@" >&2; exit 1; }

# Print the comment at the top of the calling script.
usage() { sed -n '3,/^$/{s/^# \{0,1\}//p}' "$0"; exit 0; }

# --- git -------------------------------------------------------------------

# The same input must give the same bytes for everybody: no system or user
# configuration, and the settings that a repository could have are overridden.
isolate_git()
{
	local var setting n=0

	for var in $(git rev-parse --local-env-vars) GIT_EXTERNAL_DIFF GIT_DIFF_OPTS; do
		unset "$var"
	done
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1
	export GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 GIT_ADVICE=0
	for setting in safe.directory=* core.autocrlf=false core.safecrlf=false \
		       core.hooksPath=/dev/null core.attributesFile=/dev/null \
		       core.excludesFile=/dev/null core.quotePath=false commit.gpgSign=false \
		       diff.noprefix=false diff.mnemonicPrefix=false \
		       diff.suppressBlankEmpty=false apply.whitespace=nowarn \
		       apply.ignoreWhitespace=no am.threeWay=false \
		       advice.detachedHead=false gc.auto=0 core.fsmonitor=false; do
		export "GIT_CONFIG_KEY_$n=${setting%%=*}" "GIT_CONFIG_VALUE_$n=${setting#*=}"
		n=$((n + 1))
	done
	export GIT_CONFIG_COUNT=$n
	export GIT_AUTHOR_NAME='Perf Flight Recorder' GIT_AUTHOR_EMAIL=series@localhost
	export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
	fix_date 0
}

# Dates are counted in minutes from a fixed day, by the number of the entry.
fix_date()
{
	export GIT_AUTHOR_DATE="$((1577836800 + 60 * $1)) +0000"
	export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
}

# --- the tree that compose makes -------------------------------------------

# What compose and export remember lives in TREE/.git/series:
#   base       what the tag `base` was imported from
#   composed   the commit that compose left on the branch `series`
#   exported   the last commit that export has read
#   commits    "key commit" of each entry, to not make it again
#   repo       digest of the repository when tree and repository last agreed
recall() { cat "$tree/.git/series/$1" 2>/dev/null || true; }
record() { printf '%s\n' "$2" > "$tree/.git/series/$1"; }

need_tree()
{
	[ -d "$tree/.git" ] || die "$tree: no such git tree" 'run series/compose first'
	git -C "$tree" rev-parse -q --verify base^0 >/dev/null ||
		die "$tree has no tag 'base'" 'run series/compose first'
	git -C "$tree" rev-parse -q --verify refs/heads/series^0 >/dev/null ||
		die "$tree has no branch 'series'" 'run series/compose first'
}

on_series() { [ "$(git -C "$tree" symbolic-ref -q HEAD)" = refs/heads/series ]; }

is_clean()
{
	git -C "$tree" update-index -q --refresh >/dev/null || true
	git -C "$tree" diff-index --quiet HEAD --
}

# The kernel version of the tree or commit $1.
base_version()
{
	git -C "$tree" show "$1:Makefile" 2>/dev/null |
		awk '/^(VERSION|PATCHLEVEL|SUBLEVEL) *=/ { v = v dot $3; dot = "." }
		     END { print v == "" ? "unknown" : v }'
}

# --- entries ---------------------------------------------------------------

# Names of all entries, in order.
entries()
{
	local dir

	for dir in "$repo"/series/[0-9][0-9][0-9][0-9]-*/; do
		[ ! -d "$dir" ] || basename "$dir"
	done
}

# The paths that entry $1 adds.
added_by() { awk 1 "$repo/series/$1/files" 2>/dev/null || true; }

# Changes when anything changes that compose reads from the repository.
repo_digest()
{
	local entry

	cd "$repo" && for entry in $(entries); do
		find "series/$entry" -type f | sort
		added_by "$entry"
	done | xargs -r -d '\n' sh -c 'sha256sum -- "$@"; stat -c "%A %n" -- "$@"' sh 2>&1 | sha256sum
}

# --- progress --------------------------------------------------------------

# Run a command that takes a while: say what, and the time that it took.
progress()
{
	local what=$1 start=$SECONDS ticker='' rc=0

	shift
	if [ -t 2 ]; then
		while printf '\r%s ... %d s ' "$what" $((SECONDS - start)) >&2; do sleep 1; done &
		ticker=$!
		# shellcheck disable=SC2064 # the ticker of now
		trap "kill $ticker 2>/dev/null || true" EXIT
	else
		printf '%s ...\n' "$what" >&2
	fi
	"$@" || rc=$?
	if [ "$ticker" ]; then
		kill "$ticker"
		wait "$ticker" 2>/dev/null || true
		trap - EXIT
		printf '\r' >&2
	fi
	printf '%s: %d s\n' "$what" $((SECONDS - start)) >&2
	return $rc
}

isolate_git
