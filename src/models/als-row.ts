import { requireArgument, WeirError } from '../core/errors.ts'

/**
 * Rows of an ALS model as they travel and lie.
 *
 * Key `<id>-U` (user) or `<id>-I` (item), optionally followed by `@<version>`; without it the row
 * belongs to version 1. Value: `dimension` float32, little-endian, nothing else.
 *
 * With biases they ride inside the rows, so that a prediction and top-k stay plain inner products:
 *
 *   user  [ p_0 .. p_f-1 , b_u + mu , 1   ]
 *   item  [ q_0 .. q_f-1 , 1        , b_i ]      p.q + (b_u + mu) + b_i
 *
 * The ancestor wrote rows as text, `<id>,U|I,f1;f2;...`; both directions are here.
 */

/** Whose row it is: the last letter of the key. */
export type AlsRowKind = 'U' | 'I'

/** Version of a row whose key names none. */
export const UNVERSIONED = 1

/** Keys under which the mean rows answer, for users and items never seen in training. */
export const MEAN_ID = 'MEAN'

/** Floats that biases add to a row. */
export const BIAS_COLUMNS = 2

/** A row with its identity. */
export interface AlsRow {
  readonly id: string
  readonly kind: AlsRowKind
  readonly factors: Float32Array
}

/** A row key taken apart. */
export interface AlsKey {
  readonly id: string
  readonly kind: AlsRowKind
  readonly version: number
}

/** `<id>-U` or `<id>-I` (or `<id>-W`), with `@<version>` if one is given. */
export function alsKey(id: string, kind: AlsRowKind | 'W', version?: number): string {
  return version === undefined ? `${id}-${kind}` : `${id}-${kind}@${version}`
}

/** Takes a row key apart. Throws UNPARSABLE_RECORD if it ends neither in `-U` nor in `-I`. */
export function parseAlsKey(text: string): AlsKey {
  const { key, version } = splitVersionedKey(text)
  const kind = key.at(-1)
  if (key.length < 3 || key.at(-2) !== '-' || (kind !== 'U' && kind !== 'I')) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `the model key "${text}" does not end in -U or -I; write <id>-U for a user, <id>-I for an item`,
      { details: { key: text } },
    )
  }
  return { id: key.slice(0, -2), kind, version }
}

/** Splits `<key>@<version>` at the last `@`; a suffix that is no whole number belongs to the key. */
export function splitVersionedKey(text: string): { key: string; version: number } {
  const at = text.lastIndexOf('@')
  if (at < 0) return { key: text, version: UNVERSIONED }
  const suffix = text.slice(at + 1)
  if (!/^[1-9][0-9]{0,9}$/.test(suffix)) return { key: text, version: UNVERSIONED }
  return { key: text.slice(0, at), version: Number(suffix) }
}

const AT = 0x40
const ZERO = 0x30
const NINE = 0x39

/**
 * How many of the first bytes of the versioned key `bytes[start .. start + length)` are the key
 * itself; the bytes' `splitVersionedKey`, without making a string. Read the version with
 * `versionOfKeyBytes`.
 */
export function keyLengthWithoutVersion(
  bytes: Uint8Array,
  start = 0,
  length: number = bytes.length,
): number {
  const end = start + length
  let at = end - 1
  while (at >= start && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at--
  const digits = end - 1 - at
  const versioned =
    at >= start && bytes[at] === AT && digits >= 1 && digits <= 10 && bytes[at + 1] !== ZERO
  return versioned ? at - start : length
}

/** The version in such a key whose own length is `keyLength` (`keyLengthWithoutVersion`). */
export function versionOfKeyBytes(
  bytes: Uint8Array,
  keyLength: number,
  start = 0,
  length: number = bytes.length,
): number {
  if (keyLength === length) return UNVERSIONED
  let version = 0
  for (let at = start + keyLength + 1; at < start + length; at++) {
    version = version * 10 + (bytes[at] as number) - ZERO
  }
  return version
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

/** Value bytes of a row: its float32, little-endian. */
export function encodeFactors(factors: Float32Array): Uint8Array {
  const bytes = new Uint8Array(factors.length * 4)
  if (isLittleEndian) {
    bytes.set(new Uint8Array(factors.buffer, factors.byteOffset, factors.byteLength))
    return bytes
  }
  const view = new DataView(bytes.buffer)
  for (const [i, factor] of factors.entries()) view.setFloat32(i * 4, factor, true)
  return bytes
}

/**
 * Factors of a value. Throws UNPARSABLE_RECORD if the length is no multiple of four, or is not that
 * of `dimension`, or if a factor is not finite.
 */
export function decodeFactors(bytes: Uint8Array, dimension?: number): Float32Array {
  const expected = dimension === undefined ? bytes.length & ~3 : dimension * 4
  if (bytes.length !== expected || expected === 0) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `a model row has ${bytes.length} bytes where ${dimension ?? 'a number of'} float32 were expected`,
      { details: { bytes: bytes.length } },
    )
  }
  const factors = new Float32Array(bytes.length / 4)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let i = 0; i < factors.length; i++) {
    const factor = view.getFloat32(i * 4, true)
    if (!Number.isFinite(factor)) {
      throw new WeirError('UNPARSABLE_RECORD', `element ${i} of a model row is not finite`, {
        details: { element: i },
      })
    }
    factors[i] = factor
  }
  return factors
}

/** The ancestor's text of a row. Throws INVALID_ARGUMENT if the id holds a comma or line break. */
export function formatTextRow(row: AlsRow): string {
  requireArgument(!/[,\r\n]/.test(row.id), `the id "${row.id}" cannot stand in a text row`)
  return `${row.id},${row.kind},${Array.from(row.factors).join(';')}`
}

/**
 * Reads `<id>,U|I,f1;f2;...`. Throws UNPARSABLE_RECORD that names `line` and the column (both from
 * 1) where the text stops making sense.
 */
export function parseTextRow(text: string, line = 1): AlsRow {
  const firstComma = text.indexOf(',')
  if (firstComma <= 0) throw textRowError(line, 1, 'an id followed by a comma')
  const kind = text[firstComma + 1]
  if ((kind !== 'U' && kind !== 'I') || text[firstComma + 2] !== ',') {
    throw textRowError(line, firstComma + 2, 'U or I followed by a comma')
  }
  const factors = parseFactors(text, firstComma + 3, line)
  return { id: text.slice(0, firstComma), kind, factors }
}

function parseFactors(text: string, start: number, line: number): Float32Array {
  const factors: number[] = []
  for (let from = start; from <= text.length; ) {
    const semicolon = text.indexOf(';', from)
    const to = semicolon < 0 ? text.length : semicolon
    const part = text.slice(from, to).trim()
    const factor = part === '' ? Number.NaN : Number(part)
    if (!Number.isFinite(factor)) throw textRowError(line, from + 1, 'a finite number')
    factors.push(factor)
    from = to + 1
  }
  return Float32Array.from(factors)
}

function textRowError(line: number, column: number, expected: string): WeirError {
  return new WeirError(
    'UNPARSABLE_RECORD',
    `line ${line}, column ${column} of the model rows: expected ${expected}; a row is <id>,U|I,f1;f2;...`,
    { details: { line, column } },
  )
}

/** Joins factors, bias and constant into a served row; see the drawing above. */
export function biasedRow(
  kind: AlsRowKind,
  factors: ArrayLike<number>,
  bias: number,
  globalMean: number,
): Float32Array {
  const row = new Float32Array(factors.length + BIAS_COLUMNS)
  row.set(factors)
  row[factors.length] = kind === 'U' ? bias + globalMean : 1
  row[factors.length + 1] = kind === 'U' ? 1 : bias
  return row
}

/** The bias inside a served row. */
export function biasOfRow(kind: AlsRowKind, row: Float32Array, globalMean: number): number {
  const last = row.length - 1
  return kind === 'U' ? (row[last - 1] as number) - globalMean : (row[last] as number)
}

/** Inner product in float64: what a served score is compared with. */
export function predictRating(user: ArrayLike<number>, item: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < user.length; i++) sum += (user[i] as number) * (item[i] as number)
  return sum
}

/** The mean of rows of one dimension, summed in float64: where an unseen user or item starts. */
export function meanRow(rows: Iterable<Float32Array>, dimension: number): Float32Array {
  const sums = new Float64Array(dimension)
  let count = 0
  for (const row of rows) {
    for (let i = 0; i < dimension; i++) sums[i] = (sums[i] as number) + (row[i] as number)
    count++
  }
  return Float32Array.from(sums, (sum) => (count === 0 ? 0 : sum / count))
}
