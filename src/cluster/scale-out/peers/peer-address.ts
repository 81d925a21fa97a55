import { PROCESS_PLACE } from '../../../files/running-process.ts'

/*
 * How others reach a process: the address in its data for the group. Ways are separated by "|", so that one more way
 * needs no new version of the group's formats; a reader skips what it does not know.
 *
 *   unix:<machine>:<path>     socket that shows that the process lives, for processes of the same machine
 *   query:<host>:<port>       query port (`queries/query-way.ts`)
 */

/** What is different on each machine: its boot, or its name. */
const MACHINE = (PROCESS_PLACE.boot === '' ? PROCESS_PLACE.host : PROCESS_PLACE.boot).slice(0, 64)
const SOCKET = /^unix:([^:]+):(\/[\x21-\x7e]{1,100})$/

/** Way to the socket of a process of this machine. */
export function peerAddress(path: string): string {
  return `unix:${MACHINE}:${path}`
}

/** The address with these ways, those that are undefined left out. */
export function addressOfWays(...ways: readonly (string | undefined)[]): string {
  return ways.filter((way) => way !== undefined && !way.includes('|')).join('|')
}

/** The path of the socket at an address; undefined for a process that is elsewhere, or has no socket. */
export function socketPathOf(address: string): string | undefined {
  for (const way of address.split('|')) {
    const [, machine, path] = SOCKET.exec(way) ?? []
    if (machine === MACHINE) return path
  }
  return undefined
}
