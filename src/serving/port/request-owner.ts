import type { Cancel } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import type { ReplyLease } from './reply-lease.ts'

/**
 * The connection that requests belong to. When it is gone, every wait of its requests ends: no thread
 * works for an answer that no one reads.
 */
export class RequestOwner {
  /** Whose share of answers in parts its requests take; undefined for one without. */
  readonly client: string | undefined
  /** As `Asker.group`. */
  readonly group: object
  /**
   * The listener of the one request that most connections have under way: a set that has one entry again and again makes a
   * new table every few times.
   */
  private only: (() => void) | undefined
  /** The listeners of the others. */
  private readonly others = new Set<() => void>()
  /** Why it is gone, in words; undefined while it is there. */
  private why: string | undefined
  private error: WeirError | undefined

  /** `client`: @default its requests have no share. `group`: @default itself */
  constructor({
    client,
    group,
  }: { readonly client?: string | undefined; readonly group?: object } = {}) {
    this.client = client
    this.group = group ?? this
  }

  /** Undefined while the connection is there; afterwards the error that its requests end with. */
  get gone(): WeirError | undefined {
    // An error costs microseconds, and most connections that end have no request under way.
    if (this.why !== undefined) this.error ??= new WeirError('UNAVAILABLE', this.why)
    return this.error
  }

  /** Calls `listener` once when the connection is gone, unless canceled. It must not be gone yet. */
  onGone(listener: () => void): Cancel {
    if (this.only === undefined) {
      this.only = listener
      return () => {
        if (this.only === listener) this.only = undefined
      }
    }
    this.others.add(listener)
    return () => this.others.delete(listener)
  }

  /** The connection is gone, or its requests end for another reason. Idempotent. */
  leave(why = 'the connection that asked is closed'): void {
    if (this.why !== undefined) return
    this.why = why
    this.only?.()
    this.only = undefined
    for (const listener of this.others) listener()
    this.others.clear()
  }
}

/** Options of a request that a connection has sent. */
export interface OwnedQueryOptions extends QueryOptions {
  readonly owner?: RequestOwner
  /** As `InferTerms.context`. */
  readonly context?: string | undefined
  /** As `InferTerms.sequence`. */
  readonly sequence?: SequenceTerms
  /** Who asks gives the buffers of the answers back. @default they are left to the collector */
  readonly lease?: ReplyLease
}
