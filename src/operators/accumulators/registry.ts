import { WeirError } from '../../core/errors.ts'
import { aFunction } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Accumulator } from '../port/accumulator.ts'
import { AverageAccumulator } from './average.ts'
import { DoubleCounter, IntCounter, LongCounter } from './counters.ts'
import {
  DoubleMaximum,
  DoubleMinimum,
  IntMaximum,
  IntMinimum,
  LongMaximum,
  LongMinimum,
} from './extremes.ts'
import { HistogramAccumulator } from './histogram.ts'
import { ListAccumulator } from './list.ts'

type CreateAccumulator = () => Accumulator

const BUILT_IN: readonly CreateAccumulator[] = [
  () => new IntCounter(),
  () => new LongCounter(),
  () => new DoubleCounter(),
  () => new AverageAccumulator(),
  () => new IntMinimum(),
  () => new IntMaximum(),
  () => new LongMinimum(),
  () => new LongMaximum(),
  () => new DoubleMinimum(),
  () => new DoubleMaximum(),
  () => new HistogramAccumulator(),
  () => new ListAccumulator(),
]

/** What makes an empty accumulator, by its type. */
const creators = new Map(BUILT_IN.map((create) => [create().type, create]))

/**
 * Makes a type of accumulators known. A job's module calls it where it is loaded, and so in every thread: the main
 * thread merges what the slots send. Throws STATE_CONFLICT when another one has this type.
 */
export function registerAccumulator(create: CreateAccumulator): void {
  checkArgument('registerAccumulator', 'create', aFunction(), create)
  const { type } = create()
  if (creators.has(type)) {
    throw new WeirError(
      'STATE_CONFLICT',
      `there is a type "${type}" of accumulators: choose another name, and register it once, where the module is loaded`,
    )
  }
  creators.set(type, create)
}

/** An empty accumulator of a type. Throws INVALID_ARGUMENT for one that is not known. */
export function createAccumulator(type: string): Accumulator {
  const create = creators.get(type)
  if (create !== undefined) return create()
  throw new WeirError(
    'INVALID_ARGUMENT',
    `accumulators of type "${type}" are not known: call registerAccumulator(() => new ${type}()) in the module of the job`,
  )
}
