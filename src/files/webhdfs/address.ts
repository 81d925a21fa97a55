import { requireArgument } from '../../core/errors.ts'

/** Port of a NameNode's web interface, and so of WebHDFS, unless the URL names one. */
const DEFAULT_WEBHDFS_PORT = 9870

/** Address of a NameNode's WebHDFS. */
export interface NameNodeAddress {
  readonly host: string
  readonly port: number
}

/** Parts of an `hdfs://` URL. */
export interface WebHdfsAddress {
  /** One NameNode, or those of a high-availability pair in any order. */
  readonly nameNodes: readonly NameNodeAddress[]
  /** Absolute path in HDFS, decoded, without "/" at its end except for the root. */
  readonly path: string
  /** User name for a cluster without security; undefined: the cluster's default. */
  readonly user: string | undefined
  /** File with a delegation token, read for every request, so that it can be renewed. */
  readonly tokenFile: string | undefined
  /** Replicas of every file; undefined: the cluster's default. */
  readonly replication: number | undefined
  /** Longest silence of a server, ms; undefined: the client's default. */
  readonly timeoutMs: number | undefined
}

const FORM = /^hdfs:\/\/([^/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/
const NAME_NODE = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/
const SETTINGS = new Set(['user.name', 'token-file', 'replication', 'timeout-ms'])

/**
 * Parses
 * `hdfs://host:port[,host2:port2]/path?user.name=NAME&token-file=FILE&replication=N&timeout-ms=MS`.
 * Ports are those of WebHDFS (the NameNode's web interface), not of its RPC. Throws INVALID_ARGUMENT.
 */
export function parseWebHdfsUrl(url: string): WebHdfsAddress {
  const form = FORM.exec(url)
  requireArgument(
    form !== null,
    `"${url}" is not an HDFS URL: write hdfs://host:port[,host2:port2]/path?user.name=NAME`,
  )
  const settings = new URLSearchParams(form[3] ?? '')
  for (const name of settings.keys()) {
    requireArgument(
      SETTINGS.has(name),
      `an HDFS URL has no setting "${name}"; the settings are ${[...SETTINGS].join(', ')}`,
    )
  }
  return {
    nameNodes: form[1]!.split(',').map(parseNameNode),
    path: parsePath(form[2] ?? '/'),
    user: settings.get('user.name') ?? undefined,
    tokenFile: settings.get('token-file') ?? undefined,
    replication: parseReplication(settings.get('replication')),
    timeoutMs: parseTimeout(settings.get('timeout-ms')),
  }
}

function parseNameNode(text: string): NameNodeAddress {
  const match = NAME_NODE.exec(text)
  const port = Number(match?.[2] ?? DEFAULT_WEBHDFS_PORT)
  requireArgument(
    match !== null && port >= 1 && port <= 65_535,
    `"${text}" is not a NameNode of an HDFS URL: write host:port, with the port of its web interface (${DEFAULT_WEBHDFS_PORT})`,
  )
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port }
}

function parsePath(text: string): string {
  let path: string
  try {
    path = decodeURIComponent(text)
  } catch {
    path = ''
  }
  const parts = path.split('/').filter((part) => part !== '')
  requireArgument(
    path !== '' && !parts.some((part) => part === '.' || part === '..' || part.includes('\0')),
    `"${text}" is not a path of an HDFS URL: write it without "." and "..", percent-encoded`,
  )
  return `/${parts.join('/')}`
}

function parseReplication(text: string | null): number | undefined {
  if (text === null) return undefined
  requireArgument(/^[1-9]\d{0,2}$/.test(text), `replication is a number from 1, not "${text}"`)
  return Number(text)
}

function parseTimeout(text: string | null): number | undefined {
  if (text === null) return undefined
  requireArgument(/^[1-9]\d{0,8}$/.test(text), `timeout-ms is a number from 1, not "${text}"`)
  return Number(text)
}
