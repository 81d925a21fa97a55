import { port } from '../flag-kinds/numbers.ts'
import { address, host, hostAndPort } from '../flag-kinds/places.ts'
import type { OptionSpec } from './command.ts'

/** Flags of the address of a job: `--job`, and `--host` and `--port`, which it replaces. */
export function jobAddressOptions(job = 'the job'): Readonly<Record<string, OptionSpec>> {
  return {
    job: {
      type: 'string',
      value: address,
      parts: hostAndPort,
      help: `Query port of ${job}, HOST:PORT or a port of this machine (default: 127.0.0.1:9069)`,
    },
    host: {
      type: 'string',
      value: host,
      default: '127.0.0.1',
      help: 'Older form of --job: the host',
    },
    port: { type: 'string', value: port, default: '9069', help: 'Older form of --job: the port' },
  }
}
