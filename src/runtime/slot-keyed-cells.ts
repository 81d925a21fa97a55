import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { segmentPath } from '../checkpoint/checkpoint-paths.ts'
import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { Clock } from '../core/clock.ts'
import { keyGroupRangeOf } from '../core/key-group.ts'
import type { MetricGroup } from '../core/metrics.ts'
import type { StreamNode } from '../dataflow/stream-graph.ts'
import type { StateDescriptor } from '../state/descriptors.ts'
import { createKeyedStateBackend } from '../state/slot-keyed-state.ts'
import { AnnouncingBackend } from './announcing-backend.ts'
import { isKeyed, type JobPlan } from './job-plan.ts'
import { KeyedStateCell, type SegmentTarget } from './keyed-state-cell.ts'
import type { QueryableDeclaration, SlotDeployment, SlotReport } from './slot-protocol.ts'
import type { QueriedBackend } from './slot-queries.ts'

/** What a slot's keyed state is opened with. */
export interface SlotKeyedCellsOptions {
  readonly deployment: SlotDeployment
  readonly plan: JobPlan
  readonly clock: Clock
  readonly storage: CheckpointStorage | undefined
  /** Folder for spilled state of all jobs. */
  readonly stateDirectory: string
  /** Tells the main thread about tables and queryable states. */
  readonly report: (report: SlotReport) => void
}

/** The keyed state of one slot for one attempt: a cell for every operator subtask that has some. */
export class SlotKeyedCells {
  private readonly options: SlotKeyedCellsOptions
  private readonly cells = new Map<string, KeyedStateCell>()
  private readonly folder: string
  private readonly budgetBytes: number
  private closed = false

  constructor(options: SlotKeyedCellsOptions) {
    const { deployment, plan, stateDirectory } = options
    const { jobId, slot, slots, attempt, configuration } = deployment
    this.options = options
    this.folder = join(stateDirectory, jobId, `${slot}-${attempt}`)
    const operators = keyedOperators(plan, slot)
    this.budgetBytes = Math.floor(configuration.stateMemoryBytes / slots / Math.max(1, operators))
  }

  /** Opens the state of an operator subtask. Throws STORE_FAILED. */
  async open(node: StreamNode, subtask: number, metrics: MetricGroup): Promise<KeyedStateCell> {
    const { deployment, clock, report } = this.options
    const { attempt, slot } = deployment
    const backend = await createKeyedStateBackend({
      operatorUid: node.uid,
      slot,
      keyGroups: keyGroupRangeOf(subtask, node.parallelism, node.maxParallelism),
      maxParallelism: node.maxParallelism,
      storeType: deployment.configuration.stateBackend,
      storeDirectory: join(this.folder, node.uid),
      memoryBudgetBytes: this.budgetBytes,
      clock,
      listener: {
        tableOpened: (share) => report({ kind: 'table-opened', attempt, share }),
        tableDropped: (state, version) =>
          report({ kind: 'table-dropped', attempt, operatorUid: node.uid, state, version }),
      },
      metrics,
    })
    const announced = new AnnouncingBackend(backend, (descriptor) =>
      report({
        kind: 'queryable-declared',
        attempt,
        declaration: declarationOf(node, slot, descriptor),
      }),
    )
    const cell = new KeyedStateCell(announced, this.segmentTarget(node, subtask))
    this.cells.set(node.uid, cell)
    if (this.closed) await cell.close()
    return cell
  }

  /** The state of an operator, if it has some in this slot. */
  of(uid: string): KeyedStateCell | undefined {
    return this.cells.get(uid)
  }

  /** Everything that can be queried; undefined once it is closed. */
  backends(): readonly QueriedBackend[] | undefined {
    if (this.closed) return undefined
    return [...this.cells].map(([operatorUid, { backend }]) => ({ operatorUid, backend }))
  }

  /** A checkpoint is durable. */
  completed(checkpointId: number): void {
    for (const cell of this.cells.values()) cell.completed(checkpointId)
  }

  /** Releases memory and stores at once; files stay. */
  abandon(): void {
    this.closed = true
    for (const { backend } of this.cells.values()) backend.close()
  }

  /** Releases everything and deletes what was spilled; what fails doing so is left to the job's end. */
  async close(): Promise<void> {
    this.closed = true
    await Promise.allSettled([...this.cells.values()].map((cell) => cell.close()))
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

function declarationOf(
  node: StreamNode,
  slot: number,
  descriptor: StateDescriptor,
): QueryableDeclaration {
  const vector = descriptor.kind === 'vector'
  return {
    queryableName: descriptor.queryableName!,
    operatorUid: node.uid,
    state: descriptor.name,
    stateKind: descriptor.kind,
    format: vector ? `vector/${descriptor.dimension}` : descriptor.serializer.id,
    keySuffix: vector ? (descriptor.keySuffix ?? '') : '',
    slot,
    parallelism: node.parallelism,
    maxParallelism: node.maxParallelism,
  }
}
