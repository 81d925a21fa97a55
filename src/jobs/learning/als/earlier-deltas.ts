import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import type { OperatorStateStore } from '../../../operators/port/operator-state.ts'

const STATE = 'earlier-deltas'
/** Versions that are remembered: deltas of a version end when the next ones are learned on. */
const MOST_VERSIONS = 4
/** Starts of jobs that are remembered for a version: what the first of them found was read long ago. */
const MOST_STARTS = 4

/** What a job that began to learn on a version, or to go on with it, found of it in the deltas topic. */
export interface FoundDeltas {
  /** By partition of the deltas topic, where its own deltas may begin. */
  readonly ends: readonly number[]
  /** By partition of the observations, the first offset that it learns itself. */
  readonly next: readonly number[]
}

/** A place in a topic. */
interface Place {
  readonly partition: number
  readonly offset: number
}

/**
 * The deltas of learners before this one, where one of them or this one sends sums. A learner without a checkpoint goes on
 * behind what the rows of its version include, and one that is started from an older checkpoint behind what that includes. It
 * learns the ratings from there on again. Deltas of these ratings from before must then be left out, or the items would have
 * them twice: sums of the same ratings are not alike, so the first one cannot count. Deltas of earlier ratings stay: they are
 * not sent again. A sum names its last rating, and no sum is of ratings from both sides of a checkpoint, so that one stands for
 * all of them.
 */
export class EarlierDeltas {
  private readonly operatorState: OperatorStateStore
  private readonly versions = new Map<number, readonly FoundDeltas[]>()

  constructor(operatorState: OperatorStateStore) {
    this.operatorState = operatorState
    for (const entry of operatorState.restored(STATE)) {
      const reader = new ByteReader(entry)
      const version = reader.varuint()
      this.found(version, { ends: readOffsets(reader), next: readOffsets(reader) })
    }
  }

  /** This job begins to learn on a version, or to go on with it, and has found this. */
  found(version: number, found: FoundDeltas): void {
    const others = (this.versions.get(version) ?? []).filter((one) => !isSame(one, found))
    this.versions.delete(version)
    this.versions.set(version, [...others, found].slice(-MOST_STARTS))
    for (const old of [...this.versions.keys()].slice(0, -MOST_VERSIONS)) this.versions.delete(old)
  }

  /** Whether a delta is of ratings that this job learns itself, sent by a learner before it. */
  leavesOut(version: number, delta: Place, rating: Place): boolean {
    for (const { ends, next } of this.versions.get(version) ?? []) {
      const isEarlier = delta.offset < (ends[delta.partition] ?? 0)
      if (isEarlier && rating.offset >= (next[rating.partition] ?? 0)) return true
    }
    return false
  }

  /** Puts them into the next checkpoint. */
  snapshot(): void {
    if (this.versions.size === 0) return
    const entries = [...this.versions].flatMap(([version, all]) =>
      all.map(({ ends, next }) => {
        const writer = new ByteWriter()
        writer.varuint(version)
        writeOffsets(writer, ends)
        writeOffsets(writer, next)
        return writer.toBytes()
      }),
    )
    this.operatorState.update(STATE, 'union', entries)
  }
}

function isSame(a: FoundDeltas, b: FoundDeltas): boolean {
  return String(a.ends) === String(b.ends) && String(a.next) === String(b.next)
}

function writeOffsets(writer: ByteWriter, offsets: readonly number[]): void {
  writer.varuint(offsets.length)
  for (const offset of offsets) writer.int53(offset)
}

function readOffsets(reader: ByteReader): number[] {
  return Array.from({ length: reader.varuint() }, () => reader.int53())
}
