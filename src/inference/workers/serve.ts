import type { WorkerParts } from '../parts/worker-parts.ts'
import { askedAt } from '../policy/asking.ts'
import type { BatchingDecision, BatchingFacts } from '../policy/batching-facts.ts'
import { LatencyModel, meanMs } from '../policy/latency-model.ts'
import { openRule } from '../policy/open-rule.ts'
import type { Deployment } from '../port/deployment.ts'
import type { DispatchReason } from '../port/engine.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import { askingHistory, publishAsking } from '../queue/asking.ts'
import { bucketOf, ITEM_BUCKETS, TIME_BUCKETS } from '../queue/buckets.ts'
import { latencyEstimate, publishLatency } from '../queue/estimate.ts'
import { ESTIMATE, HEADER, SLOT, SLOT_TIME, WORKER } from '../queue/layout.ts'
import type { QueueMemory } from '../queue/memory.ts'
import { type WaitingBatch, WorkerSide } from '../queue/worker-side.ts'
import { BatchRun } from './batch-run.ts'
import type { Turns } from './turns.ts'

/** Names of the counters of dispatched batches, in their order. */
export const DISPATCH_REASONS: readonly DispatchReason[] = [
  'full',
  'slack',
  'delay',
  'idle',
  'flush',
]

/** Longest sleep of an idle worker, ms; it looks whether the queue was closed. */
const IDLE_MS = 1000
/** The same where models share the thread: who closes a queue rings its bell. */
const SHARED_IDLE_MS = 30_000
/** Weight of the past in arrival rate and utilisation, per look. */
const SMOOTHING = 0.9

/** What a worker serves. */
export interface ServeOptions {
  readonly memory: QueueMemory
  readonly worker: number
  readonly model: LoadedModel
  /** Loads the model again after it was away. */
  readonly reload: () => Promise<LoadedModel>
  /** Called when the model is away and wanted, has left, or is back. */
  readonly report: (event: 'wanted' | 'left' | 'entered') => void
  readonly deployment: Deployment
  /** What all workers of the model go by: one of them may have probed it. */
  readonly signature: ModelSignature
  readonly maxItems: number
  /** Monotonic ms, one clock for all threads. */
  readonly nowMs: () => number
  /** Turns of the models that share the thread. @default the model runs when it likes */
  readonly turns?: Turns | undefined
  /** Other work shares the thread, which must not block. @default false */
  readonly isShared?: boolean
  /** Answers in parts, of a model that gives them: they end before the model is freed. */
  readonly parts?: WorkerParts | undefined
}

/**
 * Pulls batches from a queue and runs them until the queue is closed, then frees the model. Blocks its thread
 * between runs, unless it is shared. While the queue says so, the model is away from memory.
 */
export async function serveQueue(options: ServeOptions): Promise<void> {
  const loop = new ServeLoop(options)
  while (!loop.isClosed) await loop.turn()
  await options.parts?.ended()
  await loop.release()
}

class ServeLoop {
  private readonly options: ServeOptions
  private readonly memory: QueueMemory
  private readonly side: WorkerSide
  /** Runs batches; undefined while the model is away. */
  private run: BatchRun | undefined
  private model: LoadedModel
  private isWanted = false
  private readonly rule: ReturnType<typeof openRule>
  private readonly latency: LatencyModel
  private readonly row: number
  private readonly taken: number[] = []
  private decision: BatchingDecision = { kind: 'wait', shed: 0, untilMs: 0 }
  private arrivedBefore = 0
  private lookedAt: number
  private arrivalRate = 0
  private utilisation = 0
  private busyMs = 0

  constructor(options: ServeOptions) {
    const { memory, worker, model, deployment, signature, maxItems, nowMs } = options
    this.options = options
    this.memory = memory
    this.side = new WorkerSide(memory, worker, Math.min(memory.capacity, maxItems * 2 + 16))
    this.model = model
    this.run = new BatchRun({ model, signature }, this.side, nowMs)
    this.rule = openRule(deployment.batching ?? { rule: 'slack' }, maxItems)
    this.latency = new LatencyModel(latencyEstimate(memory))
    this.row = memory.workerAt(worker)
    memory.numbers[this.row + WORKER.serving] = 1
    memory.numbers[this.row + WORKER.resident] = 1
    this.lookedAt = nowMs()
    this.arrivedBefore = memory.words[HEADER.arrivedItems]!
  }

  get isClosed(): boolean {
    if (this.memory.numbers[this.row + WORKER.stop] !== 0) return true
    const closed = Atomics.load(this.memory.words, HEADER.closed)
    return closed === 2 || (closed === 1 && Atomics.load(this.memory.words, HEADER.waiting) === 0)
  }

  /** One look at the queue, and a run or a sleep. */
  async turn(): Promise<void> {
    const seen = this.side.bell()
    if (Atomics.load(this.memory.words, HEADER.away) !== 0) return await this.stayAway(seen)
    const { turns } = this.options
    // Nobody waits for a turn without anything to do.
    if (turns !== undefined && Atomics.load(this.memory.words, HEADER.waiting) === 0) {
      return await this.side.rest(seen, SHARED_IDLE_MS)
    }
    const leave = turns === undefined ? undefined : await turns.enter()
    try {
      this.run ??= await this.enter()
      this.taken.length = 0
      this.side.withWaiting(this.decide)
      const { decision } = this
      if (decision.kind === 'run' && this.taken.length > 0) {
        await this.runTaken(this.run, decision.reason)
        await this.model.refresh?.()
        return
      }
    } finally {
      leave?.()
    }
    if (this.decision.kind === 'wait') {
      const forMs = this.sleepMs(this.decision)
      if (forMs > 0) await this.rest(seen, forMs)
    }
  }

  /** Waits for the bell: blocks the thread, unless other models share it. */
  private rest(seen: number, forMs: number): Promise<void> | undefined {
    if (this.options.isShared === true) return this.side.rest(seen, forMs)
    this.side.sleep(seen, forMs)
    return undefined
  }

  /** Frees the model if it is in memory. */
  async release(): Promise<void> {
    if (this.run === undefined) return
    this.run = undefined
    await this.model.close()
    this.memory.numbers[this.row + WORKER.resident] = 0
  }

  private async stayAway(seen: number): Promise<void> {
    const { words } = this.memory
    if (this.run !== undefined) {
      await this.release()
      this.isWanted = false
      this.options.report('left')
    }
    if (!this.isWanted && Atomics.load(words, HEADER.waiting) > 0) {
      this.isWanted = true
      this.options.report('wanted')
    }
    await this.rest(seen, IDLE_MS)
  }

  private async enter(): Promise<BatchRun> {
    const { nowMs, reload, report, signature } = this.options
    const startedAt = nowMs()
    this.model = await reload()
    this.memory.numbers[this.row + WORKER.resident] = 1
    this.side.count(WORKER.loads, 1)
    this.side.count(WORKER.loadMs, nowMs() - startedAt)
    report('entered')
    return new BatchRun({ model: this.model, signature }, this.side, nowMs)
  }

  private readonly decide = (waiting: WaitingBatch): void => {
    const nowMs = this.options.nowMs()
    if (waiting.count === 0) {
      this.decision = { kind: 'wait', shed: 0, untilMs: Number.POSITIVE_INFINITY }
      return
    }
    const decision = this.rule.decide(this.factsOf(waiting, nowMs))
    this.decision = decision
    for (let i = 0; i < decision.shed; i++) this.shed(waiting.slots[i]!)
    if (decision.kind === 'wait') return
    for (let i = 0; i < decision.count; i++) {
      const slot = waiting.slots[decision.shed + i]!
      if (this.side.take(slot, nowMs)) this.taken.push(slot)
    }
  }

  private shed(slot: number): void {
    if (this.side.shed(slot)) this.side.ring([slot])
  }

  private factsOf(waiting: WaitingBatch, nowMs: number): BatchingFacts {
    const arrivedItems = this.memory.words[HEADER.arrivedItems]!
    this.learnRates(arrivedItems, nowMs)
    return {
      nowMs,
      count: waiting.count,
      items: waiting.items,
      deadlines: waiting.deadlines,
      arrivals: waiting.arrivals,
      arrivedItems,
      latency: this.latency.estimate,
      arrivalRate: this.arrivalRate,
      utilisation: this.utilisation,
      maxItems: this.options.maxItems,
      sloMs: this.options.deployment.sloMs,
      lastRunAt: this.memory.numbers[this.memory.estimatesAt + ESTIMATE.lastRunAt]!,
    }
  }

  private learnRates(arrivedItems: number, nowMs: number): void {
    const passed = nowMs - this.lookedAt
    if (passed < 1) return
    const rate = ((arrivedItems - this.arrivedBefore) | 0) / passed
    this.arrivalRate = SMOOTHING * this.arrivalRate + (1 - SMOOTHING) * rate
    const busy = Math.min(1, this.busyMs / passed)
    this.utilisation = SMOOTHING * this.utilisation + (1 - SMOOTHING) * busy
    this.arrivedBefore = arrivedItems
    this.lookedAt = nowMs
    this.busyMs = 0
  }

  private async runTaken(run: BatchRun, reason: DispatchReason): Promise<void> {
    const { nowMs, deployment } = this.options
    const startedAt = nowMs()
    const { numbers } = this.memory
    const { items, firstArrival } = this.countTaken()
    publishAsking(this.memory, askedAt(askingHistory(this.memory), firstArrival))
    numbers[this.row + WORKER.expectedMs] = meanMs(this.latency.estimate, items)
    numbers[this.row + WORKER.runStartedAt] = startedAt
    numbers[this.row + WORKER.lastStartedAt] = startedAt
    const outcome = await run.run(this.taken)
    numbers[this.row + WORKER.runStartedAt] = 0
    const endedAt = nowMs()
    this.busyMs += endedAt - startedAt
    this.countRun({ reason, items, runMs: outcome.runMs })
    // A batch with failures was run in parts: its time is not that of its size.
    if (outcome.failed > 0) return
    this.latency.observe(items, endedAt - startedAt)
    this.rule.observe({ items, runMs: endedAt - startedAt, sloMs: deployment.sloMs })
    this.publish(endedAt)
  }

  private countRun(run: { reason: DispatchReason; items: number; runMs: number }): void {
    this.side.count(WORKER.batches, 1)
    this.side.count(WORKER.items, run.items)
    this.side.count(WORKER.runMs, run.runMs)
    this.side.count(WORKER.runTimes + bucketOf(run.runMs, TIME_BUCKETS), 1)
    this.side.count(WORKER.batchSizes + bucketOf(run.items, ITEM_BUCKETS), 1)
    this.side.count(WORKER.dispatched + DISPATCH_REASONS.indexOf(run.reason), 1)
  }

  /** Counts what was taken; before the run, because a slot that was answered may be in use again. */
  private countTaken(): { readonly items: number; readonly firstArrival: number } {
    const { numbers, words } = this.memory
    let items = 0
    let firstArrival = Number.POSITIVE_INFINITY
    let queueMs = 0
    let firstTries = 0
    for (const slot of this.taken) {
      const at = this.memory.slotAt(slot)
      const arrival = numbers[at / 2 + SLOT_TIME.arrival]!
      const waitedMs = numbers[at / 2 + SLOT_TIME.takenAt]! - arrival
      items += words[at + SLOT.items]!
      firstArrival = Math.min(firstArrival, arrival)
      queueMs += waitedMs
      this.side.count(WORKER.queueTimes + bucketOf(waitedMs, TIME_BUCKETS), 1)
      if (words[at + SLOT.attempt] === 0 && words[at + SLOT.isCopy] === 0) firstTries++
    }
    this.side.count(WORKER.queueMs, queueMs)
    this.side.count(WORKER.firstExecutions, firstTries)
    return { items, firstArrival }
  }

  private sleepMs(decision: BatchingDecision & { kind: 'wait' }): number {
    // What was shed may have hidden requests that were not looked at.
    if (decision.shed > 0) return 0
    const most = this.options.isShared === true ? SHARED_IDLE_MS : IDLE_MS
    return Math.min(most, decision.untilMs - this.options.nowMs())
  }

  private publish(nowMs: number): void {
    const { numbers, estimatesAt } = this.memory
    publishLatency(this.memory, this.latency.estimate)
    numbers[estimatesAt + ESTIMATE.lastRunAt] = nowMs
    numbers[estimatesAt + ESTIMATE.limit] = this.rule.limit ?? this.options.maxItems
  }
}
