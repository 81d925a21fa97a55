import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * A process of a machine. Systems use ids again, so it is identified by its id and, where the system has it, its
 * start time.
 */
export interface ProcessIdentity {
  readonly pid: number
  /** Start in clock ticks since boot (Linux), else empty. */
  readonly processStart: string
}

/** Where the ids of processes mean the same as here. Boot and namespace are empty outside of Linux. */
export interface ProcessPlace {
  readonly host: string
  readonly boot: string
  readonly pidNamespace: string
}

/** The place of this process. */
export const PROCESS_PLACE: ProcessPlace = {
  host: hostname(),
  boot: textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
  pidNamespace: textOf(() => readlinkSync('/proc/self/ns/pid')),
}

/** The identity of a process of this place; the start is empty when it has ended. */
export function processIdentity(pid: number): ProcessIdentity {
  return { pid, processStart: startOf(pid) }
}

/** Whether a process of this place runs. */
export function isRunning({ pid, processStart }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return processStart === '' || startOf(pid) === processStart
}

function startOf(pid: number): string {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  // The second field is the command in parentheses and may contain blanks.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
