import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { DeadlineWheel } from '../../wire/deadline-wheel.ts'
import { refusal } from '../policy/doomed.ts'
import { hedgeAfterMs } from '../policy/hedging.ts'
import type { AnswerFlags, InferAnswer, InferRequest } from '../port/request.ts'
import type { ServedModel } from '../port/served-model.ts'
import type { Tensor } from '../port/tensor.ts'
import { type Doorbell, listenAtomically } from '../queue/doorbell.ts'
import { latencyEstimate } from '../queue/estimate.ts'
import { ESTIMATE, HEADER, PRODUCER_COUNT, SLOT, SLOT_TIME, STATE } from '../queue/layout.ts'
import type { QueueMemory } from '../queue/memory.ts'
import { ProducerSide } from '../queue/producer-side.ts'
import { writeTensors } from '../queue/tensor-bytes.ts'
import { answerOf } from './answers.ts'
import { workersOf } from './deployment-plan.ts'
import { cannotBeInTime, failureOf, overloaded } from './failures.ts'
import {
  type GroupCounts,
  givingWay,
  groupCounts,
  HedgeTimer,
  PendingRequest,
  whenGivenUp,
} from './pending-request.ts'
import { requireRows, type ShapedRequest, shapeRequest } from './request-shape.ts'
import { emptyOutputs, inferInParts } from './split-request.ts'

/** Parts of a request that are under way at once, for each worker: one runs, and one waits. */
const PARTS_AT_ONCE = 2

/** What the producers of one thread share. */
export interface ProducerContext {
  readonly clock: Clock
  readonly wheel: DeadlineWheel
}

/**
 * One thread's way to one model: it puts requests into the queue and settles their promises. Above 300 lines because every
 * end of a request passes here, and only one of them may count.
 */
export class ModelProducer {
  readonly served: ServedModel
  private readonly context: ProducerContext
  private readonly side: ProducerSide
  private readonly memory: QueueMemory
  private readonly bell: Doorbell
  private readonly pending = new Map<number, PendingRequest>()
  private readonly maxItems: number
  /** Who has how many requests, of a full queue, until one of them ends. */
  private groups: GroupCounts | undefined
  private isClosed = false
  /** The workers are woken at the end of this turn. */
  private isRinging = false
  /** When the answers that are being settled were found, monotonic ms: one look at the clock for all of them. */
  private collectedAt = 0

  constructor(
    served: ServedModel,
    options: { readonly memory: QueueMemory; readonly producer: number; readonly maxItems: number },
    context: ProducerContext,
  ) {
    this.served = served
    this.context = context
    this.memory = options.memory
    this.maxItems = options.maxItems
    this.side = new ProducerSide(options.memory, options.producer)
    this.bell = listenAtomically(options.memory, options.producer, this.collect)
  }

  /** Requests that wait for their end. */
  get waiting(): number {
    return this.pending.size
  }

  /** As `InferenceProducer.infer`. */
  infer(request: InferRequest): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      try {
        const shaped = shapeRequest(this.served.signature, request.inputs)
        const other = this.withoutOneRun(request, shaped)
        if (other === undefined) this.start(request, shaped, { resolve, reject })
        else resolve(other)
      } catch (error) {
        reject(error)
      }
    })
  }

  /** Gives up all requests with MODEL_NOT_LOADED. */
  close(): void {
    this.isClosed = true
    this.bell.close()
    for (const pending of this.pending.values()) {
      this.end(pending)
      if (pending.isSettled) continue
      pending.reject(
        new WeirError('MODEL_NOT_LOADED', `the model ${this.name} was unloaded; ask again`),
      )
    }
    this.pending.clear()
  }

  /** The answer of a request that is no single run: one without items, or with more than a run takes. */
  private withoutOneRun(
    request: InferRequest,
    shaped: ShapedRequest,
  ): InferAnswer | Promise<InferAnswer> | undefined {
    const { signature, deployment, id } = this.served
    if (signature.alone !== undefined) requireRows(shaped, signature, deployment)
    if (shaped.items === 0) {
      const outputs = emptyOutputs(signature)
      if (outputs === undefined) return undefined
      return { outputs, version: id.version, queueMs: 0, runMs: 0, batchItems: 0, flags: {} }
    }
    if (shaped.items <= this.maxItems) return undefined
    return inferInParts(request, shaped, {
      signature,
      most: this.maxItems,
      atOnce: PARTS_AT_ONCE * workersOf(deployment),
      goalMs: request.deadlineMs ?? deployment.sloMs,
      nowMs: () => this.context.clock.monotonicMs(),
      ask: (part) => this.infer(part),
    })
  }

  private start(
    request: InferRequest,
    shaped: ShapedRequest,
    {
      resolve,
      reject,
    }: {
      readonly resolve: (answer: InferAnswer) => void
      readonly reject: (error: unknown) => void
    },
  ): void {
    request.signal?.throwIfAborted()
    if (request.asker?.gone !== undefined) throw request.asker.gone
    if (this.isClosed)
      throw new WeirError('MODEL_NOT_LOADED', `the model ${this.name} is not loaded`)
    const arrivalMs = this.context.clock.monotonicMs()
    const goalMs = request.deadlineMs ?? this.served.deployment.sloMs
    if (!(goalMs > 0))
      throw new WeirError('DEADLINE_EXCEEDED', 'the deadline had passed at the call')
    const retryAfterMs = this.refused(shaped.items, goalMs, arrivalMs)
    const { asker } = request
    const group = asker?.group ?? asker
    const slot = retryAfterMs === undefined ? this.claim(group) : -1
    if (slot < 0) {
      this.side.count(PRODUCER_COUNT.full)
      this.side.count(PRODUCER_COUNT.ended)
      resolve(this.defaultFor('full', () => this.noRoom(retryAfterMs)))
      return
    }
    this.write(slot, shaped)
    const callbacks = { resolve, reject, onExpire: this.expire, onGivenUp: this.cancel }
    const pending = new PendingRequest(slot, { deadlineAt: arrivalMs + goalMs, group }, callbacks)
    this.pending.set(slot, pending)
    this.context.wheel.add(pending)
    pending.stopListening = whenGivenUp(request, pending)
    this.side.put(slot, {
      items: Math.max(1, shaped.items),
      bucket: shaped.bucket,
      deadlineMs: arrivalMs + goalMs,
      keyMs: arrivalMs + goalMs - (request.priority ?? 0),
      arrivalMs,
    })
    this.ringSoon()
    this.hedgeLater(pending, arrivalMs)
  }

  /** A slot; -1 if there is none. Of a full queue, who has more requests than another one gives one up to it. */
  private claim(group: object | undefined): number {
    const slot = this.side.claim()
    if (slot >= 0) return slot
    // Answers hold slots that have come since this turn of the event loop began.
    this.collect()
    const freed = this.side.claim()
    if (freed >= 0) return freed
    this.groups ??= groupCounts(this.pending.values())
    for (const one of givingWay(this.pending, this.groups, group)) {
      if (!this.side.withdraw(one.slot)) continue
      this.forget(one.slot)
      this.end(one)
      one.isSettled = true
      this.side.count(PRODUCER_COUNT.full)
      this.side.count(PRODUCER_COUNT.ended)
      this.settle(one, 'full', () => this.noRoom(undefined))
      return this.side.claim()
    }
    return -1
  }

  private noRoom(retryAfterMs: number | undefined): WeirError {
    return overloaded(this.name, retryAfterMs, this.served.deployment.sloMs)
  }

  private forget(slot: number): void {
    this.pending.delete(slot)
    this.groups = undefined
  }

  /** Requests of one turn of the event loop ring once: a worker that is woken by the first runs them together. */
  private ringSoon(): void {
    if (this.isRinging) return
    this.isRinging = true
    queueMicrotask(this.ring)
  }

  private readonly ring = (): void => {
    this.isRinging = false
    this.side.ring()
  }

  private refused(items: number, slackMs: number, nowMs: number): number | undefined {
    const { words, numbers, estimatesAt } = this.memory
    return refusal({
      latency: latencyEstimate(this.memory),
      waitingItems: words[HEADER.waitingItems]!,
      items,
      maxItems: this.maxItems,
      workers: words[HEADER.workers]!,
      slackMs,
      sinceRunMs: nowMs - numbers[estimatesAt + ESTIMATE.lastRunAt]!,
      sloMs: this.served.deployment.sloMs,
    })
  }

  private hedgeLater(pending: PendingRequest, fromMs: number): void {
    const settings = this.served.deployment.hedge
    if (settings === undefined) return
    const items = this.memory.words[this.memory.slotAt(pending.slot) + SLOT.items]!
    const dueAt = fromMs + hedgeAfterMs(settings, latencyEstimate(this.memory), items)
    pending.hedge = new HedgeTimer(pending, dueAt, this.hedge)
    this.context.wheel.add(pending.hedge)
  }

  /** Gives a request that a worker has to a second one. While none has it, a second one would not help. */
  private readonly hedge = (pending: PendingRequest): void => {
    if (pending.isSettled) return
    const takenAt = this.side.takenAt(pending.slot)
    const nowMs = this.context.clock.monotonicMs()
    const settings = this.served.deployment.hedge
    if (settings === undefined) return
    if (
      takenAt === undefined ||
      nowMs < takenAt + hedgeAfterMs(settings, latencyEstimate(this.memory), 1)
    ) {
      this.hedgeLater(pending, takenAt ?? nowMs)
      return
    }
    const copy = this.side.claim()
    if (copy < 0) return
    this.side.count(PRODUCER_COUNT.hedged)
    pending.twin = copy
    this.pending.set(copy, pending)
    this.side.submitCopy(pending.slot, copy)
  }

  private write(slot: number, { inputs }: ShapedRequest): void {
    const { memory } = this
    if (writeTensors(memory, memory.inputAt(slot), memory.inputBytes, inputs) >= 0) return
    this.side.free(slot)
    const bytes = inputs.reduce((sum, { data }) => sum + data.length, 0)
    throw new WeirError(
      'FRAME_TOO_LARGE',
      `the inputs have ${bytes} bytes, a slot of ${this.name} ${memory.inputBytes}; raise input-bytes of its settings`,
    )
  }

  private readonly cancel = (pending: PendingRequest, reason: unknown): void => {
    this.side.count(PRODUCER_COUNT.cancelled)
    this.giveUp(pending)
    pending.reject(reason)
  }

  private readonly expire = (pending: PendingRequest): void => {
    if (pending.isSettled) return
    this.side.count(PRODUCER_COUNT.expired)
    this.side.count(PRODUCER_COUNT.ended)
    this.giveUp(pending)
    this.settle(
      pending,
      'expired',
      () => new WeirError('DEADLINE_EXCEEDED', `the model ${this.name} did not answer in time`),
    )
  }

  /** Ends a request before its answer. Its slot is free at once, or when the worker that has it is done. */
  private giveUp(pending: PendingRequest): void {
    this.end(pending)
    pending.isSettled = true
    // It may hold its slot until its worker is done, and counts no more.
    this.groups = undefined
    this.abandon(pending.slot)
    if (pending.twin >= 0) this.abandon(pending.twin)
  }

  /** Frees a slot whose answer is no longer needed, now or when its worker is done. */
  private abandon(slot: number): void {
    if (this.side.withdraw(slot)) this.forget(slot)
    else this.side.forsake(slot)
  }

  private end(pending: PendingRequest): void {
    this.context.wheel.remove(pending)
    if (pending.hedge !== undefined) this.context.wheel.remove(pending.hedge)
    pending.stopListening?.()
  }

  private readonly collect = (): void => {
    this.collectedAt = this.context.clock.monotonicMs()
    this.side.collect(this.ended)
  }

  private readonly ended = (slot: number, state: number): void => {
    // Without an entry the slot is one of a thread that had this number before.
    const pending = this.pending.get(slot)
    this.forget(slot)
    try {
      if (pending?.isSettled === false) this.finishOne(pending, slot, state)
    } finally {
      this.side.free(slot)
    }
  }

  /** The first answer of two wins; a failure does only when no other is to come. */
  private finishOne(pending: PendingRequest, slot: number, state: number): void {
    const other = slot === pending.slot ? pending.twin : pending.slot
    const isOtherOpen = other >= 0 && this.pending.get(other) === pending
    if (state !== STATE.done && isOtherOpen) return
    this.finish(pending, slot, state)
    if (isOtherOpen) this.abandon(other)
  }

  private finish(pending: PendingRequest, slot: number, state: number): void {
    this.end(pending)
    pending.isSettled = true
    this.side.count(PRODUCER_COUNT.ended)
    if (state === STATE.done) {
      this.countAnswer(slot, pending)
      pending.resolve(this.answerOf(slot, pending))
    } else if (state === STATE.shed) this.settle(pending, 'shed', () => cannotBeInTime(this.name))
    else {
      const error = failureOf(this.memory, slot)
      this.settle(pending, 'failed', () => error)
    }
  }

  private countAnswer(slot: number, pending: PendingRequest): void {
    const { numbers } = this.memory
    const arrivalMs = numbers[this.memory.slotAt(slot) / 2 + SLOT_TIME.arrival]!
    if (this.collectedAt - arrivalMs <= this.served.deployment.sloMs)
      this.side.count(PRODUCER_COUNT.inTime)
    if (slot === pending.twin) this.side.count(PRODUCER_COUNT.hedgeWins)
  }

  private answerOf(slot: number, pending: PendingRequest): InferAnswer {
    const isHedged = pending.twin >= 0
    return answerOf(this.memory, slot, { served: this.served, isHedged })
  }

  private settle(
    pending: PendingRequest,
    reason: NonNullable<AnswerFlags['isDefault']>,
    errorOf: () => WeirError,
  ): void {
    try {
      pending.resolve(this.defaultFor(reason, errorOf))
    } catch (error) {
      pending.reject(error)
    }
  }

  /** The deployment's default; throws `errorOf()` when there is none. */
  private defaultFor(
    reason: NonNullable<AnswerFlags['isDefault']>,
    errorOf: () => WeirError,
  ): InferAnswer {
    const outputs: readonly Tensor[] | undefined = this.served.deployment.default
    if (outputs === undefined) throw errorOf()
    const { version } = this.served.id
    return { outputs, version, queueMs: 0, runMs: 0, batchItems: 0, flags: { isDefault: reason } }
  }

  private get name(): string {
    const { name, version } = this.served.id
    return `${name} version ${version}`
  }
}
