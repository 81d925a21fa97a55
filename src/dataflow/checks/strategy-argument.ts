import { requireArgument } from '../../core/errors.ts'
import { requireMethods } from './object-argument.ts'

/** Throws INVALID_ARGUMENT for what is no watermark strategy, such as a function of a record's time. */
export function requireStrategy(given: unknown, call: string): void {
  requireMethods(given, {
    call: `${call}(...)`,
    methods: ['timestampOf'],
    takes:
      'a watermark strategy: boundedOutOfOrderness(5_000, { timestampOf: (record) => record.time })',
  })
}

/** Throws as `requireStrategy`, and for an alignment, which only sources can follow. */
export function requireStrategyOfStream(given: { readonly alignment?: unknown }): void {
  requireStrategy(given, 'assignTimestampsAndWatermarks')
  requireArgument(
    given.alignment === undefined,
    'watermark alignment holds sources back: give its strategy to fromSource',
  )
}
