import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Processes } from '../../models/registry/publisher.ts'

/** Publications of this process that go on. */
const going = new Set<string>()
let begun = 0

/** A publication of this process, with a name that tells others whether it goes on, until it is disposed of. */
export class Publication implements Disposable {
  /** `Publisher.process`. */
  readonly name = `${machineProcesses.machine}/${process.pid}-${startOf(process.pid)}/${++begun}`

  constructor() {
    going.add(this.name)
  }

  [Symbol.dispose](): void {
    going.delete(this.name)
  }
}

/** The processes of this machine, and of this container: process ids mean nothing outside of it. */
export const machineProcesses: Processes = {
  machine: [hostname(), bootOf(), namespaceOf()].filter((part) => part !== '').join(':'),
  goesOn(name) {
    const [pid, start] = (name.split('/')[1] ?? '').split('-')
    if (Number(pid) === process.pid && start === startOf(process.pid)) return going.has(name)
    return isRunning(Number(pid)) && startOf(Number(pid)) === start
  },
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The first digits of the id of this start of a Linux machine; empty elsewhere. */
function bootOf(): string {
  return orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8))
}

/** Number of the namespace of process ids on Linux; empty elsewhere. */
function namespaceOf(): string {
  return orEmpty(() => /[0-9]+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '')
}

/** Start of a process in ticks on Linux, because another process gets its id later; empty elsewhere. */
function startOf(pid: number): string {
  return orEmpty(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name of the program, in brackets, may hold spaces.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  })
}

function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
