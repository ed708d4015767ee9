# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # used by those who source it
# Shared by the scripts of the lab; sourced, never run.

lab_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
repo=$(dirname -- "$lab_dir")
# The tests of the lab and trees beside the repository build elsewhere.
build=$(realpath -m -- "${BUILD:-$repo/build}")
linux=$(realpath -m -- "${LINUX:-$build/linux}")
logs=$build/log

# Those of a make that called are not for the makes that are called.
unset MAKEFLAGS MFLAGS MAKELEVEL

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 125
}

# help_if_asked "$@" - with -h or --help, print the comment at the top of the script, its usage
# first, and exit.
help_if_asked() {
	case ${1-} in
	-h | --help) ;;
	*) return 0 ;;
	esac
	awk 'NR == 1 || /^# (SPDX-|shellcheck )/ { next }
		!/^#/ { exit }
		{ sub(/^# ?/, "") }
		/^usage: / { usage = 1 }
		usage && $0 == "" { usage = 0; next }
		usage { head = head $0 "\n"; next }
		{ rest = rest $0 "\n" }
		END { sub(/\n+$/, "\n", rest); printf "%s\n%s", head, rest }' "$0"
	exit
}

# A kernel's makefiles take no directory with blanks or colons.
check_build_paths() {
	case $build$linux in
	*[[:space:]:]*) die "the kernel's build takes no path with blanks or colons: $build" ;;
	esac
	[[ -f $linux/Kbuild ]] || die "no kernel tree in $linux (make compose)"
}

# Compiler calls go through ccache where it is installed. The working
# directory is kept out of the hash, so that trees at different paths share.
# Depend mode saves the preprocessor's run: it makes a first build dearer by a tenth,
# not by half.
use_ccache() {
	CC=gcc
	command -v ccache >/dev/null || return 0
	CC="ccache gcc"
	export CCACHE_DIR=${CCACHE_DIR:-$repo/build/ccache}
	export CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
	[[ $linux == "$repo"/* ]] || CCACHE_BASEDIR=$(dirname -- "$linux")
}

# The system's libtraceevent, not the bundled copy. Left out: interpreters and a second
# user interface, which no part of this series needs.
perf_options=(LIBTRACEEVENT_DYNAMIC=1 NO_LIBPERL=1 NO_LIBPYTHON=1 NO_GTK2=1 NO_JVMTI=1
	NO_LIBDEBUGINFOD=1 NO_SDT=1)

# The same sources give the same kernel, whoever builds them.
fix_build_identity() {
	export KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC'
	export KBUILD_BUILD_USER=flight KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1
}

# For the guest, with KCSAN: races of the base that do no harm. The clock read by NMIs is a
# latch; a sleeper whose timer clears its task in the meantime reads it again; page faults
# of two tasks count misses of read-ahead; perf_event_open() reads the PMU of a context of
# software events while another of its PMUs takes the place (6.1: both are software PMUs).
# shellcheck disable=SC2034,SC2016  # used by scripts that include this; expanded there
ignore_known_races='for f in ktime_get_raw_fast_ns do_nanosleep filemap_fault filemap_map_pages \
	__do_sys_perf_event_open; do
	echo "!$f" >/sys/kernel/debug/kcsan
done'

# For the guest: kselftest's runner puts "# " before a program's lines with a script in perl,
# which takes half a second to start under emulation. The host's file stays as it is.
quick_prefix="printf '#!/bin/sh\nexec sed -u \"s/^/# /\"\n' >'$build/kselftest/kselftest/prefix.pl'"

# The kernel's messages for problems. Each expression matches at the start of a
# message, after the time stamp.
splat_pattern='\] +((.*: )?(WARNING|BUG): |INFO: (task .* blocked|possible |trying to register|rcu)|'
splat_pattern+='------------\[ cut here|kernel BUG at|Oops|general protection fault|Kernel panic|'
splat_pattern+='rcu: INFO:|UBSAN:|ODEBUG:|refcount_t:|list_(add|del) corruption|Call Trace:|'
splat_pattern+='DEBUG_LOCKS_WARN_ON|unregister_netdevice:|kmemleak:|stack segment:|'
splat_pattern+='double fault|kobject.*tried to init|.*detected stall)'

# kind_of PROGRAM - the kind of machine that a kselftest wants
kind_of() {
	case $1 in
	intel_* | aux_pt_* | aux_bts_* | output_redirect) echo model ;;
	output_*) echo smp ;;
	*) echo plain ;;
	esac
}

# run_again ARG... - lab/run ARG..., its output as it comes. The known fault of
# QEMU's TCG (90) is no result: then a line says that what is above doesn't count, and
# it runs again with one thread for all CPUs, twice at most.
once_more='# Once more: what is above does not count'
run_again() {
	local status=0 tries

	"$lab_dir/run" "$@" || status=$?
	for ((tries = 0; status == 90 && tries < 2; tries++)); do
		printf '\n%s\n' "$once_more"
		status=0
		LAB_ACCEL=tcg-single "$lab_dir/run" "$@" || status=$?
	done
	return "$status"
}

# keep FILE - hand on the lines of standard input, and keep in FILE those that count.
keep() {
	local line

	: >"$1"
	while IFS= read -r line || [[ $line ]]; do
		printf '%s\n' "$line"
		if [[ $line == "$once_more" ]]; then
			: >"$1"
		else
			printf '%s\n' "$line" >>"$1"
		fi
	done
}

# perf_test_to_tap - converts what "perf test -v" prints to TAP, line by line. 6.1 prints a test's
# title before its text, later versions after it; the verdict comes last. Only the text of a test
# that failed is in the result. A title without a verdict is that of subtests. perf prints "Skip
# (why)".
perf_test_to_tap() {
	local line title='' inside='' number=0 text=()
	local titled='^ *([0-9.]+: .*[^ ]) *:( (Ok|Skip|FAILED!).*)?$'
	local verdict=': (Ok|Skip|FAILED!)(.*)$'

	while IFS= read -r line; do
		if [[ $line == "$once_more" ]]; then
			number=0 inside='' title=''
			printf '%s\n' "$line"
		elif [[ $line == 'Bail out!'* || $line == 'not ok '* ]]; then
			printf '%s\n' ${text[@]+"${text[@]}"} "$line"
		elif [[ $line == '--- start ---' ]]; then
			inside=1 text=()
		elif [[ $line == '---- end'* ]]; then
			inside=
		elif [[ $inside ]]; then
			text+=("# $line")
		else
			[[ ! $line =~ $titled ]] || title=${BASH_REMATCH[1]}
			[[ $title && $line =~ $verdict ]] || continue
			number=$((number + 1))
			case ${BASH_REMATCH[1]} in
			Ok) printf 'ok %d %s\n' "$number" "$title" ;;
			Skip) printf 'ok %d %s # SKIP%s\n' "$number" "$title" "${BASH_REMATCH[2]}" ;;
			*) printf '%s\n' ${text[@]+"${text[@]}"} "not ok $number $title" ;;
			esac
			title='' text=()
		fi
	done
	printf '1..%d\n' "$number"
}

# build_commit - the kernel of any commit of the series. The test PMUs and the model come
# some commits before the fragment that turns them on, and what the model depends on.
build_commit() {
	sed -nE -e 's/^config (TEST_PERF_(AUX|NMI|MSR))$/CONFIG_\1=m/p' \
		-e 's/^config (PERF_EVENTS_INTEL_TRACE_MODEL)$/CONFIG_SUSPEND=y\nCONFIG_\1=y/p' \
		"$linux/lib/Kconfig.debug" "$linux/arch/x86/events/Kconfig" >"$build/options.config"
	BUILD=$build LINUX=$linux "$lab_dir/build-kernel" --fragment "$build/options.config"
}

# step WHAT LOG CMD... - run a long command into a log, saying how far it is.
# On failure the last lines of the log and its path go to stderr.
step() {
	local what=$1 log=$2 start=$SECONDS said=$SECONDS status=0 pid objects
	shift 2
	mkdir -p -- "$(dirname -- "$log")"
	printf '%s ...\n' "$what"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		read -rt 0.5 <> <(:) || :
		((SECONDS - said >= 10)) || continue
		said=$SECONDS
		objects=$(grep -cE '^ +(CC|AS|LD|AR|GEN|HOSTCC)\b' "$log" || :)
		printf '%s: %d s, %d files built\n' "$what" $((SECONDS - start)) "$objects"
	done
	wait "$pid" || status=$?
	if ((status)); then
		printf '%s: failed after %d s; the last lines of %s:\n' \
			"$what" $((SECONDS - start)) "$log" >&2
		grep -nE 'error:|Error [0-9]' "$log" | tail -n 5 >&2
		tail -n 20 -- "$log" >&2
		return 1
	fi
	printf '%s: done in %d s\n' "$what" $((SECONDS - start))
}
