import { requireArgument, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { StateStoreType } from '../../state/store/state-store.ts'
import {
  type CheckpointConfiguration,
  DEFAULT_JOB_CONFIGURATION,
  type JobConfiguration,
  requireRelations,
} from './configuration.ts'
import { fieldsOf, type Option, ofJob } from './option.ts'
import { parseRestartConfiguration, RESTART_KEYS } from './restart-keys.ts'
import { SCALE_OUT_OPTIONS } from './scale-out-keys.ts'
import {
  count,
  duration,
  parallelism,
  path,
  pathOrCount,
  place,
  ports,
  portsOrAny,
  size,
  text,
  truth,
  type ValueKind,
  type ValueType,
  word,
} from './value-types.ts'
import { withKey } from './values.ts'

/** Configuration as users write it: text by Flink's key. */
export type ConfigurationMap = Readonly<Record<string, string>>

const ofCheckpoints = fieldsOf('checkpoints')
const ofNetwork = fieldsOf('network')
const ofQueryTls = fieldsOf('queryTls')
const ofQueryLimits = fieldsOf('queryLimits')
const ofRest = fieldsOf('rest')
const ofRestTls = fieldsOf('restTls')

const STORES: ValueType<StateStoreType> = word({
  heap: 'heap',
  hashmap: 'heap',
  rocksdb: 'rocksdb',
  leveldb: 'leveldb',
})

const MODES: ValueType<CheckpointConfiguration['mode']> = word({
  'exactly-once': 'exactly-once',
  exactly_once: 'exactly-once',
  'at-least-once': 'at-least-once',
  at_least_once: 'at-least-once',
})

const OPTIONS: Readonly<Record<string, Option>> = {
  'parallelism.default': ofJob(
    'parallelism',
    parallelism,
    'Parallelism of operators that set none.',
  ),
  'pipeline.max-parallelism': ofJob(
    'maxParallelism',
    parallelism,
    'Number of key groups; cannot change while the state is kept. A job that sets none takes it from the checkpoint that it restores.',
  ),
  'pipeline.auto-generate-uids': ofJob(
    'autoGenerateUids',
    truth,
    'Whether operators without a uid get one, made from their name and their place in the graph: true or false. With false, a job that has such operators does not start, so that a change of the graph never takes the state of one for that of another.',
  ),
  'pipeline.auto-watermark-interval': ofJob(
    'autoWatermarkIntervalMs',
    duration(0),
    'Longest time between two watermarks of a busy source.',
  ),
  'pipeline.object-reuse': ofJob(
    'objectReuse',
    truth,
    "Whether functions get the objects of values, lists and reductions in keyed state themselves, not copies, as from Flink's heap backend, and operators that read the same stream share its records: true or false. A function must then call update after it changes an object of state, and must not change a record that others read or that it has collected.",
  ),
  'taskmanager.numberOfTaskSlots': ofJob(
    'slots',
    parallelism,
    'Slot threads; the largest parallelism of the job when missing.',
  ),
  'state.backend.type': ofJob(
    'stateBackend',
    STORES,
    'Store of spilled state: heap (hashmap), rocksdb or leveldb.',
  ),
  'state.backend.memory.budget': ofJob(
    'stateMemoryBytes',
    size(1024),
    'Memory for keyed state of all slots together.',
  ),
  'state.backend.directory': ofJob(
    'stateDirectory',
    path,
    'Folder for spilled state; deleted when the job ends.',
  ),
  'execution.checkpointing.interval': ofCheckpoints(
    'intervalMs',
    duration(1),
    'Time between two checkpoints.',
  ),
  'execution.checkpointing.mode': ofCheckpoints('mode', MODES, 'EXACTLY_ONCE or AT_LEAST_ONCE.'),
  'execution.checkpointing.unaligned.enabled': ofCheckpoints(
    'unaligned',
    truth,
    'Whether barriers overtake the records that wait in front of them, so that checkpoints do not wait for slow operators: true or false. The records become part of the checkpoint. Only with EXACTLY_ONCE; savepoints stay aligned.',
  ),
  'execution.checkpointing.aligned-checkpoint-timeout': ofCheckpoints(
    'alignedTimeoutMs',
    duration(0),
    'Time from its start after which an unaligned checkpoint stops waiting for its alignment and overtakes; 0 overtakes at once. It counts only with execution.checkpointing.unaligned.enabled.',
  ),
  'execution.checkpointing.timeout': ofCheckpoints(
    'timeoutMs',
    duration(1),
    'Time after which a checkpoint that is not complete is aborted.',
  ),
  'execution.checkpointing.shutdown-timeout': ofCheckpoints(
    'shutdownTimeoutMs',
    duration(0),
    'Time that the last checkpoint may take, of a process that a signal ends; 0 takes none. Keep it below the time after which your supervisor kills the process.',
  ),
  'execution.checkpointing.min-pause': ofCheckpoints(
    'minPauseMs',
    duration(0),
    'Shortest time between the end of a checkpoint and the start of the next one.',
  ),
  'execution.checkpointing.tolerable-failed-checkpoints': ofCheckpoints(
    'tolerableFailures',
    count(0),
    'Failed checkpoints in a row that do not fail the job.',
  ),
  'execution.checkpointing.num-retained': ofCheckpoints(
    'retained',
    count(1),
    'Completed checkpoints that are kept.',
  ),
  'execution.checkpointing.dir': ofCheckpoints('directory', place, 'Where checkpoints are stored.'),
  'execution.checkpointing.savepoint-dir': ofCheckpoints(
    'savepointDirectory',
    place,
    'Where savepoints are stored whose command names no folder.',
  ),
  'execution.state-recovery.path': ofCheckpoints(
    'restoreFrom',
    pathOrCount,
    'What the job restores when it starts: the folder of a checkpoint or savepoint, or N for its N-th newest checkpoint (1 is the newest).',
  ),
  'execution.state-recovery.only-first-start': ofCheckpoints(
    'restoreOnlyFirst',
    truth,
    "Whether execution.state-recovery.path counts only until the job has restored it: true or false. With true a process that continues the job goes on from the job's own newest checkpoint. The JobManager sets it; set it where another program starts the job again with the same flags.",
  ),
  'execution.state-recovery.submitted-ms': ofCheckpoints(
    'submittedMs',
    count(0),
    'When the job was submitted, ms since 1970: for only-first-start, checkpoints that completed before are those of an earlier submission. The JobManager sets it.',
  ),
  'execution.state-recovery.ignore-unclaimed-state': ofCheckpoints(
    'allowNonRestoredState',
    truth,
    'Whether state that no operator of the job takes is dropped: true or false.',
  ),
  'execution.state-recovery.take-over': ofCheckpoints(
    'takeOver',
    truth,
    'Whether the job is taken over from another process that runs it, which then ends: true or false. With false such a start is refused.',
  ),
  'execution.state-recovery.accept-lost-transactions': ofJob(
    'acceptLostTransactions',
    truth,
    'Whether the job continues without restored transactions that the log or broker no longer knows: true or false. Each is counted and reported.',
  ),
  'execution.end-of-input.max-timers': ofJob(
    'mostTimersAtEnd',
    count(0),
    'Event-time timers that the functions of an operator may register in a subtask once its input has ended. One more is an error: timers that always register further ones would never let the job end.',
  ),
  'taskmanager.memory.segment-size': ofNetwork(
    'batchBytes',
    size(256, 2 ** 28),
    'Bytes at which a batch of records is sent.',
  ),
  'taskmanager.network.memory.buffers-per-channel': ofNetwork(
    'credits',
    count(1),
    'Batches of a channel that may be sent and not yet processed.',
  ),
  'execution.buffer-timeout.interval': ofNetwork(
    'bufferTimeoutMs',
    duration(0),
    'Longest time that a record waits for its batch to fill.',
  ),
  'heartbeat.interval': ofJob(
    'heartbeatIntervalMs',
    duration(1),
    'Time between two checks whether a slot is alive.',
  ),
  'heartbeat.timeout': ofJob(
    'heartbeatTimeoutMs',
    duration(1),
    'Time without an answer after which a slot counts as lost.',
  ),
  'rest.enabled': ofRest(
    'isEnabled',
    truth,
    'Whether the process of a job has a REST interface: true or false.',
  ),
  'rest.bind-address': ofRest('address', text, 'Address on which the REST interface listens.'),
  'rest.port': ofRest('ports', portsOrAny, 'Port of the REST interface; 0 for any free port.'),
  'rest.bind-port': ofRest(
    'ports',
    portsOrAny,
    'Ports to try for the REST interface, for example 8081-8090; overrides rest.port if it is given after it.',
  ),
  'rest.insecure-listener': ofRest(
    'isInsecureAllowed',
    truth,
    'Whether the REST interface may listen on any address without TLS and tokens; every start warns.',
  ),
  'rest.tls.cert': ofRestTls(
    'cert',
    path,
    'File of the certificate (PEM) of the REST interface, which then uses TLS.',
  ),
  'rest.tls.key': ofRestTls('key', path, 'File of the private key (PEM) of the certificate.'),
  'rest.tls.ca': ofRestTls(
    'ca',
    path,
    'File of the certificates (PEM) that sign those of clients, which must then show one.',
  ),
  'queryable-state.server.ports': ofJob(
    'queryPorts',
    ports,
    'Ports of the query threads, for example 9070-9079; the operating system chooses them when missing. Clients learn the ports from the bootstrap port.',
  ),
  'queryable-state.hot-weights': ofJob(
    'hotWeights',
    count(0),
    'Weights of a version of a linear model that each query thread copies where blocks are spilled: those that requests need most; 0 for none (default 65536).',
  ),
  'queryable-state.server.tls.cert': ofQueryTls(
    'cert',
    path,
    'File of the certificate (PEM) of the query ports, which then use TLS.',
  ),
  'queryable-state.server.tls.key': ofQueryTls(
    'key',
    path,
    'File of the private key (PEM) of the certificate.',
  ),
  'queryable-state.server.tls.ca': ofQueryTls(
    'ca',
    path,
    'File of the certificates (PEM) that sign those of clients, which must then show one.',
  ),
  'queryable-state.server.max-connections': ofQueryLimits(
    'maxConnections',
    count(1),
    'Connections of each query server at a time; further ones are refused (default 1024).',
  ),
  'queryable-state.server.max-connections-per-address': ofQueryLimits(
    'maxConnectionsPerAddress',
    count(1),
    'Connections of one remote address at a time (default half of max-connections).',
  ),
  'queryable-state.server.max-deadline': ofQueryLimits(
    'maxDeadlineMs',
    duration(1),
    'Longest time that a query may wait for its answer (default 60 s).',
  ),
  'queryable-state.server.max-output': ofQueryLimits(
    'maxOutputBytes',
    size(1024),
    'Bytes of answers that a client may leave unread before the server stops working for it (default 1 mb).',
  ),
  ...SCALE_OUT_OPTIONS,
}

/** What a key takes, and what it means. */
export interface ConfigurationKey {
  readonly key: string
  readonly kind: ValueKind
  /** Valid values in words; empty where the kind says it all. */
  readonly range: string
  /** One sentence. */
  readonly meaning: string
}

/** Every key that `parseConfiguration` reads. */
export function configurationKeys(): readonly ConfigurationKey[] {
  const options = Object.entries(OPTIONS).map(([key, { kind, range, meaning }]) => ({
    key,
    kind,
    range,
    meaning,
  }))
  return [...options, ...RESTART_KEYS]
}

/**
 * Reads Flink's keys into a complete configuration; missing values are taken from `base`. Throws
 * UNKNOWN_OPTION, which names the nearest key, and INVALID_ARGUMENT for a value out of range, or for two that contradict
 * each other.
 */
export function parseConfiguration(
  map: ConfigurationMap,
  base: JobConfiguration = DEFAULT_JOB_CONFIGURATION,
): JobConfiguration {
  let configuration = base
  for (const [key, value] of Object.entries(map)) {
    const option = Object.hasOwn(OPTIONS, key) ? OPTIONS[key] : undefined
    const isOfRestart = RESTART_KEYS.some((restart) => restart.key === key)
    if (option === undefined && !isOfRestart) throw unknownKey(key)
    requireArgument(typeof value === 'string', `the value of "${key}" must be a text, not ${value}`)
    if (option !== undefined) configuration = withKey(key, () => option.put(configuration, value))
  }
  const complete = { ...configuration, restart: parseRestartConfiguration(map, base.restart) }
  requireRelations(complete, Object.keys(map))
  return complete
}

/**
 * Checks one value of the configuration; relations to others are checked where all are known (`parseConfiguration`).
 * Throws UNKNOWN_OPTION, INVALID_ARGUMENT.
 */
export function checkConfigurationValue(key: string, value: string): void {
  const option = Object.hasOwn(OPTIONS, key) ? OPTIONS[key] : undefined
  if (option !== undefined) withKey(key, () => option.put(DEFAULT_JOB_CONFIGURATION, value))
  else if (RESTART_KEYS.some((restart) => restart.key === key)) {
    parseRestartConfiguration({ [key]: value }, undefined)
  } else throw unknownKey(key)
}

/** The error of a key that does not exist: UNKNOWN_OPTION with the nearest one. */
export function unknownKey(key: string): WeirError {
  const keys = configurationKeys().map((known) => known.key)
  const ends = keys.filter((known) => known.endsWith(`.${key}`))
  const nearest = ends.length === 1 ? ends[0] : nearestWord(key, keys)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return new WeirError('UNKNOWN_OPTION', `the configuration key "${key}" is not known${hint}`, {
    details: { key, ...(nearest === undefined ? {} : { nearest }) },
  })
}
