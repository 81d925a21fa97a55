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
  /** The key's entry in the default namespace, by the number of the table; it may have left memory. */
  readonly entries: (RememberedEntry | undefined)[] = []

  /** Becomes the key with the bytes from `start` to `end`. */
  set(bytes: Uint8Array, start: number, end: number, hash: number, keyGroup: number): void {
    const length = end - start
    if (this.bytes.length !== length) this.bytes = new Uint8Array(length)
    for (let i = 0; i < length; i++) this.bytes[i] = bytes[start + i]!
    this.hash = hash
    this.keyGroup = keyGroup
    for (let i = 0; i < this.entries.length; i++) this.entries[i] = undefined
  }
}
