import type { ErrorCode } from '../../../core/errors.ts'
import type { KeySettings } from '../keys/key-settings.ts'
import type { Load, LoadShare } from '../port/load.ts'
import type { LoadWindow } from '../port/window.ts'
import type { TargetSettings } from '../targets/open-target.ts'

/** What a thread of a generator starts with. */
export interface ThreadSettings {
  readonly target: TargetSettings
  readonly keys: KeySettings
  /** Pairs of one request. */
  readonly batch: number
  readonly share: LoadShare
}

/** Message to a thread. Each but `end` is answered by one `done`, `start` by another `finished`. */
export type ThreadRequest =
  | { readonly kind: 'probe'; readonly tries: number }
  | {
      readonly kind: 'start'
      readonly load: Load
      readonly limit: number
      /** Time zero of the load, monotonic ms of all threads. */
      readonly startMs: number
    }
  | { readonly kind: 'take' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'end' }

/** Message of a thread. */
export type ThreadMessage =
  | { readonly kind: 'done'; readonly window?: LoadWindow }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** The last request of a load with an end is answered. */
  | { readonly kind: 'finished' }
