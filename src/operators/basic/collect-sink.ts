import type { DeliveryGuarantee, Sink, SinkWriter } from '../port/sink.ts'
import { DirectWriter } from './direct-writer.ts'

/** Results that wait for the reader before the job waits. */
const MOST_WAITING = 1000

/**
 * The results of a job in the calling thread, for one reader. Its writers are not ready while too many results
 * wait, so that the job is as fast as the reader.
 */
export class CollectSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee = 'at-least-once'
  private waiting: T[] = []
  private taken = 0
  private arrival = Promise.withResolvers<void>()
  private room = Promise.withResolvers<void>()

  createWriter(): SinkWriter<T> {
    return new CollectWriter(this)
  }

  /** Results that no reader has taken. */
  get size(): number {
    return this.waiting.length - this.taken
  }

  /** Whether writers may write. */
  get hasRoom(): boolean {
    return this.size < MOST_WAITING
  }

  /** Removes and returns the oldest result; `size` must be above 0. */
  take(): T {
    const value = this.waiting[this.taken]!
    this.taken += 1
    if (this.size === 0) {
      this.waiting = []
      this.taken = 0
      this.room.resolve()
      this.room = Promise.withResolvers<void>()
    }
    return value
  }

  /** Adds a result. */
  add(value: T): void {
    this.waiting.push(value)
    this.wakeReader()
  }

  /** Lets the reader look: there is a result, or there will be none. */
  wakeReader(): void {
    this.arrival.resolve()
    this.arrival = Promise.withResolvers<void>()
  }

  /** Resolves with the next result, or when the job has ended. */
  whenArrived(): Promise<void> {
    return this.arrival.promise
  }

  /** Resolves when the reader has taken all results. */
  whenRoom(): Promise<void> {
    return this.hasRoom ? Promise.resolve() : this.room.promise
  }
}

class CollectWriter<T> extends DirectWriter<T> {
  private readonly sink: CollectSink<T>

  constructor(sink: CollectSink<T>) {
    super()
    this.sink = sink
  }

  override write(value: T): void {
    this.sink.add(value)
  }

  override ready(): boolean {
    return this.sink.hasRoom
  }

  override whenReady(): Promise<void> {
    return this.sink.whenRoom()
  }
}
