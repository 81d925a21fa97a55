import type { ConfigurationMap } from '../../runtime/configuration/keys.ts'
import type { Flags, OptionSpec } from '../command/command.ts'
import { type FlagKind, kindOf } from '../flag-kinds/flag-kind.ts'
import { portToOpen, wholeNumber } from '../flag-kinds/numbers.ts'
import { configurationValue, splitPair } from '../flag-kinds/pairs.ts'
import { addressToOpen, checkpointPlace, host, hostAndPort, path } from '../flag-kinds/places.ts'
import { word } from '../flag-kinds/words.ts'
import { LISTENER_OPTIONS } from './listener.ts'

/** Most slots of one process: beyond it threads cost more than they give. */
export const MAX_SLOTS = 512

/** The folder of a checkpoint or savepoint, or the number of a checkpoint, from the newest one on. */
const RESTORE_FROM: FlagKind = kindOf(
  {
    sort: 'path',
    shown: 'PATH|N',
    takes: 'a folder, or the number of a checkpoint from 1: the newest',
  },
  (text) =>
    /^\d+$/.test(text) ? Number(text) >= 1 : checkpointPlace().problem(text) === undefined,
)

/** Flags of every command that runs a job. */
export const SERVING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  titles: {
    type: 'string',
    value: path(),
    help: 'Titles of items for the recommendations of the dashboard: lines id,title',
  },
  'log-format': {
    type: 'string',
    value: word(['text', 'json'], 'FORMAT'),
    default: 'text',
    help: 'Log of the job on standard error: text, or json (a JSON object a line)',
  },
  slots: {
    type: 'string',
    value: wholeNumber({ min: 1, max: MAX_SLOTS }),
    default: '2',
    short: 'p',
    help: 'Number of slots (parallelism)',
  },
  'query-threads': {
    type: 'string',
    value: wholeNumber({ min: 1, max: 64 }),
    default: '1',
    help: 'Number of threads that answer queries',
  },
  listen: {
    type: 'string',
    value: addressToOpen,
    parts: hostAndPort,
    help: 'Query port, HOST:PORT or a port of this machine, 0 for any free one; other machines reach only a host that is not 127.0.0.1, which needs TLS and tokens (default: 127.0.0.1:9069)',
  },
  host: {
    type: 'string',
    value: host,
    default: '127.0.0.1',
    help: 'Older form of --listen: the host',
  },
  port: {
    type: 'string',
    value: portToOpen,
    default: '9069',
    help: 'Older form of --listen: the port',
  },
  ...LISTENER_OPTIONS,
  set: {
    type: 'string',
    short: 'D',
    multiple: true,
    value: configurationValue,
    help: 'Configuration value (repeatable)',
  },
}

/** Flags of every command that runs a job, about what the job restores. */
export const RESTORE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'restore-from': {
    type: 'string',
    short: 's',
    value: RESTORE_FROM,
    help: 'Restore this savepoint or checkpoint folder, or the N-th newest checkpoint (1: newest)',
  },
  'allow-non-restored-state': {
    type: 'boolean',
    short: 'n',
    help: 'Drop restored state that no operator of the job takes',
  },
  'take-over': {
    type: 'boolean',
    help: 'Take the job over from another process that runs it, which then ends',
  },
  'accept-lost-transactions': {
    type: 'boolean',
    help: 'Continue without restored transactions that the log or broker no longer knows',
  },
}

/** The value of `--slots`. */
export function slotsOf(flags: Flags): number {
  return flags.number('slots')
}

/**
 * Configuration of `--set KEY=VALUE` and of the flags about what is restored, which override it.
 */
export function configurationOf(flags: Flags): ConfigurationMap {
  const from = flags.optional('restore-from')
  return {
    ...keyValuesOf(flags, 'set'),
    ...(from === undefined ? {} : { 'execution.state-recovery.path': from }),
    ...(flags.boolean('allow-non-restored-state')
      ? { 'execution.state-recovery.ignore-unclaimed-state': 'true' }
      : {}),
    ...(flags.boolean('take-over') ? { 'execution.state-recovery.take-over': 'true' } : {}),
    ...(flags.boolean('accept-lost-transactions')
      ? { 'execution.state-recovery.accept-lost-transactions': 'true' }
      : {}),
  }
}

/** The values of a repeatable flag that takes `KEY=VALUE`. */
export function keyValuesOf(flags: Flags, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(flags.list(name).map(splitPair))
}
