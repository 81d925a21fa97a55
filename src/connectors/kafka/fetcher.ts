import { sleep } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import type { Isolation } from '../records/topic-options.ts'
import { topicCreatedAgain } from '../records/topic-origin.ts'
import { requestOf, topicRight } from './client/access-rights.ts'
import type { FetchAnswer, FetchedPartition } from './client/answers/fetch-answer.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { KAFKA_ERRORS, kafkaError, throwKafkaError } from './client/errors.ts'
import { fetchApi } from './client/fetch-request.ts'
import { findOffset } from './client/offsets.ts'
import { retryDelay } from './client/retry.ts'
import { LeaderCheck } from './leader-check.ts'
import type { KafkaSplit } from './split.ts'
import { epochEnd, logHistory, truncatedError } from './truncation.ts'

/**
 * What happens when an offset is no longer, or not yet, in the partition. `earliest`, `latest`: reading continues
 * at the first or after the last record. Where the log was truncated, all but `fail` continue where the log that was
 * read ends; `earliest-of-truncation` fails in every other case.
 */
export type OutOfRangePolicy = 'fail' | 'earliest' | 'latest' | 'earliest-of-truncation'

/** Options of a `KafkaFetcher`. */
export interface FetcherOptions {
  readonly topic: string
  readonly isolation: Isolation
  readonly outOfRange: OutOfRangePolicy
  /** Largest answer for one partition, bytes. */
  readonly partitionMaxBytes: number
  /** Counts errors after which the fetcher tries again. */
  readonly errors: Counter
  /** Called when a split has new records, or when fetching failed. */
  readonly onReady: () => void
}

/** How long the broker waits for a first record if every one of its partitions is requested, ms. */
const LONG_WAIT_MS = 500
/** The same if some are not requested, because their buffers are full and may soon be empty, ms. */
const SHORT_WAIT_MS = 10
/** Longest time that a fetch waits for the check of its leader, which goes on meanwhile, ms. */
const CONFIRM_WAIT_MS = 500
/** An answer that comes later than this after its wait makes the leader doubtful, ms: less than a broker's session. */
const LATE_MS = 1_000
const ANSWER_MAX_BYTES = 16 * 1024 * 1024

/**
 * Fetches ahead for the splits of one reader: one loop per leader, which has one request in flight for
 * those of its partitions whose buffers have room. It continues after changes of leaders and failures
 * of brokers.
 */
export class KafkaFetcher {
  /** The error after which nothing is fetched any more. */
  failure: unknown
  private readonly cluster: KafkaCluster
  private readonly options: FetcherOptions
  private readonly leaders: LeaderCheck
  private readonly splits: KafkaSplit[] = []
  private readonly loops = new Map<number, Promise<void>>()
  private topicId: string | undefined
  private assigning: Promise<void> | undefined
  private sleeping: (() => void)[] = []
  private closed = false

  constructor(cluster: KafkaCluster, options: FetcherOptions) {
    this.cluster = cluster
    this.leaders = new LeaderCheck(cluster)
    this.options = options
  }

  /** Begins to fetch for a split. */
  add(split: KafkaSplit): void {
    this.splits.push(split)
    this.assign()
  }

  /** Wakes loops without work, after a buffer got room or a split was added. */
  wake(): void {
    if (this.sleeping.length === 0) return
    for (const resume of this.sleeping.splice(0)) resume()
  }

  /** Ends the loops. A loop that waits for a broker ends when the cluster is closed. */
  async close(): Promise<void> {
    this.closed = true
    this.wake()
    await Promise.all([...this.loops.values(), this.assigning])
  }

  private fail(error: unknown): void {
    if (this.closed) return
    this.failure ??= error
    this.options.onReady()
  }

  /** Finds the leaders of all splits that have none. */
  private assign(): void {
    this.assigning ??= this.assignAll()
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.assigning = undefined
        if (this.failure === undefined && this.withoutLeader().length > 0 && !this.closed)
          this.assign()
      })
  }

  private withoutLeader(): KafkaSplit[] {
    return this.splits.filter((split) => split.leader < 0)
  }

  private async assignAll(): Promise<void> {
    for (let tries = 0; !this.closed && this.withoutLeader().length > 0; tries++) {
      try {
        if (tries > 0) this.cluster.forgetLeaders(this.options.topic)
        await this.assignOnce()
      } catch (error) {
        if (!isWeirError(error) || !error.retryable) throw error
        this.options.errors.increment()
      }
      if (this.withoutLeader().length > 0) {
        await sleep(this.cluster.clock, retryDelay(this.cluster.random, tries))
      }
    }
  }

  private async assignOnce(): Promise<void> {
    const topic = await this.cluster.topic(this.options.topic)
    this.topicId ??= topic.topicId
    if (topic.topicId !== this.topicId) {
      throw topicCreatedAgain(topic.name)
    }
    for (const split of this.withoutLeader()) {
      const { leader = -1, leaderEpoch = -1 } = topic.partitions[split.partition] ?? {}
      split.leader = leader
      split.leaderEpoch = leaderEpoch
      split.doubtLeader()
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
      const wanting = mine.filter((split) => split.wantsMore)
      if (wanting.length === 0) {
        await new Promise<void>((resolve) => this.sleeping.push(resolve))
        continue
      }
      try {
        await this.fetchOnce(leader, wanting, wanting.length === mine.length)
        tries = 0
      } catch (error) {
        if (this.closed) return
        if (!isWeirError(error) || !error.retryable) throw error
        this.options.errors.increment()
        // The node may have failed: the splits need their current leaders.
        for (const split of mine) split.leader = -1
        this.cluster.forgetLeaders(this.options.topic)
        await sleep(this.cluster.clock, retryDelay(this.cluster.random, tries++, error))
        this.assign()
      }
    }
  }

  private async fetchOnce(leader: number, splits: KafkaSplit[], all: boolean): Promise<void> {
    const { isolation, partitionMaxBytes } = this.options
    const connection = await this.cluster.node(leader, 'fetch')
    const from = splits.map((split) => split.fetchFrom)
    const epochs = splits.map((split) => split.lastFetchedEpoch)
    const { clock } = this.cluster
    const { topic } = this.options
    const confirmed = this.leaders.confirm({ topic, leader, connection, splits })
    await Promise.race([confirmed, sleep(clock, CONFIRM_WAIT_MS)])
    const sentMs = clock.nowMs()
    const maxWaitMs = all ? LONG_WAIT_MS : SHORT_WAIT_MS
    const answer = await connection.call(fetchApi, {
      topicId: this.topicId!,
      partitions: splits.map(({ partition, leaderEpoch }, i) => ({
        partition,
        leaderEpoch,
        offset: from[i]!,
        lastFetchedEpoch: epochs[i]!,
      })),
      maxWaitMs,
      minBytes: 1,
      maxBytes: ANSWER_MAX_BYTES,
      partitionMaxBytes,
      readCommitted: isolation === 'read_committed',
    })
    throwKafkaError(answer.error, requestOf(this.cluster, `fetch from node ${leader}`))
    const times = { sentMs, answeredMs: clock.nowMs(), maxWaitMs }
    const asOfMs = answerAsOfMs(answer, times)
    // Another broker may have taken over from one that was silent.
    const isLate = times.answeredMs - sentMs > maxWaitMs + LATE_MS
    let hasNews = false
    for (const fetched of answer.partitions) {
      const index = splits.findIndex((split) => split.partition === fetched.partition)
      const split = splits[index]
      if (split === undefined) continue
      if (isLate) split.doubtLeader()
      const isCertain = split.confirmedAtMs <= sentMs
      if (fetched.error !== KAFKA_ERRORS.NONE) await this.recover(split, fetched)
      else if (fetched.diverging) await this.checkHistory(split)
      else if (split.accept(from[index]!, fetched, isCertain ? asOfMs : -1)) hasNews = true
    }
    if (hasNews) this.options.onReady()
  }

  private async recover(split: KafkaSplit, fetched: FetchedPartition): Promise<void> {
    const { topic, outOfRange, isolation } = this.options
    const name = `${topic}/${split.partition}`
    if (fetched.error === KAFKA_ERRORS.OFFSET_OUT_OF_RANGE) {
      const { partition } = split
      if (split.lastFetchedEpoch >= 0) {
        // A leader answers this, too, when it does not know the epoch: the next fetch shows the reason.
        split.forgetEpoch()
        return
      }
      if (outOfRange === 'fail' || outOfRange === 'earliest-of-truncation')
        throw await this.outOfRangeError(split)
      const search = { topic, partition, query: outOfRange, isolation }
      split.seek(await findOffset(this.cluster, search))
      return
    }
    const request = requestOf(this.cluster, `fetch of ${name}`, topicRight('Read', topic))
    const error = kafkaError(fetched.error, request)
    if (!error.retryable) throw error
    this.options.errors.increment()
    split.leader = -1
    this.cluster.forgetLeaders(topic)
    this.assign()
  }

  /** The log in front of the fetch position is not the one that was read: asks the leader where it differs. */
  private async checkHistory(split: KafkaSplit): Promise<void> {
    const { topic, outOfRange } = this.options
    const { partition } = split
    const position = { offset: split.fetchFrom, epoch: split.lastFetchedEpoch }
    const history = logHistory(
      position,
      await epochEnd(this.cluster, { topic, partition }, position.epoch),
    )
    if (history.kind !== 'truncated') {
      split.forgetEpoch()
      return
    }
    this.options.errors.increment()
    // What was fetched and not delivered is fetched again.
    if (!split.truncate(history.offset)) return
    if (outOfRange === 'fail') {
      const delivered = { offset: split.nextOffset, epoch: split.nextEpoch }
      throw truncatedError({ topic, partition }, delivered, history.offset)
    }
    split.seek(history.offset)
  }

  /** The broker does not say the bounds of the partition with this error, so this asks for them. */
  private async outOfRangeError({ partition, fetchFrom: offset }: KafkaSplit): Promise<WeirError> {
    const { topic, isolation } = this.options
    const search = { topic, partition, isolation }
    const [start, end] = await Promise.all([
      findOffset(this.cluster, { ...search, query: 'earliest' }),
      findOffset(this.cluster, { ...search, query: 'latest' }),
    ])
    const why =
      offset < start
        ? 'records were deleted before they were read'
        : 'records that were read are no longer there'
    const message = `offset ${offset} of ${topic}/${partition} is out of range, the partition has ${start} to ${end}: ${why}; set outOfRange to earliest or latest to continue`
    const details = { topic, partition, offset, logStart: start, end }
    return new WeirError('OFFSET_OUT_OF_RANGE', message, { details })
  }
}

/** Times of a fetch request, ms. */
interface RequestTimes {
  readonly sentMs: number
  readonly answeredMs: number
  /** How long the broker may wait for a first record. */
  readonly maxWaitMs: number
}

/**
 * The latest time at which the answer was certainly true, ms. The broker made it after the request was
 * sent; an answer without records and errors not before the broker's wait was over. The time on the network
 * is unknown.
 */
function answerAsOfMs(
  { partitions }: FetchAnswer,
  { sentMs, answeredMs, maxWaitMs }: RequestTimes,
): number {
  const isEmpty = ({ records, error }: FetchedPartition): boolean =>
    records.length === 0 && error === KAFKA_ERRORS.NONE
  const waited = partitions.every(isEmpty)
  return waited && answeredMs - sentMs >= maxWaitMs ? sentMs + maxWaitMs : sentMs
}
