import { murmur3 } from '../../core/hash/murmur3.ts'
import { escapedCapacity, writeEscaped } from './composite-key.ts'

const EMPTY = new Uint8Array(0)

/**
 * The key and namespace that the handles of a backend refer to. The composite prefix is encoded
 * when a handle first needs it, so that records without typed state cost nothing.
 */
export class KeySelection {
  key: Uint8Array = EMPTY
  keyGroup = 0
  namespace: Uint8Array = EMPTY
  /** Grows with every selection: results of look-ups for an older one are void. */
  version = 0
  /** The composite prefix up to `prefixEnd`; the current handle may use the room after it. */
  bytes = new Uint8Array(256)
  prefixEnd = 0
  /** murmur3 of the prefix, as int32. */
  hash = 0
  private encodedVersion = -1
  /** End of the key within `bytes`; 0 until it is encoded. */
  private keyEnd = 0
  /** Hash of the prefix without a namespace, where `hashIsKnown`. */
  private knownHash = 0
  private hashIsKnown = false

  select(key: Uint8Array, keyGroup: number): void {
    this.key = key
    this.keyGroup = keyGroup
    this.keyEnd = 0
    this.hashIsKnown = false
    this.version += 1
  }

  /** Takes the hash of the selected key's prefix without a namespace, which is then not computed. */
  knowHash(hash: number): void {
    this.knownHash = hash
    this.hashIsKnown = true
  }

  selectNamespace(namespace: Uint8Array): void {
    this.namespace = namespace
    this.version += 1
  }

  /** Brings `bytes`, `prefixEnd` and `hash` up to date. */
  encode(): void {
    if (this.encodedVersion === this.version) return
    this.ensure(escapedCapacity(this.key) + escapedCapacity(this.namespace))
    if (this.keyEnd === 0) this.keyEnd = writeEscaped(this.key, this.bytes, 0)
    this.prefixEnd = writeEscaped(this.namespace, this.bytes, this.keyEnd)
    this.hash =
      this.hashIsKnown && this.namespace.length === 0
        ? this.knownHash
        : murmur3(this.bytes, 0, this.prefixEnd) | 0
    this.encodedVersion = this.version
  }

  /** Puts `length` bytes of `suffix` after the prefix and returns the length of the whole. */
  append(suffix: Uint8Array, length: number): number {
    const end = this.prefixEnd + length
    this.ensure(end)
    for (let i = 0; i < length; i++) this.bytes[this.prefixEnd + i] = suffix[i]!
    return end
  }

  private ensure(capacity: number): void {
    if (capacity <= this.bytes.length) return
    const grown = new Uint8Array(capacity * 2)
    grown.set(this.bytes)
    this.bytes = grown
  }
}
