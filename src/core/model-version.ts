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
