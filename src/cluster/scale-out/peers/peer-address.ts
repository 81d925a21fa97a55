import { PROCESS_PLACE } from '../../../files/running-process.ts'

/** What is different on each machine: its boot, or its name. */
const MACHINE = (PROCESS_PLACE.boot === '' ? PROCESS_PLACE.host : PROCESS_PLACE.boot).slice(0, 64)
const ADDRESS = /^unix:([^:]+):(\/[\x21-\x7e]{1,100})$/

/** Address of the socket of a process of this machine: `unix:<machine>:<path>`. */
export function peerAddress(path: string): string {
  return `unix:${MACHINE}:${path}`
}

/** The path of the socket at an address; undefined for a process that is elsewhere, or has no socket. */
export function socketPathOf(address: string): string | undefined {
  const [, machine, path] = ADDRESS.exec(address) ?? []
  return machine === MACHINE ? path : undefined
}
