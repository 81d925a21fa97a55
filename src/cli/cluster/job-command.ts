import { statSync } from 'node:fs'
import type { JobSubmission } from '../../cluster/rest/port/cluster.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { Command, OptionSpec } from '../command/command.ts'
import { isBelow, requireReach, type SubmissionRights } from './submission-rights.ts'

/** Command that runs a kind of job: its words and its flags. */
export interface JobCommand {
  readonly words: readonly string[]
  readonly options: Command['options']
}

/** Commands by the name of the job; `module` is that of a user's own job. */
export type JobCommands = Readonly<Record<string, JobCommand>> & { readonly module: JobCommand }

/** Flags that belong to the command line of the submitter. */
const CLIENT_FLAGS: readonly string[] = ['detached', 'jobmanager']

/** Words of the command line that runs a submitted job. Throws as `checkSubmission`. */
export function wordsOf({ job, options }: JobSubmission, commands: JobCommands): readonly string[] {
  const command = commandOf(job, commands)
  const flags = Object.entries(options).flatMap(([name, value]) => {
    if (typeof value === 'boolean') return value ? [`--${name}`] : []
    return (typeof value === 'string' ? [value] : value).map((word) => `--${name}=${word}`)
  })
  const isModule = command === commands.module
  return [...command.words, ...(isModule ? [job] : []), ...flags]
}

/**
 * Checks a submission: the job is known, or its module is below one of the folders, and the options are
 * flags of its command that reach what the JobManager's start allows. Throws INVALID_ARGUMENT, UNKNOWN_OPTION,
 * ACCESS_DENIED.
 */
export function checkSubmission(
  { job, options }: JobSubmission,
  commands: JobCommands,
  rights: SubmissionRights,
): void {
  const command = commandOf(job, commands)
  if (command === commands.module) requireAllowed(job, commands, rights.modules)
  for (const [name, value] of Object.entries(options)) {
    checkOption(command, name, value)
    requireReach(name, value, rights)
  }
}

function commandOf(job: string, commands: JobCommands): JobCommand {
  return job !== 'module' && Object.hasOwn(commands, job) ? commands[job]! : commands.module
}

function requireAllowed(job: string, commands: JobCommands, folders: readonly string[]): void {
  const names = Object.keys(commands).filter((name) => name !== 'module')
  if (!/[./\\]/.test(job)) {
    const nearest = nearestWord(job, names)
    const hint =
      nearest === undefined ? `known are ${names.join(', ')}` : `did you mean "${nearest}"?`
    throw new WeirError('INVALID_ARGUMENT', `there is no job "${job}"; ${hint}`)
  }
  if (isFile(job) && isBelow(job, folders)) return
  const where = folders.length === 0 ? 'no folder' : folders.join(', ')
  throw new WeirError(
    'ACCESS_DENIED',
    `the module ${job} is not in a folder from which this JobManager runs jobs (${where}); start it with --modules FOLDER`,
  )
}

/** Whether a path is a file, also behind a link. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function checkOption({ options, words }: JobCommand, name: string, value: unknown): void {
  const spec = Object.hasOwn(options, name) ? options[name] : undefined
  if (spec === undefined || spec.isSecret === true || CLIENT_FLAGS.includes(name)) {
    const nearest = nearestWord(name, Object.keys(options))
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    throw new WeirError('UNKNOWN_OPTION', `weir ${words.join(' ')} has no option "${name}"${hint}`)
  }
  requireArgument(hasType(spec, value), `the option "${name}" takes ${typeText(spec)}`)
  for (const text of [value].flat()) {
    const problem = typeof text === 'string' ? spec.value?.problem(text) : undefined
    requireArgument(problem === undefined, `the option "${name}" ${problem}`)
  }
}

function hasType({ type, multiple }: OptionSpec, value: unknown): boolean {
  if (type === 'boolean') return typeof value === 'boolean'
  return typeof value === 'string' || (multiple === true && Array.isArray(value))
}

function typeText({ type, multiple }: OptionSpec): string {
  if (type === 'boolean') return 'true or false'
  return multiple === true ? 'a text or a list of texts' : 'a text'
}
