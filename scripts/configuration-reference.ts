import { SETTABLE_FLAGS } from '../src/cli/command/settings.ts'
import { DEFAULT_JOB_CONFIGURATION as DEFAULTS } from '../src/runtime/configuration/configuration.ts'
import { configurationKeys } from '../src/runtime/configuration/keys.ts'
import { EXPONENTIAL_DELAY } from '../src/runtime/configuration/restart-strategy.ts'

type ValueKind =
  | 'count'
  | 'duration'
  | 'size'
  | 'word'
  | 'path'
  | 'path or count'
  | 'number'
  | 'ports'

interface Row {
  readonly kind: ValueKind
  readonly fallback: string
  /** Replaces the text of the source, which has one text for all restart keys. */
  readonly meaning?: string
}

/** Milliseconds in the form of a configuration value. */
function duration(ms: number): string {
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}

/** Bytes in the form of a configuration value. */
function size(bytes: number): string {
  return bytes % 2 ** 20 === 0 ? `${bytes / 2 ** 20} mb` : `${bytes / 2 ** 10} kb`
}

const { checkpoints, network } = DEFAULTS
const FIXED = 'restart-strategy.fixed-delay'
const RATE = 'restart-strategy.failure-rate'
const EXPONENTIAL = 'restart-strategy.exponential-delay'

/** The kind and the default of each value as text, which the source does not have. */
const ROWS: Readonly<Record<string, Row>> = {
  'parallelism.default': { kind: 'count', fallback: String(DEFAULTS.parallelism) },
  'pipeline.max-parallelism': {
    kind: 'count',
    fallback: '1.5 x parallelism, rounded up to a power of 2, at least 128',
  },
  'pipeline.auto-watermark-interval': {
    kind: 'duration',
    fallback: duration(DEFAULTS.autoWatermarkIntervalMs),
  },
  'pipeline.object-reuse': { kind: 'word', fallback: String(DEFAULTS.objectReuse) },
  'taskmanager.numberOfTaskSlots': { kind: 'count', fallback: 'largest parallelism' },
  'state.backend.type': { kind: 'word', fallback: DEFAULTS.stateBackend },
  'state.backend.memory.budget': { kind: 'size', fallback: size(DEFAULTS.stateMemoryBytes) },
  'state.backend.directory': {
    kind: 'path',
    fallback:
      "`weir-state-UID`, a folder of this user alone, in the machine's folder for temporary files",
  },
  'execution.checkpointing.interval': { kind: 'duration', fallback: 'none: only on request' },
  'execution.checkpointing.mode': { kind: 'word', fallback: checkpoints.mode },
  'execution.checkpointing.unaligned.enabled': {
    kind: 'word',
    fallback: String(checkpoints.unaligned),
  },
  'execution.checkpointing.aligned-checkpoint-timeout': {
    kind: 'duration',
    fallback: '0 ms',
  },
  'execution.checkpointing.timeout': {
    kind: 'duration',
    fallback: duration(checkpoints.timeoutMs),
  },
  'execution.checkpointing.min-pause': {
    kind: 'duration',
    fallback: duration(checkpoints.minPauseMs),
  },
  'execution.checkpointing.tolerable-failed-checkpoints': {
    kind: 'count',
    fallback: String(checkpoints.tolerableFailures),
  },
  'execution.checkpointing.num-retained': { kind: 'count', fallback: String(checkpoints.retained) },
  'execution.checkpointing.dir': { kind: 'path', fallback: 'none: no checkpoints' },
  'execution.checkpointing.savepoint-dir': { kind: 'path', fallback: 'savepoints' },
  'execution.state-recovery.path': { kind: 'path or count', fallback: 'the latest checkpoint' },
  'execution.state-recovery.only-first-start': { kind: 'word', fallback: 'false' },
  'execution.state-recovery.submitted-ms': { kind: 'count', fallback: '0' },
  'execution.state-recovery.take-over': { kind: 'word', fallback: 'false' },
  'execution.state-recovery.ignore-unclaimed-state': { kind: 'word', fallback: 'false' },
  'execution.state-recovery.accept-lost-transactions': { kind: 'word', fallback: 'false' },
  'taskmanager.memory.segment-size': { kind: 'size', fallback: size(network.batchBytes) },
  'taskmanager.network.memory.buffers-per-channel': {
    kind: 'count',
    fallback: String(network.credits),
  },
  'execution.buffer-timeout.interval': {
    kind: 'duration',
    fallback: duration(network.bufferTimeoutMs),
  },
  'heartbeat.interval': { kind: 'duration', fallback: duration(DEFAULTS.heartbeatIntervalMs) },
  'heartbeat.timeout': { kind: 'duration', fallback: duration(DEFAULTS.heartbeatTimeoutMs) },
  'rest.enabled': { kind: 'word', fallback: 'true' },
  'rest.bind-address': { kind: 'word', fallback: DEFAULTS.rest.address },
  'rest.port': { kind: 'ports', fallback: '8081, or the next free one' },
  'rest.bind-port': { kind: 'ports', fallback: '`rest.port`' },
  'rest.insecure-listener': { kind: 'word', fallback: 'false' },
  'rest.tls.cert': { kind: 'path', fallback: 'none' },
  'rest.tls.key': { kind: 'path', fallback: 'none' },
  'rest.tls.ca': { kind: 'path', fallback: 'none' },
  'queryable-state.hot-weights': {
    kind: 'count',
    fallback: '65536',
    meaning:
      'Weights of a version of a linear model that each query thread copies where blocks are spilled: those that requests need most; 0 for none ([linear models](../guide/svm.md#frequent-features)).',
  },
  'queryable-state.server.ports': { kind: 'ports', fallback: "the system's choice" },
  'queryable-state.server.tls.cert': { kind: 'path', fallback: 'none' },
  'queryable-state.server.tls.key': { kind: 'path', fallback: 'none' },
  'queryable-state.server.tls.ca': { kind: 'path', fallback: 'none' },
  'queryable-state.server.max-connections': {
    kind: 'count',
    fallback: '1024',
    meaning: 'Connections of each query server at a time; further ones are refused.',
  },
  'queryable-state.server.max-connections-per-address': {
    kind: 'count',
    fallback: 'half of `max-connections`',
    meaning: 'Connections of one remote address at a time.',
  },
  'queryable-state.server.max-deadline': {
    kind: 'duration',
    fallback: '60 s',
    meaning: 'Longest time that a query may wait for its answer.',
  },
  'queryable-state.server.max-output': {
    kind: 'size',
    fallback: '1 mb',
    meaning:
      'Answers that a client may leave unread before the server stops working for it ([limits](query-protocol.md#limits)).',
  },
  'restart-strategy.type': {
    kind: 'word',
    fallback: 'exponential-delay with periodic checkpoints, else none',
    meaning: 'How a failed job restarts: none, fixed-delay, failure-rate, exponential-delay.',
  },
  [`${FIXED}.attempts`]: { kind: 'count', fallback: '1', meaning: 'Maximum number of restarts.' },
  [`${FIXED}.delay`]: { kind: 'duration', fallback: '1 s', meaning: 'Time before each restart.' },
  [`${RATE}.max-failures-per-interval`]: {
    kind: 'count',
    fallback: '1',
    meaning: 'Maximum number of failures within the interval.',
  },
  [`${RATE}.failure-rate-interval`]: {
    kind: 'duration',
    fallback: '1 min',
    meaning: 'Interval in which failures count.',
  },
  [`${RATE}.delay`]: { kind: 'duration', fallback: '1 s', meaning: 'Time before each restart.' },
  [`${EXPONENTIAL}.initial-backoff`]: {
    kind: 'duration',
    fallback: duration(EXPONENTIAL_DELAY.initialBackoffMs),
    meaning: 'Time before the first restart.',
  },
  [`${EXPONENTIAL}.max-backoff`]: {
    kind: 'duration',
    fallback: duration(EXPONENTIAL_DELAY.maxBackoffMs),
    meaning: 'Maximum time before a restart.',
  },
  [`${EXPONENTIAL}.backoff-multiplier`]: {
    kind: 'number',
    fallback: String(EXPONENTIAL_DELAY.backoffMultiplier),
    meaning: 'Factor of the time after each failure.',
  },
  [`${EXPONENTIAL}.reset-backoff-threshold`]: {
    kind: 'duration',
    fallback: duration(EXPONENTIAL_DELAY.resetBackoffThresholdMs),
    meaning: 'Time without a failure after which the backoff starts again.',
  },
  [`${EXPONENTIAL}.jitter-factor`]: {
    kind: 'number',
    fallback: String(EXPONENTIAL_DELAY.jitterFactor),
    meaning: 'Random share of the time that is added or subtracted, 0 to 1.',
  },
  [`${EXPONENTIAL}.attempts-before-reset-backoff`]: {
    kind: 'count',
    fallback: 'infinite',
    meaning: 'Restarts before the backoff starts again; `infinite` for no limit.',
  },
}

/** The text of docs/reference/configuration.md. Throws when a key has no row here. */
export function configurationReference(): string {
  const lines = configurationKeys().map(({ key, meaning }) => {
    const row = ROWS[key]
    if (row === undefined) throw new Error(`scripts/configuration-reference.ts lacks "${key}"`)
    return `| \`${key}\` | ${row.kind} | ${row.fallback} | ${row.meaning ?? meaning} |`
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
    'nearest one; a value out of range with `INVALID_ARGUMENT`, which names the key.',
    '',
    '- **count**: a whole number. **number**: a decimal one.',
    '- **duration**: a number and a unit, `500 ms`, `10 s`, `5 min`, `1 h`; without a unit, milliseconds.',
    '- **size**: a number and a unit, `64 kb`, `512 mb`, `2 gb` (powers of 1024); without a unit, bytes.',
    '- **ports**: one port or a range, `9070`, `9070-9079`.',
    '- **path**: a path; for checkpoints also a `file://` or `hdfs://` URL.',
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
