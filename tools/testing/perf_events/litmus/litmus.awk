# SPDX-License-Identifier: GPL-2.0
#
# awk -f litmus.awk FILE.litmus: the litmus test as a spin model. Its assertion fails if the
# state behind "exists" can be reached.
#
# An access of a process is executed at once, and all others see it then. But any access may be
# executed before one that precedes it in the program, unless something orders both:
#
#	- they are to the same variable
#	- one of them is a full barrier: an atomic operation that returns a value, without a suffix
#	- the first is an acquire, or the second a release
#	- smp_mb() lies between them
#	- the second is a store behind an if (), and the first loads what that decides
#
# That is the order of CPUs whose stores all others see at the same time. The memory model of the
# kernel allows more: on Power, CPUs may see the stores of two others in different orders.

function fail(why)
{
	print FILENAME ": line " FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

# The argument @n of a call, without the star of READ_ONCE(*x)
function argument(call, n,	arguments)
{
	sub(/^[^(]*\(/, "", call)
	sub(/\);?$/, "", call)
	split(call, arguments, / *, */)
	sub(/^\*/, "", arguments[n])
	return arguments[n]
}

# Add an operation on @var, or on none: @order is full, acquire, release or none.
function add(var, order, action)
{
	name[nr] = var
	ordered[nr] = order
	does[nr] = action
	condition[nr] = guard
	loads[nr] = target
	process[nr++] = processes - 1
	if (var)
		variables[var]
}

function register(reg)
{
	registers["P" processes - 1 "_" reg]
	return "P" processes - 1 "_" reg
}

function load(var)
{
	return target ? target " = " var : "skip"
}

# value of the suffix of an atomic operation
function suffix(call)
{
	if (call ~ /^[a-z_]*_(relaxed|acquire|release)\(/) {
		sub(/\(.*/, "", call)
		sub(/.*_/, "", call)
		return call
	}
	return "full"
}

function statement(call,	var)
{
	# A CPU may speculate, and load before it knows the condition.
	if (guard && call ~ /^(READ_ONCE|smp_load|atomic_read)/)
		fail("not supported behind an if (): " call)
	if (call == "smp_mb();")
		add("", "full", "skip")
	else if (call ~ /^(READ_ONCE|atomic_read)\(/)
		add(var = argument(call, 1), "", load(var))
	else if (call ~ /^(smp_load|atomic_read)_acquire\(/)
		add(var = argument(call, 1), "acquire", load(var))
	else if (call ~ /^WRITE_ONCE\(/)
		add(var = argument(call, 1), "", var " = " argument(call, 2))
	else if (call ~ /^atomic_inc\(/)
		add(var = argument(call, 1), "", var "++")
	else if (call ~ /^atomic_add\(/)
		add(var = argument(call, 2), "", var " = " var " + " argument(call, 1))
	else if (call ~ /^atomic_add_return[a-z_]*\(/)
		add(var = argument(call, 2), suffix(call), var " = " var " + " \
		    argument(call, 1) "; " load(var))
	else if (call ~ /^(atomic_)?cmpxchg[a-z_]*\(/)
		add(var = argument(call, 1), suffix(call), load(var) "; if :: " var " == " \
		    argument(call, 2) " -> " var " = " argument(call, 3) " :: else fi")
	else
		fail("unknown: " call)
}

# Has operation @i to wait for @j, which precedes it?
function waits(i, j)
{
	return name[i] == name[j] || ordered[i] == "full" || ordered[j] == "full" ||
	       ordered[j] == "acquire" || ordered[i] == "release" ||
	       (condition[i] && condition[i] == loads[j])
}

function operation(i,	j, wait, action)
{
	wait = "!did[" i - first "]"
	for (j = first; j < i; j++)
		if (waits(i, j))
			wait = wait " && did[" j - first "]"
	action = does[i]
	if (condition[i])
		action = "if :: " condition[i] " != 0 -> " action " :: else fi"
	print "\t:: atomic { " wait " -> " action "; did[" i - first "] = true }"
}

function model(	p, i, var, all)
{
	for (var in variables)
		print "byte " var ";"
	for (var in registers)
		print "byte " var ";"
	print "byte done;"
	for (p = 0; p < processes; p++) {
		for (first = 0; process[first] != p; first++)
			;
		for (last = first; last < nr && process[last] == p; last++)
			;
		print "\nproctype P" p "()\n{\n\tbool did[" last - first "];\n\n\tdo"
		all = "\t:: true"
		for (i = first; i < last; i++) {
			operation(i)
			all = all " && did[" i - first "]"
		}
		print all " -> break\n\tod;\n\tdone++\n}"
	}
	print "\ninit\n{\n\tatomic {"
	for (p = 0; p < processes; p++)
		print "\t\t" "run P" p "();"
	print "\t\tskip\n\t}\n\tdone == " processes ";\n\tassert(!(" exists "))\n}"
}

BEGIN { processes = 0; nr = 0 }
/^\(\*/ { comment = 1 }
comment { if (/^ ?\*\)/) comment = 0; next }
/^C / || /^\{\}$/ || /^[ \t]*$/ || /^\t*int / || /^[{]$/ { next }
/^P[0-9]+\(/ { processes++; guard = ""; next }
/^}$/ || /^\t+}$/ { guard = ""; next }
/^\t+if \(r[0-9]+\) \{$/ {
	gsub(/.*\(|\).*/, "")
	guard = register($0)
	next
}
/^\t/ {
	sub(/^\t+/, "")
	target = ""
	if (match($0, /^r[0-9]+ = /)) {
		target = register(substr($0, 1, RLENGTH - 3))
		$0 = substr($0, RLENGTH + 1)
	}
	statement($0)
	next
}
/^exists \(/ {
	sub(/^exists /, "")
	gsub(/\/\\/, "\\&\\&")
	gsub(/=/, " == ")
	gsub(/:/, "_")
	gsub(/[0-9]+_r/, "P&")
	exists = $0
	next
}
{ fail("unknown: " $0) }
END {
	if (failed)
		exit 1
	if (!exists)
		fail("no condition")
	model()
}
