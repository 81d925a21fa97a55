import { WeirError } from './errors.ts'

/** The highest number of a model version: tables and the progress board hold it as a signed integer of 32 bits. */
export const HIGHEST_VERSION = 2 ** 31 - 1

/**
 * Number of a model version, from 1 to `HIGHEST_VERSION`. Branded: the compiler takes no plain number for it,
 * because versions, partitions and offsets are side by side in many calls.
 */
export type ModelVersion = number & { readonly __brand: 'ModelVersion' }

/** Checks and brands a model version. Throws INVALID_ARGUMENT. */
export function modelVersion(n: number): ModelVersion {
  if (!(Number.isInteger(n) && n >= 1 && n <= HIGHEST_VERSION)) {
    throw new WeirError('INVALID_ARGUMENT', `a model version is 1 to ${HIGHEST_VERSION}, not ${n}`)
  }
  return n as ModelVersion
}

/** The error of a query where no version is live; `loaded`: versions of which rows are loaded, ascending. */
export function notPromoted(message: string, loaded: readonly number[] = []): WeirError {
  const newest = loaded.at(-1)
  const remedy =
    newest === undefined
      ? 'publish one'
      : `version ${newest} is published, not promoted: make it live with "weir model promote ${newest} --model TOPIC --golden FILE"`
  return new WeirError('RESTORING', `${message}; ${remedy}, or ask again later`)
}
