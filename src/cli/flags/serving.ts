import type { ConfigurationMap } from '../../runtime/configuration/keys.ts'
import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { LISTENER_OPTIONS } from './listener.ts'

/** Flags of every command that runs a job. */
export const SERVING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  titles: {
    type: 'string',
    value: 'FILE',
    help: 'Titles of items for the recommendations of the dashboard: lines id,title',
  },
  'log-format': {
    type: 'string',
    value: 'FORMAT',
    default: 'text',
    help: 'Log of the job on standard error: text, or json (a JSON object a line)',
  },
  slots: {
    type: 'string',
    value: 'N',
    default: '2',
    short: 'p',
    help: 'Number of slots (parallelism)',
  },
  'query-threads': {
    type: 'string',
    value: 'N',
    default: '1',
    help: 'Number of threads that answer queries',
  },
  host: {
    type: 'string',
    value: 'HOST',
    default: '127.0.0.1',
    help: 'Address to listen on; other machines reach only one that is not 127.0.0.1, which needs TLS and tokens',
  },
  port: { type: 'string', value: 'PORT', default: '9069', help: 'Query port; 0 for any free port' },
  ...LISTENER_OPTIONS,
  set: {
    type: 'string',
    short: 'D',
    multiple: true,
    value: 'KEY=VALUE',
    help: 'Configuration value (repeatable)',
  },
}

/** Flags of every command that runs a job, about what the job restores. */
export const RESTORE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'restore-from': {
    type: 'string',
    short: 's',
    value: 'PATH|N',
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

/** Most slots of one process: beyond it threads cost more than they give. */
export const MAX_SLOTS = 512

/** The value of `--slots`. Throws UsageError. */
export function slotsOf(flags: Flags): number {
  return flags.integer('slots', 1, MAX_SLOTS)
}

/**
 * Configuration of `--set KEY=VALUE` and of the flags about what is restored, which override it.
 * Throws UsageError.
 */
export function configurationOf(flags: Flags): ConfigurationMap {
  const from = flags.optional('restore-from')
  if (from === '0' || from === '') {
    throw new UsageError('--restore-from takes a folder, or a number from 1: the newest checkpoint')
  }
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

/** The values of a repeatable flag that takes `KEY=VALUE`. Throws UsageError. */
export function keyValuesOf(flags: Flags, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    flags.list(name).map((word) => {
      const at = word.indexOf('=')
      if (at <= 0) throw new UsageError(`--${name} takes KEY=VALUE, not "${word}"`)
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )
}
