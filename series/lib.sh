# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the commands in this directory: paths, a git that is independent of the
# user's configuration, messages, and the parts of an entry.

set -euo pipefail
export LC_ALL=C

me=series/$(basename "$0")
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
series_dir=$repo/series
first_base=6.1
version=''
logs=''
tree_name=linux

die() { printf '%s: error: %s\n' "$me" "$1" >&2; shift; [ $# = 0 ] || printf '  %s\n' "$@" >&2; exit 1; }

# Print the comment at the top of the calling script.
usage() { sed -n '3,/^$/{s/^# \{0,1\}//p}' "$0"; exit 0; }

# --- git -------------------------------------------------------------------

# The same input must give the same bytes for everybody: system and user configuration
# are disabled, and settings that a repository could have are overridden.
isolate_git() {
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

# A date is a fixed day plus one minute for each place in the series.
fix_date() {
	export GIT_AUTHOR_DATE="$((1577836800 + 60 * $1)) +0000"
	export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
}

# --- the tree that compose makes -------------------------------------------

# The state of compose and export is in TREE/.git/series:
#   base       the source of the tag `base`
#   topic      the composed topic, with those that it needs; empty: all
#   composed   the commit that compose left on the branch `series`
#   exported   the last commit that export has read
#   commits    "key commit" of each entry, to reuse the commit
#   repo       digest of the repository when tree and repository last agreed
recall() { cat "$tree/.git/series/$1" 2>/dev/null || true; }
record() { printf '%s\n' "$2" > "$tree/.git/series/$1"; }

need_tree() {
	[ -d "$tree/.git" ] || die "$tree: no such git tree" 'run series/compose first'
	git -C "$tree" rev-parse -q --verify base^0 >/dev/null ||
		die "$tree has no tag 'base'" 'run series/compose first'
	git -C "$tree" rev-parse -q --verify refs/heads/series^0 >/dev/null ||
		die "$tree has no branch 'series'" 'run series/compose first'
}

on_series() { [ "$(git -C "$tree" symbolic-ref -q HEAD)" = refs/heads/series ]; }

is_clean() {
	git -C "$tree" update-index -q --refresh >/dev/null || true
	git -C "$tree" diff-index --quiet HEAD --
}

# The kernel version of the tree or commit $1. Scripts that read entries have that of the
# base in $version.
base_version() {
	git -C "$tree" show "$1:Makefile" 2>/dev/null |
		awk '/^(VERSION|PATCHLEVEL|SUBLEVEL) *=/ { v = v dot $3; dot = "." }
		     END { print v == "" ? "unknown" : v }'
}

# --- where to build: build/ is for the whole series on the first base --------------

base=${BASE:-$first_base}
topic=${TOPIC:-}

is_version() { [[ $1 =~ ^[0-9]+\.[0-9]+$ ]]; }

# Set $build from $base and $topic, unless the environment does. A base that is not a Debian
# package has no directory of its own.
choose_build() {
	build=$repo/build
	! is_version "$base" || [ "$base" = "$first_base" ] || build+=/$base
	build+=${topic:+/topics/$topic}
	build=$(realpath -m -- "${BUILD:-$build}")
	tree=${tree:-$build/$tree_name}
}

# --- topics and their entries --------------------------------------------------

# Names of all topics, in order.
all_topics() { sed 's/#.*//' "$repo/series/topics" | awk 'NF { print $1 }'; }

needs_of() { sed 's/#.*//' "$repo/series/$1/needs" 2>/dev/null | awk 'NF { print $1 }'; }

# The topic $1 and all that it needs, in any order, possibly more than once.
closure() {
	local need

	echo "$1"
	for need in $(needs_of "$1"); do
		closure "$need"
	done
}

# Names of topic $1 and of those that it needs, or of all topics, in order.
topics() {
	if [ "${1-}" ]; then
		all_topics | grep -xF -f <(closure "$1")
	else
		all_topics
	fi
}

# Topics must exist, and need only earlier ones, so that there is no cycle.
check_topics() {
	local name need before=' '

	for name in $(all_topics); do
		[ -d "$repo/series/$name" ] || die "series/topics: $name: no directory series/$name"
		for need in $(needs_of "$name"); do
			[[ $before == *" $need "* ]] ||
				die "series/$name/needs: $need: no topic before $name has this name"
		done
		before+="$name "
	done
	for name in "$repo"/series/*/; do
		name=$(basename "$name")
		[[ $before == *" $name "* ]] || die "series/$name: not in series/topics"
	done
	[ -z "$topic" ] || [[ $before == *" $topic "* ]] ||
		die "no topic '$topic'" "there are: $(all_topics | xargs)"
}

# Names of the entries of the topics $@, TOPIC/NN-name, in order.
entries() {
	local name dir

	for name; do
		for dir in "$series_dir/$name"/[0-9][0-9]-*/; do
			[ ! -d "$dir" ] || echo "$name/$(basename "$dir")"
		done
	done
}

# Files of an entry with -VERSION in their names are for other bases than the first: for that
# version and newer ones, up to the next such file of the same kind. Print the VERSION of the
# file of entry $1, of kind $2 with suffix $3, that applies to $version.
variant_of() {
	local file this best='' limit

	limit=$(rank "$version")
	for file in "$series_dir/$1/$2"-[0-9]*"$3"; do
		[ -f "$file" ] || continue
		this=${file##*/"$2"-} this=${this%"$3"}
		[ "$(rank "$this")" -gt "$limit" ] || [ "$(rank "$this")" -lt "$(rank "$best")" ] ||
			best=$this
	done
	echo "$best"
}

# A number for comparing versions: 6.12 is newer than 6.1. An empty version is the oldest.
rank() {
	local major minor

	IFS=. read -r major minor _ <<< "$1"
	echo $((${major:-0} * 1000 + ${minor:-0}))
}

# The files for this base
edits_for() { local v; v=$(variant_of "$1" edits .patch); echo "$series_dir/$1/edits${v:+-$v}.patch"; }
message_for() { local v; v=$(variant_of "$1" message ''); echo "$series_dir/$1/message${v:+-$v}"; }

# The file that says why entry $1 is absent from this base; nothing if it isn't.
absence_of() {
	local absent

	absent=$(variant_of "$1" absent '')
	[ -z "$absent" ] ||
		[ "$(rank "$absent")" -lt "$(rank "$(variant_of "$1" edits .patch)")" ] ||
		echo "$series_dir/$1/absent-$absent"
}

# The paths that entry $1 adds.
added_by() { awk 1 "$series_dir/$1/files" 2>/dev/null || true; }

# "mode blob path" of each file that entry $1 adds; the blobs are stored.
store_files() {
	local path blob mode

	added_by "$1" | (cd "$repo" && git --git-dir="$tree/.git" hash-object -w --no-filters --stdin-paths) |
	paste -d' ' - <(added_by "$1") | while read -r blob path; do
		mode=100644
		[ ! -x "$repo/$path" ] || mode=100755
		printf '%s %s\t%s\n' "$mode" "$blob" "$path"
	done
}

# The subject of entry $1.
subject_of_entry() { git stripspace < "$(message_for "$1")" | sed -n 1p; }

# A digest of all that compose reads from the repository.
repo_digest() {
	local entry names

	mapfile -t names < <(all_topics)
	cd "$repo" && {
		echo series/topics
		for entry in $(entries "${names[@]}"); do
			find "series/$entry" -type f | sort
			added_by "$entry"
		done
	} | xargs -r -d '\n' sh -c 'sha256sum -- "$@"; stat -c "%A %n" -- "$@"' sh 2>&1 | sha256sum
}

# --- a tree for trying commits: files that don't change keep their time -------------

# make_scratch NAME [PATTERN...] - at check/NAME; with patterns of git-sparse-checkout, only
# the files that they match are written.
make_scratch() {
	scratch=$build/check/$1
	shift
	[ ! -e "$scratch/.git" ] || ! git -C "$scratch" rev-parse -q --verify base >/dev/null || return 0
	rm -rf "$scratch"
	mkdir -p "$(dirname "$scratch")"
	git -C "$tree" worktree prune
	git -C "$tree" worktree add -q --detach --no-checkout "$scratch" base || exit
	[ $# = 0 ] || git -C "$scratch" sparse-checkout set --no-cone "$@" || exit
	progress "Writing $scratch" git -C "$scratch" checkout -q --force
}

checkout() { git -C "$scratch" checkout -q --force --detach "$1"; }

# --- tests in TAP ---------------------------------------------------------------

tests=0
failures=0

# check WHAT LOG CMD... - run a command as one test; its output goes to a log.
check() {
	local what=$1 log=$logs/$2.log start=$EPOCHREALTIME ok=ok seconds

	shift 2
	tests=$((tests + 1))
	"$@" > "$log" 2>&1 < /dev/null || ok='not ok'
	seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")
	echo "$ok $tests - $what ($seconds s)"
	[ "$ok" != ok ] || return 0
	failures=$((failures + 1))
	echo "# the last lines of $log:"
	tail -n 20 "$log" | sed 's/^/#   /'
	return 1
}

# --- progress --------------------------------------------------------------

# Run a command that takes a while: print what is done, and the time that it took.
progress() {
	local what=$1 start=$SECONDS ticker='' rc=0

	shift
	if [ -t 2 ]; then
		while printf '\r%s ... %d s ' "$what" $((SECONDS - start)) >&2; do sleep 1; done &
		ticker=$!
		# shellcheck disable=SC2064 # expanded now, for this ticker
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
