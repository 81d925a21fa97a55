import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import { messageOf } from '../core/errors.ts'
import { blame } from './operator-failure.ts'
import type { OperatorTask } from './operator-task.ts'
import type { SlotKeyedCells } from './slot-keyed-cells.ts'
import type { SlotDeployment, SlotReport } from './slot-protocol.ts'
import { SourceHead } from './source-head.ts'
import type { Subtask } from './subtask.ts'
import { SubtaskSnapshot } from './subtask-snapshot.ts'

/** Takes a slot's part in checkpoints and tells the main thread what came of it. */
export class SlotCheckpoints {
  private readonly deployment: SlotDeployment
  private readonly subtasks: readonly Subtask[]
  private readonly cells: SlotKeyedCells
  private readonly report: (report: SlotReport) => void

  constructor(
    deployment: SlotDeployment,
    subtasks: readonly Subtask[],
    cells: SlotKeyedCells,
    report: (report: SlotReport) => void,
  ) {
    this.deployment = deployment
    this.subtasks = subtasks
    this.cells = cells
    this.report = report
  }

  /** Injects a barrier at the slot's sources, which stop behind it if `stopAfter`. */
  trigger(barrier: Barrier, stopAfter: boolean): void {
    for (const subtask of this.subtasks) {
      if (!(subtask.head instanceof SourceHead)) continue
      if (stopAfter) subtask.head.pause()
      this.begin(subtask, barrier, 0)
    }
  }

  /** A subtask has every barrier: its snapshot begins as soon as no asynchronous call is under way. */
  begin(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    subtask.whenFree(() => this.snapshot(subtask, barrier, alignmentMs))
  }

  /** Copies out for about `budgetMs` per subtask; false when there was nothing to copy. */
  copy(budgetMs: number): boolean {
    let copied = false
    for (const { snapshot } of this.subtasks) {
      if (snapshot?.copying && snapshot.step(budgetMs)) copied = true
    }
    return copied
  }

  /** A subtask will not take part in a checkpoint. */
  decline(subtask: Subtask, checkpointId: number, reason: string): void {
    const { jobId, attempt } = this.deployment
    const decline = { jobId, attempt, checkpointId, task: subtask.name, reason }
    this.report({ kind: 'decline', attempt, decline })
  }

  /** The checkpoint is durable: operators commit what belongs to it. */
  async completed(checkpointId: number): Promise<void> {
    this.cells.completed(checkpointId)
    const commits = this.subtasks.map((subtask) =>
      subtask.inOrder(async () => {
        for (const task of subtask.operators) await commit(task, checkpointId)
      }),
    )
    await Promise.all(commits)
    this.report({ kind: 'committed', attempt: this.deployment.attempt, checkpointId })
  }

  /** The end of a job without checkpoints: what a last checkpoint would do, without storing it. */
  async commitDirectly(checkpointId: number): Promise<void> {
    for (const subtask of this.subtasks) {
      await subtask.suspendWhile(async () => {
        for (const task of subtask.operators) {
          await task.operator.prepareSnapshot(checkpointId)
          await commit(task, checkpointId)
        }
      })
    }
    this.report({ kind: 'committed', attempt: this.deployment.attempt, checkpointId })
  }

  private snapshot(subtask: Subtask, barrier: Barrier, alignmentMs: number): void {
    if (!subtask.running) return
    // A checkpoint that was given up may still be copied out; its segment counts for this one.
    subtask.snapshot?.rush()
    const snapshot = new SubtaskSnapshot(subtask, barrier, alignmentMs)
    subtask.snapshot = snapshot
    try {
      subtask.clearPosition()
      snapshot.begin()
    } catch (error) {
      subtask.fail(error)
      return
    }
    void this.reportOutcome(subtask, snapshot)
    subtask.host.wake()
  }

  private async reportOutcome(subtask: Subtask, snapshot: SubtaskSnapshot): Promise<void> {
    const outcome = await snapshot.done
    if (subtask.snapshot === snapshot) subtask.snapshot = undefined
    const { checkpointId } = snapshot.barrier
    if (outcome.kind === 'failed') {
      this.decline(subtask, checkpointId, messageOf(outcome.error))
      return
    }
    const { operators, timings } = outcome
    const { jobId, attempt } = this.deployment
    const ack = { jobId, attempt, checkpointId, task: subtask.name, operators, timings }
    this.report({ kind: 'ack', attempt, ack })
  }
}

async function commit(task: OperatorTask, checkpointId: number): Promise<void> {
  try {
    await task.operator.checkpointCompleted(checkpointId)
  } catch (error) {
    throw blame(error, task.node)
  }
}
