import type {
  CheckpointAck,
  CheckpointManifest,
  OperatorManifest,
  OperatorSnapshot,
  SegmentReference,
} from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'

/** A segment named by its path; by default of all 128 key groups, incremental. */
export function segment(
  path: string,
  checkpointId: number,
  changes: Partial<SegmentReference> = {},
): SegmentReference {
  return {
    path,
    bytes: 100,
    checksum: 1,
    entries: 1,
    keyGroups: { first: 0, last: 127 },
    checkpointId,
    sequence: 0,
    full: false,
    ...changes,
  }
}

/** One operator subtask's part. */
export function snapshot(changes: Partial<OperatorSnapshot> = {}): OperatorSnapshot {
  return {
    uid: 'op',
    subtask: 0,
    parallelism: 1,
    maxParallelism: 128,
    declarations: [],
    segments: [],
    isKeyed: true,
    operatorState: [],
    ...changes,
  }
}

/** An acknowledgement of these parts. */
export function ackOf(...operators: OperatorSnapshot[]): CheckpointAck {
  return {
    jobId: 'job',
    attempt: 1,
    checkpointId: 9,
    task: 'op#0',
    operators,
    timings: { startDelayMs: 0, alignmentMs: 0, syncMs: 0, asyncMs: 0 },
  }
}

/** One operator's state. */
export function operator(changes: Partial<OperatorManifest> = {}): OperatorManifest {
  return {
    uid: 'op',
    parallelism: 1,
    maxParallelism: 128,
    declarations: [],
    segments: [],
    operatorState: [[]],
    ...changes,
  }
}

/** A completed checkpoint. */
export function manifest(
  checkpointId: number,
  operators: readonly OperatorManifest[] = [],
): CheckpointManifest {
  return {
    jobId: 'job',
    jobName: 'job',
    attempt: 1,
    generation: 1,
    checkpointId,
    kind: 'checkpoint',
    triggeredAtMs: 0,
    completedAtMs: 1,
    operators,
  }
}

/** `path[first-last]` of each. */
export function shown(segments: readonly SegmentReference[]): string {
  return segments.map((s) => `${s.path}[${s.keyGroups.first}-${s.keyGroups.last}]`).join(' ')
}
