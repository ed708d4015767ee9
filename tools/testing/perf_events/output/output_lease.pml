/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/events/output_lease.c: the lease of CPU 0, access by access.
 *
 * On CPU 0 a task writes. It stands still while an interrupt, the tick or sent by a flush,
 * or an NMI runs; an NMI interrupts the interrupt, too. CPU 1 writes records outside leases, and a
 * reader flushes. There is one block, and each record is one word.
 *
 * Claimed:
 *   - what is published was stored, or is padding;
 *   - each context of a CPU finds room above what it wrote before (L3);
 *   - what had ended when a flush began is published when it ends, unless a writer is
 *     in the middle;
 *   - after the last tick everything is committed, once, and published (L2).
 *
 * -DMUTANT_...: breaks one line. See output-spin-check.sh.
 */
#ifndef TASK
#define TASK	1	/* records of the task */
#endif
#ifndef NMIS
#define NMIS	1	/* of NMIs */
#endif
#ifndef TICKS
#define TICKS	0	/* while they write; there is one at the end */
#endif
#ifndef OTHER
#define OTHER	1	/* of CPU 1 */
#endif

#define LEASE	3	/* its size: two records, and one word that stays padding */
#define NONE	200
#define BUSY	201
#define ASKED	202
#define MOST	40

/* Shared by all */
byte reserved, committed, published;
byte flushing;	/* which bars leases, as there is one block */

/* The lease */
byte lease_pos = NONE, lease_committed = NONE, lease_start;

/* CPU 0 is interrupted */
bool nmi, ipi;

/* What the claims need to know */
bool stored[MOST];
byte last[3];
byte ended;	/* end of the last record that has ended */
byte writing;	/* contexts in the middle of a record */
byte done;

inline publish()
{
	atomic {
		n = 0;
		if
		:: committed == reserved ->
			do
			:: n < reserved -> assert(stored[n]); n++
			:: else -> break
			od;
			published = reserved
		:: else
		fi;
		n = 0
	}
}

/* Pad from @from on, and commit the lease but @part. */
inline end_lease(from, part)
{
	atomic {
		n = from;
		do
		:: n < lease_start + LEASE -> stored[n] = true; n++
		:: else -> break
		od;
		n = 0
	}
#ifdef MUTANT_COMMIT_ALL
	committed = committed + LEASE;
#else
	committed = committed + LEASE - (part);
#endif
#ifdef MUTANT_NONE_FIRST
	lease_pos = NONE;
	publish()
#else
	publish();
	lease_pos = NONE
#endif
}

inline close_lease()
{
	p = lease_pos;
	do
	:: p == NONE || p == ASKED -> break
#ifdef MUTANT_NEVER_ASKS
	:: p == BUSY -> break
#else
	:: p == BUSY ->
		atomic {
			if
			:: lease_pos == p -> lease_pos = ASKED; break
			:: else -> p = lease_pos
			fi
		}
#endif
	:: p < NONE ->
		atomic {
			if
			:: lease_pos == p -> lease_pos = BUSY
			:: else -> p = lease_pos; goto again
			fi
		}
		c = lease_committed;
		lease_committed = NONE;
		end_lease(p, p - c);
		break;
again:		skip
	od;
	atomic { p = 0; c = 0 }
}

/* @opened tells whether there is a new lease */
inline open_lease()
{
	opened = false;
#ifdef MUTANT_FLUSH_UNSEEN
	c = flushing;
#endif
	atomic {
		p = lease_pos;
		if
		:: p == NONE -> lease_pos = BUSY
		:: else
		fi
	}
	if
	:: p != NONE
	:: p == NONE ->
		atomic { p = reserved; reserved = reserved + LEASE };
		lease_start = p;
#ifdef MUTANT_OPEN_FIRST
		lease_pos = p;
		lease_committed = p;
		opened = true;
#else
		lease_committed = p;
#ifndef MUTANT_FLUSH_UNSEEN
		c = flushing;
#endif
		atomic {
			if
			:: c == 0 && lease_pos == BUSY -> lease_pos = p; opened = true
			:: else
			fi
		}
		if
		:: opened
		:: else ->
			lease_committed = NONE;
			end_lease(p, 0)
		fi
#endif
	fi;
	atomic { p = 0; c = 0 }
}

/* Room above all that this context wrote before: L3 */
inline own(level)
{
	assert(start >= last[level]);
	last[level] = start + 1
}

inline write_record(level, leases)
{
	atomic { writing++; room = false };
	do
	:: room -> break
	:: !room && leases ->
		p = lease_pos;
		if
		:: p < NONE && p < lease_start + LEASE - 1 ->
			atomic {
				if
				:: lease_pos == p ->
					lease_pos = p + 1;
					start = p;
					room = true;
					own(level)
				:: else
				fi
			}
		:: else ->
			close_lease();
			if
			:: open_lease()
			:: opened = false
			fi;
			if
			:: opened
			:: else -> goto single
			fi
		fi
	:: !room && !leases ->
single:		atomic { start = reserved; reserved++; room = true; own(level) };
#ifndef MUTANT_KEEPS_LEASE
		if
		:: leases -> close_lease()
		:: else
		fi
#endif
	od;
	stored[start] = true;

	/* Commit */
	do
	:: leases ->
		c = lease_committed;
#ifdef MUTANT_ANY_LEASE
		if
		:: c != NONE ->
#else
		if
		:: c != NONE && start >= lease_start && start < lease_start + LEASE ->
#endif
			atomic {
				if
				:: lease_committed == c -> lease_committed = c + 1; break
				:: else
				fi
			}
		:: else -> goto alone
		fi
	:: !leases ->
alone:		committed++;
		publish();
		break
	od;
	atomic {
		writing--;
		if
		:: start + 1 > ended -> ended = start + 1
		:: else
		fi;
		start = 0; p = 0; c = 0; room = false; opened = false
	}
}

#define LOCALS	byte start, p, c, n, i; bool room, opened

proctype task() provided (!nmi && !ipi)
{
	LOCALS;

	do
	:: i < TASK -> write_record(0, true); i++
	:: else -> break
	od;
	done++
}

proctype nmis()
{
	LOCALS;

	do
	:: i < NMIS ->
		nmi = true;
		write_record(1, true);
		atomic { nmi = false; i++ }
	:: else -> break
	od;
	done++
}

proctype other()
{
	LOCALS;

	do
	:: i < OTHER -> write_record(2, false); i++
	:: else -> break
	od;
	done++
}

/* What a flush runs on CPU 0 */
proctype interrupts() provided (!nmi)
{
	byte p, c, n;

	ipi;
	close_lease();
	ipi = false
}

#if TICKS
/* Comes whenever it likes. The interrupt of a flush waits for its end. */
proctype tick() provided (!nmi)
{
	byte p, c, n, i;

	do
	:: i < TICKS ->
		atomic { !ipi -> ipi = true };
		close_lease();
		atomic { ipi = false; i++ }
	:: else -> break
	od;
	done++
}
#endif

proctype flush()
{
	byte before;

	before = ended;
	flushing++;
	if
	:: atomic { lease_pos != NONE && !ipi -> ipi = true; run interrupts() };
		!ipi
	:: lease_pos == NONE
	fi;
	assert(published >= before || writing > 0);
	flushing--;
	done++
}

init
{
	byte p, c, n;

	atomic {
		run task();
		run nmis();
		run other();
#if TICKS
		run tick();
#endif
		run flush()
	}
	done == 4 + (TICKS > 0);
	close_lease();	/* the last tick */
	assert(committed == reserved);
	assert(published == reserved);
	assert(published >= ended)
}
