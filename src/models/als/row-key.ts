import { requireArgument, WeirError } from '../../core/errors.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { isMeanId, MEAN_ID, MEAN_ID_IS_TAKEN } from '../mean-id.ts'
import { splitVersionedKey } from '../versioned-key.ts'

/*
 * Keys of the rows of an ALS model: `<id>-U` for a user, `<id>-I` for an item. In a topic
 * `@<version>` may follow (`versioned-key.ts`).
 */

/** Whose row it is: the last letter of the key. */
export type AlsRowKind = 'U' | 'I'

/** Ends of the keys of users and of items. */
export const KEY_SUFFIXES = { U: '-U', I: '-I' } as const satisfies Record<AlsRowKind, string>

/** Keys of the mean rows. */
export const MEAN_KEYS = {
  U: `${MEAN_ID}${KEY_SUFFIXES.U}`,
  I: `${MEAN_ID}${KEY_SUFFIXES.I}`,
} as const

/** Options of a prediction for which the mean rows stand for a user or an item without a row. */
export const MEAN_IF_UNKNOWN = { coldLeft: MEAN_KEYS.U, coldRight: MEAN_KEYS.I } as const

/** Bytes that `<id>-U` has beyond the id. */
const SUFFIX_LENGTH = 2
const DASH = 0x2d
const LETTERS: Readonly<Record<AlsRowKind, number>> = { U: 0x55, I: 0x49 }
const decoder = new TextDecoder()

/** A row key taken apart. */
export interface AlsKey {
  readonly id: string
  readonly kind: AlsRowKind
  readonly version: number
}

/**
 * `<id>-U` or `<id>-I` (or `<id>-W`), with `@<version>` if one is given. Throws INVALID_ARGUMENT for the
 * id `MEAN`: its keys are those of the mean rows (`MEAN_KEYS`).
 */
export function alsKey(id: string, kind: AlsRowKind | 'W', version?: number): string {
  if (typeof id !== 'string' || !Object.hasOwn(LETTERS_OF_KEYS, kind)) refuseKey(id, kind)
  if (version !== undefined && !(Number.isSafeInteger(version) && version >= 0)) {
    refuseArgument('alsKey(...)', version, 'a version, a whole number')
  }
  requireArgument(!isMeanId(id), MEAN_ID_IS_TAKEN)
  const key = `${id}-${kind}`
  return version === undefined ? key : `${key}@${version}`
}

const LETTERS_OF_KEYS = { U: 0, I: 0, W: 0 }

function refuseKey(id: unknown, kind: unknown): never {
  if (typeof id !== 'string') refuseArgument('alsKey(...)', id, 'an id, a text')
  refuseArgument('alsKey(...)', kind, "the kind 'U', 'I' or 'W' after the id")
}

/** Takes a row key apart. Throws UNPARSABLE_RECORD if it ends neither in `-U` nor in `-I`. */
export function parseAlsKey(text: string): AlsKey {
  if (typeof text !== 'string') refuseArgument('parseAlsKey(...)', text, 'the key of a row, a text')
  const { key, version } = splitVersionedKey(text)
  const kind = key.at(-1)
  if (key.length < 3 || key.at(-2) !== '-' || (kind !== 'U' && kind !== 'I')) {
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `the model key "${text}" does not end in -U or -I; write <id>-U for a user, <id>-I for an item`,
      { details: { key: text } },
    )
  }
  return { id: idOfKey(key), kind, version }
}

/** The id in a row key without version. */
export function idOfKey(key: string): string {
  return key.slice(0, -SUFFIX_LENGTH)
}

/** Whose row a row key without version is of. */
export function kindOfKey(key: string): AlsRowKind {
  return key.endsWith('U') ? 'U' : 'I'
}

/** Whether a row key without version is of a user, or of an item, and not that of their mean row. */
export function isRowOf(key: string, kind: AlsRowKind): boolean {
  return key.endsWith(KEY_SUFFIXES[kind]) && key !== MEAN_KEYS[kind]
}

/** The id in the bytes of a row key without version. */
export function idOfKeyBytes(key: Uint8Array): string {
  return decoder.decode(key.subarray(0, key.length - SUFFIX_LENGTH))
}

/**
 * Whose row the key `bytes[start .. start + length)` without version is of; undefined where it ends
 * neither in `-U` nor in `-I`, or has no id.
 */
export function kindOfKeyBytes(
  bytes: Uint8Array,
  start = 0,
  length: number = bytes.length,
): AlsRowKind | undefined {
  const end = start + length
  if (length <= SUFFIX_LENGTH || bytes[end - 2] !== DASH) return undefined
  const letter = bytes[end - 1]
  if (letter === LETTERS.U) return 'U'
  return letter === LETTERS.I ? 'I' : undefined
}

/** Whether the key `bytes[start .. start + length)` without version is that of a mean row. */
export function isMeanKeyBytes(
  bytes: Uint8Array,
  start = 0,
  length: number = bytes.length,
): boolean {
  if (length !== MEAN_ID.length + SUFFIX_LENGTH) return false
  for (let i = 0; i < MEAN_ID.length; i++) {
    if (bytes[start + i] !== MEAN_ID.charCodeAt(i)) return false
  }
  return bytes[start + MEAN_ID.length] === DASH
}

/** Writes `-U` or `-I` behind the id that ends at `at`; the end of the key. */
export function writeKeySuffix(key: Uint8Array, at: number, kind: AlsRowKind): number {
  key[at] = DASH
  key[at + 1] = LETTERS[kind]
  return at + SUFFIX_LENGTH
}
