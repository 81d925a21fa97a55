import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { SharedPlaces } from '../../core/lifetime/shared-places.ts'
import type { Tensor } from '../port/tensor.ts'
import { decideStep, outOfStep, type SequenceStep, stepText } from './step.ts'
import type { StoredSequence } from './stored-sequence.ts'

/** What a request says of its sequence. */
export interface SequenceTerms {
  readonly id: string
  /** The first request: what was carried under this id before is forgotten. */
  readonly isStart: boolean
  /** The last request. */
  readonly isEnd: boolean
  /** The answer that it follows. @default the last one, where that cannot be lost */
  readonly after?: SequenceStep | undefined
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
  /** Runs the request with what is carried, in the time that is left. `step`: that of its answer, as `stepText`. */
  readonly run: (
    carried: readonly Tensor[],
    deadlineMs: number,
    step: string,
  ) => Promise<{ readonly answer: Answer; readonly next: readonly Tensor[] }>
}

/** Most requests of one sequence that wait or run. */
const MOST_OF_SEQUENCE = 64
/** Random bytes that tell a beginning of a sequence from another one under its id. */
const BEGINNING_BYTES = 6

interface Sequence {
  readonly version: string
  readonly beginning: string
  /** Answers since the beginning. */
  step: number
  /** No later answer can be lost, or a client has said which one it follows. */
  isWhole: boolean
  /** Whose share it takes; false for one that was restored and has had no request since. */
  place: { readonly client: string | undefined } | false
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

/** What a sequence begins from, or is restored with. */
type SequenceStart = Pick<
  Sequence,
  'version' | 'beginning' | 'step' | 'isWhole' | 'place' | 'carried' | 'usedAt'
>

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
   * Runs a request in its turn. Rejects with SEQUENCE_LOST where what it needs is not carried, SEQUENCE_OUT_OF_STEP where
   * another state is, OVERLOADED where there are too many sequences or requests of this one, DEADLINE_EXCEEDED, and as `run`.
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
      requireStep(terms, sequence)
      const step = stepText({ step: sequence.step + 1, beginning: sequence.beginning })
      const { answer, next } = await request.run(sequence.carried, leftMs, step)
      sequence.carried = next
      sequence.step++
      if (terms.isEnd) this.finish(terms.id, sequence)
      return answer
    })
    sequence.last = turn.then(
      () => this.left(sequence),
      () => {
        this.left(sequence)
        sequence.failures++
        // A sequence whose first request failed has not begun.
        if (terms.isStart) this.finish(terms.id, sequence)
      },
    )
    return await this.inTime(turn, { id: terms.id, deadlineMs, waits: sequence.underWay > 1 })
  }

  /** Takes what a checkpoint has: the latest ones, as many as there are places, that are not forgotten by now. */
  restore(stored: readonly StoredSequence[]): void {
    const inOrder = stored.toSorted((a, b) => a.expiresAtMs - b.expiresAtMs)
    const nowMs = this.clock.nowMs()
    for (const { id, expiresAtMs, model: _, ...state } of inOrder.slice(-this.places.most)) {
      // A clock that was set back makes no time to live longer.
      const leftMs = Math.min(expiresAtMs - nowMs, this.ttlMs)
      if (leftMs <= 0) continue
      const usedAt = this.clock.monotonicMs() - (this.ttlMs - leftMs)
      this.put(id, { ...state, place: false, usedAt })
    }
  }

  /**
   * What is carried, for a checkpoint, each as its last answer left it by the time it is taken. Of those without a request
   * under way, `isLast` says that no later answer can be lost.
   */
  *stored(isLast: boolean): Generator<Omit<StoredSequence, 'model'>> {
    this.forgetIdle()
    for (const id of [...this.sequences.keys()]) {
      const sequence = this.sequences.get(id)
      // One that has no answer yet has not begun.
      if (sequence === undefined || sequence.step === 0) continue
      const { version, step, beginning, carried, usedAt, underWay } = sequence
      const isWhole = isLast && sequence.isWhole && underWay === 0
      const expiresAtMs = this.wallMs(usedAt + this.ttlMs)
      yield { id, version, step, beginning, isWhole, expiresAtMs, carried }
    }
  }

  /** Resolves when the requests of now have ended. */
  async idle(): Promise<void> {
    await Promise.all(Array.from(this.sequences.values(), ({ last }) => last))
  }

  private wallMs(monotonicMs: number): number {
    const wallMs = Math.round(this.clock.nowMs() + monotonicMs - this.clock.monotonicMs())
    return Math.min(wallMs, Number.MAX_SAFE_INTEGER)
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
        `is not known: it did not begin, has ended, had no request for ${this.ttlMs} ms, or was not in the last checkpoint before a restart`,
      )
    }
    if (known.version !== version) {
      this.forget(id, known)
      throw lost(id, 'began on another version, or under other settings, of the model')
    }
    if (known.place === false) known.place = this.placeFor(client)
    known.usedAt = this.clock.monotonicMs()
    // Deleted and set again, it was used last.
    this.sequences.delete(id)
    this.sequences.set(id, known)
    return known
  }

  private begun(
    id: string,
    { client, ...state }: Pick<Sequence, 'version' | 'carried'> & Pick<SequenceTerms, 'client'>,
  ): Sequence {
    const place = this.placeFor(client)
    const usedAt = this.clock.monotonicMs()
    const beginning = randomBytes(BEGINNING_BYTES).toString('hex')
    return this.put(id, { ...state, beginning, step: 0, isWhole: true, place, usedAt })
  }

  private placeFor(client: string | undefined) {
    const full = this.places.take(client)
    if (full !== undefined) throw tooMany(full, this.places)
    return { client }
  }

  private put(id: string, start: SequenceStart): Sequence {
    const sequence = {
      ...start,
      ...{ underWay: 0, last: Promise.resolve(), hasEnded: false, failures: 0 },
    }
    this.sequences.set(id, sequence)
    return sequence
  }

  private left(sequence: Sequence): void {
    sequence.underWay--
    sequence.usedAt = this.clock.monotonicMs()
  }

  private finish(id: string, sequence: Sequence): void {
    sequence.hasEnded = true
    if (this.sequences.get(id) === sequence) this.forget(id, sequence)
  }

  private forget(id: string, { place }: Sequence): void {
    this.sequences.delete(id)
    if (place !== false) this.places.give(place.client)
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

/** Throws SEQUENCE_OUT_OF_STEP where the request does not follow what is carried. */
function requireStep({ id, isStart, after }: SequenceTerms, sequence: Sequence): void {
  const why = isStart ? undefined : decideStep(sequence, after)
  if (why !== undefined) throw outOfStep(id, sequence, { why, after })
  if (after !== undefined) sequence.isWhole = true
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
