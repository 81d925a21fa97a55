import { PROCESS_PLACE } from '../../../files/running-process.ts'

/*
 * How others reach a process: the address in its data for the group. Ways are separated by "|", so that one more way
 * needs no new version of the group's formats; a reader skips what it does not know.
 *
 *   unix:<machine>:<path>     socket that shows that the process lives, for processes of the same machine
 *   query:<host>:<port>       query port (`queries/query-way.ts`)
 *   rest:<machine>:<url>      REST interface; without a machine it is for all
 */

/** What is different on each machine: its boot, or its name. */
const MACHINE = (PROCESS_PLACE.boot === '' ? PROCESS_PLACE.host : PROCESS_PLACE.boot).slice(0, 64)
const SOCKET = /^unix:([^:]+):(\/[\x21-\x7e]{1,100})$/
const REST = /^rest:([^:]*):(https?:\/\/[\x21-\x7e]{1,120})$/

/** Way to the socket of a process of this machine. */
export function peerAddress(path: string): string {
  return `unix:${MACHINE}:${path}`
}

/** Way to the REST interface of a process: for its own machine alone where it listens on a loopback address. */
export function restWay(url: string, isLoopback: boolean): string {
  return `rest:${isLoopback ? MACHINE : ''}:${url}`
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

/** The URL of the REST interface at an address, and whether this process can reach it; undefined where there is none. */
export function restUrlOf(
  address: string,
): { readonly url: string; readonly isReachable: boolean } | undefined {
  for (const way of address.split('|')) {
    const [, machine, url] = REST.exec(way) ?? []
    if (url !== undefined) return { url, isReachable: machine === '' || machine === MACHINE }
  }
  return undefined
}
