import { createHash } from 'node:crypto'
import type { MetricSnapshot } from '../../../core/metrics.ts'
import type { StreamNode } from '../../../dataflow/stream-graph.ts'
import type { CheckpointStatistics } from '../../../runtime/checkpoint/coordinator/statistics.ts'
import { restartStrategyOf } from '../../../runtime/configuration/configuration.ts'
import type { RestartStrategyOptions } from '../../../runtime/configuration/restart-strategy.ts'
import type { JobExecution, JobFailure } from '../../../runtime/job/execution.ts'
import { codeOfFailure } from '../../../runtime/protocol/slot-host.ts'
import type { JobPlan, PlannedChain } from '../../../runtime/subtask/job-plan.ts'
import type {
  CheckpointSettings,
  CheckpointsSnapshot,
  FailureSnapshot,
  JobSnapshot,
  OperatorSnapshot,
  SlotSnapshot,
  VertexSnapshot,
} from '../port/job-snapshot.ts'
import { accumulatorsSnapshot } from './accumulators-snapshot.ts'
import { processSnapshot } from './process-snapshot.ts'
import { placeInStorage } from './savepoint-place.ts'

/** What the snapshot of an execution has from elsewhere. */
export interface SnapshotParts {
  readonly metrics: MetricSnapshot
  /** Vertices of its plan. */
  readonly vertices: readonly VertexSnapshot[]
  readonly configuration: Readonly<Record<string, string>>
  readonly nowMs: number
  readonly queryPort: number | undefined
}

/** Everything about an execution at one moment. */
export function executionSnapshot(
  execution: JobExecution,
  { metrics, vertices, configuration, nowMs, queryPort }: SnapshotParts,
): JobSnapshot {
  return {
    id: execution.jobId,
    name: execution.plan.jobName,
    status: execution.status,
    timestamps: { ...execution.timestamps },
    nowMs,
    attempt: execution.attempt,
    parallelism: execution.configuration.parallelism,
    vertices,
    slots: slotsOf(execution),
    metrics,
    accumulators: accumulatorsSnapshot(execution.accumulatorParts),
    failures: execution.failures.map(failureSnapshot),
    checkpoints: checkpointsSnapshot(execution),
    waits: execution.waits,
    configuration,
    restartStrategy: restartSentence(restartStrategyOf(execution.configuration)),
    process: processSnapshot(queryPort),
  }
}

function slotsOf({ board }: JobExecution): readonly SlotSnapshot[] {
  return Array.from({ length: board.share.slots }, (_, number) => ({
    number,
    status: board.slotStatus(number),
  }))
}

/** A failure of a job as plain data, with the stack of its cause where there is one. */
function failureSnapshot({ attempt, atMs, error }: JobFailure): FailureSnapshot {
  const { task } = error.details
  const { cause } = error
  const stack = cause instanceof Error ? cause.stack : error.stack
  return {
    attempt,
    atMs,
    code: codeOfFailure(error),
    message: error.message,
    stack: `${error.message}\n${stack ?? ''}`.trimEnd(),
    task: typeof task === 'string' ? task : undefined,
  }
}

/** A restart strategy in words. */
function restartSentence(strategy: RestartStrategyOptions): string {
  switch (strategy.type) {
    case 'none':
      return 'no restart'
    case 'fixed-delay':
      return `at most ${strategy.attempts} restarts, ${strategy.delayMs} ms after a failure`
    case 'failure-rate':
      return `at most ${strategy.maxFailuresPerInterval} failures within ${strategy.failureRateIntervalMs} ms, restart after ${strategy.delayMs} ms`
    case 'exponential-delay':
      return `restart after ${strategy.initialBackoffMs} ms, each time ${strategy.backoffMultiplier} times longer up to ${strategy.maxBackoffMs} ms`
  }
}

/** Vertices of a job: its chains of operators. */
export function verticesOf({ chains }: JobPlan): readonly VertexSnapshot[] {
  return chains.map(vertexOf)
}

/** Id of a vertex, which stays the same as long as the operator at its head keeps its uid. */
function vertexId({ uid }: Pick<StreamNode, 'uid'>): string {
  return createHash('md5').update(uid).digest('hex')
}

function vertexOf({ chain, inputs }: PlannedChain): VertexSnapshot {
  const { head, members } = chain
  return {
    id: vertexId(head),
    uid: head.uid,
    name: members.map(titleOf).join(' -> '),
    parallelism: chain.parallelism,
    hasOwnParallelism: members.every((node) => node.hasOwnParallelism),
    maxParallelism: head.maxParallelism,
    isSource: head.body.kind === 'source',
    operators: members.map(
      (node): OperatorSnapshot => ({
        uid: node.uid,
        name: titleOf(node),
        hasOutput: chain.outEdges.some(({ from }) => from === node.id),
      }),
    ),
    inputs: inputs.map(({ edge, from }) => ({
      from: vertexId(from.head),
      partitioning: edge.partitioning.kind,
    })),
  }
}

/** As Flink writes names: sources and sinks say so. */
function titleOf({ body, isSink, name }: StreamNode): string {
  if (body.kind === 'source') return `Source: ${name}`
  return isSink ? `Sink: ${name}` : name
}

/** The checkpoints of a job, with places as URLs; undefined for a job that takes none. */
function checkpointsSnapshot(execution: JobExecution): CheckpointsSnapshot | undefined {
  const { checkpointStatistics: statistics, configuration } = execution
  const { directory } = configuration.checkpoints
  if (statistics === undefined || directory === undefined) return undefined
  const restored = statistics.latestRestored
  return {
    counts: statistics.counts(),
    history: statistics.recent().map((checkpoint) => copyOf(checkpoint, directory)),
    histograms: statistics.histograms(),
    restored:
      restored === undefined
        ? undefined
        : {
            id: restored.id,
            atMs: restored.restore_timestamp,
            isSavepoint: restored.is_savepoint,
            path: placeInStorage(restored.external_path, directory),
          },
    settings: settingsOf(configuration, directory),
  }
}

/** The tracker changes its objects while a checkpoint is in progress. */
function copyOf(checkpoint: CheckpointStatistics, directory: string): CheckpointStatistics {
  const { external_path: path, tasks } = checkpoint
  const place = path === undefined ? undefined : placeInStorage(path, directory)
  return { ...checkpoint, external_path: place, tasks: [...tasks] }
}

function settingsOf(
  { checkpoints, stateBackend }: JobExecution['configuration'],
  directory: string,
): CheckpointSettings {
  return {
    mode: checkpoints.mode,
    intervalMs: checkpoints.intervalMs,
    unaligned: checkpoints.unaligned,
    alignedTimeoutMs: checkpoints.alignedTimeoutMs,
    timeoutMs: checkpoints.timeoutMs,
    minPauseMs: checkpoints.minPauseMs,
    tolerableFailures: checkpoints.tolerableFailures,
    retained: checkpoints.retained,
    directory,
    savepointDirectory: checkpoints.savepointDirectory ?? 'savepoints',
    stateBackend,
  }
}
