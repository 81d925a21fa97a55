import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'
import { requireArgument, WeirError } from '../../core/errors.ts'

/** Addresses at which a cloud hands secrets to the machine, and those of one link only. */
const FORBIDDEN = new BlockList()
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4')
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6')
for (const address of ['100.100.100.200', '192.0.0.192', '168.63.129.16']) {
  FORBIDDEN.addAddress(address, 'ipv4')
}
for (const address of ['fd00:ec2::254', 'fd20:ce::254']) FORBIDDEN.addAddress(address, 'ipv6')

/** Whether no process may call an address on behalf of a client: link-local, or that of cloud metadata. */
export function isForbiddenAddress(address: string): boolean {
  const bare = bareHost(address)
  if (isIP(bare) === 0) return false
  return FORBIDDEN.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4')
}

/** Throws ACCESS_DENIED for an address of `isForbiddenAddress`. */
export function requireOpenAddress(address: string): void {
  if (!isForbiddenAddress(address)) return
  throw new WeirError(
    'ACCESS_DENIED',
    `${address} is a link-local address, or that of a cloud's metadata; no model may call it`,
  )
}

/** As `dns.lookup`, without the addresses that `requireOpenAddress` refuses: a name may lead to one of them. */
export const openLookup: LookupFunction = (host, options, done) => {
  process.getBuiltinModule('node:dns').lookup(host, options, (error, address, family) => {
    if (error !== null) return done(error, '', family)
    try {
      for (const one of typeof address === 'string' ? [{ address }] : address) {
        requireOpenAddress(one.address)
      }
    } catch (refused) {
      return done(refused as Error, '', family)
    }
    done(null, address as string, family)
  })
}

/** Hosts with ports that what comes in through a port may name, as the operator listed them at the start. */
export class AllowedHosts {
  /** `HOST:PORT` in lower case; IPv6 in brackets. */
  readonly places: ReadonlySet<string>

  constructor(places: readonly string[] = []) {
    this.places = new Set(places)
  }

  /** The places of `HOST:PORT,...`; `flag` names the setting in messages. Throws INVALID_ARGUMENT, ACCESS_DENIED. */
  static parse(text: string, flag: string): AllowedHosts {
    const places = text.split(',').map((place) => {
      const url = URL.parse(`none://${place.trim()}`)
      requireArgument(
        url !== null && url.hostname !== '' && url.port !== '' && url.host === url.href.slice(7),
        `${flag} takes HOST:PORT,..., not "${place.slice(0, 80)}"`,
      )
      requireOpenAddress(url.hostname)
      return url.host.toLowerCase()
    })
    return new AllowedHosts(places)
  }

  /** Whether a host and a port are listed. */
  has(host: string, port: number): boolean {
    const bare = bareHost(host).toLowerCase()
    return this.places.has(isIPv6(bare) ? `[${bare}]:${port}` : `${bare}:${port}`)
  }

  /** The places as a sentence has them; `none` without any. */
  toString(): string {
    return this.places.size === 0 ? 'none' : [...this.places].join(', ')
  }
}

function bareHost(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}
