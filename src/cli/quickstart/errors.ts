import type { WeirClient } from '../../client/weir-client.ts'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import { isWeirError } from '../../core/errors.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import { LEARNING_ERROR_STATE } from '../../jobs/learning/error/learning-error.ts'
import type { RatingError } from '../../jobs/learning/error/rating-error.ts'
import { scoreOf } from '../../models/als/online/rule.ts'
import { type AlsRowKind, alsKey, parseAlsKey } from '../../models/als/row-key.ts'
import { type AlarmsByDetector, NO_ALARMS } from '../../models/quality/drift-monitor.ts'
import { clipRating, type Rating, type RatingRange } from '../../models/ratings/rating.ts'
import { isMarkerKey } from '../../models/registry/version-marker.ts'

/** RMSE on the same ratings: of the model that learns, and of the same model without learning. */
export interface ErrorPair {
  readonly learned: number
  readonly frozen: number
}

/** Ratings that were predicted and then learned, and the sum of their squared errors. */
export interface LearnedSum {
  readonly ratings: number
  readonly sum: number
}

const NOTHING: LearnedSum = { ratings: 0, sum: 0 }
const POLL_MS = 50
/**
 * Without a new report for this long, no rating is being learned. Slots report every second, but a busy
 * machine or Kafka can delay them by many seconds.
 */
const QUIET_MS = 30_000

/** The error that the learning job reports for each version: in total, and since the last call. */
export class LearnedErrors {
  private readonly client: WeirClient
  private readonly pause: (ms: number) => Promise<void>
  private readonly seen = new Map<number, LearnedSum>()
  /** By version, the ratings that it never learns: an earlier start has fed them on another version. */
  private readonly missing = new Map<number, number>()

  constructor(client: WeirClient, pause: (ms: number) => Promise<void>) {
    this.client = client
    this.pause = pause
  }

  /** All ratings that were learned on a version. */
  async total(version: number): Promise<LearnedSum> {
    const error = await this.reported(version)
    return error === undefined
      ? NOTHING
      : { ratings: error.ratings, sum: error.mse * error.ratings }
  }

  /** Alarms of the drift detectors in the slots that learn a version. */
  async alarms(version: number): Promise<AlarmsByDetector> {
    return (await this.reported(version))?.alarms ?? NO_ALARMS
  }

  private async reported(version: number): Promise<RatingError | undefined> {
    try {
      const [answer] = await this.client.values(LEARNING_ERROR_STATE, [String(version)])
      if (answer?.ok !== true) return undefined
      return msgpackSerializer<RatingError>().read(new ByteReader(answer.value))
    } catch (error) {
      if (isWeirError(error, 'UNKNOWN_STATE')) return undefined
      throw error
    }
  }

  /** The ratings that were learned on a version since the last call for it. */
  async since(version: number): Promise<LearnedSum> {
    const now = await this.total(version)
    const before = this.seen.get(version) ?? NOTHING
    this.seen.set(version, now)
    return { ratings: now.ratings - before.ratings, sum: now.sum - before.sum }
  }

  /**
   * Waits until `ratings` ratings are learned on a version, or no more arrive. Later calls do not wait
   * for those that did not arrive.
   */
  async until(version: number, ratings: number): Promise<void> {
    let before = -1
    let quietMs = 0
    for (;;) {
      const learned = (await this.total(version)).ratings
      if (learned + (this.missing.get(version) ?? 0) >= ratings) return
      if (quietMs >= QUIET_MS) {
        this.missing.set(version, ratings - learned)
        return
      }
      quietMs = learned === before ? quietMs + POLL_MS : 0
      before = learned
      await this.pause(POLL_MS)
    }
  }
}

/** A version as it was published, without the learning since. */
export class FrozenModel {
  private readonly rows: ReadonlyMap<string, Float32Array>
  private readonly range: RatingRange
  private readonly means: Readonly<Record<AlsRowKind, Float32Array>>

  private constructor(rows: ReadonlyMap<string, Float32Array>, range: RatingRange) {
    this.rows = rows
    this.range = range
    this.means = { U: meanOf(rows, '-U'), I: meanOf(rows, '-I') }
  }

  /** Reads the rows of a version from its topic. */
  static async read(
    topics: TopicStore,
    topic: string,
    { version, range }: { readonly version: number; readonly range: RatingRange },
  ): Promise<FrozenModel> {
    const rows = new Map<string, Float32Array>()
    await scanTopic(topics, topic, (record) => {
      const key = record.key()
      const value = record.value()
      if (key === null || value === null || isMarkerKey(key)) return true
      const row = parseAlsKey(Buffer.from(key).toString())
      if (row.version === version) {
        rows.set(`${row.id}-${row.kind}`, new Float32Array(Uint8Array.from(value).buffer))
      }
      return true
    })
    return new FrozenModel(rows, range)
  }

  /** Sum of the squared errors of its predictions. */
  squaredError(ratings: readonly Rating[]): number {
    let sum = 0
    for (const { user, item, rating } of ratings) {
      const userRow = this.rows.get(alsKey(user, 'U')) ?? this.means.U
      const itemRow = this.rows.get(alsKey(item, 'I')) ?? this.means.I
      sum += (rating - clipRating(scoreOf(userRow, itemRow), this.range)) ** 2
    }
    return sum
  }
}

function meanOf(rows: ReadonlyMap<string, Float32Array>, ending: string): Float32Array {
  let sum: Float64Array | undefined
  let count = 0
  for (const [key, row] of rows) {
    if (!key.endsWith(ending)) continue
    sum ??= new Float64Array(row.length)
    for (const [i, value] of row.entries()) sum[i] = (sum[i] as number) + value
    count++
  }
  return Float32Array.from(sum ?? [], (value) => value / count)
}
