import { type Flags, UsageError } from '../command/command.ts'
import { addressOf } from '../flag-kinds/places.ts'

const USUAL_PORT = 9069
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['', '0.0.0.0', '::'])
const NO_SERVER =
  'others must know where this process answers queries: give --listen the host that they reach, or set -D application.server=HOST:PORT'

/** Where a process of a job listens for queries, and where clients reach it. */
export interface ProcessPort {
  readonly host: string
  /** Ports to try in turn until one is free. */
  readonly ports: readonly number[]
  /** @default host and port on which it listens */
  readonly advertise?: { readonly host: string; readonly port: number }
}

/**
 * The query port of the flags. By default it is 9069, or any free one where that is taken: several processes of a job
 * may share a machine. Throws UsageError for a port that others would look for in vain.
 */
export function queryPortOf(flags: Flags, server: string | undefined): ProcessPort {
  const host = flags.string('host')
  const port = flags.number('port')
  const ports = port === USUAL_PORT ? [port, 0] : [port]
  if (server === undefined) {
    if (EVERY_ADDRESS.has(host)) throw new UsageError(NO_SERVER)
    return { host, ports }
  }
  const advertise = addressOf(server)
  const isAddress = server.includes(':') && advertise.port >= 1 && advertise.port <= 65_535
  if (!isAddress || !Number.isInteger(advertise.port) || advertise.host === '') {
    throw new UsageError(`application.server is HOST:PORT, not "${server}"`)
  }
  return { host, ports, advertise }
}

/** Throws UsageError for a port that only one of several processes of this machine could open. */
export function requireManyPorts(flags: Flags): void {
  const port = flags.number('port')
  if (port === USUAL_PORT || port === 0) return
  throw new UsageError(
    `only one of --processes could listen on port ${port}: leave --listen out, or give port 0`,
  )
}
