import { requireArgument, WeirError } from '../../core/errors.ts'
import { type PortRange, parsePortRange } from '../../core/port-range.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { StateStoreType } from '../../state/store/state-store.ts'
import {
  type CheckpointConfiguration,
  DEFAULT_JOB_CONFIGURATION,
  type JobConfiguration,
} from './configuration.ts'
import { parseRestartConfiguration, RESTART_CONFIGURATION_KEYS } from './restarts.ts'
import { parseCount, parseDuration, parseSize, parseWord, withKey } from './values.ts'

/** Configuration as users write it: text by Flink's key. */
export type ConfigurationMap = Readonly<Record<string, string>>

/** A configuration key: its meaning, and the configuration with the value that its text gives. */
interface Option {
  readonly meaning: string
  readonly put: (configuration: JobConfiguration, text: string) => JobConfiguration
}

/** An option that is a field of the configuration itself. */
function ofJob<F extends keyof JobConfiguration>(
  field: F,
  parse: (text: string) => JobConfiguration[F],
  meaning: string,
): Option {
  const put: Option['put'] = (job, text) => ({ ...job, [field]: parse(text) })
  return { meaning, put }
}

type Section = 'checkpoints' | 'network' | 'queryTls' | 'queryLimits' | 'rest' | 'restTls'
type Fields<S extends Section> = NonNullable<JobConfiguration[S]>

/** Makes options that are fields of one section of the configuration. */
function fieldsOf<S extends Section>(section: S) {
  return <F extends keyof Fields<S>>(
    field: F,
    parse: (text: string) => Fields<S>[F],
    meaning: string,
  ): Option => {
    const put: Option['put'] = (job, text) => {
      return { ...job, [section]: { ...job[section], [field]: parse(text) } }
    }
    return { meaning, put }
  }
}

const ofCheckpoints = fieldsOf('checkpoints')
const ofNetwork = fieldsOf('network')
const ofQueryTls = fieldsOf('queryTls')
const ofQueryLimits = fieldsOf('queryLimits')
const ofRest = fieldsOf('rest')
const ofRestTls = fieldsOf('restTls')

const STORES: Readonly<Record<string, StateStoreType>> = {
  heap: 'heap',
  hashmap: 'heap',
  rocksdb: 'rocksdb',
  leveldb: 'leveldb',
}

const MODES = ['exactly-once', 'exactly_once', 'at-least-once', 'at_least_once'] as const

const asIs = (text: string): string => text
const positive = (text: string): number => parseCount(text, 1)
/** A port, a range of ports, or 0 for any free port. */
function parseRestPorts(text: string): PortRange {
  return text.trim() === '0' ? { first: 0, last: 0 } : parsePortRange(text)
}

const parseBoolean = (text: string): boolean => parseWord(text, ['true', 'false']) === 'true'
const parseStore = (text: string): StateStoreType => STORES[parseWord(text, Object.keys(STORES))]!

function parseMode(text: string): CheckpointConfiguration['mode'] {
  return parseWord(text, MODES).startsWith('exactly') ? 'exactly-once' : 'at-least-once'
}

/** A folder, or the number of a checkpoint. */
function parseRestoreFrom(text: string): string | number {
  return /^\d+$/.test(text) ? parseCount(text, 1) : text
}

const OPTIONS: Readonly<Record<string, Option>> = {
  'parallelism.default': ofJob('parallelism', positive, 'Parallelism of operators that set none.'),
  'pipeline.max-parallelism': ofJob(
    'maxParallelism',
    positive,
    'Number of key groups; cannot change while the state is kept. A job that sets none takes it from the checkpoint that it restores.',
  ),
  'pipeline.auto-watermark-interval': ofJob(
    'autoWatermarkIntervalMs',
    parseDuration,
    'Longest time between two watermarks of a busy source.',
  ),
  'pipeline.object-reuse': ofJob(
    'objectReuse',
    parseBoolean,
    "Whether functions get the objects of values, lists and reductions in keyed state themselves, not copies, as from Flink's heap backend: true or false. A function must then call update after it changes such an object, and must not change an object that it has collected.",
  ),
  'taskmanager.numberOfTaskSlots': ofJob(
    'slots',
    positive,
    'Slot threads; the largest parallelism of the job when missing.',
  ),
  'state.backend.type': ofJob(
    'stateBackend',
    parseStore,
    'Store of spilled state: heap (hashmap), rocksdb or leveldb.',
  ),
  'state.backend.memory.budget': ofJob(
    'stateMemoryBytes',
    parseSize,
    'Memory for keyed state of all slots together.',
  ),
  'state.backend.directory': ofJob(
    'stateDirectory',
    asIs,
    'Folder for spilled state; deleted when the job ends.',
  ),
  'execution.checkpointing.interval': ofCheckpoints(
    'intervalMs',
    parseDuration,
    'Time between two checkpoints.',
  ),
  'execution.checkpointing.mode': ofCheckpoints(
    'mode',
    parseMode,
    'EXACTLY_ONCE or AT_LEAST_ONCE.',
  ),
  'execution.checkpointing.unaligned.enabled': ofCheckpoints(
    'unaligned',
    parseBoolean,
    'Whether barriers overtake the records that wait in front of them, so that checkpoints do not wait for slow operators: true or false. The records become part of the checkpoint. Only with EXACTLY_ONCE; savepoints stay aligned.',
  ),
  'execution.checkpointing.aligned-checkpoint-timeout': ofCheckpoints(
    'alignedTimeoutMs',
    parseDuration,
    'Time from its start after which an unaligned checkpoint stops waiting for its alignment and overtakes; 0 overtakes at once. It counts only with execution.checkpointing.unaligned.enabled.',
  ),
  'execution.checkpointing.timeout': ofCheckpoints(
    'timeoutMs',
    parseDuration,
    'Time after which a checkpoint that is not complete is aborted.',
  ),
  'execution.checkpointing.min-pause': ofCheckpoints(
    'minPauseMs',
    parseDuration,
    'Shortest time between the end of a checkpoint and the start of the next one.',
  ),
  'execution.checkpointing.tolerable-failed-checkpoints': ofCheckpoints(
    'tolerableFailures',
    (text) => parseCount(text, 0),
    'Failed checkpoints in a row that do not fail the job.',
  ),
  'execution.checkpointing.num-retained': ofCheckpoints(
    'retained',
    positive,
    'Completed checkpoints that are kept.',
  ),
  'execution.checkpointing.dir': ofCheckpoints('directory', asIs, 'Where checkpoints are stored.'),
  'execution.checkpointing.savepoint-dir': ofCheckpoints(
    'savepointDirectory',
    asIs,
    'Where savepoints are stored whose command names no folder.',
  ),
  'execution.state-recovery.path': ofCheckpoints(
    'restoreFrom',
    parseRestoreFrom,
    'What the job restores when it starts: the folder of a checkpoint or savepoint, or N for its N-th newest checkpoint (1 is the newest).',
  ),
  'execution.state-recovery.only-first-start': ofCheckpoints(
    'restoreOnlyFirst',
    parseBoolean,
    "Whether execution.state-recovery.path counts only until the job has restored it: true or false. With true a process that continues the job goes on from the job's own newest checkpoint. The JobManager sets it; set it where another program starts the job again with the same flags.",
  ),
  'execution.state-recovery.ignore-unclaimed-state': ofCheckpoints(
    'allowNonRestoredState',
    parseBoolean,
    'Whether state that no operator of the job takes is dropped: true or false.',
  ),
  'execution.state-recovery.accept-lost-transactions': ofJob(
    'acceptLostTransactions',
    parseBoolean,
    'Whether the job continues without restored transactions that the log or broker no longer knows: true or false. Each is counted and reported.',
  ),
  'taskmanager.memory.segment-size': ofNetwork(
    'batchBytes',
    parseSize,
    'Bytes at which a batch of records is sent.',
  ),
  'taskmanager.network.memory.buffers-per-channel': ofNetwork(
    'credits',
    positive,
    'Batches of a channel that may be sent and not yet processed.',
  ),
  'execution.buffer-timeout.interval': ofNetwork(
    'bufferTimeoutMs',
    parseDuration,
    'Longest time that a record waits for its batch to fill.',
  ),
  'heartbeat.interval': ofJob(
    'heartbeatIntervalMs',
    parseDuration,
    'Time between two checks whether a slot is alive.',
  ),
  'heartbeat.timeout': ofJob(
    'heartbeatTimeoutMs',
    parseDuration,
    'Time without an answer after which a slot counts as lost.',
  ),
  'rest.enabled': ofRest(
    'isEnabled',
    parseBoolean,
    'Whether the process of a job has a REST interface: true or false.',
  ),
  'rest.bind-address': ofRest('address', asIs, 'Address on which the REST interface listens.'),
  'rest.port': ofRest('ports', parseRestPorts, 'Port of the REST interface; 0 for any free port.'),
  'rest.bind-port': ofRest(
    'ports',
    parseRestPorts,
    'Ports to try for the REST interface, for example 8081-8090; overrides rest.port if it is given after it.',
  ),
  'rest.insecure-listener': ofRest(
    'isInsecureAllowed',
    parseBoolean,
    'Whether the REST interface may listen on any address without TLS and tokens; every start warns.',
  ),
  'rest.tls.cert': ofRestTls(
    'cert',
    asIs,
    'File of the certificate (PEM) of the REST interface, which then uses TLS.',
  ),
  'rest.tls.key': ofRestTls('key', asIs, 'File of the private key (PEM) of the certificate.'),
  'rest.tls.ca': ofRestTls(
    'ca',
    asIs,
    'File of the certificates (PEM) that sign those of clients, which must then show one.',
  ),
  'queryable-state.server.ports': ofJob(
    'queryPorts',
    parsePortRange,
    'Ports of the query threads, for example 9070-9079; the operating system chooses them when missing. Clients learn the ports from the bootstrap port.',
  ),
  'queryable-state.hot-weights': ofJob(
    'hotWeights',
    (text) => parseCount(text, 0),
    'Weights of a version of a linear model that each query thread copies where blocks are spilled: those that requests need most; 0 for none (default 65536).',
  ),
  'queryable-state.server.tls.cert': ofQueryTls(
    'cert',
    asIs,
    'File of the certificate (PEM) of the query ports, which then use TLS.',
  ),
  'queryable-state.server.tls.key': ofQueryTls(
    'key',
    asIs,
    'File of the private key (PEM) of the certificate.',
  ),
  'queryable-state.server.tls.ca': ofQueryTls(
    'ca',
    asIs,
    'File of the certificates (PEM) that sign those of clients, which must then show one.',
  ),
  'queryable-state.server.max-connections': ofQueryLimits(
    'maxConnections',
    positive,
    'Connections of each query server at a time; further ones are refused (default 1024).',
  ),
  'queryable-state.server.max-connections-per-address': ofQueryLimits(
    'maxConnectionsPerAddress',
    positive,
    'Connections of one remote address at a time (default half of max-connections).',
  ),
  'queryable-state.server.max-deadline': ofQueryLimits(
    'maxDeadlineMs',
    parseDuration,
    'Longest time that a query may wait for its answer (default 60 s).',
  ),
  'queryable-state.server.max-output': ofQueryLimits(
    'maxOutputBytes',
    parseSize,
    'Bytes of answers that a client may leave unread before the server stops working for it (default 1 mb).',
  ),
}

/** Every key that `parseConfiguration` reads, with one sentence about its meaning. */
export function configurationKeys(): readonly { readonly key: string; readonly meaning: string }[] {
  const options = Object.entries(OPTIONS).map(([key, { meaning }]) => ({ key, meaning }))
  const restart = RESTART_CONFIGURATION_KEYS.map((key) => ({
    key,
    meaning: 'How a failed job is restarted; as in Flink.',
  }))
  return [...options, ...restart]
}

/**
 * Reads Flink's keys into a complete configuration; missing values are taken from `base`. Throws
 * UNKNOWN_OPTION, which names the nearest key, and INVALID_ARGUMENT for a value out of range.
 */
export function parseConfiguration(
  map: ConfigurationMap,
  base: JobConfiguration = DEFAULT_JOB_CONFIGURATION,
): JobConfiguration {
  let configuration = base
  for (const [key, text] of Object.entries(map)) {
    if (RESTART_CONFIGURATION_KEYS.includes(key)) continue
    const option = Object.hasOwn(OPTIONS, key) ? OPTIONS[key] : undefined
    if (option === undefined) throw unknownKey(key)
    requireArgument(typeof text === 'string', `the value of "${key}" must be a text, not ${text}`)
    configuration = withKey(key, () => option.put(configuration, text))
  }
  return { ...configuration, restart: parseRestartConfiguration(map, base.restart) }
}

function unknownKey(key: string): WeirError {
  const nearest = nearestWord(key, [...Object.keys(OPTIONS), ...RESTART_CONFIGURATION_KEYS])
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return new WeirError('UNKNOWN_OPTION', `the configuration key "${key}" is not known${hint}`, {
    details: { key, ...(nearest === undefined ? {} : { nearest }) },
  })
}
