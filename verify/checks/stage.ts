import { messageOf } from '../../src/core/errors.ts'
import type { Violation } from './observation.ts'

/** A stage of a verification, and how long it may take. */
export interface Stage<T> {
  readonly what: string
  readonly limitMs: number
  readonly work: () => Promise<T>
}

/**
 * Result of a stage; undefined where it fails or does not end within its limit, which is a violation: a verification ends
 * with a verdict, whatever happens.
 */
export async function resultOf<T>(
  { what, limitMs, work }: Stage<T>,
  violations: Violation[],
): Promise<T | undefined> {
  const late = Promise.withResolvers<never>()
  const error = new Error(`does not end within ${limitMs / 1000} s`)
  const timer = setTimeout(() => late.reject(error), limitMs)
  try {
    return await Promise.race([work(), late.promise])
  } catch (failure) {
    violations.push({ kind: 'hangs', detail: `${what}: ${messageOf(failure)}` })
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
