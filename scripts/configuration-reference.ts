import { SETTABLE_FLAGS } from '../src/cli/command/settings.ts'
import { DEFAULT_JOB_CONFIGURATION as DEFAULTS } from '../src/runtime/configuration/configuration.ts'
import { configurationKeys } from '../src/runtime/configuration/keys.ts'
import { EXPONENTIAL_DELAY } from '../src/runtime/configuration/restart-strategy.ts'
import { durationText, sizeText } from '../src/runtime/configuration/value-types.ts'

interface Row {
  readonly fallback: string
  /** Replaces the text of the source, which says the default, too. */
  readonly meaning?: string
}

const { checkpoints, network } = DEFAULTS
const FIXED = 'restart-strategy.fixed-delay'
const RATE = 'restart-strategy.failure-rate'
const EXPONENTIAL = 'restart-strategy.exponential-delay'

/** The default of each value as text, which the source does not have. */
const ROWS: Readonly<Record<string, Row>> = {
  'parallelism.default': { fallback: String(DEFAULTS.parallelism) },
  'pipeline.max-parallelism': {
    fallback: '1.5 x parallelism, rounded up to a power of 2, at least 128',
  },
  'pipeline.auto-generate-uids': { fallback: String(DEFAULTS.autoGenerateUids) },
  'pipeline.auto-watermark-interval': {
    fallback: durationText(DEFAULTS.autoWatermarkIntervalMs),
  },
  'pipeline.object-reuse': { fallback: String(DEFAULTS.objectReuse) },
  'taskmanager.numberOfTaskSlots': { fallback: 'largest parallelism' },
  'state.backend.type': { fallback: DEFAULTS.stateBackend },
  'state.backend.memory.budget': { fallback: sizeText(DEFAULTS.stateMemoryBytes) },
  'state.backend.directory': {
    fallback:
      "`weir-state-UID`, a folder of this user alone, in the machine's folder for temporary files",
  },
  'execution.checkpointing.interval': { fallback: 'none: only on request' },
  'execution.checkpointing.mode': { fallback: checkpoints.mode },
  'execution.checkpointing.unaligned.enabled': {
    fallback: String(checkpoints.unaligned),
  },
  'execution.checkpointing.aligned-checkpoint-timeout': {
    fallback: '0 ms',
  },
  'execution.checkpointing.timeout': {
    fallback: durationText(checkpoints.timeoutMs),
  },
  'execution.checkpointing.shutdown-timeout': {
    fallback: durationText(checkpoints.shutdownTimeoutMs),
  },
  'execution.checkpointing.min-pause': {
    fallback: durationText(checkpoints.minPauseMs),
  },
  'execution.checkpointing.tolerable-failed-checkpoints': {
    fallback: String(checkpoints.tolerableFailures),
  },
  'execution.checkpointing.num-retained': { fallback: String(checkpoints.retained) },
  'execution.checkpointing.dir': { fallback: 'none: no checkpoints' },
  'execution.checkpointing.savepoint-dir': { fallback: 'savepoints' },
  'execution.state-recovery.path': { fallback: 'the latest checkpoint' },
  'execution.state-recovery.only-first-start': { fallback: 'false' },
  'execution.state-recovery.submitted-ms': { fallback: '0' },
  'execution.state-recovery.take-over': { fallback: 'false' },
  'execution.state-recovery.ignore-unclaimed-state': { fallback: 'false' },
  'execution.state-recovery.accept-lost-transactions': { fallback: 'false' },
  'execution.end-of-input.max-timers': { fallback: String(DEFAULTS.mostTimersAtEnd) },
  'taskmanager.memory.segment-size': { fallback: sizeText(network.batchBytes) },
  'taskmanager.network.memory.buffers-per-channel': {
    fallback: String(network.credits),
  },
  'execution.buffer-timeout.interval': {
    fallback: durationText(network.bufferTimeoutMs),
  },
  'heartbeat.interval': { fallback: durationText(DEFAULTS.heartbeatIntervalMs) },
  'heartbeat.timeout': { fallback: durationText(DEFAULTS.heartbeatTimeoutMs) },
  'rest.enabled': { fallback: 'true' },
  'rest.bind-address': { fallback: DEFAULTS.rest.address },
  'rest.port': { fallback: '8081, or the next free one' },
  'rest.bind-port': { fallback: '`rest.port`' },
  'rest.insecure-listener': { fallback: 'false' },
  'rest.tls.cert': { fallback: 'none' },
  'rest.tls.key': { fallback: 'none' },
  'rest.tls.ca': { fallback: 'none' },
  'queryable-state.hot-weights': {
    fallback: '65536',
    meaning:
      'Weights of a version of a linear model that each query thread copies where blocks are spilled: those that requests need most; 0 for none ([linear models](../guide/svm.md#frequent-features)).',
  },
  'queryable-state.server.ports': { fallback: "the system's choice" },
  'queryable-state.server.tls.cert': { fallback: 'none' },
  'queryable-state.server.tls.key': { fallback: 'none' },
  'queryable-state.server.tls.ca': { fallback: 'none' },
  'queryable-state.server.max-connections': {
    fallback: '1024',
    meaning: 'Connections of each query server at a time; further ones are refused.',
  },
  'queryable-state.server.max-connections-per-address': {
    fallback: 'half of `max-connections`',
    meaning: 'Connections of one remote address at a time.',
  },
  'queryable-state.server.max-deadline': {
    fallback: '60 s',
    meaning: 'Longest time that a query may wait for its answer.',
  },
  'queryable-state.server.max-output': {
    fallback: '1 mb',
    meaning:
      'Answers that a client may leave unread before the server stops working for it ([limits](query-protocol.md#limits)).',
  },
  'application.server': { fallback: 'that of `--listen`' },
  'application.id': {
    fallback: 'name of the job',
    meaning:
      "Name of the group of a job's processes, and the beginning of the names of its topics and transactions. As all keys of a group, only with [`--scale-out`](../guide/scale-out.md).",
  },
  'scale-out.partitions': {
    fallback: '24',
    meaning: 'Job partitions: the parts of the job that processes own. Fixed by the first start.',
  },
  'session.timeout.ms': {
    fallback: '10 s',
    meaning: 'Silence after which a process has lost its job partitions; brokers take 6 s or more.',
  },
  'heartbeat.interval.ms': {
    fallback: 'a tenth of `session.timeout.ms`',
    meaning: 'Time between two signs of life of a process to its group.',
  },
  'group.instance.id': { fallback: 'none' },
  'replication.factor': {
    fallback: 'that of the brokers',
    meaning: 'Copies of each exchange topic.',
  },
  'restart-strategy.type': {
    fallback: 'exponential-delay with periodic checkpoints, else none',
  },
  [`${FIXED}.attempts`]: { fallback: '1' },
  [`${FIXED}.delay`]: { fallback: '1 s' },
  [`${RATE}.max-failures-per-interval`]: {
    fallback: '1',
  },
  [`${RATE}.failure-rate-interval`]: {
    fallback: '1 min',
  },
  [`${RATE}.delay`]: { fallback: '1 s' },
  [`${EXPONENTIAL}.initial-backoff`]: {
    fallback: durationText(EXPONENTIAL_DELAY.initialBackoffMs),
  },
  [`${EXPONENTIAL}.max-backoff`]: {
    fallback: durationText(EXPONENTIAL_DELAY.maxBackoffMs),
  },
  [`${EXPONENTIAL}.backoff-multiplier`]: {
    fallback: String(EXPONENTIAL_DELAY.backoffMultiplier),
  },
  [`${EXPONENTIAL}.reset-backoff-threshold`]: {
    fallback: durationText(EXPONENTIAL_DELAY.resetBackoffThresholdMs),
  },
  [`${EXPONENTIAL}.jitter-factor`]: {
    fallback: String(EXPONENTIAL_DELAY.jitterFactor),
  },
  [`${EXPONENTIAL}.attempts-before-reset-backoff`]: {
    fallback: 'infinite',
  },
}

/** The text of docs/reference/configuration.md. Throws when a key has no row here. */
export function configurationReference(): string {
  const lines = configurationKeys().map(({ key, kind, range, meaning }) => {
    const row = ROWS[key]
    if (row === undefined) throw new Error(`scripts/configuration-reference.ts lacks "${key}"`)
    const values = range === '' ? kind : `${kind}, ${range}`
    return `| \`${key}\` | ${values} | ${row.fallback} | ${row.meaning ?? meaning} |`
  })
  const flags = SETTABLE_FLAGS.map((flag) => `\`${flag}\``).join(', ')
  return [
    '# Configuration',
    '',
    "Keys are Flink's where Flink has one. Set them with `-D key=value` on the command line, with environment",
    'variables (`WEIR_EXECUTION_CHECKPOINTING_INTERVAL`: upper case, `_` for `.` and `-`) or in `weir.yaml`',
    '(in the working directory, or `--config FILE`, or `WEIR_CONFIG`). The command line overrides the',
    `environment, which overrides the file. Environment and file also set these flags: ${flags}.`,
    '',
    '```yaml',
    'data-dir: /var/weir',
    'execution.checkpointing.interval: 10 s',
    'state:',
    '  backend:',
    '    type: leveldb',
    '```',
    '',
    'In code they are a map of strings: `new LocalExecutor({...})`, `env.execute(name, {...})`,',
    '`ServedJob.start` and `MiniCluster`. An unknown key is refused with `UNKNOWN_OPTION`, which names the',
    'nearest one; a value out of range with `INVALID_ARGUMENT`, which names the key and the nearest valid value.',
    'So are two values that contradict each other, such as a heartbeat timeout below its interval. Nothing was started then.',
    '',
    '- **count**: a whole number. **number**: a decimal one.',
    '- **duration**: a number and a unit, `500 ms`, `10 s`, `5 min`, `1 h`; without a unit, milliseconds.',
    '- **size**: a number and a unit, `64 kb`, `512 mb`, `2 gb` (powers of 1024); without a unit, bytes.',
    '- **ports**: one port or a range, `9070`, `9070-9079`.',
    '- **path**: a path; for checkpoints also a `file://`, `hdfs://` or `s3://` URL.',
    '',
    '`weir run` sets `parallelism.default` from `--slots` and puts checkpoints and spilled state into its',
    '`--data-dir`; `weir run als-serving` takes a checkpoint every 10 s. `-D` overrides both.',
    '`new LocalExecutor()` uses `state.backend.type` heap.',
    '',
    '| key | value | default | meaning |',
    '|---|---|---|---|',
    ...lines,
    '',
  ].join('\n')
}
