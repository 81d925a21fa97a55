import { sourceOfPlace } from '../../../core/position.ts'
import {
  type OpenSegment,
  openSegment,
  visitSpans,
} from '../../../runtime/checkpoint/segment/reader.ts'
import type { StoredCheckpoint } from '../../../runtime/job/end.ts'
import { type EntrySpan, keyOfSpan, valueOfSpan } from '../../../state/port/change.ts'
import {
  VECTOR_ROW_HEADER_BYTES,
  VECTOR_ROW_PARTITION_AT,
  VECTOR_ROW_UPDATE_COUNT_AT,
} from '../../../state/rows/codec.ts'
import type { LearnedModel } from './learned-model.ts'

/** A row of a checkpoint that was learned. */
export interface LearnedRow {
  /** Key in the model topic, without version. */
  readonly key: string
  /** The row as it is in the topic: float32, little-endian. */
  readonly floats: Uint8Array
  /** About how many ratings the row stands for; undefined where no ratings are counted. */
  readonly ratings: number | undefined
  /** What is kept beside the row, float32, little-endian; undefined where nothing is. */
  readonly memory?: Uint8Array | undefined
}

/** Which rows of a checkpoint are read. */
export interface ChangedRowsOptions {
  readonly checkpoint: StoredCheckpoint
  readonly model: LearnedModel
  readonly version: number
  /** Checkpoint that this process wrote back last; 0 before. Older files have no newer rows. */
  readonly after: number
  /** All rows of the version, also those that were never learned; `after` is then 0. @default false */
  readonly all?: boolean
}

/** Parts in which the key groups are read, so that a part of the rows is in memory. */
const PARTS = 16
const decoder = new TextDecoder()

/**
 * The rows of a version, all or those that were learned since the checkpoint `after`, as a checkpoint has them: one cut
 * over all rows. Some that were learned before may be among them. Throws CHECKPOINT_NOT_FOUND when a later checkpoint
 * has deleted a file of this one.
 */
export async function* changedRows(options: ChangedRowsOptions): AsyncGenerator<LearnedRow> {
  const { checkpoint, model, after } = options
  const { manifest, storage } = checkpoint
  const owner = manifest.operators.find(({ uid }) => uid === model.owner)
  if (owner === undefined) return
  const segments = await Promise.all(owner.segments.map((segment) => openSegment(storage, segment)))
  const newestFirst = segments.reverse()
  const counted = model.states.some(({ evidence }) => evidence !== undefined)
  const read = counted ? newestFirst : newestFirst.filter((each) => isNewer(each, after))
  const size = Math.ceil(owner.maxParallelism / PARTS)
  for (let first = 0; first < owner.maxParallelism; first += size) {
    const part = new RowsPart(options)
    const last = Math.min(owner.maxParallelism, first + size) - 1
    for (const segment of read) {
      const hasRows = isNewer(segment, after)
      await visitSpans(segment, { first, last }, (_group, state, entry) =>
        part.visit(state, entry, hasRows),
      )
    }
    yield* part.rows()
  }
}

/** Whether a row was written last by an observation, not by the model topic, which is the first source. */
function isLearned({ view, valueAt }: EntrySpan): boolean {
  return sourceOfPlace(view.getInt32(valueAt + VECTOR_ROW_PARTITION_AT, true)) > 0
}

/** Whether a segment may have rows that the topic lacks. */
function isNewer({ reference }: OpenSegment, after: number): boolean {
  return reference.checkpointId > after
}

/** The entries of some key groups: the first one of a key counts. */
class RowsPart {
  private readonly options: ChangedRowsOptions
  private readonly rowStates: ReadonlyMap<string, SideStates>
  private readonly evidenceStates: ReadonlySet<string>
  private readonly memoryStates: ReadonlySet<string>
  /** By state and key; undefined for rows that are deleted or that the topic has. */
  private readonly found = new Map<string, FoundRow | undefined>()
  private readonly evidence = new Map<string, number>()
  private readonly memory = new Map<string, Uint8Array | undefined>()

  constructor(options: ChangedRowsOptions) {
    const { model, version } = options
    this.options = options
    const named = (state: string | undefined): string | undefined =>
      state === undefined ? undefined : `${state}@${version}`
    this.rowStates = new Map(
      model.states.map(({ state, evidence, memory }) => [
        named(state)!,
        { evidence: named(evidence), memory: named(memory) },
      ]),
    )
    const sides = [...this.rowStates.values()]
    const present = (states: readonly (string | undefined)[]): ReadonlySet<string> =>
      new Set(states.filter((state) => state !== undefined))
    this.evidenceStates = present(sides.map(({ evidence }) => evidence))
    this.memoryStates = present(sides.map(({ memory }) => memory))
  }

  visit(state: string, entry: EntrySpan, hasRows: boolean): void {
    if (this.evidenceStates.has(state)) this.visitEvidence(state, entry)
    // A memory may be older than what was learned of its row.
    else if (this.memoryStates.has(state)) this.visitMemory(state, entry)
    else if (hasRows && this.rowStates.has(state)) this.visitRow(state, entry)
  }

  *rows(): Iterable<LearnedRow> {
    const { model } = this.options
    for (const row of this.found.values()) {
      if (row === undefined) continue
      const { key, floats, sides } = row
      const ratings =
        sides.evidence === undefined
          ? undefined
          : ratingsOf(row, this.evidence.get(nameOf(sides.evidence, key)) ?? 0)
      const memory =
        sides.memory === undefined ? undefined : this.memory.get(nameOf(sides.memory, key))
      yield { key: model.topicKey(key), floats, ratings, memory }
    }
  }

  private visitRow(state: string, entry: EntrySpan): void {
    const key = decoder.decode(keyOfSpan(entry))
    const name = nameOf(state, key)
    if (!this.found.has(name)) this.found.set(name, this.learned(state, key, entry))
  }

  private learned(state: string, key: string, entry: EntrySpan): FoundRow | undefined {
    const bytes = valueOfSpan(entry)
    if (bytes === undefined) return undefined
    const isPublished = !isLearned(entry)
    if (isPublished && this.options.all !== true) return undefined
    return {
      key,
      floats: bytes.slice(VECTOR_ROW_HEADER_BYTES),
      updates: entry.view.getUint32(entry.valueAt + VECTOR_ROW_UPDATE_COUNT_AT, true),
      isPublished,
      sides: this.rowStates.get(state)!,
    }
  }

  private visitMemory(state: string, entry: EntrySpan): void {
    const name = nameOf(state, decoder.decode(keyOfSpan(entry)))
    if (this.memory.has(name)) return
    this.memory.set(name, valueOfSpan(entry)?.slice(VECTOR_ROW_HEADER_BYTES))
  }

  private visitEvidence(state: string, entry: EntrySpan): void {
    const name = nameOf(state, decoder.decode(keyOfSpan(entry)))
    if (this.evidence.has(name) || entry.valueLength < 0) return
    const ratings = entry.view.getFloat32(entry.valueAt + VECTOR_ROW_HEADER_BYTES, true)
    this.evidence.set(name, ratings)
  }
}

/** The ratings that a row stands for; `trained`: those of its training, 0 for a row without a count. */
function ratingsOf({ updates, isPublished }: FoundRow, trained: number): number | undefined {
  // Of the writes of a row of the training one is its publication.
  if (isPublished) return trained === 0 ? undefined : trained
  return trained === 0 ? updates : trained + updates - 1
}

interface FoundRow {
  readonly key: string
  readonly floats: Uint8Array
  readonly updates: number
  /** Whether it is as the topic has it: nothing was learned of it. */
  readonly isPublished: boolean
  readonly sides: SideStates
}

/** The states beside a state of rows, with the version. */
interface SideStates {
  readonly evidence: string | undefined
  readonly memory: string | undefined
}

function nameOf(state: string, key: string): string {
  return `${state}/${key}`
}
