/*
 * Record keys of model topics, `<key>@<version>`: the row key, then the version that the row belongs
 * to. A key without `@<version>` belongs to version 1.
 */

import { WeirError } from '../core/errors.ts'
import { HIGHEST_VERSION } from '../core/model-version.ts'

/** Version of a row whose key names none. */
export const UNVERSIONED = 1

const AT = 0x40
const ZERO = 0x30
const NINE = 0x39

/** Splits `<key>@<version>` at the last `@`; a suffix that is no whole number belongs to the key. */
export function splitVersionedKey(text: string): { key: string; version: number } {
  const at = text.lastIndexOf('@')
  if (at < 0) return { key: text, version: UNVERSIONED }
  const suffix = text.slice(at + 1)
  if (!/^[1-9][0-9]{0,9}$/.test(suffix)) return { key: text, version: UNVERSIONED }
  return { key: text.slice(0, at), version: Number(suffix) }
}

/** The version of a row that a job reads. Throws UNPARSABLE_RECORD for a number that no version has. */
export function readableVersion(version: number): number {
  if (version <= HIGHEST_VERSION) return version
  throw new WeirError(
    'UNPARSABLE_RECORD',
    `a row is of version ${version}, but versions end at ${HIGHEST_VERSION}; publish the model under a lower number`,
  )
}

/**
 * Length of the row key at the start of the versioned key `bytes[start .. start + length)`:
 * `splitVersionedKey` for bytes, without making a string. `versionOfKeyBytes` reads the version.
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

/** The version in a key whose row key has `keyLength` bytes (`keyLengthWithoutVersion`). */
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
