import type {
  JobSnapshot,
  ProcessSnapshot,
  VertexSnapshot,
} from '../../../src/cluster/rest/port/job-snapshot.ts'
import type { CheckpointStatistics } from '../../../src/runtime/checkpoint/coordinator/statistics.ts'

export const JOB_ID = 'a'.repeat(32)
export const SOURCE_ID = 'b'.repeat(32)
export const COUNT_ID = 'c'.repeat(32)

export const PROCESS: ProcessSnapshot = {
  pid: 42,
  host: 'here',
  cpuCores: 2,
  startedMs: 900,
  memory: {
    physical: 2 ** 34,
    free: 2 ** 33,
    resident: 2 ** 28,
    heapUsed: 2 ** 26,
    heapCommitted: 2 ** 27,
    heapMax: 2 ** 32,
    external: 1000,
  },
  queryPort: 9069,
}

export const SOURCE: VertexSnapshot = {
  id: SOURCE_ID,
  uid: 'words',
  name: 'Source: Words -> Split',
  parallelism: 2,
  maxParallelism: 128,
  isSource: true,
  operators: [
    { uid: 'words', name: 'Source: Words', hasOutput: false },
    { uid: 'split', name: 'Split', hasOutput: true },
  ],
  inputs: [],
}

export const COUNT: VertexSnapshot = {
  id: COUNT_ID,
  uid: 'count',
  name: 'Count',
  parallelism: 2,
  maxParallelism: 128,
  isSource: false,
  operators: [{ uid: 'count', name: 'Count', hasOutput: false }],
  inputs: [{ from: SOURCE_ID, partitioning: 'hash' }],
}

export const CHECKPOINT: CheckpointStatistics = {
  id: 7,
  status: 'COMPLETED',
  is_savepoint: false,
  checkpoint_type: 'CHECKPOINT',
  trigger_timestamp: 2000,
  latest_ack_timestamp: 2030,
  end_to_end_duration: 40,
  checkpointed_size: 300,
  state_size: 900,
  num_subtasks: 4,
  num_acknowledged_subtasks: 4,
  failure_message: undefined,
  external_path: 'file:///data/chk-7',
  tasks: [0, 1].map((subtask) => ({
    task: `count#${subtask}`,
    ack_timestamp: 2020 + 10 * subtask,
    end_to_end_duration: 20 + 10 * subtask,
    checkpointed_size: 100 + 100 * subtask,
    checkpoint: { sync: 1 + subtask, async: 5 },
    alignment: { duration: 2, persisted: 0 },
    start_delay: 3,
  })),
}

/** A running job with one source and one keyed operator. */
export function snapshot(changes: Partial<JobSnapshot> = {}): JobSnapshot {
  return {
    id: JOB_ID,
    name: 'count words',
    status: 'RUNNING',
    timestamps: { CREATED: 1000, INITIALIZING: 1010, RUNNING: 1500 },
    nowMs: 5000,
    attempt: 1,
    parallelism: 2,
    vertices: [SOURCE, COUNT],
    slots: [
      { number: 0, status: 'running' },
      { number: 1, status: 'running' },
    ],
    metrics: {
      numRestarts: 0,
      'words.0.numRecordsOut': 999,
      'words.0.split.numRecordsOut': 30,
      'words.1.split.numRecordsOut': 12,
      'words.0.numBytesOut': 100,
      'count.0.numRecordsIn': 20,
      'count.1.numRecordsIn': 22,
      'count.0.currentInputWatermark': Number.MIN_SAFE_INTEGER,
      'count.1.currentInputWatermark': 1234,
      'words.0.backPressuredTimeMsPerSecond': 600,
      'words.0.busyTimeMsPerSecond': 300,
      'words.1.backPressuredTimeMsPerSecond': 50,
      'slot.0.mailboxLatencyMs_p99': 2,
    },
    failures: [],
    checkpoints: {
      counts: { restored: 0, total: 1, in_progress: 0, completed: 1, failed: 0 },
      history: [CHECKPOINT],
      restored: undefined,
      settings: {
        mode: 'exactly-once',
        intervalMs: 10_000,
        timeoutMs: 600_000,
        minPauseMs: 0,
        unaligned: false,
        alignedTimeoutMs: 0,
        tolerableFailures: 0,
        retained: 3,
        directory: '/data',
        savepointDirectory: 'savepoints',
        stateBackend: 'rocksdb',
      },
    },
    configuration: { 'parallelism.default': '2' },
    restartStrategy: 'no restart',
    process: PROCESS,
    ...changes,
  }
}
