import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import { malformed } from './frame.ts'

/*
 * Addresses of many processes, each without what it shares with the one before at its start and at its end:
 * als-3.als.prod.svc:6123 behind als-2.als.prod.svc:6123 takes four bytes. The group's record has one table
 * for each member, so a table of 100 must stay near 1 kB. Front coding as in the blocks of a LevelDB table,
 * here from both ends.
 *
 *   +-------+--------------+------------+--------+--
 *   | count | shared start | shared end | middle | ...      varuint, then each: varuint, varuint, text
 *   +-------+--------------+------------+--------+--
 */

/** Most addresses that a table may have. */
const MOST_ADDRESSES = 65_536

/** Writes addresses in their order, which has meaning: others name them by their place. */
export function writeAddresses(out: ByteWriter, addresses: readonly string[]): void {
  out.varuint(addresses.length)
  let before = ''
  for (const address of addresses) {
    const start = sharedStart(before, address)
    const end = sharedEnd(before.slice(start), address.slice(start))
    out.varuint(start)
    out.varuint(end)
    out.text(address.slice(start, address.length - end))
    before = address
  }
}

/** The addresses of a table. Throws MALFORMED_DATA for a share that the address before does not have. */
export function readAddresses(reader: ByteReader): string[] {
  const count = reader.varuint()
  if (count > MOST_ADDRESSES) throw malformed(`a table of ${count} addresses`)
  const addresses: string[] = []
  let before = ''
  for (let n = 0; n < count; n++) {
    const start = reader.varuint()
    const end = reader.varuint()
    if (start + end > before.length) throw malformed(`address ${n} shares more than there is`)
    before = before.slice(0, start) + reader.text() + before.slice(before.length - end)
    if (before.length > 255) throw malformed(`address ${n} has ${before.length} letters`)
    addresses.push(before)
  }
  return addresses
}

function sharedStart(a: string, b: string): number {
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return n
}

function sharedEnd(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let n = 0
  while (n < most && a[a.length - 1 - n] === b[b.length - 1 - n]) n++
  return n
}
