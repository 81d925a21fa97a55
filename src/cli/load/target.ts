import type { HttpOperation } from '../../testing/load/targets/http-operation.ts'
import type { TargetSettings } from '../../testing/load/targets/open-target.ts'
import type { WeirOperation } from '../../testing/load/targets/weir.ts'
import { type Flags, needs, type OptionSpec, UsageError } from '../command/command.ts'
import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { anyText, name, word } from '../flag-kinds/words.ts'
import { connectionOf, queryOptionsOf } from '../flags/query.ts'

const PROTOCOLS = ['weir', 'http'] as const
const OPERATIONS = ['predict', 'top-k', 'rows', 'observe'] as const
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']
const MAX_BATCH = 4096

const BASE_URL: FlagKind = kindOf(
  { sort: 'url', shown: 'URL', takes: 'http://HOST:PORT or https://HOST:PORT' },
  (text) => {
    const parsed = URL.parse(text)
    return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.search === ''
  },
)

const HTTP_PATH: FlagKind = kindOf(
  { sort: 'url', shown: 'PATH', takes: 'a path that begins with / and has no spaces' },
  (text) => /^\/[\x21-\x7e]*$/.test(text),
)

const HEADER_PAIR = /^([\w-]+): *([\t\x20-\x7e]*)$/
const HEADER: FlagKind = kindOf(
  { sort: 'pair', shown: 'NAME:VALUE', takes: 'NAME:VALUE' },
  (text) => HEADER_PAIR.test(text),
)

/** Flags of what is asked, and of whom. */
export const TARGET_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  protocol: {
    type: 'string',
    short: 'i',
    value: word(PROTOCOLS, 'NAME'),
    default: 'weir',
    help: 'weir: the query port of --job; http: the gateway, or any server, of --url',
  },
  url: {
    type: 'string',
    needs: [needs('protocol', 'http')],
    short: 'u',
    value: BASE_URL,
    default: 'http://127.0.0.1:8080',
    help: 'Base URL of the HTTP server',
  },
  operation: {
    type: 'string',
    value: word(OPERATIONS, 'NAME'),
    default: 'predict',
    help: 'predict, top-k, rows, or over HTTP observe',
  },
  'batch-size': {
    type: 'string',
    short: 'b',
    value: wholeNumber({ min: 1, max: MAX_BATCH }),
    default: '1',
    help: 'Pairs, keys or observations of one request',
  },
  k: {
    type: 'string',
    needs: [needs('operation', 'top-k')],
    value: wholeNumber({ min: 1, max: 1000 }),
    default: '10',
    help: 'Items of a top-k list',
  },
  path: {
    type: 'string',
    needs: [needs('protocol', 'http')],
    value: HTTP_PATH,
    help: 'Ask this path of --url; {user}, {item} and {n}, the number of the request, are replaced',
  },
  method: {
    type: 'string',
    needs: [needs('path')],
    value: word(METHODS, 'NAME'),
    help: 'Method of --path (default GET; POST with --body)',
  },
  body: {
    type: 'string',
    needs: [needs('path')],
    value: anyText(),
    help: 'Body of --path, with the same replacements',
  },
  'content-type': {
    type: 'string',
    needs: [needs('body')],
    value: name(),
    default: 'application/json',
    help: 'Media type of --body',
  },
  header: {
    type: 'string',
    needs: [needs('protocol', 'http')],
    multiple: true,
    value: HEADER,
    help: 'Header of every HTTP request (repeatable)',
  },
  'max-connections': {
    type: 'string',
    needs: [needs('protocol', 'http')],
    value: wholeNumber({ min: 1, max: 65_536 }),
    default: '1024',
    help: 'HTTP connections of each thread at most',
  },
}

/** Pairs of one request. Throws UsageError. */
export function batchOf(flags: Flags): number {
  return flags.number('batch-size')
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
  const kind = flags.choice('operation', OPERATIONS)
  if (kind === 'observe') throw new UsageError('--operation observe needs --protocol http')
  return kind === 'top-k' ? { kind, k: flags.number('k') } : { kind }
}

function httpTargetOf(flags: Flags): TargetSettings {
  const url = new URL(flags.string('url'))
  const { token, tls } = connectionOf(flags)
  const isEncrypted = url.protocol === 'https:'
  const { consistency, deadlineMs } = {
    consistency: flags.string('consistency'),
    deadlineMs: flags.number('timeout'),
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
    maxConnections: flags.number('max-connections'),
  }
}

function headersOf(flags: Flags): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const text of flags.list('header')) {
    const [, name = '', value = ''] = HEADER_PAIR.exec(text) ?? []
    headers[name.toLowerCase()] = value
  }
  return headers
}

function httpOperationOf(flags: Flags): HttpOperation {
  const kind = flags.choice('operation', OPERATIONS)
  const batch = batchOf(flags)
  const path = flags.optional('path')
  if (batch > 1 && (path !== undefined || kind === 'top-k' || kind === 'rows')) {
    throw new UsageError(
      `a request of ${path ?? kind} over HTTP has one key; leave out --batch-size`,
    )
  }
  if (path !== undefined) return templateOf(flags, path)
  const version = flags.optionalNumber('version')
  const read = { ...(version === undefined ? {} : { version }), state: flags.string('state') }
  switch (kind) {
    case 'predict':
      return { kind, batch, ...read }
    case 'rows':
      return { kind, ...read }
    case 'top-k':
      return { kind, k: flags.number('k'), ...read }
    case 'observe':
      return { kind }
  }
}

function templateOf(flags: Flags, path: string): HttpOperation {
  const body = flags.optional('body')
  const method = flags.optional('method') ?? (body === undefined ? 'GET' : 'POST')
  const contentType = flags.string('content-type')
  return { kind: 'template', method, path, contentType, ...(body === undefined ? {} : { body }) }
}
