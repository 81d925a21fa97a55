import { existsSync } from 'node:fs'
import { type CommandInput, isSet, type OptionSpec, UsageError } from '../command/command.ts'

/** The jobs of `weir run` by name; `module` is a job of the user's own. */
type RunJob = 'als-serving' | 'svm-serving' | 'histories' | 'models' | 'module'

const STREAM_JOBS: readonly RunJob[] = ['als-serving', 'svm-serving', 'histories', 'module']
/** The jobs of `weir run` that have a name. */
export const NAMED_JOBS: readonly string[] = ['als-serving', 'svm-serving', 'histories', 'models']

/** Flags that only some jobs read. */
const JOBS_OF: Readonly<Record<string, readonly RunJob[]>> = {
  topic: ['als-serving', 'svm-serving', 'histories'],
  dimension: ['als-serving', 'svm-serving'],
  quarantine: ['histories'],
  tags: ['als-serving'],
  option: ['module'],
  'check-types': ['module'],
  'scale-out': ['module'],
  processes: ['module'],
  repository: ['models', 'module'],
  memory: ['models', 'module'],
  'remote-keys': ['models', 'module'],
  http: ['models'],
  grpc: ['models'],
  'allow-origin': ['models'],
  'model-control': ['models'],
  'allow-modules': ['models'],
  'allow-remote': ['models'],
  'restore-from': STREAM_JOBS,
  'allow-non-restored-state': STREAM_JOBS,
  'take-over': [...STREAM_JOBS, 'models'],
  'accept-lost-transactions': STREAM_JOBS,
  detached: STREAM_JOBS,
}

/** Throws UsageError for a flag that the job `name` of `weir run` does not read, and that would count for nothing. */
export function requireJobFlags(
  name: string,
  options: Readonly<Record<string, OptionSpec>>,
  flags: CommandInput['flags'],
): void {
  const job = NAMED_JOBS.includes(name) ? (name as RunJob) : 'module'
  for (const [flag, jobs] of Object.entries(JOBS_OF)) {
    const isGiven = isSet(flags[flag]) && flags[flag] !== options[flag]?.default
    if (isGiven && !jobs.includes(job)) {
      const hint = flag === 'http' ? `; put "weir gateway" in front of "${name}"` : ''
      throw new UsageError(
        `--${flag} is for ${jobs.map(wordsOf).join(', ')}, not for "${name}"${hint}`,
      )
    }
  }
  // A misspelt name is reported by what reads the module.
  if (flags['check-types'] === true && !existsSync(name)) {
    throw new UsageError(`--check-types is for a job of your own, and there is no file "${name}"`)
  }
}

const wordsOf = (job: RunJob): string => (job === 'module' ? 'a job of your own' : `"${job}"`)
