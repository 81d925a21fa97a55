import type { Clock } from '../clock.ts'
import type { Random } from '../random.ts'
import type { Serializer } from '../serializer.ts'
import { type OptionKind, objectWith } from './kinds.ts'

/** A clock. */
export const CLOCK: OptionKind<Clock> = objectWith(
  'a clock, such as systemClock',
  'nowMs',
  'monotonicMs',
  'after',
)

/** A stream of random numbers. */
export const RANDOM: OptionKind<Random> = objectWith(
  'random numbers, such as seededRandom(1)',
  'next',
  'below',
  'normal',
)

/** A signal that ends work. */
export const SIGNAL: OptionKind<AbortSignal> = objectWith('an AbortSignal', 'throwIfAborted')

/** The kind of serializers, of any type. */
export function serializer<T>(): OptionKind<Serializer<T>> {
  return SERIALIZER as OptionKind<Serializer<T>>
}

const SERIALIZER: OptionKind<Serializer<unknown>> = objectWith(
  'a serializer, such as stringSerializer or jsonFormat()',
  'write',
  'read',
)
