import { randomBytes } from 'node:crypto'
import { KafkaCluster } from '../../connectors/kafka/client/cluster.ts'
import { KafkaGroupMember } from '../../connectors/kafka/group/kafka-member.ts'
import { systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import { seededRandom } from '../../core/random.ts'
import { graphFingerprint } from '../../dataflow/plan/graph-fingerprint.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'
import type { AccessShare } from '../../http/access/control.ts'
import type { RequestTls } from '../../http/client/send-request.ts'
import { loadStorage } from '../../runtime/checkpoint/storage/load.ts'
import type { JobConfiguration } from '../../runtime/configuration/configuration.ts'
import { parseConfiguration } from '../../runtime/configuration/keys.ts'
import { SlotThreadPool } from '../../runtime/slot/pool/slot-threads.ts'
import type { JobIdentity } from './decisions/member-data.ts'
import { ensureExchangeTopics } from './exchange-topics.ts'
import { missingParts, requireDivisible } from './graph/divisible.ts'
import { exchangeTopic } from './graph/kafka-exchange.ts'
import { type Exchange, exchangesOf } from './graph/partition-graph.ts'
import type { WatchedProcess } from './health/probes.ts'
import { JobProcess } from './job-process.ts'
import { HttpPeers } from './operations/ask-peers.ts'
import { ScaledJobControl } from './operations/scaled-job-control.ts'
import { StopRecords } from './operations/stop-records.ts'
import type { ScaleOutJobOptions } from './options.ts'
import {
  createPartitionJob,
  partitionJobId,
  scaledJobId,
  wholeGraph,
} from './partition-execution.ts'
import { addressOfWays, restWay } from './peers/peer-address.ts'
import { openPeerSocket, type PeerSocket } from './peers/peer-socket.ts'
import type { ProcessListener } from './process-events.ts'
import { ProcessQueries, type QueryPortOptions } from './queries/process-queries.ts'
import { storageIdOf } from './storage-id.ts'

const DEFAULT_SESSION_MS = 10_000
/** Time for an action of another process beside its last checkpoints, ms. */
const ACTION_MS = 10_000

/** Options of a process of a job. */
export interface StartScaleOutOptions extends ScaleOutJobOptions {
  /** Slot threads, which the job partitions of the process share. */
  readonly threads: number
  /** Version of this build. */
  readonly version: string
  readonly listener: ProcessListener
  /** Token with the role admin, with which the processes ask each other; the same in all. @default none */
  readonly token?: string | undefined
  /** Opens the REST interface of this process; undefined where it has none. @default none */
  readonly openRest?: (control: ScaledJobControl) => Promise<OpenedRest | undefined>
  /** Called with each warning of the graph. */
  readonly warn: (sentence: string) => void
  /** The port of queries of state. @default no queries are answered */
  readonly queries?: Omit<QueryPortOptions, 'limits'> | undefined
}

/** The REST interface of a process. */
export interface OpenedRest extends AsyncDisposable {
  /** URL by which others reach it. */
  readonly url: string
  /** Whether it listens for its own machine alone. */
  readonly isLoopback: boolean
  /** What this process shows to the others and whom it believes, where they encrypt. */
  readonly tls?: RequestTls | undefined
}

/** A process of a job with what it has opened. */
export interface StartedProcess extends AsyncDisposable, WatchedProcess {
  readonly process: JobProcess
  readonly control: ScaledJobControl
  /** Where clients reach its query port, `host:port`; undefined where it has none. */
  readonly queryAddress: string | undefined
  /** Accepts other tokens from now on. */
  readonly replaceAccess: (access: AccessShare) => void
}

/**
 * Starts a process of a job: it joins the job's group and runs the partitions that it gets. Rejects before it joins
 * with INVALID_ARGUMENT for a job without periodic checkpoints, UNSUPPORTED for a job that cannot be divided,
 * CONNECTOR_FAILED, ACCESS_DENIED, STORAGE_FAILED, and as the job's `build`.
 */
export async function startScaleOut(options: StartScaleOutOptions): Promise<StartedProcess> {
  const configuration = parseConfiguration(options.configuration)
  requireCheckpoints(configuration)
  const graph = await wholeGraph(options, options.warn)
  requireDivisible(graph, options.partitions)
  for (const sentence of missingParts(graph)) options.warn(sentence)
  const exchanges = exchangesOf(graph, options.partitions)
  await using opened = new ResourceStack()
  const cluster = new KafkaCluster(options.kafka, {
    onOutage: (error) => options.listener({ kind: 'warning', partition: undefined, error }),
  })
  opened.defer(() => cluster.close())
  await ensureExchangeTopics(cluster, exchanges, {
    ...options,
    replicationFactor: configuration.scaleOut.replicationFactor,
  })
  const job = await identityOf(graph, { cluster, configuration, partitions: options.partitions })
  const pool = new SlotThreadPool({
    threads: options.threads,
    url: options.module.href,
    stateMemoryBytes: configuration.stateMemoryBytes,
    clock: systemClock,
  })
  opened.defer(() => pool.close())
  const socket = await openPeerSocket(randomBytes(8).toString('hex'), systemClock.nowMs())
  if (socket !== undefined) opened.use(socket)
  const queries = await openQueries(options, { graph, configuration, opened })
  let tls: RequestTls | undefined
  const control = controlOf(options, configuration, () => tls)
  const rest = await options.openRest?.(control)
  if (rest !== undefined) opened.use(rest)
  opened.defer(() => control.answered())
  tls = rest?.tls
  const address = addressOfWays(
    socket?.address,
    queries?.way,
    rest === undefined ? undefined : restWay(rest.url, rest.isLoopback),
  )
  const parts = { cluster, configuration, job, pool, exchanges, socket, queries, address, control }
  const process = join(options, parts)
  control.attach(process, rest?.url ?? '')
  const resources = opened.move()
  return {
    ...{ process, control, queryAddress: queries?.self },
    get notReady() {
      return process.notReady
    },
    silenceMs: () => pool.silenceMs(),
    replaceAccess: (access) => queries?.replaceAccess(access),
    [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose](),
  }
}

async function openQueries(
  { queries, applicationId, partitions, listener }: StartScaleOutOptions,
  {
    graph,
    configuration,
    opened,
  }: {
    readonly graph: StreamGraph
    readonly configuration: JobConfiguration
    readonly opened: ResourceStack
  },
): Promise<ProcessQueries | undefined> {
  if (queries === undefined) return undefined
  const storage = await loadStorage(configuration.checkpoints.directory!)
  opened.defer(() => storage.close())
  const { sessionTimeoutMs = DEFAULT_SESSION_MS } = configuration.scaleOut
  const singles = graph.nodes.filter(({ parallelism }) => parallelism === 1).map(({ uid }) => uid)
  return opened.use(
    await ProcessQueries.open({
      ...queries,
      ...{ job: applicationId, partitions, sessionTimeoutMs, storage, clock: systemClock },
      limits: configuration.queryLimits,
      jobIdOf: (partition) => partitionJobId(applicationId, partition),
      singles: new Set(singles),
      warn: (error) => listener({ kind: 'warning', partition: undefined, error }),
    }),
  )
}

interface JoinParts {
  readonly cluster: KafkaCluster
  readonly configuration: JobConfiguration
  readonly job: JobIdentity
  readonly pool: SlotThreadPool
  readonly exchanges: readonly Exchange[]
  readonly socket: PeerSocket | undefined
  readonly queries: ProcessQueries | undefined
  readonly address: string
  readonly control: ScaledJobControl
}

function join(options: StartScaleOutOptions, parts: JoinParts): JobProcess {
  const { applicationId, version, listener, threads } = options
  const { cluster, configuration, job, pool, exchanges, socket, queries, address, control } = parts
  const {
    sessionTimeoutMs = DEFAULT_SESSION_MS,
    groupHeartbeatMs,
    groupInstanceId,
  } = configuration.scaleOut
  const heartbeatMs = groupHeartbeatMs ?? Math.ceil(sessionTimeoutMs / 10)
  const topics = exchanges.map((exchange) => exchangeTopic(applicationId, exchange))
  const member = new KafkaGroupMember(cluster, {
    ...{ groupId: applicationId, sessionTimeoutMs, topics },
    heartbeatIntervalMs: heartbeatMs,
    ...(groupInstanceId === undefined ? {} : { groupInstanceId }),
  })
  return new JobProcess({
    ...{ member, job, heartbeatMs, version, topics, listener, socket, queries, address },
    create: async (partition) => {
      await control.requireGoesOn()
      const serving = queries?.readerFor(partition)
      return await createPartitionJob(options, partition, { pool, serving })
    },
    clock: systemClock,
    random: seededRandom(randomBytes(4).readUInt32LE()),
    capacity: threads,
    graceMs: configuration.checkpoints.shutdownTimeoutMs,
  })
}

function controlOf(
  options: StartScaleOutOptions,
  { checkpoints }: JobConfiguration,
  tls: () => RequestTls | undefined,
): ScaledJobControl {
  const { applicationId, partitions, version, threads, token } = options
  const jobId = scaledJobId(applicationId)
  const actionMs = checkpoints.shutdownTimeoutMs + ACTION_MS
  return new ScaledJobControl({
    ...{ jobId, partitions, version, name: applicationId, slots: threads },
    configuration: options.configuration,
    startedMs: systemClock.nowMs(),
    peers: new HttpPeers({ jobId, token, tls, actionMs }),
    records: new StopRecords(checkpoints.directory!, applicationId),
    newId: () => randomBytes(8).toString('hex'),
    clock: systemClock,
  })
}

async function identityOf(
  graph: StreamGraph,
  {
    cluster,
    configuration,
    partitions,
  }: {
    readonly cluster: KafkaCluster
    readonly configuration: JobConfiguration
    readonly partitions: number
  },
): Promise<JobIdentity> {
  const { clusterId } = await cluster.retry('metadata of the cluster', () => cluster.metadata([]))
  const storage = await loadStorage(configuration.checkpoints.directory!)
  try {
    return {
      fingerprint: graphFingerprint(graph),
      storageId: await storageIdOf(storage, randomBytes(16).toString('hex')),
      cluster: clusterId ?? '',
      partitions,
      maxParallelism: Math.max(...graph.nodes.map((node) => node.maxParallelism)),
    }
  } finally {
    await storage.close()
  }
}

function requireCheckpoints({ checkpoints }: JobConfiguration): void {
  const { directory, intervalMs, mode } = checkpoints
  const missing =
    directory === undefined
      ? 'execution.checkpointing.dir=PLACE, a folder that all processes reach'
      : intervalMs === undefined
        ? 'execution.checkpointing.interval=TIME'
        : undefined
  if (missing !== undefined) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `a job in many processes needs checkpoints: set -D ${missing}`,
    )
  }
  if (mode !== 'exactly-once') {
    const message = 'a job in many processes is exactly once: remove execution.checkpointing.mode'
    throw new WeirError('INVALID_ARGUMENT', message)
  }
}
