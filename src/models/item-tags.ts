import { requireArgument } from '../core/errors.ts'
import { decimalNumber } from '../core/text/decimal-number.ts'

/*
 * Tags of rows as rows of their own, which a top-k reads beside the rows that it scores. Every tag has a bit; a row of
 * tags has the bits of one key, 16 in each float, which float32 holds exactly.
 */

/** Queryable rows of tags: `<id>-I` has the bits of an item, `<tag>-T` the number of the bit of a tag. */
export const ITEM_TAGS = 'ITEM_TAGS'
/** Version of the rows of tags: they hold for every version of a model. */
export const TAGS_VERSION = 1
/** End of the key that holds the bit of a tag. */
export const TAG_SUFFIX = '-T'
/** Most tags of a job. */
export const MAX_TAGS = 64
/** Floats of a row of tags. */
export const TAG_FLOATS = 4
/** Bits of one float. */
const FLOAT_BITS = 16

/** Up to 64 tags as bits: 0 to 31 in `low`, 32 to 63 in `high`. */
export interface TagBits {
  low: number
  high: number
}

/** The row of some bits, each 0 to 63. */
export function tagRow(bits: Iterable<number>): Float32Array {
  const row = new Float32Array(TAG_FLOATS)
  for (const bit of new Set(bits)) row[Math.floor(bit / FLOAT_BITS)]! += 2 ** (bit % FLOAT_BITS)
  return row
}

/** Adds a bit, 0 to 63. */
export function addBit(bits: TagBits, bit: number): void {
  if (bit < 32) bits.low |= 1 << bit
  else bits.high |= 1 << (bit - 32)
}

/** Half of the bits of a row, from two of its floats. */
export function halfOf(first: number, second: number): number {
  return first | (second << FLOAT_BITS)
}

/** Factors by tag, each `TAG:FACTOR`; the tag may have colons, too. Throws INVALID_ARGUMENT. */
export function boostsIn(texts: readonly string[]): Readonly<Record<string, number>> {
  const boosts = texts.map((text) => {
    const at = text.lastIndexOf(':')
    const factor = decimalNumber(text.slice(at + 1))
    requireArgument(
      at > 0 && factor > 0,
      `"${text.slice(0, 100)}" is no TAG:FACTOR such as NEW:1.2, with a factor above 0`,
    )
    return [text.slice(0, at), factor] as const
  })
  const tags = boosts.map(([tag]) => tag)
  const twice = tags.find((tag, i) => tags.indexOf(tag) !== i)
  requireArgument(twice === undefined, `the tag "${twice}" has two factors; give it one`)
  return Object.fromEntries(boosts)
}
