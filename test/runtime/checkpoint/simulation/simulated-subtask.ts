import { type KeyGroupRange, keyGroupRangeOf } from '../../../../src/core/key-group.ts'
import type { Random } from '../../../../src/core/random.ts'
import type {
  Barrier,
  CheckpointAck,
  CheckpointDecline,
  OperatorSnapshot,
  SegmentReference,
} from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import type { SubtaskRestore } from '../../../../src/runtime/checkpoint/protocol/restore-plan.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import type { CheckpointStorage } from '../../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { segmentPath } from '../../../../src/runtime/checkpoint/storage/paths.ts'
import { readSegment } from '../segment/read-segment.ts'

/** Source partitions; the keys of partition p have the key groups 4p to 4p + 3. */
export const PARTITIONS = 4
/** Key groups of the simulated job. */
export const MAX_PARALLELISM = 16
const KEYS_PER_PARTITION = 9

/** State of the simulated job: key -> count. */
export type Counters = Map<string, number>

/** One record, which increments the count of its key or deletes it. */
function recordAt(partition: number, offset: number): { key: string; deletes: boolean } {
  const mixed = Math.imul(offset * PARTITIONS + partition + 1, 0x9e3779b1) >>> 8
  return { key: `${partition}:${mixed % KEYS_PER_PARTITION}`, deletes: mixed % 7 === 3 }
}

/** The key group of a key. */
function groupOf(key: string): number {
  const [partition, number] = key.split(':').map(Number)
  return partition! * 4 + (number! % 4)
}

function apply(counters: Counters, partition: number, offset: number): string {
  const { key, deletes } = recordAt(partition, offset)
  if (deletes) counters.delete(key)
  else counters.set(key, (counters.get(key) ?? 0) + 1)
  return key
}

/** The expected state after `offsets[p]` records of each partition p. */
export function foldedCounters(offsets: readonly number[]): Counters {
  const counters: Counters = new Map()
  for (const [partition, end] of offsets.entries()) {
    for (let offset = 0; offset < end; offset++) apply(counters, partition, offset)
  }
  return counters
}

/** Options of a simulated subtask. */
export interface SubtaskSetup {
  readonly jobId: string
  readonly generation: number
  readonly attempt: number
  readonly subtask: number
  readonly parallelism: number
  readonly storage: CheckpointStorage
  readonly random: Random
  /** The subtask cut its state for a checkpoint: `offset` of `partition`. */
  onCut(checkpointId: number, partition: number, offset: number): void
  sendAck(ack: CheckpointAck): void
  sendDecline(decline: CheckpointDecline): void
}

/** A subtask that counts keys and snapshots incrementally, as the runtime's do. */
export class SimulatedSubtask {
  readonly counters: Counters = new Map()
  readonly offsets = new Map<number, number>()
  private readonly setup: SubtaskSetup
  private readonly keyGroups: KeyGroupRange
  private readonly dirty = new Set<string>()
  private pending: SegmentWriter
  private segmentNumber = 0
  private unconfirmed: SegmentReference[] = []
  private confirmed = 0
  private lastBarrier = 0
  /** A segment was lost: only a full one can make the state complete again. */
  private needsFull = false
  private lostUpTo = 0
  private work: Promise<void> = Promise.resolve()

  constructor(setup: SubtaskSetup) {
    this.setup = setup
    this.keyGroups = keyGroupRangeOf(setup.subtask, setup.parallelism, MAX_PARALLELISM)
    for (let p = setup.subtask; p < PARTITIONS; p++) {
      if (this.owns(p)) this.offsets.set(p, 0)
    }
    this.pending = this.newWriter()
  }

  get task(): string {
    return `counter#${this.setup.subtask}`
  }

  async restore(plan: SubtaskRestore, storage: CheckpointStorage): Promise<void> {
    const seen = new Set<string>()
    for (const segment of plan.segments) {
      await readSegment(storage, segment, plan.keyGroups, (group, _state, key, value) => {
        const name = Buffer.from(key).toString()
        if (group !== groupOf(name)) throw new Error(`key ${name} in key group ${group}`)
        if (seen.has(name)) return
        seen.add(name)
        if (value !== undefined) this.counters.set(name, Number(Buffer.from(value).toString()))
      })
    }
    for (const entry of plan.operatorState.get('offsets') ?? []) {
      const [partition, offset] = Buffer.from(entry).toString().split(':').map(Number)
      if (this.owns(partition!)) this.offsets.set(partition!, offset!)
    }
  }

  /** Processes one record of each of its partitions; now and then evicts a dirty key. */
  process(): void {
    for (const [partition, offset] of this.offsets) {
      this.dirty.add(apply(this.counters, partition, offset))
      this.offsets.set(partition, offset + 1)
    }
    const [first] = this.dirty
    if (first !== undefined && this.setup.random.below(3) === 0) {
      this.write(this.pending, first)
      this.dirty.delete(first)
    }
  }

  onBarrier(barrier: Barrier): void {
    const { checkpointId } = barrier
    if (checkpointId <= this.lastBarrier) return
    this.lastBarrier = checkpointId
    const full = barrier.full || this.needsFull
    const writer = full ? this.newWriter() : this.pending
    for (const key of full ? this.counters.keys() : this.dirty) this.write(writer, key)
    if (full) {
      void this.pending.abort()
      this.needsFull = false
    }
    this.dirty.clear()
    this.pending = this.newWriter()
    for (const [partition, offset] of this.offsets) {
      this.setup.onCut(checkpointId, partition, offset)
    }
    const operatorState = [this.offsetState()]
    this.work = this.work.then(() => this.finish(writer, checkpointId, full, operatorState))
  }

  onCompleted(checkpointId: number): void {
    this.confirmed = Math.max(this.confirmed, checkpointId)
    this.unconfirmed = this.unconfirmed.filter((s) => s.checkpointId > this.confirmed)
  }

  private async finish(
    writer: SegmentWriter,
    checkpointId: number,
    full: boolean,
    operatorState: OperatorSnapshot['operatorState'],
  ): Promise<void> {
    const { jobId, attempt } = this.setup
    const message = { jobId, attempt, checkpointId, task: this.task }
    try {
      const segment = await writer.finish({ checkpointId, full })
      if (checkpointId <= this.lostUpTo && !full) throw new Error('an older segment is lost')
      this.unconfirmed = [...this.unconfirmed, segment]
    } catch (error) {
      this.needsFull = true
      this.lostUpTo = this.lastBarrier
      this.setup.sendDecline({ ...message, reason: String(error) })
      return
    }
    const segments = this.unconfirmed
    this.setup.sendAck({
      ...message,
      operators: [this.snapshot(segments, operatorState)],
      timings: { startDelayMs: 0, alignmentMs: 0, syncMs: 0, asyncMs: 0 },
    })
  }

  private snapshot(
    segments: readonly SegmentReference[],
    operatorState: OperatorSnapshot['operatorState'],
  ): OperatorSnapshot {
    return {
      uid: 'counter',
      subtask: this.setup.subtask,
      parallelism: this.setup.parallelism,
      maxParallelism: MAX_PARALLELISM,
      declarations: [{ name: 'count', kind: 'value', format: 'text' }],
      segments,
      isKeyed: true,
      operatorState,
    }
  }

  private offsetState(): OperatorSnapshot['operatorState'][number] {
    const entries = [...this.offsets].map(([p, offset]) => Buffer.from(`${p}:${offset}`))
    return { name: 'offsets', redistribution: 'union', entries }
  }

  private write(writer: SegmentWriter, key: string): void {
    const count = this.counters.get(key)
    const value = count === undefined ? undefined : Buffer.from(String(count))
    writer.append(groupOf(key), 'count', Buffer.from(key), value)
  }

  private newWriter(): SegmentWriter {
    const { jobId, generation, attempt, subtask, storage } = this.setup
    const number = ++this.segmentNumber
    const path = segmentPath({ jobId, generation, attempt, uid: 'counter', subtask, number })
    return new SegmentWriter({ storage, path, keyGroups: this.keyGroups, blockBytes: 64 })
  }

  private owns(partition: number): boolean {
    const group = partition * 4
    return group >= this.keyGroups.first && group <= this.keyGroups.last
  }
}
