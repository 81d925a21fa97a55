import type { WeirError } from '../../core/errors.ts'

/** Change of the served models, for logs. */
export type ModelEvent =
  | {
      readonly event: 'loaded'
      readonly model: string
      readonly version: number
      readonly ms: number
    }
  | { readonly event: 'live'; readonly model: string; readonly version: number }
  | { readonly event: 'unloaded'; readonly model: string; readonly version: number }
  | {
      readonly event: 'failed'
      readonly model: string
      readonly version: number
      readonly error: WeirError
    }
  | { readonly event: 'repository'; readonly error: WeirError }
