import { type Clock, sleep } from '../../core/clock.ts'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { ModelParts } from '../parts/model-parts.ts'
import { afterLoss, superviseWorker } from '../policy/supervision.ts'
import type { Deployment } from '../port/deployment.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { ModelSource } from '../port/model.ts'
import type { ModelSignature } from '../port/signature.ts'
import { firstDeadline } from '../queue/demand.ts'
import { numberOfCode } from '../queue/failure-code.ts'
import { HEADER, WORKER, WORKER_ROWS } from '../queue/layout.ts'
import { QueueMemory } from '../queue/memory.ts'
import { ringAllWorkers } from '../queue/producer-side.ts'
import {
  failSlot,
  failWaiting,
  lossFacts,
  releaseLockOf,
  reportEnded,
  retrySlots,
  slotsOf,
} from '../queue/repair.ts'
import { checkDeployment, maxItemsOf, queueShapeOf, workersOf } from './deployment-plan.ts'
import type { SharedWorkers } from './shared-workers.ts'
import { WorkerRestarts } from './worker-restarts.ts'
import { WorkerStarts } from './worker-starts.ts'
import type { ModelWorker } from './worker-thread.ts'
import type { ModelWorkersOptions } from './workers-options.ts'

const MAX_ATTEMPTS = 3
const OVERTIME_FACTOR = 10
const OVERTIME_MS = 2000
/** Longest wait for workers that have loaded to look at the queue, ms. */
const SERVING_MS = 5000
/** Longest wait for a worker that was asked to end, ms; it has nothing to do that is still needed. */
const END_MS = 500

interface RunningWorker {
  readonly thread: ModelWorker
  readonly number: number
  /** It was asked to end, or was written off; its end is no loss. */
  isEnding: boolean
  /** Batches in its row when it started: the row may have been another worker's. */
  readonly batchesBefore: number
}

/**
 * The workers of one model: starts them, notices what happens to them, and replaces them. Above 300 lines
 * because every step of a worker's life reads the same few counts, which only this class may change.
 */
export class ModelWorkers {
  readonly memory: QueueMemory
  readonly signature: ModelSignature
  readonly maxItems: number
  /** Workers that ended by themselves, were written off, or took more memory than they may. */
  lost = 0
  /** Time of a run of the largest batch in a thread that models share, ms; 0 in a thread of its own. */
  readonly runMs: number
  /** Answers in parts; undefined of a model without. */
  readonly parts: ModelParts | undefined
  private readonly starts: WorkerStarts
  private readonly deployment: Deployment
  private readonly clock: Clock
  private readonly onMove: ModelWorkersOptions['onMove']
  readonly shared: SharedWorkers | undefined
  /** Workers that ended while the model was away; they start when it comes back. */
  private missing = 0
  private readonly running = new Map<number, RunningWorker>()
  private readonly restarts = new WorkerRestarts()
  private isClosed = false

  private constructor(
    options: ModelWorkersOptions & {
      readonly starts: WorkerStarts
      readonly deployment: Deployment
    },
    { signature, runMs }: Pick<ModelWorker, 'signature' | 'runMs'>,
  ) {
    this.starts = options.starts
    this.deployment = options.deployment
    this.clock = options.clock
    this.onMove = options.onMove
    this.shared = options.shared
    this.signature = signature
    this.runMs = runMs
    this.maxItems = maxItemsOf(signature, options.deployment)
    this.parts = ModelParts.of(signature, { ...options, overtimeMs: OVERTIME_MS })
    this.memory = QueueMemory.create(queueShapeOf(signature, options.deployment))
  }

  /** Starts the workers; resolves when all of them have loaded the model. Rejects as the first one that fails. */
  static async start(
    source: ModelSource,
    deployment: Deployment,
    options: ModelWorkersOptions,
  ): Promise<ModelWorkers> {
    checkDeployment(source, deployment)
    const starts = new WorkerStarts(source, deployment, options)
    const loading = Array.from({ length: workersOf(deployment) }, () => starts.one(options.signal))
    const settled = await Promise.allSettled(loading)
    const loaded = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    try {
      const failed = settled.find((one) => one.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      // Where one worker has found that requests must run alone, they do so in all.
      const found = loaded.find((one) => one.signature.alone !== undefined) ?? loaded[0]!
      starts.knows(found.signature)
      const workers = new ModelWorkers({ starts, deployment, ...options }, found)
      for (const thread of loaded) workers.serve(thread)
      await workers.serving()
      return workers
    } catch (error) {
      await Promise.all(loaded.map((thread) => thread.dismiss()))
      throw error
    }
  }

  /** Resolves when all workers look at the queue, or after `SERVING_MS`. */
  private async serving(): Promise<void> {
    const endsAt = this.clock.monotonicMs() + SERVING_MS
    while (this.sum(WORKER.serving) < this.wanted && this.clock.monotonicMs() < endsAt) {
      await sleep(this.clock, 1)
    }
  }

  /** Looks at every worker; call it a few times a second. */
  supervise(): void {
    const nowMs = this.clock.monotonicMs()
    for (const worker of [...this.running.values()]) {
      if (worker.isEnding) continue
      const verdict = superviseWorker(this.factsOf(worker, nowMs))
      if (verdict === 'overtime') this.writeOff(worker)
      else if (verdict === 'recycle') this.recycle(worker)
    }
    this.restart()
    const refusal = this.restarts.refusal(this.living)
    if (refusal !== undefined) this.refuse(refusal)
    else if (this.isAway && this.running.size === 0 && this.hasWaiting) this.onMove('wanted')
  }

  /** Why no worker serves the model; undefined while one does, or is expected to. */
  get problem(): WeirError | undefined {
    return this.restarts.problem(this.living)
  }

  /** Workers that take requests. */
  private get living(): number {
    return Atomics.load(this.memory.words, HEADER.workers)
  }

  private refuse({ code, message }: WeirError): void {
    const failed = failWaiting(this.memory, { code: numberOfCode(code), message })
    // No worker lives that counts in this row.
    const index = this.memory.workerAt(0) + WORKER.failed
    this.memory.numbers[index] = this.memory.numbers[index]! + failed
  }

  private get hasWaiting(): boolean {
    return Atomics.load(this.memory.words, HEADER.waiting) > 0
  }

  /** Lets the workers release the model after their run, or load it again. */
  setAway(isAway: boolean): void {
    Atomics.store(this.memory.words, HEADER.away, isAway ? 1 : 0)
    ringAllWorkers(this.memory.words)
    if (isAway) return
    const { missing } = this
    this.missing = 0
    for (let i = 0; i < missing; i++) void this.startOne()
  }

  private get isAway(): boolean {
    return Atomics.load(this.memory.words, HEADER.away) !== 0
  }

  /** Whether the model is in the memory of all its workers, of none, or on its way. */
  get residency(): 'in' | 'out' | 'entering' | 'leaving' {
    const rows = [...this.running.values()].filter(({ isEnding }) => !isEnding)
    const { memory } = this
    const isResident = ({ number }: RunningWorker): boolean =>
      memory.numbers[memory.workerAt(number) + WORKER.resident] === 1
    if (this.isAway) return rows.some(isResident) ? 'leaving' : 'out'
    const isWhole = rows.length >= this.wanted && rows.every(isResident)
    return isWhole ? 'in' : 'entering'
  }

  /** Largest value of a number over all workers that there were. */
  largest(number: number): number {
    let largest = 0
    for (let worker = 0; worker < WORKER_ROWS; worker++) {
      largest = Math.max(largest, this.memory.numbers[this.memory.workerAt(worker) + number]!)
    }
    return largest
  }

  /** Ends all workers; what waits is not answered. */
  async close(): Promise<void> {
    this.isClosed = true
    this.parts?.close()
    Atomics.store(this.memory.words, HEADER.closed, 2)
    ringAllWorkers(this.memory.words)
    await Promise.all([...this.running.values()].map((worker) => this.ended(worker)))
    this.starts.end()
  }

  /** Sum of a counter over all workers that there were. */
  sum(counter: number): number {
    let sum = 0
    for (let worker = 0; worker < WORKER_ROWS; worker++) {
      sum += this.memory.numbers[this.memory.workerAt(worker) + counter]!
    }
    return sum
  }

  /** Workers that run a batch now. */
  get busy(): number {
    const { numbers } = this.memory
    const runs = ({ number, isEnding }: RunningWorker): boolean =>
      !isEnding && numbers[this.memory.workerAt(number) + WORKER.runStartedAt]! > 0
    return [...this.running.values()].filter(runs).length
  }

  /** Workers that the deployment asks for. */
  get wanted(): number {
    return workersOf(this.deployment)
  }

  /** Where the workers run, where the settings name devices. */
  get placements(): readonly DevicePlacement[] {
    return this.threads.flatMap(({ placement }) => (placement === undefined ? [] : [placement]))
  }

  /** The workers that run now. */
  get threads(): readonly ModelWorker[] {
    return Array.from(this.running.values(), ({ thread }) => thread)
  }

  private serve(thread: ModelWorker): void {
    const number = this.freeNumber()
    const row = this.memory.workerAt(number)
    this.memory.numbers[row + WORKER.runStartedAt] = 0
    this.memory.numbers[row + WORKER.stop] = 0
    this.memory.numbers[row + WORKER.serving] = 0
    this.memory.numbers[row + WORKER.resident] = 1
    const batchesBefore = this.memory.numbers[row + WORKER.batches]!
    const worker: RunningWorker = { thread, number, isEnding: false, batchesBefore }
    this.restarts.loaded()
    this.running.set(number, worker)
    Atomics.add(this.memory.words, HEADER.workers, 1)
    void thread.exited.then(() => this.onExit(worker))
    const { buffer } = this.memory
    const { deployment, signature, maxItems } = this
    const parts = this.parts?.join(() => this.writeOff(worker))
    thread.serve(
      { buffer, worker: number, deployment, signature, maxItems, parts },
      {
        onMove: this.onMove,
        onExceeded: () => this.lost++,
        onWrittenOff: () => this.writeOff(worker),
      },
    )
  }

  private freeNumber(): number {
    let number = 0
    while (this.running.has(number)) number++
    if (number < WORKER_ROWS) return number
    throw new WeirError('ILLEGAL_STATE', `${WORKER_ROWS} workers have not ended yet`)
  }

  private onExit(worker: RunningWorker): void {
    if (!worker.isEnding) Atomics.sub(this.memory.words, HEADER.workers, 1)
    releaseLockOf(this.memory, worker.number)
    reportEnded(this.memory, worker.number)
    this.recover(worker.number)
    const row = this.memory.workerAt(worker.number)
    this.memory.numbers[row + WORKER.runStartedAt] = 0
    this.memory.numbers[row + WORKER.resident] = 0
    this.running.delete(worker.number)
    ringAllWorkers(this.memory.words)
    if (!worker.isEnding && !this.isClosed) this.replace()
    if (this.isAway) this.onMove('left')
  }

  /** Puts up again, or fails, what the worker had taken. */
  private recover(number: number): void {
    const slots = slotsOf(this.memory, number)
    if (slots.length === 0) return
    const batch = slots.map((slot) => lossFacts(this.memory, slot))
    const maxAttempts = this.deployment.maxAttempts ?? MAX_ATTEMPTS
    const { groups, poisoned, lost } = afterLoss(batch, this.clock.monotonicMs(), maxAttempts)
    const fail = (indexes: readonly number[], code: 'POISONED_REQUEST' | 'WORKER_LOST'): void => {
      for (const i of indexes) failSlot(this.memory, slots[i]!, numberOfCode(code))
    }
    fail(poisoned, 'POISONED_REQUEST')
    fail(lost, 'WORKER_LOST')
    for (const group of groups)
      retrySlots(
        this.memory,
        group.map((i) => slots[i]!),
        true,
      )
  }

  /** A run cannot be cancelled: another worker takes the place, and the thread ends when it can. */
  private writeOff(worker: RunningWorker): void {
    if (worker.isEnding) return
    this.markEnding(worker)
    this.recover(worker.number)
    this.stop(worker)
    worker.thread.abandon()
    this.replace()
  }

  private recycle(worker: RunningWorker): void {
    this.markEnding(worker)
    void this.startOne().then(() => this.stop(worker))
  }

  /** From now on the worker does not count among those that share the load. */
  private markEnding(worker: RunningWorker): void {
    worker.isEnding = true
    Atomics.sub(this.memory.words, HEADER.workers, 1)
  }

  private stop(worker: RunningWorker): void {
    this.memory.numbers[this.memory.workerAt(worker.number) + WORKER.stop] = 1
    ringAllWorkers(this.memory.words)
  }

  private replace(): void {
    this.lost++
    this.restarts.lost(this.sum(WORKER.answered), this.clock.monotonicMs())
    this.restart()
  }

  /** Starts the lost workers whose pause is over. */
  private restart(): void {
    if (this.restarts.isEmpty) return
    const due = this.restarts.takeDue(this.clock.monotonicMs(), firstDeadline(this.memory))
    for (let i = 0; i < due; i++) void this.startOne()
  }

  private async startOne(): Promise<void> {
    if (this.isClosed) return
    if (this.isAway) {
      this.missing++
      // No worker is there that could ask for the next try.
      if (this.restarts.isFailing) this.onMove('wanted')
      return
    }
    const startedAt = this.clock.monotonicMs()
    try {
      const thread = await this.starts.one().finally(() => {
        this.restarts.startMs = this.clock.monotonicMs() - startedAt
      })
      if (this.isClosed) await thread.dismiss()
      else {
        this.serve(thread)
        this.onMove('entered')
      }
    } catch (error) {
      if (!this.isClosed) this.loadFailed(asWeirError(error, 'MODEL_FAILED'))
    }
  }

  private loadFailed(error: WeirError): void {
    this.restarts.loadFailed(error)
    if (this.restarts.refusal(this.living) !== undefined) this.onMove('failed')
    this.replace()
  }

  /** Waits for the end of a worker that was asked to end; one that is in a run is left to itself. */
  private ended({ thread }: RunningWorker): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.clock.after(END_MS, () => {
        thread.forget()
        resolve()
      })
      void thread.exited.then(() => {
        cancel()
        resolve()
      })
    })
  }

  private factsOf(worker: RunningWorker, nowMs: number) {
    const row = this.memory.workerAt(worker.number)
    const { numbers } = this.memory
    return {
      nowMs,
      runStartedAt: numbers[row + WORKER.runStartedAt]!,
      expectedMs: numbers[row + WORKER.expectedMs]!,
      overtimeFactor: this.deployment.overtimeFactor ?? OVERTIME_FACTOR,
      overtimeMs: this.deployment.overtimeMs ?? OVERTIME_MS,
      runs: numbers[row + WORKER.batches]! - worker.batchesBefore,
      recycleAfterRuns: this.deployment.recycleAfterRuns,
    }
  }
}
