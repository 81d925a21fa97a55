import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net'
import { requireArgument } from '../../core/errors.ts'

/** Proxies whose word about the client of a request is believed, as the operator listed them at the start. */
export class TrustedProxies {
  /** Whether there is none. */
  readonly isEmpty: boolean
  private readonly listed = new BlockList()

  /** `places`: addresses, and networks such as `10.0.0.0/8`. Throws INVALID_ARGUMENT for another text. */
  constructor(places: readonly string[] = []) {
    this.isEmpty = places.length === 0
    for (const place of places) this.add(place)
  }

  /** Whether a peer is one of them. */
  trusts(address: string): boolean {
    return !this.isEmpty && this.listed.check(address, familyOf(address))
  }

  /**
   * The address of the client of a request: the last one of `X-Forwarded-For` that is none of a trusted proxy. What others
   * send in that field is not believed, nor what stands before it.
   */
  clientOf(peer: string, forwardedFor: string | undefined): string {
    let client = peer
    const hops = forwardedFor?.split(',') ?? []
    while (this.trusts(client)) {
      const hop = addressOf(hops.pop() ?? '')
      if (hop === undefined) return client
      client = hop
    }
    return client
  }

  private add(place: string): void {
    const [address = '', bits, more] = place.split('/')
    const most = isIPv6(address) ? 128 : 32
    const isWhole = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
    requireArgument(
      isIP(address) !== 0 && isWhole && more === undefined,
      `a trusted proxy is an address or a network, such as 10.0.0.5 or 10.0.0.0/8, not "${place.slice(0, 80)}"`,
    )
    if (bits === undefined) this.listed.addAddress(address, familyOf(address))
    else this.listed.addSubnet(address, Number(bits), familyOf(address))
  }
}

/** The address in an element of `X-Forwarded-For`, which may have a port; undefined for another text. */
function addressOf(element: string): string | undefined {
  const text = element.trim()
  if (isIP(text) !== 0) return text
  return SocketAddress.parse(text)?.address
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
