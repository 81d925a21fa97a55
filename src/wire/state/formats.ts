import { WeirError } from '../../core/errors.ts'
import { builtIn } from '../../core/formats/built-in.ts'
import { keyText, otherKeyOf, readableKey } from '../../core/formats/key-text.ts'
import type { PlainKey } from '../../core/formats/plain-key.ts'
import {
  float64Serializer,
  int53Serializer,
  readerOf,
  type Serializer,
  stringSerializer,
} from '../../core/serializer.ts'
import type { QueryableStateInfo } from '../routing-table.ts'
import type { GetOptions } from '../typed-value.ts'

/** What a client knows of a state. */
export type KnownState = Pick<
  QueryableStateInfo,
  'name' | 'kind' | 'keys' | 'keyFormat' | 'valueFormat' | 'mapKeyFormat'
>

/** Whether the keys of a state are texts alone. */
export function hasTextKeys({ keyFormat }: KnownState): boolean {
  return keyFormat === stringSerializer.id
}

/** Whether the keys of a state are numbers alone: starts of windows, or those of a serializer of numbers. */
export function hasNumberKeys({ keys, keyFormat }: KnownState): boolean {
  if (keys !== undefined) return keys === 'window'
  return keyFormat === int53Serializer.id || keyFormat === float64Serializer.id
}

/** Throws INVALID_ARGUMENT for a key that no key of the state can be, as it is of another type. */
export function requireKeyType(state: KnownState, key: PlainKey): void {
  const { name, keys } = state
  const shown = readableKey(keyText(key))
  const parsed = typeof key === 'string' ? otherKeyOf(shown) : key
  if (keys === 'key-and-window') {
    const isWindow = Array.isArray(parsed) && parsed.length === 2 && typeof parsed[1] === 'number'
    if (isWindow) return
    throw otherType(
      `the keys of "${name}" are tuples of a key and the start of its window in ms, and ${shown} is none: ask for ["ann", 60000], or for all windows of a key with entries("${name}", { prefix: ["ann"] })`,
    )
  }
  if (keys === 'window') {
    if (typeof parsed === 'number') return
    throw otherType(
      `the keys of "${name}" are starts of windows in ms, which are numbers, and ${shown} is none: ask for one such as 60000, or for several with entries("${name}", { from: 0, to: 60000 })`,
    )
  }
  if (hasTextKeys(state) && typeof key !== 'string') {
    throw otherType(
      `the keys of "${name}" are texts, and ${shown} is none: ask for the text "${shown}"`,
    )
  }
  if (hasNumberKeys(state) && typeof parsed !== 'number') {
    throw otherType(`the keys of "${name}" are numbers, and ${shown} is none: ask for a number`)
  }
}

function otherType(message: string): WeirError {
  return new WeirError('INVALID_ARGUMENT', message)
}

/**
 * The options that decode the values of a state: with the serializers that the caller gave, else with those that wrote
 * the values. Throws INVALID_ARGUMENT for one that does not read what is there, UNSUPPORTED where it must be given.
 */
export function decodingOf<O extends GetOptions>(state: KnownState | undefined, options: O): O {
  if (state === undefined) return options
  const { name, valueFormat, mapKeyFormat } = state
  const serializer = readable(`values of "${name}"`, 'serializer', valueFormat, options.serializer)
  const mapKeySerializer = readable(
    `keys in the maps of "${name}"`,
    'mapKeySerializer',
    mapKeyFormat,
    options.mapKeySerializer,
  )
  return {
    ...options,
    ...(serializer === undefined ? {} : { serializer }),
    ...(mapKeySerializer === undefined ? {} : { mapKeySerializer }),
  }
}

function readable(
  what: string,
  option: keyof GetOptions,
  format: string | undefined,
  given: Serializer<unknown> | undefined,
): Serializer<unknown> | undefined {
  // Of servers before the formats, nothing is known.
  if (format === undefined) return given
  if (given === undefined) {
    const own = builtIn(format)
    if (own !== undefined) return own
    throw new WeirError(
      'UNSUPPORTED',
      `the ${what} are written by the serializer "${format}", which the client does not have: pass it as { ${option} }`,
    )
  }
  const read = readerOf(given, format)
  if (typeof read !== 'string') return { ...given, read }
  throw otherType(
    `the ${what} are written by the serializer "${format}", and the one that was passed is "${given.id}": pass the one of the state as { ${option} }${builtIn(format) === undefined ? '' : ', or none'}`,
  )
}
