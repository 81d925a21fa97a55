import { WeirError } from '../../core/errors.ts'

/*
 * Elements of tensors in JSON: whole numbers with all their digits, and floats that JSON has no number for as the texts "NaN",
 * "Infinity" and "-Infinity".
 */

/** Digits that a double may not hold. */
const MANY_DIGITS = /[0-9]{16}/
const WHOLE = /^-?[0-9]+$/

/** The value of JSON, whose whole numbers of more than 53 bits are BigInts. Throws SyntaxError. */
export function parseExactly(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text) as unknown
  const reviver = (
    _key: string,
    value: unknown,
    context?: { readonly source?: string },
  ): unknown => {
    const source = context?.source
    const isExact = typeof value !== 'number' || Number.isSafeInteger(value)
    return isExact || source === undefined || !WHOLE.test(source) ? value : BigInt(source)
  }
  return JSON.parse(text, reviver as (key: string, value: unknown) => unknown) as unknown
}

/** JSON of a value whose BigInts are whole numbers. */
export function stringifyExactly(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? digitsOf(one) : one,
  )
}

/** What `JSON.stringify` writes as the digits of the number. */
export function digitsOf(number: bigint): unknown {
  // Every Node that is supported has it, and the types of TypeScript do not know it yet.
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(number))
}

/** The number, or a BigInt where a number would not hold it. */
export function exactNumber(number: bigint): number | bigint {
  const double = Number(number)
  return Number.isSafeInteger(double) ? double : number
}

/** What an element of floats may be, for messages. */
export const FLOAT_WANTED = 'a number, "NaN", "Infinity" or "-Infinity"'

const TEXTS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/**
 * The float of an element; undefined when it is none, or when it is finite and above `most`, the largest number that is
 * rounded to a finite one.
 */
export function floatOf(value: unknown, most: number): number | undefined {
  if (typeof value === 'number') return Math.abs(value) >= most ? undefined : value
  return typeof value === 'string' && Object.hasOwn(TEXTS, value) ? TEXTS[value] : undefined
}

/** Numbers from which on a type has no finite number: halfway from its largest one to the next. */
export const BEYOND = {
  FP16: 65_520,
  BF16: 3.3961775292304601e38,
  FP32: 3.4028235677973366e38,
  FP64: Number.POSITIVE_INFINITY,
} as const

/** The element as JSON has it. */
export function jsonOfFloat(number: number): number | string {
  return Number.isFinite(number) ? number : String(number)
}

/**
 * The elements of a list that is flat, or nested as the shape says. Throws INVALID_ARGUMENT for another nesting: to reflow
 * it would move elements to other places.
 */
export function flatElements(
  values: readonly unknown[],
  shape: readonly number[],
  name: string,
): readonly unknown[] {
  if (!holdsLists(values)) return values
  if (isNestedAs(values, shape, 0)) return values.flat(Number.POSITIVE_INFINITY)
  throw new WeirError(
    'INVALID_ARGUMENT',
    `tensor "${name}": the data is nested in another way than the shape [${shape.join(', ')}] says; nest it so, or send it flat`,
  )
}

/** As `values.some(Array.isArray)`, whose call for each of half a million numbers takes longer than their parsing. */
function holdsLists(values: readonly unknown[]): boolean {
  for (const value of values) if (typeof value === 'object' && Array.isArray(value)) return true
  return false
}

function isNestedAs(value: unknown, shape: readonly number[], axis: number): boolean {
  if (!Array.isArray(value) || value.length !== shape[axis]) return false
  if (axis === shape.length - 1) return !holdsLists(value)
  return value.every((one) => isNestedAs(one, shape, axis + 1))
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of the bytes of an element. Throws UNSUPPORTED for bytes that are no UTF-8. */
export function textOfBytes(bytes: Uint8Array, name: string): string {
  try {
    return strict.decode(bytes)
  } catch {
    const message = `tensor "${name}" has bytes that are no UTF-8, which JSON has no form for; ask for binary data`
    throw new WeirError('UNSUPPORTED', message)
  }
}
