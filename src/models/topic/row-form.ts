import { isWeirError, WeirError } from '../../core/errors.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import { KEY_SUFFIXES, kindOfKeyBytes } from '../als/row-key.ts'
import { parseTextRow } from '../als/text-row.ts'
import { parseTextWeights, type WeightList } from '../linear/weight-row.ts'
import { keyLengthWithoutVersion, UNVERSIONED, versionOfKeyBytes } from '../versioned-key.ts'

/*
 * The value of a row in a model topic is float32 values or text. Text ends in a digit, a point or white space. Floats that end in
 * such a byte have a header that says what they are:
 *
 *   key    66 33 32     "f32"
 *   value  none
 *
 * Rows of earlier builds and of other programs have no header. If such a value reads as text of its own row it is text, whatever its
 * length: floats with this text in their bytes do not happen.
 */

const FLOATS: RecordHeader = { key: 'f32', value: null }
const SAYS_FLOATS: readonly RecordHeader[] = [FLOATS]
const SAYS_NOTHING: readonly RecordHeader[] = []
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Codes of the characters that text of rows ends in. */
const ENDS: ReadonlySet<number> = new Set(Array.from('0123456789. \r\n\t', (c) => c.charCodeAt(0)))

/** Whether the value `bytes[start .. start + length)` of a row may be text, by its last byte. */
export function mayBeText(bytes: Uint8Array, start: number, length: number): boolean {
  return length > 0 && ENDS.has(bytes[start + length - 1]!)
}

/** The headers of a row of floats with these value bytes: none unless they may be read as text. */
export function floatsHeader(floats: Uint8Array): readonly RecordHeader[] {
  return mayBeText(floats, 0, floats.length) ? SAYS_FLOATS : SAYS_NOTHING
}

/** Whether the headers of a row say that its value is floats. */
export function saysFloats(headers: readonly RecordHeader[]): boolean {
  return headers.some(({ key }) => key === FLOATS.key)
}

/** The text of a value; undefined if it is not UTF-8. */
export function textIn(value: Uint8Array): string | undefined {
  try {
    return decoder.decode(value)
  } catch {
    return undefined
  }
}

/** A text row of an ALS model. */
export interface TextRow {
  /** Row key without version, `12-U`. */
  readonly key: string
  readonly version: number
  readonly factors: Float32Array
}

/**
 * The text row `<id>,U|I,f1;f2;...` in a record of an ALS model, of the version in the record's key, else of version 1;
 * undefined if its value is no such text. Throws UNPARSABLE_RECORD for text under the key of another row.
 */
export function textRowIn(
  key: Uint8Array | null,
  value: Uint8Array | null,
  headers: () => readonly RecordHeader[],
): TextRow | undefined {
  if (value === null || !mayBeText(value, 0, value.length) || saysFloats(headers()))
    return undefined
  const length = key === null ? 0 : keyLengthWithoutVersion(key)
  const own = key !== null && kindOfKeyBytes(key, 0, length) !== undefined
  const row = parsed(value, parseTextRow)
  if (row === undefined) return undefined
  const named = `${row.id}${KEY_SUFFIXES[row.kind]}`
  if (own && textIn(key.subarray(0, length)) !== named) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `the text row of ${named} has the key of another row, "${textIn(key)}"`,
    )
  }
  const version = key === null ? UNVERSIONED : versionOfKeyBytes(key, length)
  return { key: named, version, factors: row.factors }
}

/** As `textRowIn`; undefined where that throws. */
export function textRowOrNone(...record: Parameters<typeof textRowIn>): TextRow | undefined {
  return orUndefined(() => textRowIn(...record))
}

/** The weights in the text under the key of a block; undefined if the value is no such text. */
export function blockWeightsIn(
  value: Uint8Array,
  headers: readonly RecordHeader[],
): WeightList | undefined {
  if (!mayBeText(value, 0, value.length) || saysFloats(headers)) return undefined
  return parsed(value, parseTextWeights)
}

const ROW_KEY = /-[UI](@[0-9]+)?$/
const BLOCK_KEY = /^[0-9]+-W(@[0-9]+)?$/

/**
 * Floats of the row or the block in a record; undefined for what is none, and for text weights, whose length is
 * unrelated to that of their block.
 */
export function floatsOfRow(
  key: Uint8Array | null,
  value: Uint8Array,
  headers: () => readonly RecordHeader[],
): number | undefined {
  const name = key === null ? '' : latin1Of(key)
  if (BLOCK_KEY.test(name)) {
    return blockWeightsIn(value, headers()) === undefined ? wholeFloats(value) : undefined
  }
  const text = textRowOrNone(key, value, headers)
  if (text !== undefined) return text.factors.length
  return ROW_KEY.test(name) ? wholeFloats(value) : undefined
}

function wholeFloats({ length }: Uint8Array): number | undefined {
  return length % 4 === 0 && length > 0 ? length / 4 : undefined
}

function parsed<T>(value: Uint8Array, parse: (text: string) => T): T | undefined {
  const text = textIn(value)
  return text === undefined ? undefined : orUndefined(() => parse(text))
}

/** What `read` returns; undefined if it throws UNPARSABLE_RECORD. */
function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isWeirError(error, 'UNPARSABLE_RECORD')) return undefined
    throw error
  }
}
