# shellcheck shell=bash
# Files in containers. Sourced by lab/memory-ring-test/guest.

# in_container KIND SECONDS - run container_hot in a container, under the path prog_KIND.
# On the host that path is another file, host_other.
in_container() {
	local prog=$PWD/prog_$1

	cp "$bin/host_other" "$prog"
	mkdir -p "root$PWD" "$PWD.over"
	# shellcheck disable=SC2016  # the inner shells expand it
	case $1 in
	mount) unshare -m sh -c 'mount --bind "$0" "$1" && exec "$1" "$2"' \
		"$bin/container_hot" "$prog" "$2" ;;
	pid) unshare -mpf sh -c 'mount --bind "$0" "$1" && exec "$1" "$2"' \
		"$bin/container_hot" "$prog" "$2" ;;
	user) unshare -mUr sh -c 'mount --bind "$0" "$1" && exec "$1" "$2"' \
		"$bin/container_hot" "$prog" "$2" ;;
	chroot)
		cp "$bin/container_hot" "root$prog"
		chroot root "$prog" "$2"
		;;
	overlay)
		cp "$bin/container_hot" "$PWD.over/prog_$1"
		unshare -m sh -c 'mount -t overlay -o "lowerdir=$0.over:$0" overlay "$0" &&
			exec "$1" "$2"' "$PWD" "$prog" "$2"
		;;
	esac
}

container_kinds() {
	echo mount pid user chroot
	! grep -qw overlay /proc/filesystems || echo overlay
}

# functions FILE KIND... - according to this perf and the stock one, the samples of these
# containers must be in container_hot, not in the other file's function.
functions() {
	local file=$1 reader kind

	shift
	for reader in perf /usr/bin/perf; do
		"$reader" script -F comm,ip,sym -i "$file" >samples 2>script.err ||
			complain "$reader script can't read $file" || return
		! grep -m 3 'prog_.* host_other' samples || complain "$file: another file's" || return
		for kind; do
			(($(grep -c "prog_$kind .* container_hot" samples) >= 20)) || {
				awk '{ print "#  ", $1, $NF }' samples | sort | uniq -c | sort -rn | sed -n 1,10p
				sed 's/^/#  /' record.log
				complain "$file: not 20 samples of prog_$kind, by $reader"
			} || return
		done
	done
}

# perf report finds both files by their build-ids, wherever they are.
cache_programs() {
	export HOME=$PWD
	perf buildid-cache --add "$bin/host_other" --add "$bin/container_hot" 2>/dev/null
}

test_containers() { # programs in containers under another file's path, gone at the dump
	local -a kinds ids=()
	local kind option

	cache_programs
	read -r -d '' -a kinds < <(container_kinds)
	# An older kernel has no build-ids in records, so files that are gone can't be known.
	# Elsewhere than in the virtual machine, --buildid-mmap would break other recordings.
	since 5.12 || return 0
	[[ -d /run/lab ]] || ids=(--buildid-mmap)
	for option in --no-buildid-cache --switch-output=signal; do
		start_record "${seldom[@]}" -M 16M -a "$option" "${ids[@]}" || return
		for kind in "${kinds[@]}"; do
			in_container "$kind" 1 || complain "no $kind" || return
		done
		dump && stop_record || return
		functions perf.data "${kinds[@]}" || return
	done
}

test_long_container_runs() { # a container's program running at the dump, and the host's of that path
	local -a kinds ids=()
	local kind option

	cache_programs
	read -r -d '' -a kinds < <(container_kinds)
	# With build-ids from the kernel, and with those that perf reads itself
	for option in --no-buildid-cache --no-buildid-mmap; do
		start_record "${seldom[@]}" -M 16M -a "$option" || return
		for kind in "${kinds[@]}"; do
			in_container "$kind" 60 2>/dev/null &
		done
		trap 'end_containers; end_all' EXIT
		for kind in "${kinds[@]}"; do
			wait_for 60 "prog_$kind" works "prog_$kind" || return
		done
		dump || return
		end_containers
		stop_record || return
		functions perf.data "${kinds[@]}" || return
	done
	# As above, for programs that are gone
	[[ -d /run/lab ]] || ids=(--buildid-mmap)
	start_record "${seldom[@]}" -M 16M -a "${ids[@]}" && in_container mount 1 &&
		./prog_mount 1 &&
		dump && stop_record || return
	perf script -F ip,sym -i perf.data --comm prog_mount >samples 2>/dev/null
	(($(grep -c host_other samples) >= 20 && $(grep -c container_hot samples) >= 20)) ||
		complain "not both: $(awk '{ print $2 }' samples | sort | uniq -c)"
}

# SIGKILL, as the first process of a pid namespace ignores all other signals.
end_containers() {
	pkill -KILL -g 0 -x 'prog_(mount|pid|user|chroot|overlay)'
}

test_no_wrong_id() { # no build-id rather than another file's, if the right one is unknown
	cache_programs
	start_record "${seldom[@]}" -M 16M -a --no-buildid-mmap && in_container mount 1 &&
		dump && stop_record || return
	! perf buildid-list -i perf.data | grep prog_mount || complain "the host's file has it"
}
