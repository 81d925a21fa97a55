import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { siblingModule, THREAD_LIMITS } from '../../core/sibling-module.ts'
import type { Deployment } from '../port/deployment.ts'
import type { DevicePlacement } from '../port/device.ts'
import type { ModelSource } from '../port/model.ts'
import type { ModelSignature } from '../port/signature.ts'
import type {
  SeatMessage,
  SeatOrder,
  ServeMessage,
  WorkerMessage,
  WorkerStart,
} from '../workers/messages.ts'
import { type ModelWorker, type WorkerListener, WorkerThread } from './worker-thread.ts'

/** Most threads that models share. */
const MOST_THREADS = 4
/** Most threads on which the load of a model is tried. */
const MOST_ATTEMPTS = 5

/** Models that have a thread of their own before small ones begin to share. */
const OWN_MODELS = 8
/** Largest file of a small model, bytes. */
const MOST_BYTES = 4 * 2 ** 20
/** Longest run of the largest batch of a small model, ms: so long the others of its thread wait for it. */
const MOST_RUN_MS = 2

/**
 * Whether a model gets a thread of its own: `try` where it seems small, and its run is still to be measured. `own` is the
 * number of models that have one.
 */
export function sharingOf(
  source: ModelSource,
  deployment: Deployment,
  own: number,
): 'own' | 'shared' | 'try' {
  const { isShared, workers, isolation, hedge, devices } = deployment
  if (isShared !== undefined) return isShared ? 'shared' : 'own'
  if (own < OWN_MODELS || source.kind !== 'onnx') return 'own'
  // Who says how many workers there are, or where they run, wants those.
  if ((workers ?? devices) !== undefined) return 'own'
  if (isolation === 'process' || hedge !== undefined) return 'own'
  return bytesOf(source.file) <= MOST_BYTES ? 'try' : 'own'
}

/** Whether a model whose run was measured may share its thread. */
export const mayShare = (runMs: number): boolean => runMs <= MOST_RUN_MS

/** Size of a file; of one that is not there, the load says why. */
const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Threads that the workers of small models share. A thread starts with its first model. */
export class SharedWorkers implements Disposable {
  private readonly threads: SharedThread[] = []

  /** As `WorkerThread.start`, on the thread with the fewest models. */
  async start(start: WorkerStart, signal?: AbortSignal): Promise<Seat> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.thread().load(start, signal)
      } catch (error) {
        // A run of another model has made the thread unusable meanwhile.
        if (!isWeirError(error, 'WORKER_LOST') || attempt === MOST_ATTEMPTS) throw error
      }
    }
  }

  private thread(): SharedThread {
    const most = Math.min(MOST_THREADS, availableParallelism())
    const free = this.threads.reduce<SharedThread | undefined>(
      (best, one) => (best === undefined || one.seats < best.seats ? one : best),
      undefined,
    )
    const isTaken = free === undefined || (free.seats > 0 && this.threads.length < most)
    return isTaken ? this.added() : free
  }

  /** Ends the threads; their models have been unloaded. */
  [Symbol.dispose](): void {
    for (const thread of this.threads) thread.end()
  }

  private added(): SharedThread {
    const thread: SharedThread = new SharedThread(() => {
      const at = this.threads.indexOf(thread)
      if (at >= 0) this.threads.splice(at, 1)
    })
    this.threads.push(thread)
    return thread
  }
}

/** Starts a worker in a thread of its own, or in one that models share. */
export const startWorker = (
  shared: SharedWorkers | undefined,
  start: WorkerStart,
  signal?: AbortSignal,
): Promise<ModelWorker> =>
  shared === undefined ? WorkerThread.start(start, signal) : shared.start(start, signal)

/** One thread with the workers of many models. */
class SharedThread {
  private readonly worker: Worker
  private readonly taken = new Map<number, Seat>()
  /** Called when no further model may be loaded here. */
  private readonly onLost: () => void
  private next = 0

  constructor(onLost: () => void) {
    this.onLost = onLost
    this.worker = new Worker(siblingModule('../workers/shared-thread', import.meta.url), {
      resourceLimits: THREAD_LIMITS,
    })
    this.worker.on('message', ({ seat, message }: SeatMessage) => {
      this.taken.get(seat)?.heard(message)
    })
    // An error that nothing caught ends the thread; the exit is what counts.
    this.worker.on('error', () => {})
    this.worker.once('exit', () => {
      onLost()
      for (const seat of [...this.taken.values()]) seat.heard({ kind: 'ended' })
    })
  }

  /** Models that have a seat. */
  get seats(): number {
    return this.taken.size
  }

  load(start: WorkerStart, signal: AbortSignal | undefined): Promise<Seat> {
    const number = this.next++
    const seat = new Seat({
      load: (start) => this.order({ kind: 'load', seat: number, start }),
      serve: (queue) => this.order({ kind: 'serve', seat: number, queue }),
      leave: () => this.taken.delete(number),
      abandon: () => this.abandon(seat),
    })
    this.taken.set(number, seat)
    return seat.load(start, signal)
  }

  end(): void {
    this.onLost()
    // A thread in a run ends after it.
    this.worker.unref()
    this.order({ kind: 'end' })
  }

  private order(order: SeatOrder): void {
    const parts = order.kind === 'serve' ? order.queue?.parts : undefined
    this.worker.postMessage(order, parts === undefined ? [] : [parts])
  }

  /** A run of one model does not end: the others leave the thread, which ends when it can. */
  private abandon(hung: Seat): void {
    this.onLost()
    this.worker.unref()
    for (const seat of [...this.taken.values()]) if (seat !== hung) seat.writeOff()
  }
}

/** The way of a seat to its thread. */
interface SeatThread {
  readonly load: (start: WorkerStart) => void
  readonly serve: (queue: ServeMessage | undefined) => void
  readonly leave: () => void
  readonly abandon: () => void
}

/** Worker of one model in a thread that it shares. */
export class Seat implements ModelWorker {
  readonly exited: Promise<void>
  /** Time of a run of the largest batch, ms. */
  runMs = 0
  private readonly thread: SeatThread
  private loaded: Pick<ModelWorker, 'signature' | 'placement'> | undefined
  private listener: WorkerListener | undefined
  private isAbandoned = false
  private onLoaded: ((message: WorkerMessage) => void) | undefined
  private onExit = (): void => {}

  constructor(thread: SeatThread) {
    this.thread = thread
    this.exited = new Promise((resolve) => {
      this.onExit = resolve
    })
  }

  get signature(): ModelSignature {
    return this.loaded!.signature
  }

  get placement(): DevicePlacement | undefined {
    return this.loaded!.placement
  }

  /** Resolves when the model is loaded. Rejects with the error of the load, or with the reason of the signal. */
  load(start: WorkerStart, signal: AbortSignal | undefined): Promise<Seat> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.onLoaded = undefined
        this.leave()
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      this.onLoaded = (message) => {
        if (message.kind === 'child') return
        this.onLoaded = undefined
        signal?.removeEventListener('abort', onAbort)
        if (message.kind === 'loaded') {
          this.loaded = message
          this.runMs = message.runMs
          resolve(this)
        } else if (message.kind === 'failed') {
          reject(new WeirError(message.code, message.message))
        } else reject(new WeirError('MODEL_FAILED', 'the thread ended while it loaded the model'))
      }
      if (signal?.aborted === true) onAbort()
      else this.thread.load(start)
    })
  }

  /** A message of the thread about this seat. */
  heard(message: WorkerMessage): void {
    const { kind } = message
    this.onLoaded?.(message)
    if (kind === 'wanted' || kind === 'left' || kind === 'entered') this.listener?.onMove(kind)
    else if (kind === 'exceeded') this.listener?.onExceeded()
    else if (kind === 'ended') this.leave()
  }

  serve(message: ServeMessage, listener: WorkerListener): void {
    this.listener = listener
    this.thread.serve(message)
    if (this.isAbandoned) queueMicrotask(listener.onWrittenOff)
  }

  async dismiss(): Promise<void> {
    this.thread.serve(undefined)
    await this.exited
  }

  abandon(): void {
    if (this.isAbandoned) return
    this.isAbandoned = true
    this.thread.abandon()
  }

  /** The run of another model may hold the thread up; this worker ends after it. */
  forget(): void {}

  /** Another model has made the thread unusable. */
  writeOff(): void {
    this.isAbandoned = true
    const message = 'a run of another model in the same thread does not end'
    this.onLoaded?.({ kind: 'failed', code: 'WORKER_LOST', message })
    this.listener?.onWrittenOff()
  }

  private leave(): void {
    this.thread.leave()
    this.onExit()
  }
}
