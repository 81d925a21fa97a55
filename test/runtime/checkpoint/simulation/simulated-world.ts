import { type Random, seededRandom } from '../../../../src/core/random.ts'
import { decodeManifest } from '../../../../src/runtime/checkpoint/manifest/format.ts'
import { readManifest } from '../../../../src/runtime/checkpoint/manifest/read.ts'
import type { CheckpointManifest } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import {
  isValidManifest,
  type RestoreRecord,
} from '../../../../src/runtime/checkpoint/protocol/valid-checkpoints.ts'
import { classifyPath } from '../../../../src/runtime/checkpoint/storage/paths.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import type { Fault } from './faulty-storage.ts'
import { SeededScheduler } from './scheduler.ts'
import {
  JOB_ID,
  type JoinedState,
  joinedState,
  type ProcessWorld,
  restoreSubtasks,
  SimulatedProcess,
} from './simulated-process.ts'
import { type Counters, foldedCounters, PARTITIONS } from './simulated-subtask.ts'

/** Storage that records whether something was deleted. */
class WatchedStorage extends MemoryCheckpointStorage {
  private deleted = false

  override async delete(path: string): Promise<void> {
    await super.delete(path)
    this.deleted = true
  }

  takeDeleted(): boolean {
    const { deleted } = this
    this.deleted = false
    return deleted
  }
}

/** Options of a simulated world: its faults. */
export interface WorldOptions {
  readonly seed: number
  /** Scheduler steps with faults; calm steps follow. */
  readonly steps: number
  /** Share of messages that are lost, and share of those that come twice. */
  readonly messageLoss: number
  /** Chance of a subtask's crash per step. */
  readonly crashRate: number
  /** Chooses the fault of a coordinator's storage call; calls are counted over all processes from 0. */
  fault(call: number, name: string, random: Random): Fault
  /** Chooses the fault of a subtask's storage call. */
  subtaskFault(random: Random): Fault
}

/** Report of a run. */
export interface WorldReport {
  readonly violations: readonly string[]
  readonly announced: number
  readonly restores: number
  readonly generations: number
  readonly coordinatorCalls: number
  readonly savepoints: number
  readonly compacted: number
}

/**
 * Storage, network, clock and a sequence of processes, each of which runs the job with a real
 * coordinator and simulated subtasks. Violated invariants are collected as sentences.
 */
export class SimulatedWorld implements ProcessWorld {
  readonly disk = new WatchedStorage()
  readonly clock = new ManualClock(1_000_000)
  readonly random: Random
  readonly scheduler: SeededScheduler
  readonly options: WorldOptions
  readonly violations: string[] = []
  calm = false
  private calls = 0
  private readonly paused: (() => void)[] = []
  private process: SimulatedProcess | undefined
  private announced: { generation: number; checkpointId: number }[] = []
  private readonly restores: { generation: number; checkpointId: number }[] = []
  /** Offsets of the cut of every (generation, attempt, checkpoint). */
  private readonly cuts = new Map<string, Map<number, number>>()
  readonly savepoints: { path: string; manifest: CheckpointManifest }[] = []
  newestGeneration = 0
  private compacted = 0

  constructor(options: WorldOptions) {
    this.options = options
    this.random = seededRandom(options.seed)
    this.scheduler = new SeededScheduler(this.random)
  }

  async run(): Promise<WorldReport> {
    this.startProcess()
    for (let step = 0; step < this.options.steps && this.violations.length === 0; step++) {
      await this.step()
    }
    this.calm = true
    for (const resume of this.paused.splice(0)) resume()
    // A last restart without faults must find the state, and checkpoints must complete again.
    this.process?.kill()
    this.startProcess()
    const before = this.announced.length
    for (let step = 0; step < 2000 && this.announced.length < before + 3; step++) await this.step()
    if (this.violations.length === 0 && this.announced.length < before + 3) {
      this.violations.push('no three checkpoints complete in a calm world')
    }
    await this.checkSavepoints()
    return {
      violations: this.violations,
      announced: this.announced.length,
      restores: this.restores.length,
      generations: this.newestGeneration,
      coordinatorCalls: this.calls,
      savepoints: this.savepoints.length,
      compacted: this.compacted,
    }
  }

  /** Sends a message between coordinator and subtasks, which may be lost, late, doubled or reordered. */
  send(deliver: () => void): void {
    const { messageLoss } = this.options
    const fate = this.calm ? 1 : this.random.next()
    if (fate < messageLoss) return
    this.scheduler.later(deliver)
    if (fate < 2 * messageLoss) this.scheduler.later(deliver)
  }

  nextFault(name: string): Fault {
    const call = this.calls++
    return this.calm ? 'none' : this.options.fault(call, name, this.random)
  }

  subtaskFault(): Fault {
    return this.calm ? 'none' : this.options.subtaskFault(this.random)
  }

  /** Pauses a process, which counts as dead; a new one starts. */
  pause(process: SimulatedProcess): Promise<void> {
    if (this.process === process) this.startProcess()
    return new Promise((resolve) => this.paused.push(resolve))
  }

  /** The process has ended; the next one starts if it was the newest. */
  ended(process: SimulatedProcess): void {
    if (this.process === process) this.startProcess()
  }

  onClaimed(generation: number): void {
    this.newestGeneration = Math.max(this.newestGeneration, generation)
  }

  onCut(owner: string, checkpointId: number, partition: number, offset: number): void {
    const key = `${owner}/${checkpointId}`
    const cut = this.cuts.get(key) ?? new Map<number, number>()
    cut.set(partition, offset)
    this.cuts.set(key, cut)
  }

  onAnnounced(generation: number, manifest: CheckpointManifest): void {
    const { checkpointId } = manifest
    for (const restore of this.restores) {
      if (restore.generation > generation && restore.checkpointId < checkpointId) {
        this.violations.push(
          `generation ${generation} completed ${checkpointId} though ${restore.generation} had restored ${restore.checkpointId}`,
        )
      }
    }
    this.announced.push({ generation, checkpointId })
    const paths = manifest.operators.flatMap((o) => o.segments.map((s) => s.path))
    if (paths.some((path) => path.includes('compacted'))) this.compacted += 1
  }

  onRestored(
    generation: number,
    manifest: CheckpointManifest | undefined,
    found: JoinedState,
  ): void {
    const checkpointId = manifest?.checkpointId ?? 0
    // A fenced process may still restore the checkpoint that was the newest at its time; it can complete none.
    const past = this.announced.filter((a) => a.generation <= generation)
    const newest = Math.max(0, ...past.map((a) => a.checkpointId))
    if (checkpointId < newest) {
      this.violations.push(`restored ${checkpointId} though ${newest} was completed`)
    }
    this.restores.push({ generation, checkpointId })
    this.checkCut(manifest, found)
  }

  private checkCut(manifest: CheckpointManifest | undefined, found: JoinedState): void {
    const name = manifest === undefined ? 'nothing' : `checkpoint ${manifest.checkpointId}`
    const owner = `${manifest?.generation}-${manifest?.attempt}/${manifest?.checkpointId}`
    const offsets = Array.from({ length: PARTITIONS }, (_, p) => found.offsets.get(p) ?? 0)
    const cut = this.cuts.get(owner)
    const wanted = offsets.map((_, p) => (manifest === undefined ? 0 : (cut?.get(p) ?? -1)))
    if (offsets.join() !== wanted.join()) {
      this.violations.push(`${name} gave offsets ${offsets}, its cut was ${wanted}`)
    }
    const expected = textOf(foldedCounters(offsets))
    const actual = textOf(found.counters)
    if (actual !== expected) {
      this.violations.push(`${name} gave ${actual}, the fold of its cut is ${expected}`)
    }
  }

  private async step(): Promise<void> {
    const dice = this.random.next()
    if (dice < 0.15) this.clock.advance(this.random.below(60))
    else if (dice < 0.35) this.process?.work()
    else if (dice < 0.35 + this.options.crashRate && !this.calm) this.process?.crashSubtask()
    else if (dice > 0.99 && this.paused.length > 0) this.paused.shift()!()
    else if (dice > 0.985) this.process?.savepoint()
    await this.scheduler.step()
    if (this.disk.takeDeleted()) this.checkFiles()
  }

  /** Checks that every file exists to which a valid manifest refers. */
  private checkFiles(): void {
    const records: RestoreRecord[] = []
    const manifests: CheckpointManifest[] = []
    for (const [path, bytes] of this.disk.files) {
      const stored = classifyPath(JOB_ID, path)
      if (stored.kind === 'restored') records.push(stored.record)
      if (stored.kind === 'manifest') manifests.push(decodeManifest(bytes))
    }
    for (const manifest of manifests) {
      if (!isValidManifest(manifest, records)) continue
      for (const segment of manifest.operators.flatMap((operator) => operator.segments)) {
        if (!this.disk.files.has(segment.path)) {
          this.violations.push(`checkpoint ${manifest.checkpointId} lost ${segment.path}`)
        }
      }
    }
  }

  private startProcess(): void {
    this.process = new SimulatedProcess(this)
    void this.process.run()
  }

  /** Checks that savepoints are readable without any other file. */
  private async checkSavepoints(): Promise<void> {
    await this.disk.delete(JOB_ID)
    for (const { path } of this.savepoints) {
      const manifest = await readManifest(this.disk, path)
      const owner = { generation: 0, attempt: 1 }
      const subtasks = await restoreSubtasks(this, manifest, { parallelism: 1, owner })
      this.checkCut(manifest, joinedState(subtasks))
    }
  }
}

function textOf(counters: Counters): string {
  return [...counters]
    .map(([key, count]) => `${key}=${count}`)
    .sort()
    .join(' ')
}
