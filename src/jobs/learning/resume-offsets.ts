import { decodeOrigin, requireSameTopic } from '../../connectors/records/topic-origin.ts'
import { WeirError } from '../../core/errors.ts'
import type { ChainSource } from '../../operators/port/operator.ts'
import type { SourceSplit } from '../../operators/port/source.ts'

/** Where a version that goes live resumes in a partition of the observations. */
export interface ResumeOffset {
  readonly partition: number
  /** First offset that the topic holds. */
  readonly start: number
  /** First offset that the version has not learned. */
  readonly next: number
}

/** One partition of the observations. */
interface ObservedPartition {
  /** The version that its observations are learned on; 0 before the first. */
  version: number
  /** Earlier versions, with the first offset that each has not learned. */
  readonly left: Map<number, number>
  /** The topic that the offsets belong to, as the source stores it; undefined where it says none. */
  origin?: string | undefined
}

const STATE = 1
const STATE_WITH_ORIGIN = 2
/** Earlier versions that are tracked: a rollback over more of them leaves a gap. */
const MOST_EARLIER = 16

/**
 * The version that the observations of each partition are learned on, and where each version resumes.
 * Every version learns all observations once, from the end of those that it was trained on: a switch
 * moves the source to the first offset that the version has not learned, and a version that goes live
 * again resumes where it was left.
 */
export class ResumeOffsets {
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

  /**
   * Switches to a version; moves the source in the partitions where the version resumes elsewhere. Throws TOPIC_CHANGED
   * if the state is of another topic: the source can be restored without its positions, this operator and the deltas
   * seen not.
   */
  switchTo(version: number, resumeOffsets: readonly ResumeOffset[]): void {
    const moved: SourceSplit[] = []
    for (const split of this.source.positions()) {
      const observed = this.of(split.partition, version)
      if (observed.origin !== undefined && split.origin !== undefined) {
        requireSameTopic(decodeOrigin(observed.origin), decodeOrigin(split.origin))
      }
      observed.origin = split.origin ?? observed.origin
      const resume = resumeOffsets.find(({ partition }) => partition === split.partition)
      const next = this.nextOf(split, version, resume)
      if (next !== split.nextOffset) moved.push({ ...split, nextOffset: next })
    }
    if (moved.length > 0) this.source.seek(moved)
  }

  /** The next offset of a partition that switches to `version`. */
  private nextOf(
    { partition, nextOffset }: SourceSplit,
    version: number,
    resume: ResumeOffset | undefined,
  ): number {
    const observed = this.of(partition, version)
    if (observed.version === version) return nextOffset
    if (observed.version > 0) track(observed, nextOffset)
    observed.version = version
    const next = observed.left.get(version) ?? resume?.next ?? nextOffset
    return Math.max(next, resume?.start ?? 0)
  }

  /** The state of a partition; one from a checkpoint without resume offsets was learned on `version`. */
  private of(partition: number, version: number): ObservedPartition {
    let observed = this.partitions.get(partition)
    if (observed === undefined) {
      const isRestored = this.source.isRestored(partition)
      observed = { version: isRestored ? version : 0, left: new Map() }
      this.partitions.set(partition, observed)
    }
    return observed
  }

  /** A partition that was discovered after the switch is learned on a version. */
  learns(partition: number, version: number): void {
    this.of(partition, version).version = version
  }

  /** Entries of the partitions that this subtask reads, for operator state of redistribution `union`. */
  snapshot(): Uint8Array[] {
    return this.source
      .positions()
      .filter(
        ({ partition }) => this.partitions.has(partition) || !this.source.isRestored(partition),
      )
      .map(({ partition, origin }) => {
        const observed = this.of(partition, 0)
        return encodePartition(partition, { ...observed, origin: observed.origin ?? origin })
      })
  }
}

/**
 * By partition, the first offset that a version has not learned, in entries of `ResumeOffsets.snapshot`.
 * `positions`: next offsets of the source in the same checkpoint. Partitions that the version never
 * learned on are missing.
 */
export function learnedOffsets(
  entries: Iterable<Uint8Array>,
  positions: ReadonlyMap<number, number>,
): (version: number) => ReadonlyMap<number, number> {
  const partitions = [...entries].map(decodePartition)
  return (version) => {
    const offsets = new Map<number, number>()
    for (const { partition, version: current, left } of partitions) {
      const next = current === version ? positions.get(partition) : left.get(version)
      if (next !== undefined) offsets.set(partition, next)
    }
    return offsets
  }
}

/** Versions that observations were learned on, in entries of `ResumeOffsets.snapshot`. */
export function learnedVersions(entries: Iterable<Uint8Array>): readonly number[] {
  const versions = new Set<number>()
  for (const { version, left } of [...entries].map(decodePartition)) {
    for (const each of [version, ...left.keys()]) if (each > 0) versions.add(each)
  }
  return [...versions].sort((a, b) => a - b)
}

/** Records where the version of a partition was left. */
function track({ version, left }: ObservedPartition, next: number): void {
  left.delete(version)
  left.set(version, next)
  for (const oldest of left.keys()) {
    if (left.size <= MOST_EARLIER) return
    left.delete(oldest)
  }
}

/**
 * Format 1, where the source says no topic:
 *
 *   | format u8 | partition u32 | version u32 | { earlier version u32 | its next offset f64 } ... |
 *
 * Format 2, with the topic (`SourceSplit.origin`):
 *
 *   | format u8 | partition u32 | version u32 | length of the topic u32 | topic UTF-8 | { ... } ... |
 */
function encodePartition(
  partition: number,
  { version, left, origin }: ObservedPartition,
): Uint8Array {
  const text = origin === undefined ? undefined : Buffer.from(origin)
  const start = text === undefined ? 9 : 13 + text.length
  const bytes = new Uint8Array(start + 12 * left.size)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, text === undefined ? STATE : STATE_WITH_ORIGIN)
  view.setUint32(1, partition, true)
  view.setUint32(5, version, true)
  if (text !== undefined) {
    view.setUint32(9, text.length, true)
    bytes.set(text, 13)
  }
  let at = start
  for (const [before, next] of left) {
    view.setUint32(at, before, true)
    view.setFloat64(at + 4, next, true)
    at += 12
  }
  return bytes
}

function decodePartition(bytes: Uint8Array): ObservedPartition & { readonly partition: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const format = view.getUint8(0)
  if (format !== STATE && format !== STATE_WITH_ORIGIN) {
    throw new WeirError('UNSUPPORTED_VERSION', `resume offsets of format ${format}`)
  }
  const length = format === STATE ? undefined : view.getUint32(9, true)
  const start = length === undefined ? 9 : 13 + length
  const left = new Map<number, number>()
  for (let at = start; at < bytes.length; at += 12) {
    left.set(view.getUint32(at, true), view.getFloat64(at + 4, true))
  }
  const place = { partition: view.getUint32(1, true), version: view.getUint32(5, true), left }
  if (length === undefined) return place
  return { ...place, origin: new TextDecoder().decode(bytes.subarray(13, start)) }
}
