import type { ErrorCode } from '../../core/errors.ts'
import type { Tensor } from '../port/tensor.ts'

/** Message to a worker about one answer in parts, by the number of its stream. */
export type PartsOrder =
  | { readonly kind: 'ask'; readonly stream: number; readonly inputs: readonly Tensor[] }
  /** The next part is wanted; no part is made before. */
  | { readonly kind: 'more'; readonly stream: number }
  /** No client reads the answer any more. */
  | { readonly kind: 'leave'; readonly stream: number }

/** Message from a worker. */
export type PartsReply =
  | { readonly kind: 'part'; readonly stream: number; readonly outputs: readonly Tensor[] }
  | { readonly kind: 'end'; readonly stream: number }
  | {
      readonly kind: 'failed'
      readonly stream: number
      readonly code: ErrorCode
      readonly message: string
    }
  /** The order to leave has arrived: the thread is not blocked. */
  | { readonly kind: 'noted'; readonly stream: number }
  /** The model has ended a stream that was left. */
  | { readonly kind: 'left'; readonly stream: number }
  /** The worker takes no further stream. */
  | { readonly kind: 'leaving' }
