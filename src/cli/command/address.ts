import { UsageError } from './command.ts'

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
