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
  /** A file of the model is wrong: its settings, aliases, revisions, or the newest version. */
  | { readonly event: 'problem'; readonly model: string; readonly error: WeirError }
  /** The server behind remote models does not answer, or answers again. */
  | { readonly event: 'remote'; readonly error: WeirError }
  | { readonly event: 'repository'; readonly error: WeirError }
