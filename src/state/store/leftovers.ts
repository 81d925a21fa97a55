import type { StateStore, StoreChange } from './state-store.ts'

/** Entries of a store that begin with a prefix and that nothing reads any more. */
export class Leftovers {
  private readonly store: StateStore
  private readonly prefix: Uint8Array

  constructor(store: StateStore, prefix: Uint8Array) {
    this.store = store
    this.prefix = prefix
  }

  /** Deletes at most `limit` of them; true when none is left. */
  purge(limit: number): boolean {
    const changes: StoreChange[] = []
    for (const [key] of this.store.scan(this.prefix, prefixEnd(this.prefix))) {
      changes.push({ key, value: undefined })
      if (changes.length === limit) break
    }
    if (changes.length > 0) this.store.apply(changes)
    return changes.length < limit
  }
}

/** The first key after all that start with the prefix. */
export function prefixEnd(prefix: Uint8Array): Uint8Array {
  const end = prefix.slice()
  for (let i = end.length - 1; i >= 0; i--) {
    if (end[i] === 0xff) continue
    end[i]! += 1
    return end.subarray(0, i + 1)
  }
  return new Uint8Array(end.length + 1).fill(0xff)
}
