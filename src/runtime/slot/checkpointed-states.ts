import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import { keyGroupRangeOf } from '../../core/key-group.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { StreamNode } from '../../dataflow/stream-graph.ts'
import { openKeyedState } from '../../state/open-keyed-state.ts'
import { SlotMemory } from '../../state/slot-memory.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { segmentPath } from '../checkpoint/storage/paths.ts'
import { spillFolder } from '../configuration/state-directory.ts'
import type { SlotDeployment, SlotReport } from '../protocol/slot-messages.ts'
import { CheckpointedState, type SegmentTarget } from '../subtask/checkpointed-state.ts'
import { isKeyed, type JobPlan } from '../subtask/job-plan.ts'
import type { QueriedOperator } from './queries.ts'

/** Options of a slot's keyed state. */
export interface CheckpointedStatesOptions {
  readonly deployment: SlotDeployment
  readonly plan: JobPlan
  readonly clock: Clock
  readonly storage: CheckpointStorage | undefined
  /** Folder for spilled state of all jobs. */
  readonly stateDirectory: string
  /** The memory of the thread's state, where several jobs share the thread. @default that of the slot's part of the job */
  readonly memory?: SlotMemory | undefined
  /** Reports tables and queryable states to the main thread. */
  readonly report: (report: SlotReport) => void
  readonly warn: (warning: WeirError) => void
}

/**
 * The keyed state of one slot for one attempt: one state for every operator subtask that has keyed
 * state.
 */
export class CheckpointedStates {
  private readonly options: CheckpointedStatesOptions
  private readonly states = new Map<string, CheckpointedState>()
  private readonly folder: string
  private readonly budgetBytes: number
  private readonly memory: SlotMemory
  private closed = false

  constructor(options: CheckpointedStatesOptions) {
    const { deployment, plan, stateDirectory } = options
    const { jobId, generation, slot, slots, attempt, configuration } = deployment
    this.options = options
    this.folder = join(spillFolder(stateDirectory, jobId, generation), `${slot}-${attempt}`)
    const operators = keyedOperators(plan, slot)
    const slotBytes = Math.floor(configuration.stateMemoryBytes / slots)
    this.memory = options.memory ?? new SlotMemory(slotBytes)
    this.budgetBytes = Math.floor(slotBytes / Math.max(1, operators))
  }

  /** Opens the state of an operator subtask. Throws STORE_FAILED. */
  async open(node: StreamNode, subtask: number, metrics: MetricGroup): Promise<CheckpointedState> {
    const { deployment, clock, report } = this.options
    const { attempt, slot } = deployment
    const { maxParallelism } = node
    const keys = keySerializerOf(this.options.plan, node)
    const keyFormat = keys?.id
    const keyGroups = keyGroupRangeOf(subtask, node.parallelism, maxParallelism)
    const backend = await openKeyedState({
      operatorUid: node.uid,
      slot,
      keyGroups,
      maxParallelism,
      keyFormat,
      storeType: deployment.configuration.stateBackend,
      storeDirectory: join(this.folder, node.uid),
      warn: this.options.warn,
      memoryBudgetBytes: this.memory.evenShare ?? this.budgetBytes,
      reusesObjects: deployment.configuration.objectReuse,
      slotMemory: this.memory,
      clock,
      listener: {
        tableOpened: (share) => report({ kind: 'table-opened', attempt, share }),
        tableDropped: (state, version) =>
          report({ kind: 'table-dropped', attempt, operatorUid: node.uid, state, version }),
        queryableDeclared: (descriptor) => {
          const { queryableName, queryableKeys } = descriptor
          // Readers learn of a vector state by its row tables.
          if (descriptor.kind === 'vector' || queryableName === undefined) return
          const { kind, serializer } = descriptor
          const { first: firstKeyGroup, last: lastKeyGroup } = keyGroups
          const range = { firstKeyGroup, lastKeyGroup, maxParallelism }
          const share = {
            ...{ queryableName, operatorUid: node.uid, kind, slot },
            ...{ keyFormat, valueFormat: serializer.id },
            ...(kind === 'map' ? { mapKeyFormat: descriptor.keySerializer.id } : {}),
            ...(queryableKeys === undefined ? {} : { keys: queryableKeys }),
            ...range,
          }
          report({ kind: 'typed-state-declared', attempt, share })
        },
      },
      metrics,
    })
    const state = new CheckpointedState(backend, this.segmentTarget(node, subtask), keys)
    this.states.set(node.uid, state)
    if (this.closed) await state.close()
    return state
  }

  /** The state of an operator; undefined if it has no keyed state in this slot. */
  of(uid: string): CheckpointedState | undefined {
    return this.states.get(uid)
  }

  /** All states, for queries; undefined once they are closed. */
  backends(): readonly QueriedOperator[] | undefined {
    if (this.closed) return undefined
    return [...this.states].map(([operatorUid, { backend }]) => ({ operatorUid, state: backend }))
  }

  /** No key is selected any more: what a function began and does later must not use the state of another call. */
  deselectKeys(): void {
    for (const { backend } of this.states.values()) backend.deselectKey()
  }

  /** A checkpoint is durable. */
  completed(checkpointId: number): void {
    for (const state of this.states.values()) state.completed(checkpointId)
  }

  /** Releases memory and stores at once; files remain. */
  abandon(): void {
    this.closed = true
    for (const { backend } of this.states.values()) backend.close()
  }

  /**
   * Releases everything and deletes what was spilled; files that cannot be deleted remain until the
   * job's end.
   */
  async close(): Promise<void> {
    this.closed = true
    await Promise.allSettled([...this.states.values()].map((state) => state.close()))
    await Promise.allSettled([rm(this.folder, { recursive: true, force: true })])
  }

  private segmentTarget(node: StreamNode, subtask: number): SegmentTarget | undefined {
    const { storage } = this.options
    const { jobId, generation, attempt } = this.options.deployment
    if (storage === undefined) return undefined
    return {
      storage,
      pathOf: (number) =>
        segmentPath({ jobId, generation, attempt, uid: node.uid, subtask, number }),
    }
  }
}

function keyedOperators(plan: JobPlan, slot: number): number {
  return plan.chains
    .filter(({ chain }) => chain.parallelism > slot)
    .flatMap(({ chain }) => chain.members.filter((node) => isKeyed(node, chain.inEdges))).length
}

function keySerializerOf(plan: JobPlan, node: StreamNode): Serializer<unknown> | undefined {
  for (const { chain } of plan.chains) {
    for (const { to, partitioning } of chain.inEdges) {
      if (to === node.id && partitioning.kind === 'hash') return partitioning.keySerializer
    }
  }
  return undefined
}
