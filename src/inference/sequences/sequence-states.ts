import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { SharedPlaces } from '../../core/lifetime/shared-places.ts'
import type { Tensor } from '../port/tensor.ts'

/** What a request says of its sequence. */
export interface SequenceTerms {
  readonly id: string
  /** The first request: what was carried under this id before is forgotten. */
  readonly isStart: boolean
  /** The last request. */
  readonly isEnd: boolean
  /** Whose share of sequences it takes. @default it has none */
  readonly client?: string | undefined
}

/** A request that has its turn after the earlier ones of its sequence. */
export interface SequencedRequest<Answer> {
  readonly terms: SequenceTerms
  /** Version that runs it: what another one has carried means nothing to it. */
  readonly version: string
  /** Time from the call to its answer, ms. */
  readonly deadlineMs: number
  /** What a sequence carries before its first request. */
  readonly start: () => readonly Tensor[]
  /** Runs the request with what is carried, in the time that is left. */
  readonly run: (
    carried: readonly Tensor[],
    deadlineMs: number,
  ) => Promise<{ readonly answer: Answer; readonly next: readonly Tensor[] }>
}

/** Most requests of one sequence that wait or run. */
const MOST_OF_SEQUENCE = 64

interface Sequence {
  readonly version: string
  /** Whose share it takes. */
  readonly client: string | undefined
  carried: readonly Tensor[]
  /** Last request or answer, monotonic ms. */
  usedAt: number
  underWay: number
  /** Resolves when the request before the next one has ended. */
  last: Promise<unknown>
  hasEnded: boolean
  /** Requests that failed: those that were sent before that was known have no right state. */
  failures: number
}

/**
 * What a model carries from one request of a client to the next, by the id of the sequence. Requests of one sequence run
 * one after another, in the order in which they came; those of different sequences do not wait for each other. Nothing is
 * carried over a request that failed to one that was sent before the failure was known.
 */
export class SequenceStates {
  private readonly clock: Clock
  private readonly ttlMs: number
  /** Of sequences that are remembered. */
  private readonly places: SharedPlaces
  /** Least recently used first. */
  private readonly sequences = new Map<string, Sequence>()

  constructor(clock: Clock, { ttlMs, most }: { readonly ttlMs: number; readonly most: number }) {
    this.clock = clock
    this.ttlMs = ttlMs
    this.places = new SharedPlaces(most)
  }

  /** Sequences that are remembered. */
  get size(): number {
    return this.sequences.size
  }

  /**
   * Runs a request in its turn. Rejects with SEQUENCE_LOST where what it needs is not carried, OVERLOADED where there are
   * too many sequences or requests of this one, DEADLINE_EXCEEDED, and as `run`.
   */
  async answer<Answer>(request: SequencedRequest<Answer>): Promise<Answer> {
    const { terms, deadlineMs } = request
    const sequence = this.sequenceOf(request)
    if (sequence.underWay >= MOST_OF_SEQUENCE) {
      const message = `sequence "${terms.id}" has ${MOST_OF_SEQUENCE} requests under way; wait for an answer`
      throw new WeirError('OVERLOADED', message)
    }
    const endsAt = this.clock.monotonicMs() + deadlineMs
    const { failures } = sequence
    sequence.underWay++
    const turn = sequence.last.then(async () => {
      if (sequence.hasEnded) throw lost(terms.id, 'has ended')
      if (sequence.failures !== failures) {
        throw lost(terms.id, 'had a request that failed after this one was sent')
      }
      const leftMs = endsAt - this.clock.monotonicMs()
      if (leftMs <= 0) throw expired(terms.id, deadlineMs)
      const { answer, next } = await request.run(sequence.carried, leftMs)
      sequence.carried = next
      if (terms.isEnd) this.end(terms.id, sequence)
      return answer
    })
    sequence.last = turn.then(
      () => this.left(sequence),
      () => {
        this.left(sequence)
        sequence.failures++
        // A sequence whose first request failed has not begun.
        if (terms.isStart) this.end(terms.id, sequence)
      },
    )
    return await this.inTime(turn, { id: terms.id, deadlineMs, waits: sequence.underWay > 1 })
  }

  /** A request that waits for others ends at its deadline; one that runs is ended by its run. */
  private async inTime<Answer>(
    turn: Promise<Answer>,
    wait: { readonly id: string; readonly deadlineMs: number; readonly waits: boolean },
  ): Promise<Answer> {
    if (!wait.waits) return await turn
    const { promise, reject } = Promise.withResolvers<never>()
    const cancel = this.clock.after(wait.deadlineMs, () =>
      reject(expired(wait.id, wait.deadlineMs)),
    )
    return await Promise.race([turn, promise]).finally(cancel)
  }

  private sequenceOf({
    terms,
    version,
    start,
  }: Omit<SequencedRequest<unknown>, 'run' | 'deadlineMs'>): Sequence {
    this.forgetIdle()
    const { id, isStart, client } = terms
    const known = this.sequences.get(id)
    if (isStart) {
      if (known !== undefined) this.forget(id, known)
      return this.begun(id, { version, client, carried: start() })
    }
    if (known === undefined) {
      throw lost(
        id,
        `is not known: it did not begin, has ended, or had no request for ${this.ttlMs} ms`,
      )
    }
    if (known.version !== version) {
      this.forget(id, known)
      throw lost(id, 'began on another version, or under other settings, of the model')
    }
    known.usedAt = this.clock.monotonicMs()
    // Deleted and set again, it was used last.
    this.sequences.delete(id)
    this.sequences.set(id, known)
    return known
  }

  private begun(id: string, state: Pick<Sequence, 'version' | 'client' | 'carried'>): Sequence {
    const full = this.places.take(state.client)
    if (full !== undefined) throw tooMany(full, this.places)
    const sequence = {
      ...state,
      usedAt: this.clock.monotonicMs(),
      ...{ underWay: 0, last: Promise.resolve(), hasEnded: false, failures: 0 },
    }
    this.sequences.set(id, sequence)
    return sequence
  }

  private left(sequence: Sequence): void {
    sequence.underWay--
    sequence.usedAt = this.clock.monotonicMs()
  }

  private end(id: string, sequence: Sequence): void {
    sequence.hasEnded = true
    if (this.sequences.get(id) === sequence) this.forget(id, sequence)
  }

  private forget(id: string, { client }: Sequence): void {
    this.sequences.delete(id)
    this.places.give(client)
  }

  private forgetIdle(): void {
    const oldest = this.clock.monotonicMs() - this.ttlMs
    for (const [id, sequence] of this.sequences) {
      const { usedAt, underWay } = sequence
      if (usedAt > oldest && underWay === 0) return
      if (usedAt <= oldest && underWay === 0) this.forget(id, sequence)
    }
  }
}

function tooMany(full: 'all' | 'share', { most, mostOfClient }: SharedPlaces): WeirError {
  const message =
    full === 'all'
      ? `${most} sequences are under way, the most that the settings allow (sequence.most); end one`
      : `${mostOfClient} sequences of one client are under way, half of those that the settings allow (sequence.most); end one`
  return new WeirError('OVERLOADED', message)
}

function lost(id: string, why: string): WeirError {
  const shown = id.slice(0, 40)
  const message = `sequence "${shown}" ${why}; begin it again, with sequence_start`
  return new WeirError('SEQUENCE_LOST', message)
}

function expired(id: string, deadlineMs: number): WeirError {
  const message = `no answer within ${deadlineMs} ms: earlier requests of sequence "${id.slice(0, 40)}" took so long; retry`
  return new WeirError('DEADLINE_EXCEEDED', message)
}
