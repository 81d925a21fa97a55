import type { MetricGroup } from '../../core/metrics.ts'
import { OVERTAKEN_RECORDS } from '../checkpoint/protocol/checkpoint-types.ts'
import type { SlotDeployment } from '../protocol/slot-messages.ts'
import { type BuiltSubtask, buildSubtask, type SubtaskSite } from '../subtask/builder.ts'
import type { JobPlan } from '../subtask/job-plan.ts'
import { OperatorStateMemory } from '../subtask/operator-state-memory.ts'
import type { SubtaskHost } from '../subtask/subtask.ts'
import type { CheckpointedStates } from './checkpointed-states.ts'
import type { SlotExchange } from './exchange.ts'

/** Parts of a slot that its subtasks are connected to. */
export interface SlotParts {
  readonly deployment: SlotDeployment
  readonly metrics: MetricGroup
  readonly host: SubtaskHost
  readonly states: CheckpointedStates
  readonly exchange: SlotExchange
}

/** The subtasks of a slot, and of those that report progress the sources that they are behind. */
export interface BuiltSlot {
  readonly built: readonly BuiltSubtask[]
  readonly reporters: readonly (readonly number[])[]
}

/** Builds the slot's subtask of every chain; nothing is opened but keyed state. */
export async function buildSlot(plan: JobPlan, parts: SlotParts): Promise<BuiltSlot> {
  const { slot } = parts.deployment
  const site = siteOf(plan, parts)
  const built: BuiltSubtask[] = []
  const reporters: (readonly number[])[] = []
  for (const planned of plan.chains) {
    if (slot >= planned.chain.parallelism) continue
    const next = await buildSubtask(planned, slot, site)
    const keyed = next.subtask.operators.some((task) => task.keyedState !== undefined)
    if (keyed) next.subtask.progressReporter = reporters.push(planned.sources) - 1
    built.push(next)
  }
  return { built, reporters }
}

function siteOf(
  plan: JobPlan,
  { deployment, metrics, host, states, exchange }: SlotParts,
): SubtaskSite {
  const { configuration, slot, restoredCheckpoint } = deployment
  const restore = new Map(deployment.restore.map((entry) => [entry.uid, entry]))
  return {
    slot,
    network: configuration.network,
    autoWatermarkIntervalMs: configuration.autoWatermarkIntervalMs,
    restoredCheckpoint,
    metrics,
    host,
    openKeyedState: (node, subtask, group) => states.open(node, subtask, group),
    unaligned: configuration.checkpoints.unaligned,
    restoresSources: (sources) => sources.every((source) => restore.has(plan.sources[source]!.uid)),
    allowNonRestoredState: configuration.checkpoints.allowNonRestoredState,
    reusesObjects: configuration.objectReuse,
    recordsInFlight: ({ uid }) => restore.get(uid)?.operatorState.get(OVERTAKEN_RECORDS) ?? [],
    operatorState: (node) => new OperatorStateMemory(restore.get(node.uid)?.operatorState),
    sender: (toSubtask) => (message) => exchange.send(toSubtask, message),
    creditReturn: (fromSubtask) => (channel, space) => exchange.credit(fromSubtask, channel, space),
    addOutput: (channel) => exchange.addOutput(channel),
    addInput: (channel) => exchange.addInput(channel),
  }
}
