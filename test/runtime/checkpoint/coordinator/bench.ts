import type { WeirError } from '../../../../src/core/errors.ts'
import type { Deadline } from '../../../../src/core/moment.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { CheckpointCoordinator } from '../../../../src/runtime/checkpoint/coordinator/coordinator.ts'
import type { CheckpointCoordinatorOptions } from '../../../../src/runtime/checkpoint/coordinator/options.ts'
import type {
  Barrier,
  CheckpointAck,
  SegmentReference,
} from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import { segmentPath } from '../../../../src/runtime/checkpoint/storage/paths.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'

/** Id of the job. */
export const JOB = 'ab'.repeat(16)
/** Tasks of the job. */
export const TASKS = ['op#0', 'op#1']

/** A coordinator over memory storage that records all its calls and events. */
export class Bench {
  readonly storage: MemoryCheckpointStorage
  readonly clock = new ManualClock(1000)
  readonly said: string[] = []
  readonly barriers: Barrier[] = []
  readonly errors: WeirError[] = []
  coordinator!: CheckpointCoordinator
  private segments = 0

  constructor(storage = new MemoryCheckpointStorage()) {
    this.storage = storage
  }

  async open(options: Partial<CheckpointCoordinatorOptions> = {}): Promise<this> {
    this.coordinator = await CheckpointCoordinator.open({
      jobId: JOB,
      jobName: 'bench',
      storage: this.storage,
      clock: this.clock,
      random: seededRandom(1),
      job: {
        triggerBarrier: (barrier) => {
          this.said.push(`trigger ${barrier.checkpointId}${barrier.full ? ' full' : ''}`)
          this.barriers.push(barrier)
        },
        notifyCompleted: (id) => this.said.push(`completed ${id}`),
        notifyAborted: (id) => this.said.push(`aborted ${id}`),
        failJob: (error) => this.said.push(`fail job: ${error.code}`),
      },
      listener: {
        checkpointFailed: (id, reason) => this.said.push(`${id} ${reason}`),
        warning: (warning) => this.errors.push(warning),
      },
      tolerableFailures: 5,
      ...options,
    })
    return this
  }

  async start(attempt = 1, from?: string | number): Promise<this> {
    await this.coordinator.restorePoint(attempt, from)
    this.coordinator.start(attempt, TASKS)
    return this
  }

  ack(
    checkpointId: number,
    task: string,
    segments: readonly SegmentReference[] = [],
    attempt = 1,
    commitBy: readonly Deadline[] = [],
  ) {
    const subtask = Number(task.split('#')[1])
    const ack: CheckpointAck = {
      jobId: JOB,
      attempt,
      checkpointId,
      task,
      operators: [
        {
          uid: 'op',
          subtask,
          parallelism: 2,
          maxParallelism: 128,
          declarations: [],
          segments,
          isKeyed: true,
          operatorState: [],
        },
      ],
      timings: { startDelayMs: 1, alignmentMs: 2, syncMs: 3, asyncMs: 4 },
      commitBy,
    }
    return this.coordinator.onAck(ack)
  }

  /** Acknowledges by every task and waits until the checkpoint is settled. */
  async ackAll(checkpointId: number, segments: readonly SegmentReference[] = [], attempt = 1) {
    this.ack(checkpointId, 'op#0', segments, attempt)
    this.ack(checkpointId, 'op#1', [], attempt)
    await settled()
  }

  /** Writes a segment of one entry. */
  async segment(checkpointId: number, full = false): Promise<SegmentReference> {
    const number = ++this.segments
    const { generation } = this.coordinator
    const name = { jobId: JOB, generation, attempt: 1, uid: 'op', subtask: 0, number }
    const keyGroups = { first: 0, last: 63 }
    const writer = new SegmentWriter({ storage: this.storage, path: segmentPath(name), keyGroups })
    writer.append(1, 's', new Uint8Array([number]), new Uint8Array([checkpointId]))
    return writer.finish({ checkpointId, full })
  }

  files(part: string): string[] {
    return [...this.storage.files.keys()].filter((path) => path.includes(part)).sort()
  }
}

/** Memory storage needs a few microtasks; one macrotask is after all of them. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
