import { isBag } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { refuseAsync } from '../../operators/port/refuse-promise.ts'
import { WINDOW_ASSIGNER } from '../../operators/windows/assigner.ts'
import { requireMethods } from './object-argument.ts'

/** Throws INVALID_ARGUMENT for what assigns no windows, such as a size alone. */
export function requireAssigner(given: unknown): void {
  if (!isBag(given))
    refuseArgument('window(...)', given, 'windows: tumblingEventTimeWindows(60_000)')
  checkArgument('window', 'windows', WINDOW_ASSIGNER, given)
}

/** Throws INVALID_ARGUMENT for what is no trigger, and UNSUPPORTED where one of its methods is async. */
export function requireTrigger(given: unknown): void {
  requireSynchronous(given, {
    call: 'trigger(...)',
    methods: ['onElement', 'onEventTime', 'onProcessingTime', 'clear'],
    takes: 'a trigger with onElement, onEventTime, onProcessingTime and clear, or countTrigger(10)',
  })
}

/** Throws as `requireTrigger`, for an aggregate function. */
export function requireAggregate(given: unknown): void {
  requireSynchronous(given, {
    call: 'aggregate(...)',
    methods: ['createAccumulator', 'add', 'getResult', 'merge'],
    takes: 'an object with createAccumulator, add, getResult and merge',
  })
}

/** Throws as `requireTrigger`, for an evictor, which may have one of its two methods. */
export function requireEvictor(given: unknown): void {
  const members = given as Readonly<Record<string, unknown>> | null | undefined
  const methods = ['evictBefore', 'evictAfter'].filter((method) => members?.[method] !== undefined)
  requireSynchronous(given, {
    call: 'evictor(...)',
    methods: methods.length === 0 ? ['evictBefore'] : methods,
    takes: 'an evictor with evictBefore or evictAfter, or countEvictor(10)',
  })
}

function requireSynchronous(given: unknown, use: Parameters<typeof requireMethods>[1]): void {
  requireMethods(given, use)
  const members = given as Readonly<Record<string, unknown>>
  for (const method of use.methods) refuseAsync(members[method], `${method} of ${use.call}`)
}
