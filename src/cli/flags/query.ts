import type { ClientOptions } from '../../client/options.ts'
import { WeirClient } from '../../client/weir-client.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { nearestOf } from '../../core/text/nearest-word.ts'
import { CONSISTENCY_GRAMMAR, parseConsistency } from '../../wire/consistency-text.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import { jobAddressOptions } from '../command/address.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { type FlagKind, mustBe } from '../flag-kinds/flag-kind.ts'
import { milliseconds, wholeNumber } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { clientTlsOf, clientTlsOptions } from './client-tls.ts'
import { TOKEN_OPTIONS, tokenOf } from './token.ts'

/** What the flags of TLS to a job begin with. */
const QUERY_TLS = 'query-tls'

/** Flags of the connection to a job: token and TLS. */
export const CONNECTION_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...TOKEN_OPTIONS,
  ...clientTlsOptions(QUERY_TLS, 'the job'),
}

const LEVELS = ['live', 'checkpoint', 'at-least', 'bounded']

const CONSISTENCY: FlagKind = {
  sort: 'word',
  shown: 'LEVEL',
  takes: CONSISTENCY_GRAMMAR,
  problem(text) {
    if (parseConsistency(text) !== undefined) return undefined
    const [level = '', ...rest] = text.split(':')
    const nearest = LEVELS.includes(level) ? undefined : nearestOf(level, LEVELS)
    const meant = nearest && [nearest, ...rest].join(':')
    return mustBe(CONSISTENCY_GRAMMAR, text, meant && `; did you mean "${meant}"?`)
  },
}

/** Flags of every verb that queries a running job. */
export const QUERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...jobAddressOptions(),
  ...CONNECTION_OPTIONS,
  state: {
    type: 'string',
    value: name(),
    default: 'ALS_MODEL',
    help: 'Name of the queryable state',
  },
  version: {
    type: 'string',
    value: wholeNumber({ min: 1, max: HIGHEST_VERSION }),
    help: 'Model version (default: the live one)',
  },
  consistency: {
    type: 'string',
    value: CONSISTENCY,
    default: 'live',
    help: CONSISTENCY_GRAMMAR,
  },
  timeout: { type: 'string', value: milliseconds(), default: '5000', help: 'Deadline of a call' },
}

/** Connects to the job of `--job`. Rejects as `connectTo`. */
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
  'start a job ("weir run"), or give --job HOST:PORT of one ("weir list" shows the jobs of a JobManager)'

/** The connection to the job of the flags, or at an address, which --timeout bounds, too. Throws UsageError. */
export function connectionOf(
  flags: Flags,
  at?: { readonly host: string; readonly port: number },
): Pick<ClientOptions, 'host' | 'port' | 'token' | 'tls' | 'deadlineMs'> {
  const token = tokenOf(flags)
  const deadlineMs = flags.optionalNumber('timeout')
  const tls = clientTlsOf(flags, QUERY_TLS)
  return {
    host: at?.host ?? flags.string('host'),
    port: at?.port ?? flags.number('port'),
    ...(token === undefined ? {} : { token }),
    ...(tls === undefined ? {} : { tls }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  }
}

/** The query options of the flags. Throws UsageError. */
export function queryOptionsOf(flags: Flags): QueryOptions {
  const version = flags.optionalNumber('version')
  return {
    consistency: parseConsistency(flags.string('consistency'))!,
    deadlineMs: flags.number('timeout'),
    ...(version === undefined ? {} : { version }),
  }
}
