/** An entry of state as a key remembers it: it has left memory when its index is negative. */
export interface RememberedEntry {
  readonly index: number
}

/**
 * A key that comes again and again, as one object for its records: its bytes and its hash are computed once, and
 * each table of state remembers its entry here. It belongs to the keyed state of one subtask.
 */
export class FrequentKey {
  bytes: Uint8Array = new Uint8Array(0)
  /** murmur3 of the bytes, as int32. */
  hash = 0
  keyGroup = 0
  /** What the operator keeps of the key in memory, which it finds here without a look-up. */
  kept: object | undefined
  /** The key's entry that was looked for last, by the number of the table; it may have left memory. */
  private readonly entries: (RememberedEntry | undefined)[] = []
  /** The namespaces of these entries; undefined for the default one. */
  private readonly namespaces: (Uint8Array | undefined)[] = []

  /** Becomes the key with the bytes from `start` to `end`. */
  set(bytes: Uint8Array, start: number, end: number, hash: number, keyGroup: number): void {
    const length = end - start
    if (this.bytes.length !== length) this.bytes = new Uint8Array(length)
    for (let i = 0; i < length; i++) this.bytes[i] = bytes[start + i]!
    this.hash = hash
    this.keyGroup = keyGroup
    this.kept = undefined
    for (let i = 0; i < this.entries.length; i++) this.entries[i] = undefined
  }

  /** Whether it is the key of these bytes now. */
  isOf(bytes: Uint8Array): boolean {
    const own = this.bytes
    if (own.length !== bytes.length) return false
    for (let i = 0; i < own.length; i++) if (own[i] !== bytes[i]) return false
    return true
  }

  /** The entry in a table that was looked for last, if it was in this namespace and is still in memory. */
  entryIn(table: number, namespace: Uint8Array | undefined): RememberedEntry | undefined {
    const entry = this.entries[table]
    if (entry === undefined || entry.index < 0) return undefined
    return this.namespaces[table] === namespace ? entry : undefined
  }

  /** Remembers the entry in a table; the bytes of the namespace must not change. */
  remember(
    table: number,
    namespace: Uint8Array | undefined,
    entry: RememberedEntry | undefined,
  ): void {
    this.entries[table] = entry
    this.namespaces[table] = namespace
  }
}
