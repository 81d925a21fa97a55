import { murmur3 } from '../../core/hash/murmur3.ts'
import { halfOf, type TagBits } from '../../models/item-tags.ts'
import type { StateVersion } from '../../state/catalog/key-class.ts'
import { MISSING, type RowTableReader, STUCK } from '../../state/rows/reader.ts'
import type { TagBoosts } from './tag-boosts.ts'

/** Tries to read the tags of a key before their writer counts as stalled. */
export const WRITER_ATTEMPTS = 1000

/** Tags that rows must and must not have. */
export interface TagMasks {
  /** At least one of these; undefined for all rows. */
  readonly anyOf: TagBits | undefined
  /** None of these. */
  readonly noneOf: TagBits
}

/** Decides by the tags of a key, read in place, whether its row may be a result, and what its score is multiplied with. */
export class TagFilter {
  /** All rows of tags: they never leave memory. */
  readonly tags: StateVersion
  readonly masks: TagMasks
  /** @default every factor is 1 */
  readonly boosts: TagBoosts | undefined
  private readonly bits: TagBits = { low: 0, high: 0 }

  constructor(tags: StateVersion, masks: TagMasks, boosts?: TagBoosts) {
    this.tags = tags
    this.masks = masks
    this.boosts = boosts
  }

  /** Whether the row of the key that begins at `at` may be a result. */
  accepts(key: Uint8Array, at: number, length: number): boolean {
    return this.read(key, at, length) && allows(this.masks, this.bits)
  }

  /** The factor of the row of the key that begins at `at`; 1 where its tags cannot be known now. */
  factorOf(key: Uint8Array, at: number, length: number): number {
    if (this.boosts === undefined || !this.read(key, at, length)) return 1
    return this.boosts.factorOf(this.bits)
  }

  private read(key: Uint8Array, at: number, length: number): boolean {
    const hash = murmur3(key, at, length) | 0
    return readTags(this.tags, { key, at, length, hash }, this.bits)
  }
}

/** Whether rows with these tags may be results. */
export function allows({ anyOf, noneOf }: TagMasks, { low, high }: TagBits): boolean {
  if (((low & noneOf.low) | (high & noneOf.high)) !== 0) return false
  return anyOf === undefined || ((low & anyOf.low) | (high & anyOf.high)) !== 0
}

/** A key with its hash. */
interface HashedKey {
  readonly key: Uint8Array
  readonly at: number
  readonly length: number
  /** murmur3, as int32. */
  readonly hash: number
}

/** Sets the tags of a key, none for one that has never had any; false where they cannot be known now. */
export function readTags(
  tags: StateVersion,
  { key, at, length, hash }: HashedKey,
  bits: TagBits,
): boolean {
  const reader = tags.readerOf(hash)
  for (let attempt = 0; attempt < WRITER_ATTEMPTS; attempt++) {
    const row = reader?.locate(key, at, length, hash) ?? MISSING
    if (row === MISSING) {
      bits.low = 0
      bits.high = 0
      return true
    }
    if (row !== STUCK && row < 0) return false
    if (row >= 0 && tagsOfRow(reader!, row, bits)) return true
  }
  return false
}

/** Sets the tags of a row of tags; false if it changed meanwhile. */
export function tagsOfRow(reader: RowTableReader, row: number, bits: TagBits): boolean {
  const sequence = reader.openRow(row)
  const at = reader.floatsOf(row)
  const { block } = reader
  bits.low = halfOf(block[at]!, block[at + 1]!)
  bits.high = halfOf(block[at + 2]!, block[at + 3]!)
  return (sequence & 1) === 0 && reader.unchanged(row, sequence)
}
