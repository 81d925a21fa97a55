import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TopicProducer, TopicStore } from '../../connectors/topics/store.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { type Clock, orAfter } from '../../core/clock.ts'
import { asWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { LatestTime, PRESENT_TIME } from '../../models/ratings/rating-time.ts'
import type { ObservationTopic, StoredPosition } from '../port/services.ts'

/** Observations of one turn: about 10 ms. */
const PER_TURN = 4096
const NO_HEADERS: readonly never[] = []
const encoder = new TextEncoder()
const UNKNOWN = 'it is not known whether the observations were stored'

/** The record of an observation. */
interface ObservationRecord {
  readonly key: Uint8Array
  readonly bytes: Uint8Array
  readonly timestamp: number
}

/**
 * Appends observations to a topic as lines `user,item,rating[,seconds]`. The key is the user, so that all
 * observations of a user are in one partition and keep their order. Requests that come while one sync runs share the next
 * one. After a failure the next request opens a new producer.
 */
export class TopicAppender implements ObservationTopic, AsyncDisposable {
  private readonly topics: TopicStore
  readonly topic: string
  private readonly clock: Clock
  private readonly format = ratingLineFormat('csv')
  private readonly line = new ByteWriter(256)
  private readonly latest: LatestTime
  private synced: Promise<SyncedProducer> | undefined
  /** The look at the topic that runs. */
  private looking: Promise<void> | undefined

  constructor(topics: TopicStore, topic: string, clock: Clock) {
    this.topics = topics
    this.topic = topic
    this.clock = clock
    this.latest = new LatestTime(clock)
  }

  /** Throws UNKNOWN_TOPIC if the topic does not exist. */
  async open(): Promise<void> {
    await this.opened()
  }

  append(observations: readonly Rating[], deadlineMs: number): Promise<readonly StoredPosition[]> {
    return this.within(deadlineMs, this.appendAll(observations), UNKNOWN)
  }

  async reachable(deadlineMs: number): Promise<void> {
    // One look at a time: probes come again while a broker is silent.
    this.looking ??= this.topics
      .describe(this.topic)
      .then(() => undefined)
      .finally(() => {
        this.looking = undefined
      })
    await this.within(deadlineMs, this.looking, 'it does not answer')
  }

  /** The result of work on the topic. Throws DEADLINE_EXCEEDED with what then is the case; the work goes on. */
  private within<T>(deadlineMs: number, work: Promise<T>, then: string): Promise<T> {
    return orAfter(this.clock, deadlineMs, work, () => {
      const message = `topic "${this.topic}" did not answer within ${deadlineMs} ms: ${then}`
      throw new WeirError('DEADLINE_EXCEEDED', message)
    })
  }

  private async appendAll(observations: readonly Rating[]): Promise<readonly StoredPosition[]> {
    // An observation that cannot be written refuses all of them, before the first is sent.
    const lines: ObservationRecord[] = []
    await inTurns(observations, (observation) => lines.push(this.lineOf(observation)))
    const opened = this.opened()
    try {
      const synced = await opened
      const { producer } = synced
      if (!producer.ready()) await producer.whenReady()
      await inTurns(lines, ({ key, bytes, timestamp }) => {
        producer.sendRecord(key, bytes, timestamp, -1, NO_HEADERS)
      })
      await synced.sync()
      return await positionsOf(producer, lines)
    } catch (error) {
      // Another request may have replaced the failed producer already.
      if (this.synced === opened) this.drop()
      throw asWeirError(error, 'CONNECTOR_FAILED', UNKNOWN)
    }
  }

  private opened(): Promise<SyncedProducer> {
    this.synced ??= this.topics
      .producer(this.topic)
      .then((producer) => new SyncedProducer(producer))
    return this.synced
  }

  /** The record of an observation. Throws INVALID_ARGUMENT, also for a time that readers of the topic refuse. */
  private lineOf(observation: Rating): ObservationRecord {
    requireArgument(!this.latest.isBefore(observation.timestamp), `expected ${PRESENT_TIME}`)
    this.line.reset()
    this.format.write(observation, this.line)
    const { bytes, length } = this.line
    const timestamp = observation.timestamp < 0 ? this.clock.nowMs() : observation.timestamp
    const key = encoder.encode(observation.user)
    return { key, bytes: bytes.slice(0, length), timestamp }
  }

  private drop(): void {
    const { synced } = this
    this.synced = undefined
    void synced?.then(({ producer }) => producer.close()).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const synced = await this.synced?.catch(() => undefined)
    this.synced = undefined
    await synced?.producer.close()
  }
}

/** Calls `take` for each value, some thousand in each turn: other clients wait for theirs. Few take no promise. */
function inTurns<T>(values: readonly T[], take: (value: T) => void): Promise<void> | undefined {
  if (values.length > PER_TURN) return inSeveralTurns(values, take)
  for (const value of values) take(value)
  return undefined
}

async function inSeveralTurns<T>(values: readonly T[], take: (value: T) => void): Promise<void> {
  for (let i = 0; i < values.length; i++) {
    if (i > 0 && i % PER_TURN === 0) await nextTurn()
    take(values[i]!)
  }
}

/** A position in each partition that has some of the records; empty where positions are not known. */
async function positionsOf(
  producer: TopicProducer,
  lines: readonly ObservationRecord[],
): Promise<readonly StoredPosition[]> {
  if (producer.positionOf === undefined) return []
  const byPartition = new Map<number, StoredPosition>()
  await inTurns(lines, ({ key }) => {
    const position = producer.positionOf!(key)
    byPartition.set(position.partition, position)
  })
  if ([...byPartition.values()].some(({ offset }) => offset < 0)) return []
  return [...byPartition.values()].sort((a, b) => a.partition - b.partition)
}

/** A producer whose syncs follow each other: who comes while one runs shares the next one (group commit). */
class SyncedProducer {
  readonly producer: TopicProducer
  /** The sync that runs, and the one that will begin after it. */
  private running: Promise<void> | undefined
  private next: Promise<void> | undefined

  constructor(producer: TopicProducer) {
    this.producer = producer
  }

  /** Resolves after a sync that began after this call. Rejects with its error. */
  sync(): Promise<void> {
    if (this.running === undefined) return this.start()
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = undefined
        return this.sync()
      })
    return this.next
  }

  private start(): Promise<void> {
    const sync = this.producer.sync()
    this.running = sync
    const ended = (): void => {
      this.running = undefined
    }
    sync.then(ended, ended)
    return sync
  }
}
