# shellcheck shell=bash
# What is dumped: sizes, targets, options of perf record. Sourced by lab/memory-ring-test/guest.

test_size_bad() { # SIZE: an invalid one is refused before anything starts
	local size

	for size in 0 x 4X -1 4M4 e ee4M; do
		refuses '-M|[Ss]ize|SIZE' "${cycles[@]}" -M "$size" || return
	done
}

test_size_much() { # SIZE: more than can be allocated is refused before anything starts
	refuses '[Mm]emory|allocate|too large|large' "${cycles[@]}" -M 1000000G
}

test_size_small() { # SIZE: less than a maximal record is raised, with a notice
	record "${clock[@]}" "${cycles[@]}" -M e4K -- "$bin/load" "${processes[@]}" "${some[@]}" truth &&
		said 'largest record' && right 25
}

test_no_dump() { # without a dump: headers and no samples, and how to get some
	record "${clock[@]}" "${cycles[@]}" -M 4M -- "$bin/load" "${processes[@]}" "${some[@]}" truth &&
		samples_of perf.data || return
	[[ ! -s samples ]] || complain "$(number_of_samples) samples without a dump" || return
	perf evlist -i perf.data >evlist.log 2>&1
	grep -q cpu-clock evlist.log || complain "no event in the headers" || return
	perf report --header-only -i perf.data >header 2>&1
	grep -q 'cmdline :.* -M 4M' header ||
		complain "no command line in the headers" || return
	said 'No samples were written.* SIGUSR2' || return
	perf record "${cycles[@]}" -M 4M -- true 2>record.log | cat >pipe.data
	said 'No samples were written.* SIGUSR2' && said 'wrote [0-9.]+ MB - ]' || return
	perf record "${cycles[@]}" -M e4M -- true >record.log 2>&1
	! grep 'No samples were written' record.log || complain "it says so after a dump, too"
}

test_all_cpus() { # -a: first and second dump, at exit, and each sample once
	local first second

	start_record "${cycles[@]}" -M e16M -a && start_load "${processes[@]}" || return
	let_work 300 && dump && cp perf.data first.data || return
	let_work 300 && dump && cp perf.data second.data || return
	load_ends && stop_record || return
	right 50 first.data && first=$(number_of_samples) &&
		right 100 second.data && second=$(number_of_samples) && right 150 || return
	((first < second && second < $(number_of_samples))) ||
		complain "$first, $second, $(number_of_samples) samples in the file"
}

test_running_load() { # -a: a load that was started before perf
	start_load "${processes[@]}" && start_record "${cycles[@]}" -M 16M -a || return
	let_work 300 && dump && load_ends && stop_record && right 50
}

test_wrapped() { # the ring wraps: the newest samples, and the state they need
	local dumped

	start_record "${cycles[@]}" -M 128K -a && start_load "${processes[@]}" || return
	let_work 1000 && dump && dumped=$(cut -d' ' -f1 ask.log) && load_ends && stop_record &&
		right 20 || return
	# perf's own times are between the request and, at the latest, the answer.
	awk -v dumped="$dumped" '{ sub(/^[^[]*\[[0-9]*\] */, ""); last = $0 + 0 }
		END { if (last < dumped - 0.05 || last > dumped + 1) {
			print "# asked for at " dumped ", the last sample is of " last; exit 1 } }' samples ||
		complain "these are not the newest samples" || return
	said '[1-9][0-9]* dropped by the ring'
}

test_workload() { # a workload, dumped when it ends
	record "${clock[@]}" "${cycles[@]}" -M e16M -- "$bin/load" "${processes[@]}" "${some[@]}" truth &&
		right 125
}

test_attach() { # -p: dumps while it runs and at its end
	# perf can't learn the name of a process that is forked while it attaches.
	start_load "${processes[@]}" -g go && start_record "${cycles[@]}" -M e16M -p "$load" ||
		return
	touch go
	let_work 300 && dump && cp perf.data first.data && load_ends && end_record &&
		right 50 first.data && right 100
}

test_one_cpu() { # -C: a program that starts on another CPU, and ends there
	local moving

	start_record "${seldom[@]}" -C 0 -M 16M || return
	taskset -c 1 "$bin/container_hot" 20 &
	moving=$!
	wait_for 20 "the program" works container_hot && taskset -pc 0 "$moving" >/dev/null &&
		let_pass 1 && dump
	kill "$moving"
	stop_record || return
	perf script -F comm,pid,cpu,ip,sym -i perf.data >samples 2>script.err
	(($(grep -c "container_hot  *$moving \[000\] .* container_hot" samples) >= 20)) ||
		complain "not 20 samples of it: $(grep -w -m 3 "$moving" samples)" || return
	! grep -m 3 '\[001\]' samples || complain "samples of the other CPU"
}

test_one_cgroup() { # -G: a program that starts outside of the group
	local status

	mkdir cgroups && mount -t cgroup2 none cgroups && mkdir cgroups/one.$$ || return
	comes_into cgroups/one.$$
	status=$?
	rmdir cgroups/one.$$
	umount -l cgroups
	return "$status"
}

comes_into() {
	local moving others

	start_record "${seldom[@]}" -a -G "${1##*/}" -M 16M || return
	"$bin/container_hot" 20 &
	moving=$!
	wait_for 20 "the program" works container_hot && echo "$moving" >"$1/cgroup.procs" &&
		let_pass 1 && dump
	kill "$moving" && wait "$moving"
	stop_record || return
	perf script -F comm,pid,ip,sym -i perf.data >samples 2>script.err
	(($(grep -c "container_hot  *$moving .* container_hot" samples) >= 20)) ||
		complain "not 20 samples of it: $(head -n 3 samples)" || return
	others=$(awk -v pid="$moving" '$2 != pid' samples | sed -n 1,3p)
	[[ ! $others ]] || complain "samples of others: $others"
}

test_target_gone() { # -a: all processes are long gone
	start_record "${cycles[@]}" -M 16M -a && start_load "${processes[@]}" && let_work 500 &&
		load_ends && let_pass 1 && dump && stop_record && right 100
}

test_thread() { # -t: a thread
	start_load -o -b 80 -d 100 -g go && start_record "${cycles[@]}" -M e4M -t "$load" || return
	touch go
	let_pass 0.5 && dump && load_ends && end_record && right 50
}

test_per_thread() { # --per-thread
	start_load -o -b 80 -d 100 -g go &&
		start_record "${cycles[@]}" -M e4M --per-thread -p "$load" || return
	touch go
	let_pass 0.5 && dump && load_ends && end_record && right 50
}

test_idle_target() { # -p: a signal reaches perf while the target sleeps
	local size

	start_load -o -b 80 -d 100 -g go && start_record "${cycles[@]}" -M 4M -p "$load" || return
	touch go
	let_pass 0.4
	kill -STOP "$load"
	size=$(size_of perf.data)
	kill -USR2 "$recorder"
	wait_for 10 "the dump" larger_than perf.data "$size"
	kill -CONT "$load"
	load_ends && end_record && right 20
}

test_delay() { # -D: no samples of the time before
	record "${clock[@]}" "${cycles[@]}" -M e16M -D 500 -- \
		"$bin/load" "${processes[@]}" "${some[@]}" truth && samples_of perf.data || return
	# perf knows earlier processes from /proc only, so only children with an exec since count.
	check_samples -n 50 -w 0.049
}

test_call_graph() { # records of all sizes: call graphs by DWARF
	# With -a, those of others could fill the ring on a busy machine.
	start_load "${processes[@]}" -g go &&
		start_record -e cpu-clock -F 250 --call-graph dwarf -m 1024 -M 4M -p "$load" || return
	touch go
	let_work 500 && dump && load_ends && end_record && right 20
}

test_compressed() { # -z: two dumps and one at exit
	start_record "${cycles[@]}" -z -M e16M -a && start_load "${processes[@]}" || return
	let_work 300 && dump && let_work 300 && dump && load_ends && stop_record && right 100 || return
	perf report --header-only -i perf.data >header 2>/dev/null
	grep -q 'compressed : Zstd' header ||
		complain "nothing was compressed"
}

test_pipe() { # -o -: dumps through a pipe
	mkfifo ctl ack
	start_load "${processes[@]}" || return
	perf record "${clock[@]}" "${cycles[@]}" -M e16M -a -o - --control fifo:ctl,ack \
		2>record.log >pipe.data &
	recorder=$!
	ask ping && let_work 300 && dump && let_work 300 && dump && load_ends && stop_record &&
		perf script --ns -G -F "$fields" -i - <pipe.data >samples 2>script.err && check_samples \
		-r 99.7 -w 0.049 -c 100 -n 50
}

# said_once PATTERN - perf must have printed PATTERN once, and must not announce that it keeps the records.
said_once() {
	said "$1" || return
	(($(grep -cE -- "$1" record.log) == 1)) || complain "perf says more than once '$1'" || return
	! grep -q 'kept for the next dump' record.log || complain "perf means to try again"
}

test_closed_pipe() { # -o -: without its reader, perf ends at the next dump, with an error
	local reader status=0

	mkfifo ctl ack pipe
	cat pipe >/dev/null &
	reader=$!
	start_load "${processes[@]}" || return
	perf record "${clock[@]}" "${cycles[@]}" -M e4M -a -o - --control fifo:ctl,ack 2>record.log \
		>pipe &
	recorder=$!
	ask ping && let_work 300 || return
	kill "$reader"
	wait "$reader" 2>/dev/null
	request
	wait_for 20 "the end of perf record" gone "$recorder" || return
	wait "$recorder" || status=$?
	load_ends
	# Not by SIGPIPE, which would end perf without a message
	((status && status < 128 || status == 256 - 32)) || complain "exit status $status" || return
	said_once 'to the pipe: Broken pipe'
}

test_closed_pipe_at_exit() { # -o -: a reader that is gone at exit is an error
	local reader status=0

	mkfifo ctl ack pipe go
	cat pipe >/dev/null &
	reader=$!
	# shellcheck disable=SC2016  # the inner shell expands it
	perf record "${clock[@]}" "${cycles[@]}" -M e4M -o - --control fifo:ctl,ack -- \
		sh -c 'read -r line <go; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' \
		2>record.log >pipe &
	recorder=$!
	# The beginning of the file has been written.
	ask ping || return
	kill "$reader"
	wait "$reader" 2>/dev/null
	echo >go
	wait_for 20 "the end of perf record" gone "$recorder" || return
	wait "$recorder" || status=$?
	((status && status < 128 || status == 256 - 32)) || complain "exit status $status" || return
	said_once 'to the pipe: Broken pipe'
}

test_switch_output() { # --switch-output=signal: a file for each dump, --switch-max-files
	local -a files
	local i

	start_record "${cycles[@]}" -M 16M -a --switch-output=signal --switch-max-files 2 &&
		start_load "${processes[@]}" || return
	for ((i = 0; i < 3; i++)); do
		let_work 300 && dump || return
	done
	load_ends && stop_record || return
	files=(perf.data.*)
	((${#files[@]} == 2)) || complain "files: ${files[*]}" || return
	for i in "${files[@]}"; do
		samples_of "$i" || return
		[[ ! -s samples ]] || right 25 "$i" || return
	done
}

test_switch_output_each() { # --switch-output=signal: SIGUSR2, and no sample in two files
	local -a files

	start_record "${cycles[@]}" -M 16M -a --switch-output=signal &&
		start_load "${processes[@]}" || return
	let_work 300 && kill -USR2 "$recorder" && ask ping && let_work 300 && dump && load_ends &&
		stop_record || return
	files=(perf.data.*)
	for file in "${files[@]}"; do
		right 25 "$file" && cat samples >>all || return
	done
	# In the next file, samples of each CPU begin where that CPU's buffer was read last.
	awk 'match($0, /[0-9]+\.[0-9]+:/) { print substr($0, RSTART, RLENGTH - 1), $0 }' all |
		sort -s -n -k 1,1 | cut -d ' ' -f 2- >samples
	check_samples -r 99.7 -w 0.049 -c 100 -n 50
}

test_timestamp() { # --timestamp-filename
	local -a files

	record "${clock[@]}" "${cycles[@]}" -M e16M --timestamp-filename -- \
		"$bin/load" "${processes[@]}" "${some[@]}" truth || return
	files=(perf.data.*)
	((${#files[@]} == 1)) || complain "files: ${files[*]}" || return
	right 25 "${files[0]}"
}

test_event() { # --switch-output-event: each event dumps, into a file of its own
	local file

	start_record "${cycles[@]}" -M 16M -a --switch-output-event syscalls:sys_enter_chroot &&
		start_load "${processes[@]}" && let_work 300 || return
	chroot / true
	wait_for 20 "the dump" grep -q 'Dump perf.data' record.log || return
	load_ends && stop_record || return
	file=$(sed -n '0,/Dump perf/s/.*Dump \(perf[^:]*\):.*/\1/p' record.log)
	right 25 "$file"
}

test_vm_kcore() { # --kcore: a copy of the kernel beside the dumps
	[[ -r /proc/kcore ]] || complain "no /proc/kcore to copy" || return
	start_record "${cycles[@]}" -M e16M -a --kcore && start_load "${processes[@]}" || return
	let_work 300 && dump && right 25 && let_work 100 && load_ends && stop_record && right 50 ||
		return
	[[ -s perf.data/kcore_dir/kcore ]] || complain "no copy"
}

test_realtime() { # -r: perf itself has a realtime policy
	start_record "${cycles[@]}" -M 16M -a -r 1 && start_load "${processes[@]}" || return
	let_work 300 && dump && load_ends && stop_record && right 50
}

test_vm_one_buffer() { # --one-buffer: the events of all CPUs come from one buffer
	start_record -v "${cycles[@]}" -M 16M -a --one-buffer && start_load "${processes[@]}" ||
		return
	let_work 300 && dump && let_work 100 && dump && load_ends && stop_record && right 50 &&
		said ' 1 buffers'
}

test_max_size() { # --max-size: the last dump exceeds it by no more than its own size
	start_record "${cycles[@]}" -M 256K -a --max-size 300K &&
		start_load "${processes[@]}" || return
	let_work 300 && dump
	let_work 300 && { request; let_pass 0.5; request; }
	wait_for 20 "the end by --max-size" gone "$recorder"
	load_ends && end_record && right 20 || return
	((!$(larger_than perf.data 2000000; echo $?))) || return 0
	complain "the file has $(size_of perf.data) bytes"
}

test_refused() { # options that can't be combined are refused, with the reason
	refuses 'overwrite' "${cycles[@]}" -M 4M --overwrite || return
	refuses 'overwrit' -e cpu-clock/overwrite/ -M 4M || return
	refuses 'threads' "${cycles[@]}" -M 4M -a --threads || return
	refuses 'aio' "${cycles[@]}" -M 4M --aio || return
	refuses 'switch-output' "${cycles[@]}" -M 4M --switch-output=1M || return
	refuses 'kcore.*switch-output' "${cycles[@]}" -M 4M --kcore --switch-output=signal || return
	refuses 'dump-interval needs -M' "${cycles[@]}" --dump-interval 1 || return
	refuses 'max-dumps needs -M' "${cycles[@]}" --max-dumps 1 || return
	refuses 'dump-files needs -M' "${cycles[@]}" --dump-files space=1M
}

test_ragged_end() { # a child's samples and its fork, read from two buffers at different times
	local file i

	export LD_PRELOAD=$bin/slow_read.so
	# Both loops end when perf ends, in whatever way.
	# shellcheck disable=SC2016  # the inner shell expands it
	start_record -e page-faults:u -c 1 -m 4M -M 16M --switch-output=signal -- env -u LD_PRELOAD \
		sh -c 'forks() { while kill -0 $PPID; do (:); done } 2>/dev/null; forks & forks'
	unset LD_PRELOAD
	for ((i = 0; i < 20; i++)); do
		let_pass 0.1
		dump || return
	done
	ask stop && end_record 143 || return
	for file in perf.data.*; do
		samples_of "$file" && [[ -s samples ]] || complain "no samples in $file" || return
		! grep -m 3 '^ *:[0-9]' samples | sed 's/^/# /' | grep . ||
			complain "$file: samples of processes without a name" || return
	done
}
