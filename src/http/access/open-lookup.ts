import type { LookupFunction } from 'node:net'
import { requireOpenAddress } from './allowed-hosts.ts'

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
