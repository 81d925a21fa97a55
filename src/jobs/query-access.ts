import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Cancel, systemClock } from '../core/clock.ts'
import { asWeirError, messageOf, requireArgument, WeirError } from '../core/errors.ts'
import { aFunction, flag, listOf, name, objectWith, text } from '../core/options/kinds.ts'
import type { OptionShape } from '../core/options/shape.ts'
import type { AuditSink } from '../http/access/audit.ts'
import { type AccessShare, OPEN_ACCESS, shareAccess } from '../http/access/control.ts'
import { decideListener } from '../http/access/listener.ts'
import { type PeopleSettings, parsePeople } from '../http/access/people-settings.ts'
import { readTokens } from '../http/access/tokens-on-disk.ts'
import { TrustedProxies } from '../http/access/trusted-proxies.ts'
import { tokensChange } from '../http/access/watch/tokens-change.ts'
import { watchTokens } from '../http/access/watch/tokens-watch.ts'
import { UsesWatch } from '../http/access/watch/uses-watch.ts'
import type { ServerTlsConfiguration } from '../runtime/configuration/configuration.ts'
import { type ConfigurationMap, parseConfiguration } from '../runtime/configuration/keys.ts'
import type { TlsFiles } from '../serving/threads/messages.ts'

/** Options of a port, mostly a job's query port: where it listens, and who may connect. */
export interface QueryAccessOptions {
  /** Name of the port in messages. @default 'the query port' */
  readonly what?: string
  /** Another address than a loopback one needs `tls` and tokens, or `insecureListener`. @default '127.0.0.1' */
  readonly host?: string
  /** A shared token with the role `admin`. */
  readonly token?: string
  /** File with the hashes of further tokens (`weir token create`); read again when it changes. */
  readonly tokensFile?: string
  /** File about people who sign in at an issuer (OpenID Connect): HTTP ports take their tokens. */
  readonly peopleFile?: string
  /** Addresses and networks of proxies before the HTTP ports: the client of a request is the one that they name. @default none */
  readonly trustedProxies?: readonly string[]
  /** Certificate and key as PEM text. @default those of `queryable-state.server.tls.*` */
  readonly tls?: TlsFiles
  /** Lets the port listen on any address without TLS and tokens; every start warns. @default false */
  readonly insecureListener?: boolean
  /** Receives warnings about the port. @default `process.emitWarning` */
  readonly onAccessWarning?: (warning: string) => void
  /** Takes an entry for each change that a client, or the tokens file, asks for. @default none is kept */
  readonly audit?: AuditSink
}

/** The options of a port. */
export const QUERY_ACCESS: OptionShape<QueryAccessOptions> = {
  what: text,
  host: name,
  token: text,
  tokensFile: name,
  peopleFile: name,
  trustedProxies: listOf(text),
  tls: objectWith('certificate and key'),
  insecureListener: flag,
  onAccessWarning: aFunction(),
  audit: aFunction(),
}

/** Access to a query port, and what it needs to open it. */
export interface QueryAccess {
  readonly access: AccessShare
  readonly tls?: TlsFiles
}

/**
 * Reads the files of the options and decides whether the port may be opened. Throws INVALID_ARGUMENT,
 * FILE_NOT_FOUND, PERMISSION_DENIED, MALFORMED_DATA.
 */
export async function queryAccessOf(
  options: QueryAccessOptions,
  configuration: ServerTlsConfiguration | undefined,
): Promise<QueryAccess> {
  const { what = 'the query port', host = '127.0.0.1', insecureListener = false } = options
  const access = withProxies(accessOf(options), options)
  const tls = options.tls ?? (await tlsFilesOf(configuration, 'queryable-state.server.tls'))
  const { warning } = decideListener({
    what,
    host,
    hasTls: tls !== undefined,
    hasTokens: access.needsToken,
    isInsecureAllowed: insecureListener,
  })
  if (warning !== undefined) warn(options, warning)
  return { access, ...(tls === undefined ? {} : { tls }) }
}

/**
 * Checks the configuration of a job and the access to its port, before the start asks a topic for anything or creates one.
 * Throws as `parseConfiguration` and `queryAccessOf`.
 */
export async function requireSettings(
  configuration: ConfigurationMap,
  access: QueryAccessOptions = {},
): Promise<void> {
  const { queryTls } = parseConfiguration(configuration)
  // The start itself says the warnings.
  await queryAccessOf({ ...access, onAccessWarning: () => {} }, queryTls)
}

/**
 * Calls `onChange` with the accepted tokens whenever the tokens file changes, and stores beside it when each token of
 * `share` was used last.
 */
export function watchQueryAccess(
  options: QueryAccessOptions,
  share: AccessShare,
  onChange: (access: AccessShare) => void,
): Cancel {
  const { tokensFile: file, token, audit } = options
  if (file === undefined) return () => {}
  const uses = new UsesWatch(share, {
    file,
    clock: systemClock,
    onError: (error) => warn(options, `last uses of tokens are not stored: ${messageOf(error)}`),
  })
  let before = share.records
  const cancel = watchTokens({
    file,
    clock: systemClock,
    onChange: (records) => {
      const changed = shareAccess(records, token, share.people)
      uses.replace(changed)
      onChange(changed)
      const entry = tokensChange(before, records)
      if (entry !== undefined) audit?.(entry)
      before = records
    },
    onError: (error) =>
      warn(options, `the tokens of before stay accepted, because ${messageOf(error)}`),
  })
  return () => {
    cancel()
    uses[Symbol.dispose]()
  }
}

function accessOf({ token, tokensFile, peopleFile }: QueryAccessOptions): AccessShare {
  requireArgument(token !== '', 'the token is empty; leave it out to let everyone in')
  const people = peopleFile === undefined ? undefined : peopleOf(peopleFile)
  if (tokensFile === undefined) {
    return token === undefined && people === undefined
      ? OPEN_ACCESS
      : shareAccess([], token, people)
  }
  const records = readTokens(tokensFile)
  requireArgument(
    records.length > 0 || token !== undefined || people !== undefined,
    `${tokensFile} has no tokens, so that no one could connect; run "weir token create --role read --tokens ${tokensFile}"`,
  )
  return shareAccess(records, token, people)
}

/** The access of HTTP ports behind proxies. Throws INVALID_ARGUMENT for a text that is no address. */
function withProxies(
  access: AccessShare,
  { trustedProxies: proxies }: QueryAccessOptions,
): AccessShare {
  if (proxies === undefined) return access
  void new TrustedProxies(proxies)
  return { ...access, proxies }
}

/** Settings of the file about people. Throws INVALID_ARGUMENT, FILE_NOT_FOUND, PERMISSION_DENIED. */
function peopleOf(file: string): PeopleSettings {
  const read = (path: string): string => {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      throw asWeirError(error, 'INVALID_ARGUMENT', `the file about people: ${path}`)
    }
  }
  return parsePeople(read(file), file, (path) => read(resolve(dirname(file), path)))
}

/**
 * Reads the certificate of a port; `prefix` begins its keys of the configuration. Throws INVALID_ARGUMENT,
 * which names the key and the file.
 */
export async function tlsFilesOf(
  files: ServerTlsConfiguration | undefined,
  prefix: string,
): Promise<TlsFiles | undefined> {
  if (files === undefined) return undefined
  const read = async (name: keyof ServerTlsConfiguration): Promise<string> => {
    const path = files[name]
    const key = `${prefix}.${name}`
    requireArgument(path !== undefined, `TLS needs ${key}: a PEM file`)
    return await readFile(path, 'utf8').catch((cause: unknown) => {
      throw new WeirError('INVALID_ARGUMENT', `${key}: cannot read ${path}`, { cause })
    })
  }
  const [cert, key] = await Promise.all([read('cert'), read('key')])
  return { cert, key, ...(files.ca === undefined ? {} : { ca: await read('ca') }) }
}

function warn({ onAccessWarning }: QueryAccessOptions, warning: string): void {
  if (onAccessWarning !== undefined) onAccessWarning(warning)
  else process.emitWarning(warning, { code: 'WEIR_ACCESS' })
}
