import { keyGroupRangeOf } from '../core/key-group.ts'
import { MetricGroup } from '../core/metrics.ts'
import { openKeyedState } from '../state/open-keyed-state.ts'
import type { StateDescriptor } from '../state/port/descriptors.ts'
import type { KeyedStateBackend } from '../state/port/keyed-state-backend.ts'
import type { ManualClock } from './manual-clock.ts'

/** The subtask whose state it is, and the uid of the operator. */
export interface HarnessStateOptions {
  readonly subtask?: number
  readonly parallelism?: number
  readonly maxParallelism?: number
  readonly name?: string
}

/** Opens the keyed state of one operator of a harness, in memory. */
export async function openHarnessState(
  options: HarnessStateOptions,
  clock: ManualClock,
  queryableDeclared: (descriptor: StateDescriptor) => void,
): Promise<KeyedStateBackend> {
  const { subtask = 0, parallelism = 1, maxParallelism = 128, name = 'operator' } = options
  return await openKeyedState({
    operatorUid: name,
    slot: subtask,
    keyGroups: keyGroupRangeOf(subtask, parallelism, maxParallelism),
    maxParallelism,
    storeType: 'heap',
    storeDirectory: '',
    memoryBudgetBytes: 2 ** 26,
    clock,
    listener: { tableOpened() {}, tableDropped() {}, queryableDeclared },
    metrics: new MetricGroup(),
  })
}
