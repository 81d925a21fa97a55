import { WeirError } from '../../core/errors.ts'
import type { StreamGraph, StreamNode } from '../../dataflow/stream-graph.ts'
import type { ProgressBoard } from '../../state/catalog/progress-board.ts'
import type { OperatorCoordinators } from '../protocol/operator-coordinator.ts'
import type { SlotCommand, SlotReport } from '../protocol/slot-messages.ts'
import { AlignmentGroups } from '../source/alignment-groups.ts'
import { HeldBackSources, joinedSources } from '../source/silence.ts'
import { TableLoads } from '../source/table-loads.ts'
import type { JobExecutionOptions } from './execution-options.ts'

/** What the coordinators of one attempt may do. */
export interface CoordinatedAttempt {
  readonly attempt: number
  /** Sends a command to every slot. */
  toSlots(make: (attempt: number) => SlotCommand): void
  /** See `OperatorCoordinatorContext`. */
  readersAreUpToDate(): boolean
}

/**
 * The operator coordinators of one job: started with every attempt, notified of their subtasks' events.
 */
export class JobCoordinators {
  private readonly graph: StreamGraph
  private readonly board: ProgressBoard
  private readonly coordinators: OperatorCoordinators
  private readonly alignment: AlignmentGroups
  private readonly heldBack: HeldBackSources
  private readonly tables: TableLoads

  /** `warn` gets the notices about sources that are held back. Throws INVALID_GRAPH when an operator asks a model and the job has none. */
  constructor(
    board: ProgressBoard,
    { graph, coordinators, models, clock }: JobExecutionOptions,
    warn: (notice: WeirError) => void,
  ) {
    this.graph = graph
    this.board = board
    const asking = graph.nodes.filter((node) => node.model !== undefined)
    const ofModels = asking.map((node) => [node.uid, (models ?? withoutModels(node))()] as const)
    this.alignment = new AlignmentGroups(graph.nodes)
    this.heldBack = new HeldBackSources(clock, joinedSources(graph), warn)
    this.tables = new TableLoads(graph, clock, warn)
    this.coordinators = { ...coordinators, ...Object.fromEntries(ofModels) }
  }

  /** Starts the coordinators of an attempt. */
  start({ attempt, toSlots, readersAreUpToDate }: CoordinatedAttempt): void {
    const sendTo = (uid: string, subtask: number | undefined, event: unknown): void =>
      toSlots((current) => ({
        kind: 'operator-event',
        attempt: current,
        uid,
        subtask,
        event,
      }))
    this.heldBack.start()
    this.alignment.start((uid, allowed) => sendTo(uid, undefined, allowed))
    this.tables.start((uid, event) => sendTo(uid, undefined, event))
    for (const [uid, coordinator] of Object.entries(this.coordinators)) {
      const node = this.graph.nodes.find((candidate) => candidate.uid === uid)
      if (node === undefined) continue
      coordinator.start({
        operatorUid: uid,
        parallelism: node.parallelism,
        attempt,
        board: this.board,
        readersAreUpToDate,
        sendEvent: (subtask, event) => sendTo(uid, subtask, event),
      })
    }
  }

  /** The attempt is over: what it waits for is not said any more. */
  stop(): void {
    this.tables.stop()
  }

  /** A subtask sent an event; without a coordinator of that operator it is dropped. */
  onEvent({ uid, subtask, event }: Extract<SlotReport, { kind: 'operator-event' }>): void {
    if (this.alignment.onEvent(uid, subtask, event)) return
    if (this.heldBack.onEvent(uid, subtask, event)) return
    if (this.tables.onEvent(uid, subtask, event)) return
    this.coordinators[uid]?.handleEvent(subtask, event)
  }
}

function withoutModels({ name, model, uid }: StreamNode): never {
  throw new WeirError(
    'INVALID_GRAPH',
    `operator "${name}" asks the model ${model}, but the job has no models: start it with "weir run JOB --repository DIR", or in a program with the coordinator of JobModels`,
    { details: { operator: uid } },
  )
}
