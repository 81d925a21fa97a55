import { WeirError } from '../core/errors.ts'
import type { ChainSource } from '../operators/operator.ts'
import type { SourceSplit } from '../operators/source.ts'

/** How far a version has learned a partition of the observations before it went live. */
export interface LearningPlace {
  readonly partition: number
  /** First offset that the topic still holds. */
  readonly start: number
  /** First offset that the version has not learned. */
  readonly next: number
}

/** One partition of the observations. */
interface ObservedPartition {
  /** The version that its ratings are learned on; 0 before the first. */
  version: number
  /** Versions that were learned on before, with the first offset that each has not learned. */
  readonly left: Map<number, number>
}

const STATE = 1
/** Versions before that are remembered: so many a rollback can go back without a gap. */
const REMEMBERED = 16

/**
 * Which version the ratings of each partition are learned on, and where each version goes on: a switch
 * is an offset in every partition. Each version learns all observations from the end of what it was
 * trained on, once: the source goes back to where the version that goes live has ended, and a version
 * that goes live again goes on where it was left.
 */
export class LearningPlaces {
  private readonly source: ChainSource
  private readonly partitions = new Map<number, ObservedPartition>()

  /** `restored`: entries of `snapshot`, of this and other subtasks. */
  constructor(source: ChainSource, restored: readonly Uint8Array[]) {
    this.source = source
    for (const entry of restored) {
      const { partition, ...state } = decodePartition(entry)
      this.partitions.set(partition, state)
    }
  }

  /** Goes over to a version: the source goes on where it has ended, for those partitions where it did. */
  switchTo(version: number, places: readonly LearningPlace[]): void {
    const moved: SourceSplit[] = []
    for (const split of this.source.positions()) {
      const place = places.find(({ partition }) => partition === split.partition)
      const next = this.leave(split, version, place)
      if (next !== split.nextOffset) moved.push({ ...split, nextOffset: next })
    }
    if (moved.length > 0) this.source.seek(moved)
  }

  /** The next offset of a partition that goes over to `version`. */
  private leave(
    { partition, nextOffset }: SourceSplit,
    version: number,
    place: LearningPlace | undefined,
  ): number {
    const observed = this.of(partition, version)
    if (observed.version === version) return nextOffset
    if (observed.version > 0) remember(observed, nextOffset)
    observed.version = version
    const next = observed.left.get(version) ?? place?.next ?? nextOffset
    return Math.max(next, place?.start ?? 0)
  }

  /** What is known of a partition; one of a checkpoint that told nothing was learned on `version`. */
  private of(partition: number, version: number): ObservedPartition {
    let observed = this.partitions.get(partition)
    if (observed === undefined) {
      const isRestored = this.source.isRestored(partition)
      observed = { version: isRestored ? version : 0, left: new Map() }
      this.partitions.set(partition, observed)
    }
    return observed
  }

  /** Ratings of a partition are learned on a version, the first one where it was found later. */
  learns(partition: number, version: number): void {
    this.of(partition, version).version = version
  }

  /** Entries of the partitions that this subtask reads, to be spread as a union. */
  snapshot(): Uint8Array[] {
    return this.source
      .positions()
      .filter(
        ({ partition }) => this.partitions.has(partition) || !this.source.isRestored(partition),
      )
      .map(({ partition }) => encodePartition(partition, this.of(partition, 0)))
  }
}

function remember({ version, left }: ObservedPartition, next: number): void {
  left.delete(version)
  left.set(version, next)
  for (const oldest of left.keys()) {
    if (left.size <= REMEMBERED) return
    left.delete(oldest)
  }
}

/** | format u8 | partition u32 | version u32 | { version before u32 | its next offset f64 } ... | */
function encodePartition(partition: number, { version, left }: ObservedPartition): Uint8Array {
  const bytes = new Uint8Array(9 + 12 * left.size)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, STATE)
  view.setUint32(1, partition, true)
  view.setUint32(5, version, true)
  let at = 9
  for (const [before, next] of left) {
    view.setUint32(at, before, true)
    view.setFloat64(at + 4, next, true)
    at += 12
  }
  return bytes
}

function decodePartition(bytes: Uint8Array): ObservedPartition & { readonly partition: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint8(0) !== STATE) {
    throw new WeirError('UNSUPPORTED_VERSION', `learning places of format ${view.getUint8(0)}`)
  }
  const left = new Map<number, number>()
  for (let at = 9; at < bytes.length; at += 12) {
    left.set(view.getUint32(at, true), view.getFloat64(at + 4, true))
  }
  return { partition: view.getUint32(1, true), version: view.getUint32(5, true), left }
}
