import { randomBytes } from 'node:crypto'
import type { ClientOptions } from '../../client/options.ts'
import { systemClock } from '../../core/clock.ts'
import type { AuditSink } from '../../http/access/audit.ts'
import type { QueryAccessOptions } from '../../jobs/query-access.ts'
import {
  type CommandIo,
  type Flags,
  needs,
  type OptionSpec,
  UsageError,
} from '../command/command.ts'
import { requireWritable, textOfFile } from '../command/text-file.ts'
import { addresses, networks, origins, output, path } from '../flag-kinds/places.ts'
import { secret } from '../flag-kinds/words.ts'
import { tokenOf } from './token.ts'

/** Flags of every command that opens a port: who may connect. */
export const LISTENER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  tokens: {
    type: 'string',
    value: path(),
    help: 'Accept the tokens of this file ("weir token create")',
  },
  token: {
    type: 'string',
    value: secret,
    isSecret: true,
    help: 'A further token, with the role admin',
  },
  'token-file': {
    type: 'string',
    value: path(),
    help: 'File with a further token, with the role admin (or set WEIR_TOKEN)',
  },
  people: {
    type: 'string',
    value: path(),
    help: 'Accept people who signed in at the OpenID Connect issuer of this file, on HTTP ports',
  },
  'trusted-proxy': {
    type: 'string',
    value: networks,
    help: 'Proxies before the HTTP ports, or their networks: X-Forwarded-For of theirs names the client (default: of no one)',
  },
  'server-tls-cert': {
    type: 'string',
    needs: [needs('server-tls-key')],
    value: path(),
    help: 'Encrypt with this certificate (PEM)',
  },
  'server-tls-key': {
    type: 'string',
    needs: [needs('server-tls-cert')],
    value: path(),
    help: 'Private key of the certificate (PEM)',
  },
  'server-tls-ca': {
    type: 'string',
    needs: [needs('server-tls-cert')],
    value: path(),
    help: 'Only accept clients with a certificate of this authority (PEM)',
  },
  'audit-file': {
    type: 'string',
    value: output(),
    help: 'Append a line of JSON for each change that a client asks for (default: only the log has them)',
  },
  'insecure-listener': {
    type: 'boolean',
    help: 'Listen on any address without TLS and tokens: everyone who reaches it can use it',
  },
}

/** Flags about what clients of an HTTP port may change in the models. */
export const MODEL_CONTROL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'model-control': {
    type: 'boolean',
    help: 'Let admins load, unload and register models over HTTP; needs --tokens (default: no one may)',
  },
  'allow-modules': {
    type: 'boolean',
    needs: [needs('model-control')],
    help: 'Let them register modules (.js, .mjs, .ts), too: the code of a module runs in the server',
  },
  'allow-remote': {
    type: 'string',
    needs: [needs('model-control')],
    value: addresses,
    help: 'Let them register models of these servers, too (default: of none)',
  },
}

/** The flag about pages of other origins. */
export const ALLOW_ORIGIN: OptionSpec = {
  type: 'string',
  value: origins,
  help: 'Let pages of these origins use the HTTP port from a browser; "*" for all, with --tokens (default: of no other)',
}

/** The origins of `--allow-origin`; `hasTokens`: whether clients need a token. Throws UsageError. */
export function allowedOriginsOf(flags: Flags, hasTokens: boolean): readonly string[] {
  const allowed = flags.optional('allow-origin')?.split(',') ?? []
  if (!allowed.includes('*') || hasTokens) return allowed
  throw new UsageError(
    '--allow-origin "*" lets every page that someone here opens use the port; name the origins, or give --tokens FILE, too',
  )
}

/** Access to the port of the flags. Throws UsageError. */
export function listenerOf(flags: Flags, io: CommandIo): QueryAccessOptions {
  const token = tokenOf(flags)
  const tokensFile = flags.optional('tokens')
  const peopleFile = flags.optional('people')
  const proxies = flags.optional('trusted-proxy')
  const tls = serverTlsOf(flags)
  return {
    host: flags.string('host'),
    insecureListener: flags.boolean('insecure-listener'),
    onAccessWarning: (warning) => io.err(`warning: ${warning}`),
    audit: auditOf(flags, io),
    ...(token === undefined ? {} : { token }),
    ...(tokensFile === undefined ? {} : { tokensFile }),
    ...(peopleFile === undefined ? {} : { peopleFile }),
    ...(proxies === undefined ? {} : { trustedProxies: proxies.split(',') }),
    ...(tls === undefined ? {} : { tls }),
  }
}

/** The audit of changes in the log, and in the file of `--audit-file`. Throws UsageError when no one can write it. */
function auditOf(flags: Flags, io: CommandIo): AuditSink {
  const file = flags.optional('audit-file')
  if (file !== undefined) requireWritable('--audit-file', file)
  const options = {
    write: (line: string) => io.err(line),
    isJson: flags.optional('log-format') === 'json',
    file,
    clock: systemClock,
  }
  let trail: Promise<AuditSink> | undefined
  return (entry) => {
    // Loaded with the first entry: the start of a job would wait for it, and most never need it.
    trail ??= import('../../http/access/audit.ts').then(({ auditTrail }) => auditTrail(options))
    void trail.then((note) => note(entry))
  }
}

function serverTlsOf(flags: Flags): NonNullable<QueryAccessOptions['tls']> | undefined {
  const [cert, key, ca] = ['cert', 'key', 'ca'].map((name) => {
    const flag = `server-tls-${name}`
    const file = flags.optional(flag)
    return file === undefined ? undefined : textOfFile(`--${flag}`, file)
  })
  if (cert === undefined && key === undefined && ca === undefined) return undefined
  if (cert === undefined || key === undefined) {
    throw new UsageError('TLS of the port needs both --server-tls-cert and --server-tls-key')
  }
  return { cert, key, ...(ca === undefined ? {} : { ca }) }
}

/** Access to a port that this process itself uses, too: with a token if the others need one. */
export function withOwnToken(access: QueryAccessOptions): QueryAccessOptions {
  const hasOthers = access.tokensFile !== undefined || access.peopleFile !== undefined
  const needsToken = hasOthers && access.token === undefined
  return needsToken ? { ...access, token: randomBytes(32).toString('base64url') } : access
}

/** Options of a client of this process's own port. */
export function ownClientOptions(
  { host, token, tls }: QueryAccessOptions,
  port: number,
): ClientOptions {
  return {
    port,
    ...(host === undefined ? {} : { host }),
    ...(token === undefined ? {} : { token }),
    // The certificate names the host that others use, and may be signed by an authority unknown here.
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...tls,
            ca: tls.cert,
            allowPartialTrustChain: true,
            checkServerIdentity: () => undefined,
          },
        }),
  }
}
