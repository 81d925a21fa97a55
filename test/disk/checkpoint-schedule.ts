import { messageOf } from '../../src/core/errors.ts'
import { CheckpointCoordinator } from '../../src/runtime/checkpoint/coordinator/coordinator.ts'
import { readManifest } from '../../src/runtime/checkpoint/manifest/read.ts'
import type { CheckpointManifest } from '../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../../src/runtime/checkpoint/protocol/restore-plan.ts'
import { FileCheckpointStorage } from '../../src/runtime/checkpoint/storage/file.ts'
import {
  foldedCounters,
  MAX_PARALLELISM,
  PARTITIONS,
  SimulatedSubtask,
} from '../runtime/checkpoint/simulation/simulated-subtask.ts'
import type { CrashingProcess } from './crashing-process.ts'
import { CrashingWorld } from './crashing-world.ts'
import type { Schedule, ScheduleReport } from './schedule.ts'
import { settle } from './schedule.ts'

const JOB_ID = 'c'.repeat(32)
const ROOT = '/checkpoints'
const ROUNDS = 5
const INTERVAL_MS = 50

/** A cut of all partitions: the offset of each. */
type Cut = ReadonlyMap<number, number>

/**
 * Runs a coordinator with simulated subtasks on a simulated disk, through crashes and restarts.
 * Invariants: a checkpoint that was reported complete or restored, or a newer one, is restored; every restore gives
 * the state of exactly one cut; a savepoint that was returned can be restored; in the end, without
 * faults, a checkpoint completes.
 */
export async function runCheckpointSchedule(schedule: Schedule): Promise<ScheduleReport> {
  return await new CheckpointWorld(schedule).run()
}

class CheckpointWorld extends CrashingWorld {
  /** Cuts by `generation-attempt/checkpoint`. */
  private readonly cuts = new Map<string, Map<number, number>>()
  private readonly savepoints: string[] = []
  private newestComplete = 0
  private completed = 0
  private completedBefore = 0

  async run(): Promise<ScheduleReport> {
    const report = await this.runLives({ first: ROUNDS, later: 2, last: 1, crashWithin: 300 })
    if (this.violations.length === 0 && this.completed === this.completedBefore) {
      this.violations.push('no checkpoint completes on a disk without faults')
    }
    await this.checkSavepoints()
    return report
  }

  protected override beforeLastLife(): void {
    this.completedBefore = this.completed
  }

  protected async act(process: CrashingProcess, rounds: number): Promise<void> {
    const storage = new FileCheckpointStorage(ROOT, process.files)
    const subtasks: SimulatedSubtask[] = []
    const coordinator = await this.openCoordinator(process, storage, subtasks)
    const manifest = await coordinator.restorePoint(1)
    const owner = { generation: coordinator.generation, attempt: 1 }
    const parallelism = 2 ** this.work.below(3)
    subtasks.push(...this.newSubtasks(storage, owner, parallelism, coordinator))
    await this.restore(subtasks, manifest, storage)
    const newest = this.newestComplete
    if ((manifest?.checkpointId ?? 0) < newest) {
      this.violations.push(`restored ${manifest?.checkpointId} though ${newest} was complete`)
    }
    // Sinks have committed the transactions of the checkpoint: no later restore may go back behind it.
    this.newestComplete = Math.max(newest, manifest?.checkpointId ?? 0)
    coordinator.start(
      1,
      subtasks.map(({ task }) => task),
    )
    for (let round = 0; round < rounds; round++) {
      for (let i = this.work.below(4); i >= 0; i--) for (const one of subtasks) one.process()
      if (this.work.below(4) === 0) this.savepoint(coordinator)
      this.clock.advance(INTERVAL_MS)
      await settle()
      if (!process.alive) return
    }
    await coordinator.close()
  }

  private openCoordinator(
    process: CrashingProcess,
    storage: FileCheckpointStorage,
    subtasks: readonly SimulatedSubtask[],
  ): Promise<CheckpointCoordinator> {
    return CheckpointCoordinator.open({
      jobId: JOB_ID,
      jobName: 'simulated',
      storage,
      clock: this.clock,
      random: this.work,
      intervalMs: INTERVAL_MS,
      tolerableFailures: 1000,
      retained: 1 + this.work.below(3),
      compaction: { maxChainLength: 2, minMerged: 2, sizeRatio: 2, maxOverhead: 4 },
      job: {
        triggerBarrier: (barrier) => {
          for (const subtask of subtasks) subtask.onBarrier(barrier)
        },
        notifyCompleted: (id) => {
          for (const subtask of subtasks) subtask.onCompleted(id)
        },
        notifyAborted: () => {},
        failJob: () => process.kill(),
      },
      listener: {
        warning: (warning) => {
          // A power cut must not look like damage: that would stop the deletion of old files.
          if (process.alive && warning.message.includes('is damaged')) {
            this.violations.push(`warning: ${warning.message}`)
          }
        },
        checkpointCompleted: ({ checkpointId }) => {
          if (!process.alive) return
          this.newestComplete = Math.max(this.newestComplete, checkpointId)
          this.completed += 1
        },
      },
    })
  }

  private newSubtasks(
    storage: FileCheckpointStorage,
    owner: { readonly generation: number; readonly attempt: number },
    parallelism: number,
    coordinator?: CheckpointCoordinator,
  ): SimulatedSubtask[] {
    return Array.from(
      { length: parallelism },
      (_, subtask) =>
        new SimulatedSubtask({
          ...owner,
          jobId: JOB_ID,
          subtask,
          parallelism,
          storage,
          random: this.work,
          onCut: (id, partition, offset) => this.onCut(owner, id, partition, offset),
          sendAck: (ack) => coordinator?.onAck(ack),
          sendDecline: (decline) => coordinator?.onDecline(decline),
        }),
    )
  }

  private onCut(
    { generation, attempt }: { readonly generation: number; readonly attempt: number },
    checkpointId: number,
    partition: number,
    offset: number,
  ): void {
    const key = `${generation}-${attempt}/${checkpointId}`
    const cut = this.cuts.get(key) ?? new Map<number, number>()
    cut.set(partition, offset)
    this.cuts.set(key, cut)
  }

  private savepoint(coordinator: CheckpointCoordinator): void {
    const { process } = this
    coordinator.triggerSavepoint().then(
      (path) => process.alive && this.savepoints.push(path),
      () => undefined,
    )
  }

  /** Restores the subtasks and compares their state with the cut of the checkpoint. */
  private async restore(
    subtasks: readonly SimulatedSubtask[],
    manifest: CheckpointManifest | undefined,
    storage: FileCheckpointStorage,
  ): Promise<void> {
    const operator = {
      uid: 'counter',
      parallelism: subtasks.length,
      maxParallelism: MAX_PARALLELISM,
    }
    const plan = manifest === undefined ? undefined : planRestore(manifest, [operator])
    for (const [i, subtask] of subtasks.entries()) {
      const part = plan?.get('counter')?.[i]
      if (part !== undefined) await subtask.restore(part, storage)
    }
    this.compare(subtasks, manifest)
  }

  private compare(
    subtasks: readonly SimulatedSubtask[],
    manifest: CheckpointManifest | undefined,
  ): void {
    const found = new Map(subtasks.flatMap(({ offsets }) => [...offsets]))
    const counters = new Map(subtasks.flatMap((subtask) => [...subtask.counters]))
    const name = `${manifest?.generation}-${manifest?.attempt}/${manifest?.checkpointId}`
    const cut: Cut | undefined = manifest === undefined ? new Map() : this.cuts.get(name)
    const offsets = Array.from({ length: PARTITIONS }, (_, p) => found.get(p) ?? 0)
    const wanted = offsets.map((_, p) => cut?.get(p) ?? (manifest === undefined ? 0 : -1))
    if (offsets.join() !== wanted.join()) {
      this.violations.push(`${name} gave offsets ${offsets}, its cut was ${wanted}`)
    } else if (textOf(counters) !== textOf(foldedCounters(offsets))) {
      this.violations.push(`${name} gave another state than the fold of its cut`)
    }
  }

  private async checkSavepoints(): Promise<void> {
    const storage = new FileCheckpointStorage(ROOT, this.newProcess(undefined, 0).files)
    for (const path of this.savepoints) {
      try {
        const manifest = await readManifest(storage, path)
        await this.restore(this.newSubtasks(storage, manifest, 1), manifest, storage)
      } catch (error) {
        this.violations.push(`savepoint ${path}: ${messageOf(error)}`)
      }
    }
  }
}

function textOf(counters: ReadonlyMap<string, number>): string {
  return JSON.stringify([...counters].sort(([a], [b]) => (a < b ? -1 : 1)))
}
