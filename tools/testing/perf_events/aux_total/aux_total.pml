/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequence count of aux_head and aux_total in the control page, as in
 * kernel/events/aux_total.h: a CPU that writes them, in a task and in an NMI that may
 * come between any two steps, and a reader in user space on another CPU.
 *
 * Memory is weak. A store becomes visible some time after it was made; two of them in any
 * order, unless they are to the same place or have smp_wmb() between them. The reader's
 * loads happen in any order, unless they are of the same place or have smp_rmb() between
 * them.
 *
 * Expected: correct. What the reader accepts belongs together, and never goes back.
 * Refuted, with each of the MUTANT_*, which drop one line of the protocol.
 */
#ifndef TRANSACTIONS
#define TRANSACTIONS	2	/* of the task */
#endif

#define SEQ	0
#define HEAD	1
#define TOTAL	2
#define STORES	(8 * (TRANSACTIONS + 1))

byte page[3];			/* what the reader's CPU sees */

/* The stores of the CPU, in its order */
byte place[STORES], value[STORES], epoch[STORES];
bool visible[STORES];
byte stored, barriers;

/* struct perf_buffer: only this CPU has it. Head and total are the number of ends. */
byte aux_seq, ends;
bool aux_nest;

bool in_nmi;

inline store(where, what)
{
	atomic {
		place[stored] = where;
		value[stored] = what;
		epoch[stored] = barriers;
		stored++
	}
}

inline smp_wmb(mutant)
{
	if
	:: mutant -> skip
	:: else -> barriers++
	fi
}

#ifdef MUTANT_NO_A
#define WITHOUT_A	true
#else
#define WITHOUT_A	false
#endif
#ifdef MUTANT_NO_C
#define WITHOUT_C	true
#else
#define WITHOUT_C	false
#endif

/* perf_aux_publish(). @seq: a register */
inline publish(seq)
{
	seq = aux_seq + 1;
	aux_seq = seq;
	store(SEQ, seq);		/* W1 */
	smp_wmb(WITHOUT_A);
	store(HEAD, ends);		/* W2 */
	store(TOTAL, ends);
	smp_wmb(WITHOUT_C);
	seq = aux_seq + 1;
	aux_seq = seq;
	store(SEQ, seq)			/* W3 */
}

/* perf_aux_output_begin() and perf_aux_output_end() */
inline transaction(nested, seq)
{
	nested = aux_nest;
	if
#ifndef MUTANT_NMI_NESTS
	:: nested -> skip
#endif
	:: else ->
		aux_nest = true;
		publish(seq);
		ends++;
		publish(seq);
		aux_nest = false
	fi
}

proctype task() provided (!in_nmi)
{
	byte n, seq;
	bool nested;

	do
	:: n < TRANSACTIONS -> transaction(nested, seq); n++
	:: else -> break
	od
}

proctype nmi()
{
	byte seq;
	bool nested;

	in_nmi = true;
	transaction(nested, seq);
	in_nmi = false
}

/* Makes any store visible, unless one before it has to be first. */
proctype memory()
{
	byte i, j;

end:	do
	:: atomic {
		stored > 0 ->
		do
		:: i + 1 < stored -> i++
		:: break
		od;
		do
		:: j < i && (visible[j] || (place[j] != place[i] && epoch[j] == epoch[i])) ->
			j++
		:: else -> break
		od;
		if
		:: j == i && !visible[i] ->
			page[place[i]] = value[i];
			visible[i] = true
		:: else -> skip
		fi;
		i = 0;
		j = 0
	}
	od
}

#ifdef MUTANT_NO_B
#define AFTER_B	true
#else
#define AFTER_B	got_first
#endif
#ifdef MUTANT_NO_D
#define BEFORE_D	true
#else
#define BEFORE_D	(got_head && got_total)
#endif
#ifdef MUTANT_ODD
#define IS_EVEN(seq)	true
#else
#define IS_EVEN(seq)	((seq) % 2 == 0)
#endif

proctype reader()
{
	byte first, head, total, again, last;
	bool got_first, got_head, got_total, got_again;

end:	do
	:: atomic { !got_first -> first = page[SEQ]; got_first = true }		/* R1 */
	:: atomic { !got_head && AFTER_B -> head = page[HEAD]; got_head = true }	/* R2 */
	:: atomic { !got_total && AFTER_B -> total = page[TOTAL]; got_total = true }
	:: atomic {
		!got_again && got_first && BEFORE_D ->				/* R3 */
		again = page[SEQ];
		got_again = true
	}
	:: atomic {
		got_head && got_total && got_again ->
		if
		:: again == first && IS_EVEN(first) ->
			assert(head == total && total >= last);
			last = total
		:: else -> skip
		fi;
		got_first = false; got_head = false; got_total = false; got_again = false;
		first = 0; head = 0; total = 0; again = 0
	}
	od
}

init
{
	atomic { run task(); run nmi(); run memory(); run reader() }
}
