import { type MergedAccumulator, mergeAccumulators } from '../../../operators/accumulators/merge.ts'
import type { AccumulatorPart } from '../../../operators/port/accumulator.ts'
import type { AccumulatorSnapshot, AccumulatorsSnapshot } from '../port/job-snapshot.ts'

/** The accumulators of a job, of its vertices and of their subtasks, as texts. */
export function accumulatorsSnapshot(parts: readonly AccumulatorPart[]): AccumulatorsSnapshot {
  return {
    job: merged(parts),
    vertices: byKey(parts, ({ uid }) => uid).map(([uid, ofVertex]) => ({
      uid,
      accumulators: merged(ofVertex),
      subtasks: byKey(ofVertex, ({ subtask }) => subtask).map(([subtask, ofSubtask]) => ({
        subtask,
        accumulators: merged(ofSubtask),
      })),
    })),
  }
}

function byKey<K>(
  parts: readonly AccumulatorPart[],
  keyOf: (part: AccumulatorPart) => K,
): readonly (readonly [K, readonly AccumulatorPart[]])[] {
  return [...Map.groupBy(parts, keyOf)]
}

function merged(parts: readonly AccumulatorPart[]): readonly AccumulatorSnapshot[] {
  return mergeAccumulators(parts).map(textOf)
}

function textOf({ name, type, value, failure }: MergedAccumulator): AccumulatorSnapshot {
  return { name, type, value: failure === undefined ? valueText(value) : failure.message }
}

/** A value as text, lists and maps as Java writes them: `[1, 2]`, `{1=2}`. */
function valueText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`
  if (value instanceof Set) return valueText([...value])
  if (value instanceof Map) {
    return `{${Array.from(value, ([key, one]) => `${valueText(key)}=${valueText(one)}`).join(', ')}}`
  }
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}
