import type { Clock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { JobModule } from '../../../dataflow/job/module.ts'
import type { StartSlot } from '../../protocol/slot-host.ts'
import { SharedSlot } from './host.ts'
import { SharedThread } from './thread-link.ts'
import { type StartSharedWorker, startSharedWorker } from './worker.ts'

/** Options of a pool of slot threads. */
export interface SlotThreadPoolOptions {
  /** Number of threads; each starts with its first slot. */
  readonly threads: number
  /** URL of the module that the threads load at once. */
  readonly url: string
  /** Bytes of keyed state that all executions together hold in memory; each thread gets an even part. */
  readonly stateMemoryBytes: number
  readonly clock: Clock
  /** @default a worker thread */
  readonly startWorker?: StartSharedWorker
}

/**
 * A fixed number of slot threads for any number of executions. A slot goes to the thread with the fewest slots. After a
 * loss it goes to its former thread, which is started again, where no other one has fewer.
 */
export class SlotThreadPool {
  private readonly options: SlotThreadPoolOptions
  private readonly threads: (SharedThread | undefined)[]
  private agents = 0
  private closed = false

  constructor(options: SlotThreadPoolOptions) {
    this.options = options
    this.threads = new Array<SharedThread | undefined>(options.threads).fill(undefined)
  }

  /** Number of slots of each thread. */
  get loads(): readonly number[] {
    return this.threads.map(loadOf)
  }

  /** How one execution starts its slots: `startSlot` of its options. Starting one throws ILLEGAL_STATE after `close`. */
  slotsOf(job: JobModule): StartSlot {
    const former = new Map<number, number>()
    return (slot, listener) => {
      if (this.closed) {
        throw new WeirError('ILLEGAL_STATE', 'the slot threads are closed; start no execution now')
      }
      const index = this.leastLoaded(former.get(slot))
      former.set(slot, index)
      const thread = this.threadAt(index)
      const started = new SharedSlot({ slot, agent: this.agents++, thread, listener })
      thread.add(started, job)
      return started
    }
  }

  /** `<thread>.heapUsedBytes` and the like of each thread that runs: the executions share a heap, so none has one. */
  async metrics(): Promise<MetricSnapshot> {
    const ofThreads = await Promise.all(
      this.threads.map(async (thread, index) =>
        Object.entries((await thread?.metrics()) ?? {}).map(
          ([name, value]) => [`${index}.${name}`, value] as const,
        ),
      ),
    )
    return Object.fromEntries(ofThreads.flat())
  }

  /** Asks the threads whether their event loops turn; returns the longest time for which one has not answered, ms. */
  silenceMs(): number {
    return Math.max(0, ...this.threads.map((thread) => thread?.silenceMs() ?? 0))
  }

  /** Ends every thread; the executions must be over. */
  async close(): Promise<void> {
    this.closed = true
    await Promise.all(this.threads.map((thread) => thread?.terminate()))
  }

  /** The thread with the fewest slots: of equal ones the former, else the first. */
  private leastLoaded(former: number | undefined): number {
    const { loads } = this
    const least = Math.min(...loads)
    return former !== undefined && loads[former] === least ? former : loads.indexOf(least)
  }

  private threadAt(index: number): SharedThread {
    const running = this.threads[index]
    if (running !== undefined && !running.isOver) return running
    const { threads, url, stateMemoryBytes, clock, startWorker = startSharedWorker } = this.options
    const data = { url, stateMemoryBytes: Math.floor(stateMemoryBytes / threads) }
    const thread = new SharedThread(startWorker(`slots-${index}`, data), clock)
    this.threads[index] = thread
    return thread
  }
}

/** A thread that is over counts as empty: its slots are lost, or will be in a moment. */
function loadOf(thread: SharedThread | undefined): number {
  return thread === undefined || thread.isOver ? 0 : thread.load
}
