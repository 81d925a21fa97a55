import type { MetricSnapshot } from '../../core/metrics.ts'
import { InputProcessor } from '../subtask/input-processor.ts'
import type { Subtask } from '../subtask/subtask.ts'

/**
 * Records that the subtasks of one operator have received since their start, estimated, by the number of
 * the key group; empty for an operator without keyed input.
 */
export function keyGroupRecords(subtasks: readonly Subtask[], uid: string): MetricSnapshot {
  const found: Record<string, number> = {}
  for (const { input, operators } of subtasks) {
    if (!(input instanceof InputProcessor) || operators[0]?.node.uid !== uid) continue
    input.keyGroupRecords?.forEach((records, group) => {
      if (records > 0) found[group] = records
    })
  }
  return found
}
