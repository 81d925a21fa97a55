import { WeirError } from '../../../core/errors.ts'
import { intersectKeyGroups, type KeyGroupRange } from '../../../core/key-group.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import type { SpanVisitor } from './block.ts'
import { KeySet } from './key-set.ts'
import { type OpenSegment, openSegment, visitSpans } from './reader.ts'
import { SegmentWriter } from './writer.ts'

/** Options of a merge. */
export interface CompactionJob {
  readonly storage: CheckpointStorage
  /** Neighbours in a chain, oldest first. */
  readonly inputs: readonly SegmentReference[]
  /** Key groups to take from them; the output replaces the inputs in these. */
  readonly keyGroups: KeyGroupRange
  /** Whether the chain has nothing older, so that deleted keys are dropped. */
  readonly full: boolean
  /** Names of the states to keep; entries of others, which were dropped, are left out. */
  readonly declared: ReadonlySet<string>
  /** Path of the output. */
  readonly path: string
  /** Bytes of input whose keys are held in memory at a time. @default 32 MiB */
  readonly windowBytes?: number
  readonly signal?: AbortSignal
}

/**
 * Merges segments into one, one window of key groups after the other. In a window it reads the newest
 * segment first and keeps the first entry of each key. Memory is bounded by the keys of a window, or of
 * one key group if that is larger. The output has the age of its newest input. Throws as the segment
 * reader and writer, and ILLEGAL_STATE when aborted.
 */
export async function compactSegments(job: CompactionJob): Promise<SegmentReference> {
  const { storage, path, keyGroups } = job
  const newestFirst = [...job.inputs].reverse()
  const opened = await Promise.all(newestFirst.map((input) => openSegment(storage, input)))
  const writer = new SegmentWriter({ storage, path, keyGroups })
  try {
    const seen = new KeySet()
    for (const window of windowsOf(opened, keyGroups, job.windowBytes ?? 32 * 1024 * 1024)) {
      seen.clear()
      const visit = mergeVisitor(seen, writer, job)
      for (const segment of opened) {
        if (job.signal?.aborted) throw new WeirError('ILLEGAL_STATE', 'the compaction was aborted')
        await visitSpans(segment, window, visit)
        await writer.whenReady()
      }
    }
    const { checkpointId, sequence } = newestFirst[0]!
    return await writer.finish({ checkpointId, sequence, full: job.full })
  } catch (error) {
    await writer.abort()
    throw error
  }
}

function mergeVisitor(
  seen: KeySet,
  writer: SegmentWriter,
  { full, declared }: Pick<CompactionJob, 'full' | 'declared'>,
): SpanVisitor {
  const numbers = new Map([...declared].map((state, number) => [state, number]))
  return (keyGroup, state, entry) => {
    const number = numbers.get(state)
    if (number === undefined) return
    if (!seen.add(keyGroup, number, entry.bytes, entry.keyAt, entry.keyLength)) return
    if (entry.valueLength >= 0 || !full) writer.appendSpan(keyGroup, state, entry)
  }
}

/** Divides the key groups into windows of about `windowBytes` of input. */
function windowsOf(
  opened: readonly OpenSegment[],
  keyGroups: KeyGroupRange,
  windowBytes: number,
): KeyGroupRange[] {
  const sizes = bytesByGroup(opened, keyGroups)
  const windows: KeyGroupRange[] = []
  let first = keyGroups.first
  let total = 0
  for (let group = keyGroups.first; group <= keyGroups.last; group++) {
    const bytes = sizes[group - keyGroups.first]!
    if (total > 0 && total + bytes > windowBytes) {
      windows.push({ first, last: group - 1 })
      first = group
      total = 0
    }
    total += bytes
  }
  windows.push({ first, last: keyGroups.last })
  return windows
}

/** Bytes per key group [key groups]; the bytes of a slice are divided evenly over its groups. */
function bytesByGroup(opened: readonly OpenSegment[], keyGroups: KeyGroupRange): Float64Array {
  const sizes = new Float64Array(keyGroups.last - keyGroups.first + 1)
  for (const { footer, reference } of opened) {
    const range = intersectKeyGroups(reference.keyGroups, keyGroups)
    if (range === undefined) continue
    for (const slice of footer.blocks.flatMap((block) => block.slices)) {
      const each = slice.bytes / (slice.lastGroup - slice.firstGroup + 1)
      const last = Math.min(slice.lastGroup, range.last)
      for (let group = Math.max(slice.firstGroup, range.first); group <= last; group++) {
        sizes[group - keyGroups.first]! += each
      }
    }
  }
  return sizes
}
