# shellcheck shell=bash
# The dump is the tail of a full recording. Sourced by lab/memory-ring-test/guest.

# start_both ARG... - start a full recording of $load and one with -M, of each page fault. The
# ring holds as much as the kernel's buffers of two CPUs: records that were read from one
# buffer may leave the ring after older ones of the other. --realtime keeps busy programs
# from delaying the recordings.
start_both() {
	local faults=(-e page-faults:u -c 1 --realtime 1)

	mkfifo full.ctl full.ack
	perf record "${clock[@]}" "${faults[@]}" -m 512 -p "$load" -o full.data \
		--control fifo:full.ctl,full.ack >full.log 2>&1 &
	full=$!
	"$bin/ask" full.ctl full.ack ping "$full" >/dev/null || {
		sed 's/^/# /' full.log
		complain "the full recording does not record"
		return
	}
	start_record "${faults[@]}" -m 64 -p "$load" "$@"
}

# same_ids - each file with samples in the dump must have the same build-id in both recordings
same_ids() {
	local object id

	perf buildid-list -i full.data >full.ids 2>/dev/null
	perf buildid-list -i perf.data >ids 2>/dev/null
	sed -n 's/.*(\(\/.*\))$/\1/p' samples | sort -u >objects
	[[ -s objects ]] || complain "samples in no file" || return
	while read -r object; do
		id=$(awk -v o="$object" '$2 == o { print $1 }' ids)
		[[ $id == $(awk -v o="$object" '$2 == o { print $1 }' full.ids) ]] ||
			complain "$object: another build-id: '$id'" || return
	done <objects
}

# same_tail REQUESTED [LATE] - run same_tail.awk. Leaves the dump's samples in "samples".
same_tail() {
	wait "$full" || (($? == 130)) || complain "the full recording failed" || return
	samples_of full.data && mv samples full && samples_of perf.data && same_ids || return
	awk -v requested="$1" -v late="${2-0}" -f "$here_dir/same_tail.awk" full samples >tail.log || {
		sed 's/^/# /' tail.log
		complain "the dump is not the tail"
	}
}

test_oracle() { # the dump is the tail of a full recording, symbol by symbol
	local full dumped

	start_load "${processes[@]}" -g go && start_both -M 512K || return
	touch go
	let_work 2500 && dump && dumped=$(cut -d' ' -f1 ask.log) && stop_record && load_ends || return
	kill -INT "$full"
	same_tail "$dumped" && right 20
}

# oracle_of COMMAND [ARG]... - the dump at exit must be the tail. The command waits for "go".
oracle_of() {
	local full

	end_with_test
	# shellcheck disable=SC2016  # the inner shell expands it
	bash -c 'until [[ -e go ]]; do sleep 0.1; done; "$@"' bash "$@" >load.log 2>&1 &
	load=$!
	start_both -M e512K || return
	touch go
	end_record && said '[1-9][0-9]* dropped by the ring' && same_tail 1e9 1
}

# The records of their first mappings have left the ring by the time they end.
programs() {
	local i

	for i in 1 2; do
		echo "#include <stdio.h>" >$i.c
		gcc -O2 -c $i.c &
	done
	for i in 1 2; do
		python3 -c "import json, ast
for i in range(8): bytearray(1 << 20)" &
	done
	wait
}

test_long_oracle_programs() { # the same for a parallel compile and Python programs, at exit
	export -f programs
	oracle_of programs
}

test_oracle_jit() { # the same for code that is made at ever new addresses, and called much later
	oracle_of "$bin/jit" 9000 && grep -q ' jit_' samples || return
	! grep -m 3 '100[0-9a-f]* \[unknown\]' samples || complain "code without a name"
}

# As nobody, because the server refuses root. Each connection has a process and one
# transaction.
postgres() {
	local -a programs=(/usr/lib/postgresql/*/bin)
	local PATH=${programs[-1]}:$PATH PGHOST=$PWD/db PGDATABASE=postgres PGUSER=nobody i

	mkdir db && chown nobody db && chmod o+x .. . || return
	export PATH PGHOST PGDATABASE PGUSER
	# shellcheck disable=SC2016  # the inner shell expands it
	setpriv --reuid nobody --regid nogroup --clear-groups bash -ec '
		cd db
		initdb -D data --auth trust --no-sync
		pg_ctl -D data -w -t 120 -o "-k $PGHOST -h \"\" -F" start
		pgbench -i -n
		pgbench -n -C -c 2 -t 20
		pg_ctl -D data -w stop'
}

test_long_oracle_postgres() { # the same for PostgreSQL, with a process for each connection
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || {
		skip "no PostgreSQL (Debian: postgresql)"
		return
	}
	export -f postgres
	oracle_of postgres && grep -q '/bin/postgres)$' samples
}
