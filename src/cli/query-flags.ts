import type { ClientOptions } from '../client/client-options.ts'
import { WeirClient } from '../client/weir-client.ts'
import type { Consistency, QueryOptions } from '../wire/model-reader.ts'
import { type Flags, type OptionSpec, UsageError } from './command.ts'

/** Flags of every verb that asks a running job. */
export const QUERY_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  host: { type: 'string', value: 'HOST', default: '127.0.0.1', help: 'Host of the job' },
  port: { type: 'string', value: 'PORT', default: '9069', help: 'Port for queries' },
  token: { type: 'string', value: 'TEXT', help: 'Token, if the server asks for one' },
  state: { type: 'string', value: 'NAME', default: 'ALS_MODEL', help: 'Queryable state' },
  version: { type: 'string', value: 'N', help: 'Model version (default: the live one)' },
  consistency: {
    type: 'string',
    value: 'LEVEL',
    default: 'live',
    help: 'live, checkpoint, at-least:PARTITION:OFFSET or bounded:MS',
  },
  timeout: { type: 'string', value: 'MS', default: '5000', help: 'Deadline of a call' },
}

/** Connects as the flags say. */
export function connectWith(flags: Flags): Promise<WeirClient> {
  const token = flags.optional('token')
  const options: ClientOptions = {
    host: flags.string('host'),
    port: flags.integer('port', 1, 65535),
    ...(token === undefined ? {} : { token }),
  }
  return WeirClient.connect(options)
}

/** The query options that the flags say. Throws UsageError. */
export function queryOptionsOf(flags: Flags): QueryOptions {
  const version = flags.optionalInteger('version', 1)
  return {
    consistency: consistencyOf(flags.string('consistency')),
    deadlineMs: flags.integer('timeout', 1),
    ...(version === undefined ? {} : { version }),
  }
}

function consistencyOf(text: string): Consistency {
  const [level, first, second] = text.split(':')
  const numbers = [Number(first), Number(second)]
  if (level === 'live' || level === 'checkpoint') return { level }
  if (level === 'bounded' && Number.isFinite(numbers[0])) return { level, maxAgeMs: numbers[0]! }
  if (level === 'at-least' && numbers.every(Number.isInteger)) {
    return { level, partition: numbers[0]!, offset: numbers[1]! }
  }
  throw new UsageError(
    `--consistency must be live, checkpoint, at-least:PARTITION:OFFSET or bounded:MS, not "${text}"`,
  )
}
