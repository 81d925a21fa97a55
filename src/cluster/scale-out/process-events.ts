import type { WeirError } from '../../core/errors.ts'

/** What happens in a process of a job, for its log. */
export type ProcessEvent =
  /** It is a member of the group in a new generation. */
  | {
      readonly kind: 'joined'
      readonly generation: number
      readonly memberId: string
      readonly isLeader: boolean
      /** Job partitions that it owns, ascending. */
      readonly active: readonly number[]
      /** Job partitions that it hands over. */
      readonly release: readonly number[]
    }
  | { readonly kind: 'running'; readonly partition: number }
  | { readonly kind: 'released'; readonly partition: number }
  /** It gives the partition back, and does not take it again at once. */
  | { readonly kind: 'failed'; readonly partition: number; readonly error: WeirError }
  /** The group has removed it: it ends its partitions without a checkpoint, and joins again. */
  | { readonly kind: 'lost'; readonly error: WeirError }
  | { readonly kind: 'warning'; readonly partition: number | undefined; readonly error: WeirError }
  /** It has removed another process, which has ended, from the group. */
  | { readonly kind: 'removed'; readonly memberId: string }
  | { readonly kind: 'left' }

/** Listener for the events of a process. */
export type ProcessListener = (event: ProcessEvent) => void
