import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { JobSubmission } from '../../cluster/rest/port/cluster.ts'
import { type Command, type CommandInput, Flags, type OptionSpec } from '../command/command.ts'
import { JOB_MANAGER_TLS_OPTIONS } from './options.ts'

/** Flags whose values are paths of the submitter's machine. */
const PATHS: readonly string[] = [
  'data-dir',
  'repository',
  'titles',
  'tokens',
  'audit-file',
  'people',
  'server-tls-cert',
  'server-tls-key',
  'server-tls-ca',
  'sasl-password-file',
  'tls-ca',
  'tls-cert',
  'tls-key',
]
/** Paths whose default is a folder of the submitter, too, where there is one. */
const DEFAULT_PATHS: readonly string[] = ['repository']
/** Flags that say where and how to submit; the token is the one that the JobManager sees. */
const CLIENT_FLAGS: readonly string[] = [
  'detached',
  'jobmanager',
  'token-file',
  ...Object.keys(JOB_MANAGER_TLS_OPTIONS),
]

/**
 * The submission of a command line: the flags that differ from their defaults, secrets left out. Paths become
 * absolute, since the JobManager has another working directory.
 */
export function submissionOf(
  job: string,
  options: Command['options'],
  flags: CommandInput['flags'],
): JobSubmission {
  const read = new Flags(flags)
  const given: [string, string | boolean | readonly string[]][] = []
  for (const [name, spec] of Object.entries(options)) {
    const value = flags[name]
    if (value === undefined || CLIENT_FLAGS.includes(name) || isLeftOut(name, spec, value)) continue
    // A setting that counts for nothing here would be refused on the command line of the job.
    if (!read.counts(spec)) continue
    given.push([name, PATHS.includes(name) && typeof value === 'string' ? resolve(value) : value])
  }
  return { job, options: Object.fromEntries(given) }
}

function isLeftOut(
  name: string,
  spec: OptionSpec,
  value: string | boolean | readonly string[],
): boolean {
  if (DEFAULT_PATHS.includes(name) && value === spec.default) return !existsSync(String(value))
  if (spec.isSecret === true || value === false || value === spec.default) return true
  return Array.isArray(value) && value.length === 0
}
