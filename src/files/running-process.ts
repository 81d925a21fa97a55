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

/** A process and its place; a place that is missing is this one. */
export type PlacedProcess = ProcessIdentity & Partial<ProcessPlace>

/** What is known here of a process: `elsewhere` is in another container or machine, where its id means something else. */
export type ProcessState = 'running' | 'stopped' | 'ended' | 'elsewhere'

/** Linux's first namespace of process ids: that of the machine, not of a container. */
const MACHINE_NAMESPACE = 'pid:[4026531836]'

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
  const [state = '', ...rest] = statOf(pid)
  // A zombie has ended; only its parent has not looked yet.
  if (state === 'Z' || state === 'X') return false
  return processStart === '' || rest[START - 1] === processStart
}

/** Whether a process has the same kernel as this one, so that its sockets can be asked. */
export function hasThisKernel({
  host = PROCESS_PLACE.host,
  boot = PROCESS_PLACE.boot,
}: Partial<ProcessPlace>): boolean {
  return boot === PROCESS_PLACE.boot && (boot !== '' || host === PROCESS_PLACE.host)
}

/** The state of a process. `stopped`: by SIGSTOP or Ctrl-Z, known on Linux; it answers no one until it is continued. */
export function processState(of: PlacedProcess): ProcessState {
  const here = PROCESS_PLACE
  const { host = here.host, boot = here.boot, pidNamespace = here.pidNamespace } = of
  if (hasThisKernel(of) && pidNamespace === here.pidNamespace) {
    if (!isRunning(of)) return 'ended'
    return /^[Tt]/.test(statOf(of.pid)[0] ?? '') ? 'stopped' : 'running'
  }
  const isRestarted =
    host === here.host &&
    boot !== here.boot &&
    pidNamespace === MACHINE_NAMESPACE &&
    here.pidNamespace === MACHINE_NAMESPACE
  return isRestarted ? 'ended' : 'elsewhere'
}

/** Place of the start among the fields of `statOf`. */
const START = 19

function startOf(pid: number): string {
  return statOf(pid)[START] ?? ''
}

/** Fields of a process from its state on (Linux). */
function statOf(pid: number): readonly string[] {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  // The second field is the command in parentheses and may contain blanks.
  return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
