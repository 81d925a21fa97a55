import { WeirError } from '../../core/errors.ts'
import type { Span } from '../../core/tracing/span.ts'
import { tracer } from '../../core/tracing/tracer.ts'
import { answerErrorOf } from '../../wire/answer.ts'
import { KIND } from '../../wire/frame.ts'
import type { RequestCursor } from '../../wire/request.ts'
import type { QueryBackend } from '../port/query-backend.ts'
import { RequestOwner } from '../port/request-owner.ts'
import type { AnswerPart, AnswerWriter, AsyncRequest, AsyncTerms } from './async-request.ts'
import { decodeAsync } from './async-requests.ts'
import type { QueryMetrics } from './metrics.ts'
import type { ResolvedQueryOptions } from './options.ts'
import { WaitingFrames } from './waiting-frames.ts'

/** Deadline of a request that names none. */
const DEFAULT_DEADLINE_MS = 5_000
/** Room that one part of an answer may take. */
const PART_BYTES = 64 * 1024
/** Most requests of a frame that run at a time. */
const PART_REQUESTS = 4096
/** Bytes that a request takes beside those of its frame. */
const REQUEST_BYTES = 64
/** Frames that wait decoded; further ones wait as bytes. */
const DECODED = 4
/** Share of the largest recent answer that the next one is expected to have at least. */
const SIZE_DECAY = 0.9

/** Expected bytes of one answer, by kind, until one has been seen. */
const FIRST_SIZE: Readonly<Record<number, number>> = {
  [KIND.predict]: 28,
  [KIND.rows]: 1024,
  [KIND.values]: 4096,
  [KIND.scan]: 128 * 1024,
  [KIND.sparseDot]: 36,
  [KIND.topK]: 16 * 1024,
  [KIND.infer]: 4096,
  [KIND.models]: 16 * 1024,
}

/** A frame that is answered later. */
export interface PendingFrame {
  readonly kind: number
  readonly requestId: number
  readonly request: AsyncRequest
  /** Bytes of the frame. */
  readonly frameBytes: number
  /** Time that the client gives, 0 for the default. */
  readonly deadlineMs: number
}

/** Backend, limits and metrics of a server, which its connections share. */
export interface PendingContext {
  readonly options: ResolvedQueryOptions
  readonly backend: QueryBackend
  readonly metrics: QueryMetrics
}

/** Output of the answers. */
export interface AnswerOutput {
  /** Bytes that may still be written before the client has read some. */
  readonly room: number
  /** Writes an answer and sends it soon. Returns its bytes. */
  answer(kind: number, requestId: number, write: AnswerWriter): number
  /** Writes an error frame and sends it soon. */
  refuse(requestId: number, error: WeirError): void
}

/**
 * Most requests of one connection that are begun at a time, of kinds that the other connections' requests of their kind share
 * a pass or a slot with: as many as one pass takes, or a page ahead. More of them would only wait as objects, which each
 * collection copies.
 */
const MOST_BEGUN: Readonly<Record<number, number>> = { [KIND.topK]: 16, [KIND.scan]: 2 }

/** A decoded frame, or the rest of one. */
interface Entry extends PendingFrame {
  /** Requests answered so far. */
  done: number
  readonly startedAt: number
  /** Monotonic time when it fails. */
  readonly deadline: number
  /** Span of a traced frame; it ends with the last answer. */
  readonly span: Span | undefined
}

/** Frames of one connection in the order in which they begin. */
class PendingLane {
  queue: Entry[] = []
  /** Frames behind those of the queue. */
  undecoded: WaitingFrames | undefined

  get hasUndecoded(): boolean {
    return this.undecoded !== undefined && this.undecoded.size > 0
  }

  drop(): void {
    for (const { request } of this.queue) request.release?.()
    this.queue = []
    this.undecoded?.release()
    this.undecoded = undefined
  }
}

/**
 * Requests of one connection that memory cannot answer at once. A part of one runs only while the
 * connection's output has room for its answer, so that a client that does not read causes no work and
 * takes no memory beyond its limit.
 */
export class PendingRequests {
  private readonly context: PendingContext
  private readonly output: AnswerOutput
  private readonly owner = new RequestOwner()
  private readonly short = new PendingLane()
  /** Frames of the kinds of `MOST_BEGUN`: they do not hold up the others. */
  private readonly long = new PendingLane()
  /** Requests of those kinds that are begun. */
  private readonly begun: Record<number, number> = {}
  private waiting = 0
  private waitingBytes = 0
  private reserved = 0
  private readonly sizes: Record<number, number> = { ...FIRST_SIZE }

  constructor(context: PendingContext, output: AnswerOutput) {
    this.context = context
    this.output = output
  }

  /** Requests that wait for their answer. */
  get outstanding(): number {
    return this.waiting
  }

  /** Runs a frame as soon as there is room for its answer. Throws OVERLOADED. */
  add(frame: PendingFrame): void {
    this.admit(frame.request.count, frame.frameBytes)
    const startedAt = this.context.options.clock.monotonicMs()
    const deadline = this.deadlineOf(frame.deadlineMs, startedAt)
    const entry = { ...frame, done: 0, startedAt, deadline, span: tracer?.current }
    const { queue } = this.laneOf(frame.kind)
    queue.push(entry)
    this.pump()
    if (queue.at(-1) === entry) entry.request.leaveFrame?.()
  }

  /**
   * Decodes and runs the cursor's frame, whose preamble was read, as soon as there is room for its answer.
   * Throws OVERLOADED; a malformed frame throws, too, unless it waits: then it is refused in its turn.
   */
  addFrame(cursor: RequestCursor, frameBytes: number): void {
    const { kind, requestId, deadlineMs, count } = cursor
    const lane = this.laneOf(kind)
    if (lane.queue.length < DECODED && !lane.hasUndecoded) {
      this.add({ kind, requestId, request: decodeAsync(cursor), deadlineMs, frameBytes })
      return
    }
    this.admit(count, frameBytes)
    const startedAt = this.context.options.clock.monotonicMs()
    lane.undecoded ??= new WaitingFrames()
    lane.undecoded.push(cursor, frameBytes, startedAt, this.deadlineOf(deadlineMs, startedAt))
  }

  private laneOf(kind: number): PendingLane {
    return MOST_BEGUN[kind] === undefined ? this.short : this.long
  }

  private deadlineOf(deadlineMs: number, startedAt: number): number {
    const wanted = deadlineMs === 0 ? DEFAULT_DEADLINE_MS : deadlineMs
    return startedAt + Math.min(wanted, this.context.options.limits.maxDeadlineMs)
  }

  /** One frame may be larger than the limits, because it runs in parts; nothing may wait beside it. */
  private admit(count: number, frameBytes: number): void {
    const weight = weightOf(count, frameBytes)
    if (this.waiting > 0) {
      const { maxOutstanding, maxOutstandingBytes } = this.context.options.limits
      if (this.waiting + count > maxOutstanding) {
        throw overloaded(`${this.waiting} requests waiting and may have ${maxOutstanding}`)
      }
      if (this.waitingBytes + weight > maxOutstandingBytes) {
        throw overloaded(
          `requests of ${this.waitingBytes} bytes waiting and may have ${maxOutstandingBytes}`,
        )
      }
    }
    this.waiting += count
    this.waitingBytes += weight
  }

  private release(count: number, frameBytes: number): void {
    this.waiting -= count
    this.waitingBytes -= weightOf(count, frameBytes)
  }

  /** Runs what the output has room for. Called when the client has read something, too. */
  pump(): void {
    this.pumpLane(this.short)
    this.pumpLane(this.long)
  }

  private pumpLane(lane: PendingLane): void {
    while (this.owner.gone === undefined) {
      while (lane.queue.length < DECODED && lane.hasUndecoded) this.decodeNext(lane)
      const entry = lane.queue[0]
      if (entry === undefined || this.isBusy(entry)) return
      const most = this.mostOf(entry)
      const bytes = Math.max(1, most) * this.sizes[entry.kind]!
      const room = this.output.room - this.reserved
      if (room < bytes && (this.reserved > 0 || room <= 0)) return
      lane.queue.shift()
      void this.run(lane, entry, { most, bytes })
    }
  }

  /** Whether as many requests of its kind are begun as may be. */
  private isBusy({ kind }: Entry): boolean {
    const most = MOST_BEGUN[kind]
    return most !== undefined && (this.begun[kind] ?? 0) >= most
  }

  private decodeNext({ undecoded, queue }: PendingLane): void {
    const frames = undecoded!
    const frameBytes = frames.shift()
    const { cursor, startedAt, deadline } = frames
    const { kind, requestId, deadlineMs, count } = cursor
    try {
      const request = decodeAsync(cursor)
      const frame = { kind, requestId, request, deadlineMs, frameBytes }
      queue.push({ ...frame, done: 0, startedAt, deadline, span: undefined })
    } catch (error) {
      this.release(count, frameBytes)
      this.output.refuse(requestId, answerErrorOf(error))
    }
  }

  /** Requests of the entry's next part. */
  private mostOf({ kind, request, done }: Entry): number {
    const fitting = Math.max(1, Math.floor(PART_BYTES / this.sizes[kind]!))
    return Math.min(request.count - done, request.mostAtOnce ?? PART_REQUESTS, fitting)
  }

  private async run(
    lane: PendingLane,
    entry: Entry,
    { most, bytes }: { readonly most: number; readonly bytes: number },
  ): Promise<void> {
    const { kind, requestId, request } = entry
    this.reserved += bytes
    this.begun[kind] = (this.begun[kind] ?? 0) + 1
    let done = request.count
    let write: AnswerWriter | undefined
    let error: WeirError | undefined
    try {
      const part = await this.runPart(entry, most)
      done = entry.done + part.count
      write = part.write
    } catch (thrown) {
      error = answerErrorOf(thrown)
    }
    this.reserved -= bytes
    this.begun[kind]! -= 1
    if (this.owner.gone !== undefined) {
      request.release?.()
      return
    }
    if (write === undefined) {
      entry.span?.fail(error!.code)
      this.output.refuse(requestId, error!)
    } else this.learn(kind, done - entry.done, this.output.answer(kind, requestId, write))
    entry.done = done
    if (done < request.count) lane.queue.push(entry)
    else this.finish(entry)
    this.pump()
  }

  private runPart(entry: Entry, most: number): Promise<AnswerPart> {
    const { request, span, done } = entry
    const run = (): Promise<AnswerPart> => request.run(this.termsOf(entry), done, most)
    return span === undefined || tracer === undefined ? run() : tracer.run(span, run)
  }

  private termsOf({ deadline }: Entry): AsyncTerms {
    const deadlineMs = deadline - this.context.options.clock.monotonicMs()
    if (deadlineMs <= 0) {
      throw new WeirError('DEADLINE_EXCEEDED', 'the request waited too long for room in the output')
    }
    const { backend } = this.context
    return { backend, deadlineMs, owner: this.owner, maxBytes: PART_BYTES }
  }

  private learn(kind: number, count: number, bytes: number): void {
    const size = bytes / Math.max(1, count)
    this.sizes[kind] = Math.max(1, size, this.sizes[kind]! * SIZE_DECAY)
  }

  private finish(entry: Entry): void {
    this.release(entry.request.count, entry.frameBytes)
    entry.span?.end()
    entry.request.release?.()
    const { options, metrics } = this.context
    metrics.latencyMs.observe(options.clock.monotonicMs() - entry.startedAt)
  }

  /** The connection is gone: what runs for it ends, what waits is dropped. */
  leave(): void {
    this.short.drop()
    this.long.drop()
    this.waiting = 0
    this.owner.leave()
  }

  /** Releases memory that was not needed since the last call. */
  shrink(): void {
    this.short.undecoded?.shrink()
    this.long.undecoded?.shrink()
  }
}

function weightOf(count: number, frameBytes: number): number {
  return frameBytes + count * REQUEST_BYTES
}

function overloaded(what: string): WeirError {
  return new WeirError('OVERLOADED', `the connection has ${what}; wait for answers, then ask again`)
}
