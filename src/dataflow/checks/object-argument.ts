import { serializer } from '../../core/options/ports.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** A call of a stream that takes an object with methods. */
export interface ObjectUse {
  /** The call with its operator, for the message. */
  readonly call: string
  readonly methods: readonly string[]
  /** What it takes, for the message. */
  readonly takes: string
}

/** Throws INVALID_ARGUMENT unless the argument is an object with these methods. */
export function requireMethods(given: unknown, { call, methods, takes }: ObjectUse): void {
  const members = given as Readonly<Record<string, unknown>> | null | undefined
  if (methods.every((method) => typeof members?.[method] === 'function')) return
  refuseArgument(call, given, takes)
}

/** The serializer that a call got. Throws INVALID_ARGUMENT for what is none. */
export function requireSerializer(given: unknown, call: string): Serializer<unknown> {
  checkArgument(call, 'serializer', serializer<unknown>(), given)
  return given as Serializer<unknown>
}

/** Throws INVALID_ARGUMENT for what is no sink, such as a function of a record. */
export function requireSink(given: unknown): void {
  const takes = 'a sink, which has createWriter(...), such as new MemorySink()'
  requireMethods(given, { call: 'sinkTo(...)', methods: ['createWriter'], takes })
}
