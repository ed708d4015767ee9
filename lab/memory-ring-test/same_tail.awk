# SPDX-License-Identifier: GPL-2.0
# Is a dump the tail of a full recording? Both have a sample for each event, as with
# -e page-faults -c 1. FULL and DUMP are the output of perf script.
#
# usage: awk -v requested=TIME [-v late=1] -f same_tail.awk FULL DUMP
#
# On each CPU the dump must be a run of the full recording's samples without a gap, equal
# but for the times, up to the request. The two recordings read the clock one after the
# other, and a busy host can stop the virtual CPU between the two. So the run is looked for
# within a second; of several, the nearest in time counts. The ring must have dropped samples
# of each CPU, unless late=1, for CPUs that are busy only at the end.

function complain(message)
{
	print "# " message
	failed = 1
}

function same_run(cpu, from,    i)
{
	for (i = 1; i <= dumped[cpu]; i++) {
		if (full[cpu, from + i - 1] != dump[cpu, i])
			return i
	}
	return 0
}

function distance(cpu, i,    d)
{
	d = full_time[cpu, i] - dump_time[cpu, 1]
	return d < 0 ? -d : d
}

function find_run(cpu,    i, differs, furthest, at, nearest)
{
	for (i = 1; i <= recorded[cpu]; i++) {
		if (distance(cpu, i) > 1 || nearest && distance(cpu, i) >= distance(cpu, nearest))
			continue
		differs = same_run(cpu, i)
		if (!differs) {
			nearest = i
		} else if (differs > furthest) {
			furthest = differs
			at = i + differs - 1
		}
	}
	if (nearest)
		return nearest
	complain("CPU " cpu ": from sample " furthest + 0 " of " dumped[cpu] " on it differs:")
	print "# full " full[cpu, at] "\n# dump " dump[cpu, furthest]
	return 0
}

{
	match($0, /\[[0-9]+\] *[0-9]+\.[0-9]+:/)
	split(substr($0, RSTART, RLENGTH), part, /[] :[]+/)
	cpu = part[2]
	key = substr($0, 1, RSTART - 1) substr($0, RSTART + RLENGTH)
}

FNR == NR {
	full[cpu, ++recorded[cpu]] = key
	full_time[cpu, recorded[cpu]] = part[3] + 0
	next
}

{
	dump[cpu, ++dumped[cpu]] = key
	dump_time[cpu, dumped[cpu]] = part[3] + 0
}

END {
	for (cpu in dumped) {
		samples += dumped[cpu]
		if (dump_time[cpu, 1] > whole)
			whole = dump_time[cpu, 1]
		first = find_run(cpu)
		if (!first)
			continue
		following = first + dumped[cpu]
		if (following <= recorded[cpu] && full_time[cpu, following] < requested)
			complain("CPU " cpu ": " full[cpu, following] " is missing at the end")
		if (first == 1 && !late)
			complain("CPU " cpu ": nothing was dropped")
	}
	for (cpu in recorded) {
		for (i = 1; !(cpu in dumped) && i <= recorded[cpu]; i++) {
			if (full_time[cpu, i] > whole && full_time[cpu, i] < requested) {
				complain("CPU " cpu " is missing")
				break
			}
		}
	}
	print "# " samples + 0 " samples compared"
	exit failed || !samples
}
