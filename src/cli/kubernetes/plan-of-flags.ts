import { isAbsolute } from 'node:path/posix'
import { parseStorageUrl } from '../../core/storage-url.ts'
import { parseS3Url } from '../../files/s3/address.ts'
import { parseWebHdfsUrl } from '../../files/webhdfs/address.ts'
import type { JobConfiguration } from '../../runtime/configuration/configuration.ts'
import { parseConfiguration } from '../../runtime/configuration/keys.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { configurationOf, keyValuesOf } from '../flags/serving.ts'
import { quantityBytes } from './flag-kinds.ts'
import {
  AUTOSCALERS,
  type AutoscalerPlan,
  type CheckpointsPlan,
  type KafkaPlan,
  type KubernetesPlan,
  type SecretKey,
} from './plan.ts'

/** `scale-out.partitions` without the setting. */
const DEFAULT_PARTITIONS = 24
/** Time to leave the group and to end after the handover, s. */
const LEAVE_SECONDS = 10
/** Port on which a DataNode of HDFS answers HTTP. */
const DATA_NODE_PORT = 9864
/** What a process needs beside the state that it holds in memory, bytes. */
const BESIDE_STATE_BYTES = 2 ** 30
/** Settings that the manifests decide. */
const OWN_KEYS: Readonly<Record<string, string>> = {
  'group.instance.id': 'each process has the name of its pod',
  'state.backend.directory': 'a pod keeps its state in a volume of its own',
}

/** What the flags of `weir kubernetes render` say. Throws UsageError for values that do not go together. */
export function planOf(job: string, flags: Flags): KubernetesPlan {
  const settings = configurationOf(flags)
  for (const [key, why] of Object.entries(OWN_KEYS)) {
    if (settings[key] !== undefined) throw new UsageError(`leave -D ${key} out: ${why}`)
  }
  const configuration = parseConfiguration(settings)
  const name = flags.string('name')
  const partitions = configuration.scaleOut.partitions ?? DEFAULT_PARTITIONS
  const replicas = flags.number('replicas')
  requireReplicas('--replicas', replicas, partitions)
  requireMemory(flags.string('memory'), configuration)
  const applicationId = configuration.scaleOut.applicationId ?? name
  const checkpoints = checkpointsOf(flags, configuration)
  const kafka = kafkaOf(flags)
  const secretName = flags.optional('existing-secret')
  return {
    ...{ name, job, replicas, applicationId, checkpoints, kafka },
    namespace: flags.optional('namespace'),
    image: flags.string('image'),
    folder: flags.string('app-dir'),
    args: userArgs(flags, settings),
    resources: {
      cpu: flags.string('cpu'),
      memory: flags.string('memory'),
      disk: flags.string('disk'),
    },
    healthPort: flags.number('health-port'),
    graceSeconds: graceOf(flags, configuration),
    startupSeconds: flags.number('startup-seconds'),
    secret: {
      name: secretName ?? name,
      exists: secretName !== undefined,
      keys: secretKeys(kafka, checkpoints, flags),
    },
    accountAnnotations: keyValuesOf(flags, 'account-annotation'),
    egressPorts: flags.list('egress-port').map(Number),
    autoscaler: autoscalerOf(flags, { partitions, replicas, applicationId }),
  }
}

function requireReplicas(flag: string, replicas: number, partitions: number): void {
  if (replicas <= partitions) return
  throw new UsageError(
    `${flag} ${replicas} is more than the ${partitions} job partitions, so some processes would have no work; give at most ${partitions}, or set -D scale-out.partitions before the first start`,
  )
}

function requireMemory(memory: string, { stateMemoryBytes }: JobConfiguration): void {
  const least = stateMemoryBytes + BESIDE_STATE_BYTES
  if (quantityBytes(memory) >= least) return
  const leastMi = Math.ceil(least / 2 ** 20)
  throw new UsageError(
    `--memory ${memory} is less than state.backend.memory.budget and 1 GiB for the rest of a process; give at least ${leastMi}Mi, or set a smaller budget`,
  )
}

function graceOf(flags: Flags, { checkpoints }: JobConfiguration): number {
  const least = Math.ceil(checkpoints.shutdownTimeoutMs / 1000) + LEAVE_SECONDS
  const given = flags.optionalNumber('grace-seconds') ?? least + LEAVE_SECONDS
  if (given >= least) return given
  throw new UsageError(
    `--grace-seconds ${given} ends a process in its handover, which may take execution.checkpointing.shutdown-timeout, and ${LEAVE_SECONDS} s more; give at least ${least}`,
  )
}

function checkpointsOf(flags: Flags, { checkpoints }: JobConfiguration): CheckpointsPlan {
  const { directory } = checkpoints
  const claim = flags.optional('checkpoints-claim')
  if (directory === undefined) {
    throw new UsageError(
      'all pods must reach the checkpoints: set -D execution.checkpointing.dir=s3://BUCKET/PREFIX, hdfs://HOST:PORT/DIR, or a path with --checkpoints-claim NAME',
    )
  }
  const place = parseStorageUrl(directory)
  if (place.kind === 'local') {
    if (claim === undefined || !isAbsolute(place.path)) {
      throw new UsageError(
        `checkpoints in ${directory} are in one pod only: give an absolute path and --checkpoints-claim NAME, a claim on a volume that all pods write (ReadWriteMany), or an s3:// or hdfs:// URL`,
      )
    }
    return { place: place.path, claim: { name: claim, path: place.path }, ports: [] }
  }
  if (claim !== undefined) {
    throw new UsageError(
      `--checkpoints-claim is for a path, and the checkpoints are in ${directory}`,
    )
  }
  return { place: directory, claim: undefined, ports: storagePorts(place.kind, place.url) }
}

/** Ports of a storage: those of the NameNodes and of DataNodes, or of the server of S3. */
function storagePorts(kind: 'hdfs' | 's3', url: string): number[] {
  if (kind === 'hdfs') {
    return [...parseWebHdfsUrl(url).nameNodes.map((nameNode) => nameNode.port), DATA_NODE_PORT]
  }
  const { endpoint } = parseS3Url(url)
  if (endpoint === undefined) return [443]
  const { port, protocol } = new URL(endpoint)
  return [Number(port || (protocol === 'https:' ? 443 : 80))]
}

function kafkaOf(flags: Flags): KafkaPlan {
  const mechanism = flags.optional('sasl-mechanism')
  const username = flags.optional('sasl-username')
  const secret = flags.optional('kafka-tls-secret')
  const isEncrypted = flags.boolean('tls') || secret !== undefined
  const hasBoth = mechanism !== undefined && username !== undefined
  return {
    brokers: flags.string('brokers'),
    sasl: hasBoth ? { mechanism, username } : undefined,
    tls: isEncrypted ? { secret, hasClient: flags.boolean('kafka-client-cert') } : undefined,
  }
}

function secretKeys(kafka: KafkaPlan, { place }: CheckpointsPlan, flags: Flags): SecretKey[] {
  const isKeyed = place.startsWith('s3://') && !flags.has('account-annotation')
  return [
    ...(kafka.sasl === undefined ? [] : (['sasl-password'] as const)),
    ...(isKeyed ? (['aws-access-key-id', 'aws-secret-access-key'] as const) : []),
  ]
}

/** What is passed on as it is. */
function userArgs(flags: Flags, settings: Readonly<Record<string, string>>): string[] {
  const own = new Set(['application.id', 'execution.checkpointing.dir'])
  const others = Object.entries(settings).filter(([key]) => !own.has(key))
  return [
    ...['--slots', flags.string('slots')],
    ...flags.list('option').flatMap((pair) => ['--option', pair]),
    ...others.flatMap(([key, value]) => ['-D', `${key}=${value}`]),
  ]
}

function autoscalerOf(
  flags: Flags,
  {
    partitions,
    replicas,
    applicationId,
  }: Pick<KubernetesPlan, 'replicas' | 'applicationId'> & { readonly partitions: number },
): AutoscalerPlan | undefined {
  const kind = flags.choice('autoscaler', AUTOSCALERS)
  if (kind === 'none') return undefined
  const mostReplicas = flags.optionalNumber('max-replicas') ?? partitions
  requireReplicas('--max-replicas', mostReplicas, partitions)
  if (mostReplicas < replicas) {
    throw new UsageError(`--max-replicas ${mostReplicas} is less than --replicas ${replicas}`)
  }
  const group = flags.optional('lag-group')
  const topic = flags.optional('lag-topic')
  if (group === undefined || topic === undefined) {
    throw new UsageError(
      `--autoscaler ${kind} needs --lag-group GROUP and --lag-topic TOPIC: the groupId under which a source of the job commits, and its topic`,
    )
  }
  if (group === applicationId) {
    throw new UsageError(
      `--lag-group ${group} is the group of the processes (application.id), under which no source commits; give the source a groupId of its own`,
    )
  }
  const lagPerProcess = flags.number('lag-per-process')
  return { kind, mostReplicas, group, topic, lagPerProcess, metric: flags.string('lag-metric') }
}
