/** Most shapes of one stream; objects of further shapes are left to the serializer. */
export const MOST_SHAPES = 120
/** Most fields of a shape: an object with more is a dictionary. */
export const MOST_FIELDS = 64
/** Values nested more deeply, or in a circle, are left to the serializer. */
export const DEEPEST = 32

/**
 * Kinds of values, the first byte of each. `encoded`: the serializer's bytes follow, up to the end of the
 * value. The other kinds nest:
 *
 *     undefined, null, false, true      -
 *     int32, float64, date              4 or 8 bytes, little-endian
 *     latin                             u8 length, one byte a character, all below 128
 *     keptLatin                         u16 place, then as latin; the reader keeps the text at its place
 *     knownLatin                        u16 place of a text that is kept
 *     text                              varuint length, UTF-8
 *     array                             varuint length, values
 *     object                            u8 number of its shape, values of the fields
 *     newObject                         u8 number of fields, their names (varuint length, UTF-8), values
 *                                       of the fields; the shape gets the next number of the stream
 *
 * A stream lives as long as a channel of one attempt, so the format has no version.
 */
export const KINDS = {
  encoded: 0,
  undefined: 1,
  null: 2,
  false: 3,
  true: 4,
  int32: 5,
  float64: 6,
  latin: 7,
  text: 8,
  date: 9,
  array: 10,
  object: 11,
  newObject: 12,
  keptLatin: 13,
  knownLatin: 14,
} as const
