import type { ClientOptions } from '../../client/options.ts'
import { WeirClient } from '../../client/weir-client.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { CONSISTENCY_GRAMMAR, parseConsistency } from '../../wire/consistency-text.ts'
import type { Consistency, QueryOptions } from '../../wire/model-reader.ts'
import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { clientTlsOf, clientTlsOptions } from './client-tls.ts'
import { TOKEN_OPTIONS, tokenOf } from './token.ts'

/** What the flags of TLS to a job begin with. */
const QUERY_TLS = 'query-tls'

/** Flags of the connection to a job: token and TLS. */
export const CONNECTION_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...TOKEN_OPTIONS,
  ...clientTlsOptions(QUERY_TLS, 'the job'),
}

/** Flags of every verb that queries a running job. */
export const QUERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  host: { type: 'string', value: 'HOST', default: '127.0.0.1', help: 'Host of the job' },
  port: { type: 'string', value: 'PORT', default: '9069', help: 'Query port of the job' },
  ...CONNECTION_OPTIONS,
  state: {
    type: 'string',
    value: 'NAME',
    default: 'ALS_MODEL',
    help: 'Name of the queryable state',
  },
  version: { type: 'string', value: 'N', help: 'Model version (default: the live one)' },
  consistency: {
    type: 'string',
    value: 'LEVEL',
    default: 'live',
    help: CONSISTENCY_GRAMMAR,
  },
  timeout: { type: 'string', value: 'MS', default: '5000', help: 'Deadline of a call' },
}

/** Connects to the job of `--host` and `--port`. Rejects as `connectTo`. */
export function connectWith(flags: Flags): Promise<WeirClient> {
  return connectTo(connectionOf(flags), NO_JOB)
}

/** Connects to a job. Rejects as `WeirClient.connect`; `hint` says what to do about a port without a job. */
export async function connectTo(connection: ClientOptions, hint: string): Promise<WeirClient> {
  try {
    return await WeirClient.connect(connection)
  } catch (error) {
    if (!isWeirError(error) || !error.message.includes('ECONNREFUSED')) throw error
    throw new WeirError(error.code, `${error.message}; ${hint}`, { cause: error })
  }
}

const NO_JOB =
  'start a job ("weir run"), or give --host and --port of one ("weir list" shows the jobs of a JobManager)'

/** The connection to the job of the flags. Throws UsageError. */
export function connectionOf(flags: Flags): Pick<ClientOptions, 'host' | 'port' | 'token' | 'tls'> {
  const token = tokenOf(flags)
  const tls = clientTlsOf(flags, QUERY_TLS)
  return {
    host: flags.string('host'),
    port: flags.integer('port', 1, 65535),
    ...(token === undefined ? {} : { token }),
    ...(tls === undefined ? {} : { tls }),
  }
}

/** The query options of the flags. Throws UsageError. */
export function queryOptionsOf(flags: Flags): QueryOptions {
  const version = flags.optionalInteger('version', 1)
  return {
    consistency: consistencyOf(flags.string('consistency')),
    deadlineMs: flags.integer('timeout', 1),
    ...(version === undefined ? {} : { version }),
  }
}

function consistencyOf(text: string): Consistency {
  const consistency = parseConsistency(text)
  if (consistency !== undefined) return consistency
  throw new UsageError(`--consistency must be ${CONSISTENCY_GRAMMAR}, not "${text}"`)
}
