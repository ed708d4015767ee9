/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lock that perf's output had in 2009: a spin lock that knows which CPU holds
 * it, so that an NMI on that CPU goes on without. Why the buffer isn't shared so.
 *
 * Expected: refuted. As soon as there are two buffers, CPU 0 holds one and its NMI
 * spins for the other, which CPU 1 holds, whose NMI spins for the first. With
 * -DBUFFERS=1: correct, but everybody waits for everybody.
 */
#ifndef BUFFERS
#define BUFFERS	2
#endif
#define FREE	2

byte lock[2] = FREE;

inline write_to(cpu, buffer)
{
	if
	:: lock[buffer] == cpu -> skip		/* the context below has it */
	:: atomic { lock[buffer] == FREE -> lock[buffer] = cpu };
		lock[buffer] = FREE
	fi
}

proctype context(byte cpu)
{
	byte buffer = cpu % BUFFERS;
	byte other = (cpu + 1) % BUFFERS;

	atomic { lock[buffer] == FREE -> lock[buffer] = cpu };
	/* The NMI, before it goes on */
	write_to(cpu, other);
	lock[buffer] = FREE
}

init
{
	atomic { run context(0); run context(1) }
}
