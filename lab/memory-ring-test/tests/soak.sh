# shellcheck shell=bash
# Memory and dumps must not grow. Sourced by lab/memory-ring-test/guest.

# In the virtual machine, because other programs on CPU 0 would make FORKs and need memory, too
test_vm_soak() { # memory and dumps don't grow with objects whose end has no record
	soak 150 400
}

# soak FIRST ROUNDS - in a cgroup of its own
soak() {
	local status

	mkdir cgroups && mount -t cgroup2 none cgroups && mkdir cgroups/soak.$$ || return
	soak_and_compare "$PWD/cgroups/soak.$$" "$@"
	status=$?
	rmdir cgroups/soak.$$
	umount -l cgroups
	return "$status"
}

# soak_and_compare CGROUP FIRST ROUNDS - compares the records of each kind in a dump after
# twice FIRST rounds and in one after ROUNDS more: the increase must be less than half of the
# objects made. Those of the last seconds are in both.
soak_and_compare() {
	local rounds=$3 what made modules=0 first

	start_record -e cpu-clock -F 100 -m 4M -C 0 --all-cgroups --namespaces -M 128K \
		--switch-output=signal || return
	# How much of its heap perf can give back depends on luck, so compare the peaks. After
	# the first run the heap is still growing.
	soak_and_dump "$2" "$1" 0 && soak_and_dump "$2" "$1" 1 && mv counts first &&
		first=$(peak_memory "$recorder") && soak_and_dump "$rounds" "$1" 2 || return
	echo "# at most $first KiB of memory, then $(peak_memory "$recorder")"
	(($(peak_memory "$recorder") < first * 9 / 8)) || complain "memory has grown" || return
	stop_record || return
	for what in FORK:2 CGROUP:4 MMAP2:200 BPF_EVENT:1; do
		made=$((${what#*:} * rounds)) what=${what%:*}
		(($(count "$what" counts) < $(count "$what" first) + made / 2)) ||
			complain "$what: $(count "$what" first), then $(count "$what" counts)" || return
	done
	[[ ! $(soak_module) ]] || modules=$rounds
	grep -q "^$rounds tasks, $((4 * rounds)) cgroups, $((200 * rounds)) code, $rounds programs, \
$rounds binaries, $modules modules" soak.log ||
		complain "not all was made: $(cat soak.log)" || return
	said 'mappings and kernel objects dropped'
}

# soak_and_dump ROUNDS CGROUPS FILES - run the soak, dump, and count the records of dump
# number FILES
soak_and_dump() {
	local -a files

	# shellcheck disable=SC2046  # no word or one, without blanks
	"$bin/soak" 50 "$1" "$2" $(soak_module) >soak.log 2>&1 || complain "the soak failed: $(cat soak.log)" ||
		return
	dump || return
	files=(perf.data.*)
	perf report --stats -i "${files[$3]}" >counts 2>/dev/null ||
		complain "perf report can't read ${files[$3]}"
}

# count WHAT FILE - print the number of records of a kind
count() {
	awk -v what="$1" '$1 == what { sub(":", "", $3); print $3 + 0; n++; exit }
		END { if (!n) print 0 }' "$2"
}
