import type { HttpOperation } from '../../load/targets/http-operation.ts'
import type { TargetSettings } from '../../load/targets/open-target.ts'
import type { WeirOperation } from '../../load/targets/weir.ts'
import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { connectionOf, queryOptionsOf } from '../flags/query.ts'

/** Flags of what is asked, and of whom. */
export const TARGET_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  protocol: {
    type: 'string',
    short: 'i',
    value: 'NAME',
    default: 'weir',
    help: 'weir: the query port of --host and --port; http: the gateway, or any server, of --url',
  },
  url: {
    type: 'string',
    short: 'u',
    value: 'URL',
    default: 'http://127.0.0.1:8080',
    help: 'Base URL of the HTTP server',
  },
  operation: {
    type: 'string',
    value: 'NAME',
    default: 'predict',
    help: 'predict, top-k, rows, or over HTTP observe',
  },
  'batch-size': {
    type: 'string',
    short: 'b',
    value: 'N',
    default: '1',
    help: 'Pairs, keys or observations of one request',
  },
  k: { type: 'string', value: 'N', default: '10', help: 'Items of a top-k list' },
  path: {
    type: 'string',
    value: 'PATH',
    help: 'Ask this path of --url; {user}, {item} and {n}, the number of the request, are replaced',
  },
  method: {
    type: 'string',
    value: 'NAME',
    help: 'Method of --path (default GET; POST with --body)',
  },
  body: { type: 'string', value: 'TEXT', help: 'Body of --path, with the same replacements' },
  'content-type': {
    type: 'string',
    value: 'TYPE',
    default: 'application/json',
    help: 'Media type of --body',
  },
  header: {
    type: 'string',
    multiple: true,
    value: 'NAME:VALUE',
    help: 'Header of every HTTP request (repeatable)',
  },
  'max-connections': {
    type: 'string',
    value: 'N',
    default: '1024',
    help: 'HTTP connections of each thread at most',
  },
}

const PROTOCOLS = ['weir', 'http'] as const

const MAX_BATCH = 4096

/** Pairs of one request. Throws UsageError. */
export function batchOf(flags: Flags): number {
  return flags.integer('batch-size', 1, MAX_BATCH)
}

/** The target of the flags. Throws UsageError. */
export function targetOf(flags: Flags): TargetSettings {
  return flags.choice('protocol', PROTOCOLS) === 'weir' ? weirTargetOf(flags) : httpTargetOf(flags)
}

function weirTargetOf(flags: Flags): TargetSettings {
  if (flags.optional('path') !== undefined) throw new UsageError('--path needs --protocol http')
  return {
    protocol: 'weir',
    connection: connectionOf(flags),
    operation: weirOperationOf(flags),
    state: flags.string('state'),
    query: queryOptionsOf(flags),
  }
}

function weirOperationOf(flags: Flags): WeirOperation {
  const kind = flags.choice('operation', ['predict', 'top-k', 'rows', 'observe'])
  if (kind === 'observe') throw new UsageError('--operation observe needs --protocol http')
  return kind === 'top-k' ? { kind, k: flags.integer('k', 1, 1000) } : { kind }
}

function httpTargetOf(flags: Flags): TargetSettings {
  const url = urlOf(flags.string('url'))
  const { token, tls } = connectionOf(flags)
  const isEncrypted = url.protocol === 'https:'
  const { consistency, deadlineMs } = {
    consistency: flags.string('consistency'),
    deadlineMs: flags.integer('timeout', 1),
  }
  return {
    protocol: 'http',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (isEncrypted ? 443 : 80) : Number(url.port),
    ...(isEncrypted ? { tls: tls ?? {} } : {}),
    basePath: url.pathname.replace(/\/$/, ''),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(consistency === 'live' ? {} : { 'weir-consistency': consistency }),
      ...headersOf(flags),
    },
    operation: httpOperationOf(flags),
    timeoutMs: deadlineMs,
    maxConnections: flags.integer('max-connections', 1, 65_536),
  }
}

function urlOf(text: string): URL {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '') return url
  throw new UsageError(`--url takes http://HOST:PORT or https://HOST:PORT, not "${text}"`)
}

function headersOf(flags: Flags): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const text of flags.list('header')) {
    const [, name, value] = /^([\w-]+): *([\t\x20-\x7e]*)$/.exec(text) ?? []
    if (name === undefined) throw new UsageError(`--header takes NAME:VALUE, not "${text}"`)
    headers[name.toLowerCase()] = value!
  }
  return headers
}

function httpOperationOf(flags: Flags): HttpOperation {
  const kind = flags.choice('operation', ['predict', 'top-k', 'rows', 'observe'])
  const batch = batchOf(flags)
  const path = flags.optional('path')
  if (batch > 1 && (path !== undefined || kind === 'top-k' || kind === 'rows')) {
    throw new UsageError(
      `a request of ${path ?? kind} over HTTP has one key; leave out --batch-size`,
    )
  }
  if (path !== undefined) return templateOf(flags, path)
  const version = flags.optionalInteger('version', 1)
  const read = { ...(version === undefined ? {} : { version }), state: flags.string('state') }
  switch (kind) {
    case 'predict':
      return { kind, batch, ...read }
    case 'rows':
      return { kind, ...read }
    case 'top-k':
      return { kind, k: flags.integer('k', 1, 1000), ...read }
    case 'observe':
      return { kind }
  }
}

function templateOf(flags: Flags, path: string): HttpOperation {
  if (!/^\/[\x21-\x7e]*$/.test(path)) {
    throw new UsageError(`--path must begin with / and have no spaces, not "${path}"`)
  }
  const body = flags.optional('body')
  const method = flags.optional('method') ?? (body === undefined ? 'GET' : 'POST')
  if (!/^[A-Z]+$/.test(method)) throw new UsageError(`--method takes GET or POST, not "${method}"`)
  const contentType = flags.string('content-type')
  return { kind: 'template', method, path, contentType, ...(body === undefined ? {} : { body }) }
}
