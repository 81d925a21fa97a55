import { isRunning, PROCESS_PLACE, processIdentity } from '../../files/running-process.ts'
import type { Processes } from '../registry/publisher.ts'

/** Publications of this process that go on. */
const going = new Set<string>()
let begun = 0

/** A publication of this process, or a loop that retrains, with a name by which others see whether it goes on. */
export class Publication implements Disposable {
  /** `Publisher.process`. */
  readonly name = `${machineProcesses.machine}/${nameOfThis()}/${++begun}`

  constructor() {
    going.add(this.name)
  }

  [Symbol.dispose](): void {
    going.delete(this.name)
  }
}

/** The processes of this machine, and of this container: process ids mean nothing outside of it. */
export const machineProcesses: Processes = {
  machine: machineName(),
  goesOn(name) {
    const process = name.split('/')[1] ?? ''
    if (process === nameOfThis()) return going.has(name)
    const [pid, processStart = ''] = process.split('-')
    return isRunning({ pid: Number(pid), processStart })
  },
}

function nameOfThis(): string {
  const { pid, processStart } = processIdentity(process.pid)
  return `${pid}-${processStart}`
}

/** Host, the first digits of its boot, and the number of the namespace of process ids; only the host outside of Linux. */
function machineName(): string {
  const { host, boot, pidNamespace } = PROCESS_PLACE
  const namespace = /[0-9]+/.exec(pidNamespace)?.[0] ?? ''
  return [host, boot.slice(0, 8), namespace].filter((part) => part !== '').join(':')
}
