import { WeirError } from './errors.ts'

/**
 * Number of a model version, 1 <= version < 2^31. Branded: the compiler takes no plain number for it,
 * because versions, partitions and offsets are side by side in many calls.
 */
export type ModelVersion = number & { readonly __brand: 'ModelVersion' }

/** Checks and brands a model version. Throws INVALID_ARGUMENT. */
export function modelVersion(n: number): ModelVersion {
  if (!(Number.isInteger(n) && n >= 1 && n < 2 ** 31)) {
    throw new WeirError('INVALID_ARGUMENT', `a model version is counted from 1, not ${n}`)
  }
  return n as ModelVersion
}
