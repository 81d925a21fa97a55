import { port, portToOpen } from '../flag-kinds/numbers.ts'
import { address, addressToOpen, host } from '../flag-kinds/places.ts'
import type { OptionSpec } from './command.ts'
import { UsageError } from './usage-error.ts'

/** The host and port of `HOST:PORT`, or of a port of this machine; a host of IPv6 may be in brackets. Throws UsageError. */
export function addressOf(
  text: string,
  flag: string,
): { readonly host: string; readonly port: number } {
  if (/^[0-9]+$/.test(text)) return addressOf(`127.0.0.1:${text}`, flag)
  const at = text.lastIndexOf(':')
  const host = text.slice(0, at).replace(/^\[(.*)\]$/, '$1')
  const port = Number(text.slice(at + 1))
  if (at > 0 && /^[0-9]+$/.test(text.slice(at + 1)) && port <= 65_535) return { host, port }
  throw new UsageError(`${flag} takes HOST:PORT, not "${text}"`)
}

/** Flags of the address of a job: `--job`, and `--host` and `--port`, which it replaces. */
export function jobAddressOptions(job = 'the job'): Readonly<Record<string, OptionSpec>> {
  return {
    job: {
      type: 'string',
      value: address,
      parts: (text) => hostAndPort('--job', text),
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

/** Flags of the port of a job that listens: `--listen`, and `--host` and `--port`, which it replaces. */
export const LISTEN_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  listen: {
    type: 'string',
    value: addressToOpen,
    parts: (text) => hostAndPort('--listen', text),
    help: 'Query port, HOST:PORT or a port of this machine, 0 for any free one; other machines reach only a host that is not 127.0.0.1, which needs TLS and tokens (default: 127.0.0.1:9069)',
  },
  host: {
    type: 'string',
    value: host,
    default: '127.0.0.1',
    help: 'Older form of --listen: the host',
  },
  port: {
    type: 'string',
    value: portToOpen,
    default: '9069',
    help: 'Older form of --listen: the port',
  },
}

function hostAndPort(flag: string, text: string): { readonly host: string; readonly port: string } {
  const { host, port } = addressOf(text, flag)
  return { host, port: String(port) }
}
