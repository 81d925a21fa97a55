import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { leftOutText } from '../../models/observations/left-out.ts'
import { joinedRead } from '../../models/observations/ranges-reading.ts'
import { offsetsIn, rangesAfter } from '../../models/observations/topic-ranges.ts'
import type { DataRange } from '../../models/registry/ranges/data-range.ts'
import type { TrainingProcess } from './process.ts'
import { putRows } from './put-rows.ts'

/** Options of a `CandidateReplay`. */
export interface CandidateReplayOptions {
  readonly process: TrainingProcess
  readonly topics: TopicStore
  /** Topic of observations. */
  readonly observations: string
  /** Topic of the model's rows. */
  readonly model: string
  readonly clock: Clock
  readonly onStep: (step: string) => void
}

/** Largest number of rounds of one `catchUp`. */
const MAX_ROUNDS = 5

/** Learning of the observations that arrive after a candidate's training ranges. */
export class CandidateReplay {
  private readonly options: CandidateReplayOptions
  /** Ranges that the candidate has learned: those of the training, and those replayed. */
  private learnedRanges: readonly DataRange[]
  private replayedRanges: readonly DataRange[] = []
  private newestMs: number

  /** `trained`: the ranges of the training; `newestEventMs`: time of their newest observation. */
  constructor(
    options: CandidateReplayOptions,
    trained: readonly DataRange[],
    newestEventMs: number,
  ) {
    this.options = options
    this.learnedRanges = trained
    this.newestMs = newestEventMs
  }

  /** Ranges that were replayed. */
  get replayed(): readonly DataRange[] {
    return this.replayedRanges
  }

  /** Time of the newest observation that the candidate has learned, ms. */
  get newestEventMs(): number {
    return this.newestMs
  }

  /**
   * Replays new observations until none or few arrive meanwhile. For a published `version`, writes
   * the changed rows.
   */
  async catchUp(version?: number): Promise<void> {
    const { process, topics, observations, model, clock, onStep } = this.options
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const ranges = await rangesAfter(topics, observations, this.learnedRanges)
      if (ranges.length === 0) return
      const answer = await process.ask({ kind: 'replay', ranges })
      this.learnedRanges = joined(this.learnedRanges, answer.ranges)
      this.replayedRanges = joined(this.replayedRanges, answer.ranges)
      this.newestMs = answer.newestEventMs
      const refused = answer.refused === 0 ? '' : `, of which ${answer.refused} were refused`
      onStep(`replayed ${answer.observations} observations${refused}`)
      if (answer.leftOut !== undefined) onStep(leftOutText(answer.leftOut, observations))
      if (version !== undefined) {
        await putRows(topics, model, { version, rows: answer.rows, clock })
      }
    }
  }

  /** Number of offsets that the candidate has not learned. */
  async gap(): Promise<number> {
    const { topics, observations } = this.options
    return offsetsIn(await rangesAfter(topics, observations, this.learnedRanges))
  }
}

function joinedRange(before: DataRange, { read: after, ...range }: DataRange): DataRange {
  const read = joinedRead(before.read, after)
  return { ...range, from: before.from, ...(read === undefined ? {} : { read }) }
}

/** The union of ranges of one topic, one range a partition. Throws ILLEGAL_STATE if they overlap. */
function joined(before: readonly DataRange[], after: readonly DataRange[]): readonly DataRange[] {
  const byPartition = new Map(before.map((range) => [range.partition, range]))
  for (const range of after) {
    const known = byPartition.get(range.partition)
    if (known !== undefined && known.to > range.from) {
      throw new WeirError('ILLEGAL_STATE', 'ranges of observations overlap')
    }
    byPartition.set(range.partition, known === undefined ? range : joinedRange(known, range))
  }
  return [...byPartition.values()].sort((a, b) => a.partition - b.partition)
}
