import { sleep } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { type FetchAnswer, type FetchedPartition, fetchApi } from './fetch-request.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { KAFKA_ERRORS, kafkaError, throwKafkaError } from './kafka-errors.ts'
import { findOffset, type KafkaIsolation } from './kafka-offsets.ts'
import { retryDelay } from './kafka-retry.ts'
import type { KafkaSplit } from './kafka-split.ts'

/** What happens when a position is no longer, or not yet, in the partition. */
export type OutOfRangePolicy = 'fail' | 'earliest' | 'latest'

/** How a `KafkaFetcher` asks. */
export interface FetcherOptions {
  readonly topic: string
  readonly isolation: KafkaIsolation
  readonly outOfRange: OutOfRangePolicy
  /** Largest answer for one partition, bytes. */
  readonly partitionMaxBytes: number
}

/** The broker waits this long for a first record when every partition of it is asked for, ms. */
const LONG_WAIT_MS = 500
/** And this long when some are not, because their buffers are full and may be empty soon, ms. */
const SHORT_WAIT_MS = 10
const ANSWER_MAX_BYTES = 16 * 1024 * 1024

/**
 * Fetches ahead for the splits of one reader: one loop per leader with one request under way, for
 * those of its partitions whose buffers have room. It outlives leaders and brokers; what cannot
 * pass is left in `failure`.
 */
export class KafkaFetcher {
  failure: unknown
  private readonly cluster: KafkaCluster
  private readonly options: FetcherOptions
  private readonly onReady: () => void
  private readonly errors: Counter
  private readonly splits: KafkaSplit[] = []
  private readonly loops = new Map<number, Promise<void>>()
  private topicId: string | undefined
  private assigning: Promise<void> | undefined
  private sleeping: (() => void)[] = []
  private closed = false

  constructor(
    cluster: KafkaCluster,
    options: FetcherOptions,
    errors: Counter,
    onReady: () => void,
  ) {
    this.cluster = cluster
    this.options = options
    this.errors = errors
    this.onReady = onReady
  }

  /** Begins to fetch for a split. */
  add(split: KafkaSplit): void {
    this.splits.push(split)
    this.assign()
  }

  /** Room was made, or a split came: loops without work look again. */
  wake(): void {
    if (this.sleeping.length === 0) return
    for (const resume of this.sleeping.splice(0)) resume()
  }

  /** Ends the loops; those that wait for a broker end when the cluster is closed. */
  async close(): Promise<void> {
    this.closed = true
    this.wake()
    await Promise.all([...this.loops.values(), this.assigning])
  }

  private fail(error: unknown): void {
    if (this.closed) return
    this.failure ??= error
    this.onReady()
  }

  /** Finds leaders for the splits without one, until all have one. */
  private assign(): void {
    this.assigning ??= this.assignAll()
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.assigning = undefined
        if (this.failure === undefined && this.orphans().length > 0 && !this.closed) this.assign()
      })
  }

  private orphans(): KafkaSplit[] {
    return this.splits.filter((split) => split.leader < 0)
  }

  private async assignAll(): Promise<void> {
    for (let tries = 0; !this.closed && this.orphans().length > 0; tries++) {
      try {
        if (tries > 0) this.cluster.forgetLeaders(this.options.topic)
        await this.assignOnce()
      } catch (error) {
        if (!isWeirError(error) || !error.retryable) throw error
        this.errors.increment()
      }
      if (this.orphans().length > 0) {
        await sleep(this.cluster.clock, retryDelay(this.cluster.random, tries))
      }
    }
  }

  private async assignOnce(): Promise<void> {
    const topic = await this.cluster.topic(this.options.topic)
    this.topicId ??= topic.topicId
    if (topic.topicId !== this.topicId) {
      throw topicChanged(topic.name)
    }
    for (const split of this.orphans()) {
      split.leader = topic.partitions[split.partition]?.leader ?? -1
      if (split.leader >= 0) this.startLoop(split.leader)
    }
    this.wake()
  }

  private startLoop(leader: number): void {
    if (this.loops.has(leader)) return
    const loop = this.fetchLoop(leader)
      .catch((error: unknown) => this.fail(error))
      .finally(() => this.loops.delete(leader))
    this.loops.set(leader, loop)
  }

  private async fetchLoop(leader: number): Promise<void> {
    for (let tries = 0; !this.closed && this.failure === undefined; ) {
      const mine = this.splits.filter((split) => split.leader === leader)
      const hungry = mine.filter((split) => split.isHungry)
      if (hungry.length === 0) {
        await new Promise<void>((resolve) => this.sleeping.push(resolve))
        continue
      }
      try {
        await this.fetchOnce(leader, hungry, hungry.length === mine.length)
        tries = 0
      } catch (error) {
        if (this.closed) return
        if (!isWeirError(error) || !error.retryable) throw error
        this.errors.increment()
        // The node may be gone: whoever leads by now is asked for.
        for (const split of mine) split.leader = -1
        this.cluster.forgetLeaders(this.options.topic)
        await sleep(this.cluster.clock, retryDelay(this.cluster.random, tries++, error))
        this.assign()
      }
    }
  }

  private async fetchOnce(leader: number, hungry: KafkaSplit[], all: boolean): Promise<void> {
    const { isolation, partitionMaxBytes } = this.options
    const connection = await this.cluster.node(leader, 'fetch')
    const from = hungry.map((split) => split.fetchFrom)
    const { clock } = this.cluster
    const askedMs = clock.nowMs()
    const maxWaitMs = all ? LONG_WAIT_MS : SHORT_WAIT_MS
    const answer = await connection.call(fetchApi, {
      topicId: this.topicId!,
      partitions: hungry.map(({ partition }, i) => ({
        partition,
        leaderEpoch: -1,
        offset: from[i]!,
      })),
      maxWaitMs,
      minBytes: 1,
      maxBytes: ANSWER_MAX_BYTES,
      partitionMaxBytes,
      readCommitted: isolation === 'read_committed',
    })
    throwKafkaError(answer.error, `fetch from node ${leader}`)
    const asOfMs = answerAsOfMs(answer, askedMs, clock.nowMs(), maxWaitMs)
    let news = false
    for (const fetched of answer.partitions) {
      const index = hungry.findIndex((split) => split.partition === fetched.partition)
      const split = hungry[index]
      if (split === undefined) continue
      if (fetched.error !== KAFKA_ERRORS.NONE) await this.recover(split, fetched)
      else if (split.accept(from[index]!, fetched, asOfMs)) news = true
    }
    if (news) this.onReady()
  }

  private async recover(split: KafkaSplit, fetched: FetchedPartition): Promise<void> {
    const { topic, outOfRange, isolation } = this.options
    const name = `${topic}/${split.partition}`
    if (fetched.error === KAFKA_ERRORS.OFFSET_OUT_OF_RANGE) {
      if (outOfRange === 'fail') throw outOfRangeError(name, split.fetchFrom, fetched)
      split.seek(await findOffset(this.cluster, topic, split.partition, outOfRange, isolation))
      return
    }
    const error = kafkaError(fetched.error, `fetch of ${name}`)
    if (!error.retryable) throw error
    this.errors.increment()
    split.leader = -1
    this.cluster.forgetLeaders(topic)
    this.assign()
  }
}

/**
 * The latest time at which the answer was certainly true. It was made after the request left, and one
 * without records not before the broker's wait was over; how long it was on its way nobody knows.
 */
function answerAsOfMs(
  { partitions }: FetchAnswer,
  askedMs: number,
  answeredMs: number,
  maxWaitMs: number,
): number {
  const waited = partitions.every(({ records }) => records.length === 0)
  return waited && answeredMs - askedMs >= maxWaitMs ? askedMs + maxWaitMs : askedMs
}

/** The error of a topic that was deleted and created anew under its name. */
export function topicChanged(topic: string): WeirError {
  const message = `topic "${topic}" was deleted and created anew: the offsets of this job mean other records there; to read the new topic, give the source another uid and restore with allowNonRestoredState, or start without a checkpoint`
  return new WeirError('TOPIC_CHANGED', message, { details: { topic } })
}

function outOfRangeError(name: string, offset: number, { logStart }: FetchedPartition): WeirError {
  const message = `offset ${offset} of ${name} is out of range, the partition begins at ${logStart < 0 ? 'another one' : logStart}: records were deleted before they were read; set outOfRange to earliest or latest to go on without them`
  return new WeirError('OFFSET_OUT_OF_RANGE', message, { details: { offset, logStart } })
}
