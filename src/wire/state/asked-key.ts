import { WeirError } from '../../core/errors.ts'
import { isOtherKey, keyText, otherKeyOf, readableKey } from '../../core/formats/key-text.ts'
import { hasNumberKeys } from './formatted-key.ts'

/** Ids of the serializer of keys of plain types, and of those of texts and of bytes, which queries write themselves. */
const PLAIN = 'key/1'
const TEXTS: readonly (string | undefined)[] = ['string/1', 'bytes/1', undefined]

/**
 * How else the text of a key that does not exist can be read where keys have plain types: a text as the number, boolean
 * or tuple that it is as JSON, and one of these as a text.
 */
export function otherReading(text: string, format: string | undefined): string | undefined {
  if (format !== PLAIN && format !== 'string/1') return undefined
  if (isOtherKey(text)) return readableKey(text)
  const other = format === PLAIN ? otherKeyOf(text) : undefined
  return other === undefined ? undefined : keyText(other)
}

/** The error of a number, boolean or tuple that was asked for where only a text with the same characters exists. */
export function textInstead(text: string): WeirError {
  const shown = readableKey(text)
  return new WeirError(
    'INVALID_ARGUMENT',
    `key ${shown} does not exist, and the text "${shown}" does: ask for the text`,
  )
}

/** The error of a key that was not found in a state whose keys no query can write; undefined elsewhere. */
export function refusalOfKey(state: string, format: string | undefined): WeirError | undefined {
  const isKnown = format === PLAIN || TEXTS.includes(format) || hasNumberKeys(format)
  if (isKnown) return undefined
  return new WeirError(
    'UNSUPPORTED',
    `the keys of "${state}" are written by the serializer "${format}", which queries do not have, so that none can be looked up; let keyBy give keys that are texts, numbers, booleans or tuples`,
  )
}
