import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { parseAlsKey } from '../models/als-row.ts'
import { isMarkerKey } from '../models/model-version-marker.ts'
import { scoreOf } from '../models/online-rule.ts'
import { clipRating, type Rating, type RatingRange } from '../models/rating.ts'

/** A version as it was published: what there would be without learning. */
export class FrozenModel {
  private readonly rows: ReadonlyMap<string, Float32Array>
  private readonly range: RatingRange
  private readonly means: { readonly U: Float32Array; readonly I: Float32Array }

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
      const userRow = this.rows.get(`${user}-U`) ?? this.means.U
      const itemRow = this.rows.get(`${item}-I`) ?? this.means.I
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
