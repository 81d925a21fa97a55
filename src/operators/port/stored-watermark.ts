import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { intersectKeyGroups, type KeyGroupRange, keyGroupRangeOf } from '../../core/key-group.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import type { OperatorContext } from './operator.ts'
import { ABOUT_STATE } from './operator-state.ts'

/*
 * The watermark of an operator subtask with keyed state, an entry of its operator state:
 *
 *   | first key group: varuint | last key group: varuint | watermark: int53, ms |
 */

/** Name of the operator state that holds the watermarks of the subtasks. */
export const STORED_WATERMARKS = `${ABOUT_STATE}watermarks`

/** The entries of a subtask; none before the first watermark. */
export function watermarkEntries(
  { first, last }: KeyGroupRange,
  watermark: number,
): readonly Uint8Array[] {
  if (watermark === MIN_TIMESTAMP) return []
  const writer = new ByteWriter(16)
  writer.varuint(first)
  writer.varuint(last)
  writer.int53(watermark)
  return [writer.toBytes()]
}

/** What the stored watermarks say to a subtask that restores keys of several subtasks. */
export interface RestoredWatermark {
  /** All keys had seen it; MIN_TIMESTAMP where that is not known, and after the end of all inputs. */
  readonly watermark: number
  /** No key had seen more: timers of keyed state up to it may have fired. MIN_TIMESTAMP on a fresh start. */
  readonly firedUpTo: number
}

/** The watermark of a subtask at its start, by what its checkpoint holds. Throws MALFORMED_DATA. */
export function restoredWatermark({
  subtask,
  parallelism,
  maxParallelism,
  operatorState,
}: Pick<
  OperatorContext,
  'subtask' | 'parallelism' | 'maxParallelism' | 'operatorState'
>): RestoredWatermark {
  if (!operatorState.isRestored) return { watermark: MIN_TIMESTAMP, firedUpTo: MIN_TIMESTAMP }
  const own = keyGroupRangeOf(subtask, parallelism, maxParallelism)
  let covered = 0
  let watermark = MAX_TIMESTAMP
  let firedUpTo = MIN_TIMESTAMP
  for (const entry of operatorState.restored(STORED_WATERMARKS)) {
    const reader = new ByteReader(entry)
    const of = { first: reader.varuint(), last: reader.varuint() }
    const shared = intersectKeyGroups(of, own)
    if (shared === undefined) continue
    const stored = reader.int53()
    covered += sizeOf(shared)
    watermark = Math.min(watermark, stored)
    firedUpTo = Math.max(firedUpTo, stored)
  }
  // Checkpoints of former releases have no watermarks.
  if (covered < sizeOf(own)) return { watermark: MIN_TIMESTAMP, firedUpTo: MAX_TIMESTAMP }
  return { watermark: watermark === MAX_TIMESTAMP ? MIN_TIMESTAMP : watermark, firedUpTo }
}

function sizeOf({ first, last }: KeyGroupRange): number {
  return last - first + 1
}
