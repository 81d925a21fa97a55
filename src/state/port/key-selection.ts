import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { escapedCapacity, isCompositeOf, writeEscaped } from './composite-key.ts'
import { prefixHash } from './entry-hash.ts'
import type { FrequentKey } from './frequent-key.ts'
import type { KeyMemory } from './keyed-state.ts'
import { ShortKey } from './short-key.ts'

const EMPTY = new Uint8Array(0)
/** The key while none is selected; a selected one of no bytes is another object. */
const NO_KEY = new Uint8Array(0)

/**
 * The key and namespace that the handles of a backend refer to. They are hashed when a handle first looks for an
 * entry, and encoded when one is made, so that records without typed state cost nothing.
 */
export class KeySelection implements KeyMemory {
  key: Uint8Array = NO_KEY
  keyGroup = 0
  namespace: Uint8Array = EMPTY
  /** The namespace, if its bytes never change. */
  lasting: Uint8Array | undefined
  /** The key, if it is a frequent one. */
  frequent: FrequentKey | undefined
  /** Grows with every selection: results of look-ups for an older one are void. */
  version = 0
  /** Hash of an entry of the key and namespace, as int32; see `locate`. */
  hash = 0
  /** Tells the key beside `hash`, where it is short and there is no namespace; see `locate`. */
  readonly short = new ShortKey()
  /** The composite prefix up to `prefixEnd`; the current handle may use the room after it. See `encode`. */
  bytes = new Uint8Array(256)
  prefixEnd = 0
  private locatedVersion = -1
  private encodedVersion = -1
  /** End of the key within `bytes`; 0 until it is encoded. */
  private keyEnd = 0
  /** murmur3 of the key, as int32, where `keyHashIsKnown`. */
  private keyHash = 0
  private keyHashIsKnown = false

  select(key: Uint8Array, keyGroup: number): void {
    this.key = key
    this.keyGroup = keyGroup
    this.keyEnd = 0
    this.keyHashIsKnown = false
    this.frequent = undefined
    this.version += 1
  }

  /** No key is selected from now on. */
  deselect(): void {
    this.select(NO_KEY, 0)
  }

  /** The selected key. Throws ILLEGAL_STATE where none is. */
  selected(): Uint8Array {
    if (this.key === NO_KEY) refuseWithoutKey()
    return this.key
  }

  /** As `select`, of a key whose murmur3 is known. */
  selectHashed(key: Uint8Array, keyGroup: number, keyHash: number): void {
    this.select(key, keyGroup)
    this.keyHash = keyHash
    this.keyHashIsKnown = true
  }

  selectFrequent(key: FrequentKey): void {
    this.selectHashed(key.bytes, key.keyGroup, key.hash)
    this.frequent = key
  }

  remembered(): object | undefined {
    return this.frequent?.kept
  }

  remember(kept: object): void {
    if (this.frequent !== undefined) this.frequent.kept = kept
  }

  selectNamespace(namespace: Uint8Array): void {
    // The default one is often selected already, and what was found for it stays valid.
    if (namespace.length === 0 && this.namespace.length === 0) return
    this.namespace = namespace
    this.lasting = undefined
    this.version += 1
  }

  /** As `selectNamespace`, of bytes that never change. */
  selectLasting(namespace: Uint8Array): void {
    if (this.lasting === namespace) return
    this.namespace = namespace
    this.lasting = namespace
    this.version += 1
  }

  /** Brings `hash` and `short` up to date. Throws ILLEGAL_STATE where no key is selected. */
  locate(): void {
    if (this.locatedVersion === this.version) return
    if (this.key === NO_KEY) refuseWithoutKey()
    if (!this.keyHashIsKnown) {
      this.keyHash = murmur3(this.key) | 0
      this.keyHashIsKnown = true
    }
    this.hash = prefixHash(this.keyHash, this.namespace)
    if (this.namespace.length === 0) this.short.take(this.key, this.key.length)
    else this.short.clear()
    this.locatedVersion = this.version
  }

  /** Whether a composite key, one character a byte, is that of the selected key and namespace without a map key. */
  isKeyOf(composite: string): boolean {
    return isCompositeOf(composite, this.key, this.namespace)
  }

  /** Brings `bytes`, `prefixEnd` and `hash` up to date. */
  encode(): void {
    if (this.encodedVersion === this.version) return
    this.locate()
    this.ensure(escapedCapacity(this.key) + escapedCapacity(this.namespace))
    if (this.keyEnd === 0) this.keyEnd = writeEscaped(this.key, this.bytes, 0)
    this.prefixEnd = writeEscaped(this.namespace, this.bytes, this.keyEnd)
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

function refuseWithoutKey(): never {
  throw new WeirError(
    'ILLEGAL_STATE',
    'state, timers and the current key belong to the call for a record or timer, and no such call is under way: use them before the function returns, not in open, in a callback, or behind an await (asynchronous calls belong in AsyncDataStream)',
  )
}
