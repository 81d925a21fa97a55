import { wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { CollectSink } from './collect-sink.ts'

/** The job whose results are read. */
interface CollectedJob {
  /** Settles at the end of the job. */
  readonly result: Promise<unknown>
  cancel(): Promise<void>
}

/** The results of a running job, read with `for await`. To stop reading cancels the job. */
export class CollectedResults<T> implements AsyncIterableIterator<T, undefined>, AsyncDisposable {
  private readonly sink: CollectSink<T>
  private readonly job: CollectedJob
  private ended = false
  private closed = false

  constructor(sink: CollectSink<T>, job: CollectedJob) {
    this.sink = sink
    this.job = job
    const end = (): void => {
      this.ended = true
      sink.wakeReader()
    }
    job.result.then(end, end)
  }

  /** The next result. Throws JOB_FAILED or JOB_CANCELED where the job ended so. */
  async next(): Promise<IteratorResult<T, undefined>> {
    while (!this.closed) {
      if (this.sink.size > 0) return { done: false, value: this.sink.take() }
      if (this.ended) {
        await this.job.result
        break
      }
      await this.sink.whenArrived()
    }
    return { done: true, value: undefined }
  }

  /** The next results, at most `limit`, after which the job is canceled. Throws as `next`. */
  async takeFirst(limit: number): Promise<T[]> {
    checkArgument('takeFirst', 'limit', wholeNumber({ min: 0, orInfinity: true }), limit)
    const taken: T[] = []
    try {
      while (taken.length < limit) {
        const { done, value } = await this.next()
        if (done === true) break
        taken.push(value)
      }
    } finally {
      await this.close()
    }
    return taken
  }

  /** Cancels the job, if it still runs. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    await this.close()
    return { done: true, value: undefined }
  }

  /** Cancels the job, if it still runs, and drops results that were not read. */
  async close(): Promise<void> {
    this.closed = true
    this.sink.wakeReader()
    if (!this.ended) await this.job.cancel()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
