import { WeirError } from '../../core/errors.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'
import type { LongCall } from '../protocol/slot-activity.ts'

/** The warning that a slot answers nothing, because it goes through the state of many keys: SLOT_BUSY. */
export function busySlot(
  slot: number,
  { node, done, total }: LongCall,
  { nodes }: StreamGraph,
): WeirError {
  const operator = nodes.find(({ id }) => id === node)
  const percent = Math.floor((100 * done) / Math.max(total, 1))
  return new WeirError(
    'SLOT_BUSY',
    `slot ${slot} is busy in operator "${operator?.name}": applyToKeyedState, ${percent} % of ${total} keys; until it is done, the slot takes no records, barriers or cancels`,
    { details: { slot, operator: operator?.uid ?? '', done, total } },
  )
}
