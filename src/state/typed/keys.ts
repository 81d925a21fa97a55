import { bytesOfLatin1, latin1Of } from '../../core/text/latin1.ts'
import { decodeComposite, prefixLength } from '../port/composite-key.ts'
import { entryHash } from '../port/entry-hash.ts'
import { isVisible } from './prefix-scan.ts'
import { STORE_KEY_HEADER, storeKeyOf, valueOfStored } from './store-keys.ts'
import type { StateTable } from './table.ts'

const NOTHING = new Uint8Array(0)

/** The keys that have an entry in the default namespace, in memory or in the store, each once and in no order. */
export function keysOf(table: StateTable): readonly Uint8Array[] {
  const prefixes = new Set<string>()
  const nowMs = table.context.clock.nowMs()
  for (const entry of table.entries) {
    if (isVisible(table, entry, nowMs)) prefixes.add(prefixOf(bytesOfLatin1(entry.key)))
  }
  const { first, last } = table.context.keyGroups
  for (let keyGroup = first; keyGroup <= last; keyGroup++) {
    if (table.index.hasSpilled(keyGroup)) addStored(table, keyGroup, prefixes)
  }
  const keys: Uint8Array[] = []
  for (const prefix of prefixes) {
    const { key, namespace } = decodeComposite(bytesOfLatin1(prefix))
    if (namespace.length === 0) keys.push(key)
  }
  return keys
}

/** Whether some key and namespace may have an entry. */
export function hasEntries({ entries, context }: StateTable): boolean {
  return entries.length > 0 || context.store !== undefined
}

/** Of a key in memory too, memory decides: the store may hold an older value. */
function addStored(table: StateTable, keyGroup: number, prefixes: Set<string>): void {
  const nowMs = table.context.clock.nowMs()
  const from = storeKeyOf(table.id, keyGroup, NOTHING)
  const to = storeKeyOf(table.id, keyGroup + 1, NOTHING)
  for (const [storeKey, stored] of table.context.store!.scan(from, to)) {
    const value = valueOfStored(stored)
    if (value === undefined || table.valueIfUnexpired(value, nowMs) === undefined) continue
    const composite = storeKey.subarray(STORE_KEY_HEADER)
    const hash = entryHash(table.kind, composite)
    if (table.index.find(keyGroup, composite, composite.length, hash) !== undefined) continue
    prefixes.add(prefixOf(composite))
  }
}

function prefixOf(composite: Uint8Array): string {
  return latin1Of(composite, prefixLength(composite))
}
