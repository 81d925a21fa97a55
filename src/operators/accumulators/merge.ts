import { asWeirError, WeirError } from '../../core/errors.ts'
import type { AccumulatorPart } from '../port/accumulator.ts'
import { createAccumulator } from './registry.ts'

/** An accumulator, merged over subtasks. */
export interface MergedAccumulator {
  readonly name: string
  readonly type: string
  /** Its result; undefined with a failure. */
  readonly value: unknown
  /** Why there is no result: parts of two types, or code of the user that threw. */
  readonly failure: WeirError | undefined
}

/** Merges the parts of each name, in the order of their first part. A failure of one name leaves the others. */
export function mergeAccumulators(parts: readonly AccumulatorPart[]): MergedAccumulator[] {
  const byName = new Map<string, AccumulatorPart[]>()
  for (const part of parts) byName.set(part.name, [...(byName.get(part.name) ?? []), part])
  return [...byName].map(([name, ofName]) => mergeOne(name, ofName))
}

function mergeOne(name: string, parts: readonly AccumulatorPart[]): MergedAccumulator {
  const { type } = parts[0]!
  try {
    return { name, type, value: resultOf(name, type, parts), failure: undefined }
  } catch (error) {
    return { name, type, value: undefined, failure: asWeirError(error, 'OPERATOR_FAILED') }
  }
}

function resultOf(name: string, type: string, parts: readonly AccumulatorPart[]): unknown {
  const merged = createAccumulator(type)
  for (const part of parts) {
    if (part.type !== type) throw typeConflict(name, type, part.type)
    if (part.failure !== undefined) throw new WeirError('OPERATOR_FAILED', part.failure)
    merged.merge(part.state)
  }
  return merged.getLocalValue()
}

/** STATE_CONFLICT for one name with two types. */
export function typeConflict(name: string, first: string, second: string): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `accumulator "${name}" is of type ${first} and of type ${second}: use another name for one of them`,
  )
}
