/**
 * What an option of a submission can reach on the machine of the JobManager. `nothing`: numbers, topics, words.
 * `code`: a folder whose modules run. `place`: files, or an `hdfs://` or `s3://` URL. `hosts`: servers that are called.
 * `address`: where a port listens. `listener`: who may use that port. `settings`: what its keys reach.
 * `never`: it belongs to another process.
 */
export type Reach =
  | 'nothing'
  | 'code'
  | 'place'
  | 'hosts'
  | 'address'
  | 'listener'
  | 'settings'
  | 'never'

/** Options by what they reach; an option that is not here is refused. */
const OPTIONS: Readonly<Record<Exclude<Reach, 'nothing'>, readonly string[]>> = {
  code: ['repository'],
  place: [
    ...['data-dir', 'titles', 'restore-from'],
    ...['sasl-password-file', 'tls-ca', 'tls-cert', 'tls-key'],
  ],
  hosts: ['brokers'],
  address: ['host'],
  listener: [
    ...[
      'tokens',
      'people',
      'token-file',
      'insecure-listener',
      'audit-file',
      'trusted-proxy',
      'allow-origin',
    ],
    ...['server-tls-cert', 'server-tls-key', 'server-tls-ca'],
  ],
  settings: ['set'],
  never: [
    ...['token', 'sasl-password'],
    ...['detached', 'scale-out', 'processes', 'jobmanager', 'listen'],
    ...['jobmanager-tls', 'jobmanager-tls-ca', 'jobmanager-tls-cert', 'jobmanager-tls-key'],
    ...['http', 'grpc', 'health', 'model-control', 'allow-modules', 'allow-remote', 'remote-keys'],
  ],
}

/** Options that reach nothing: a module gets those of `option`, and its folder is allowed. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['topic', 'quarantine', 'observations', 'dimension', 'option', 'check-types', 'memory'],
  ...['max-key-bytes', 'log-format', 'slots', 'query-threads', 'port', 'tags'],
  ...['allow-non-restored-state', 'take-over', 'accept-lost-transactions'],
  ...['sasl-mechanism', 'sasl-username', 'tls'],
  ...['ratings-per-second', 'item-ratings-per-second', 'window-count', 'window-ms', 'learn-from'],
  ...['never-stop', 'event-id', 'event-window'],
  ...[
    'write-back',
    'delete-deltas',
    'rule',
    'noise',
    'new-user-noise',
    'user-forgetting',
    'item-forgetting',
  ],
  ...['newcomers', 'evidence', 'learning-rate', 'schedule', 'decay', 'user-regularization'],
  ...['item-regularization', 'order', 'stack-forgetting', 'feedback', 'loss', 'positive'],
  ...['alpha', 'beta', 'l1', 'l2', 'under-way', 'max-features', 'hash-bits', 'crosses'],
])

const REACHING: ReadonlyMap<string, Reach> = new Map(
  Object.entries(OPTIONS).flatMap(([reach, names]) => names.map((name) => [name, reach as Reach])),
)

/** What an option reaches; undefined for one that is not classified. */
export function reachOf(option: string): Reach | undefined {
  return HARMLESS.has(option) ? 'nothing' : REACHING.get(option)
}

/** What a configuration key reaches, by the kind of its values. */
export function reachOfKey(key: string, kind: string): Reach {
  if (key.includes('.tls.') || key.endsWith('insecure-listener')) return 'listener'
  if (key === 'rest.bind-address') return 'address'
  return kind.startsWith('path') ? 'place' : 'nothing'
}
