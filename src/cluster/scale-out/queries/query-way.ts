import type { QueryEndpoint } from '../../../wire/routing-table.ts'

const WAY = /^query:(.+):(\d{1,5})$/

/** Way to the query port of a process, a part of its address in the group: `query:<host>:<port>`. */
export function queryWay(host: string, port: number): string {
  return `query:${host}:${port}`
}

/** The query port at an address; undefined for a process that answers no queries. */
export function queryEndpointOf(address: string): QueryEndpoint | undefined {
  for (const way of address.split('|')) {
    const [, host, port] = WAY.exec(way) ?? []
    if (host !== undefined) return { server: `${host}:${port}`, host, port: Number(port) }
  }
  return undefined
}
