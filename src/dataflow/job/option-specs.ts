import { WeirError } from '../../core/errors.ts'
import { either, flag, listOf, numberIn, oneOf, required, text } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'

/** Types of the values of job options. */
interface OptionTypes {
  readonly string: string
  readonly number: number
  readonly boolean: boolean
}

/** One declared option of a job. An option without a default is required. */
export interface JobOptionSpec<T extends keyof OptionTypes = keyof OptionTypes> {
  readonly type: T
  /** Its meaning, for `weir run JOB --help`. */
  readonly help: string
  readonly default?: OptionTypes[T]
  /**
   * Whether `weir run` gives the folder of the embedded log in its `--data-dir` where the option is missing.
   * @default false
   */
  readonly isLogDirectory?: boolean
  /** The only values of a string. */
  readonly choices?: readonly string[]
}

/** The fields of a declared option. */
export const JOB_OPTION_SPEC: OptionShape<JobOptionSpec> = {
  type: required(oneOf('string', 'number', 'boolean')),
  help: required(text),
  default: either(text, either(numberIn(), flag)),
  isLogDirectory: flag,
  choices: listOf(text),
}

/** The declared options of a job, by name. */
export type JobOptionSpecs = Readonly<Record<string, JobOptionSpec>>

/** The values that `build` gets for declared options. */
export type OptionsOf<S extends JobOptionSpecs> = {
  readonly [K in keyof S]: OptionTypes[S[K]['type']]
}

/**
 * The values of declared options: defaults for missing ones; text, as the command line and REST give it,
 * becomes numbers and booleans. Throws INVALID_ARGUMENT for an option that is unknown, missing or
 * has a value of another type.
 */
export function completeJobOptions(
  job: string,
  specs: JobOptionSpecs,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(specs, name)) throw invalid(job, unknownOption(name, specs))
  }
  return Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => {
      const value = Object.hasOwn(given, name) ? given[name] : spec.default
      if (value === undefined) throw invalid(job, `option "${name}" is required: ${spec.help}`)
      return [name, valueOfType(job, name, spec, value)]
    }),
  )
}

function unknownOption(name: string, specs: JobOptionSpecs): string {
  const nearest = nearestWord(name, Object.keys(specs))
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  const known = Object.keys(specs).join(', ') || 'none'
  return `there is no option "${name}"${hint} (options: ${known})`
}

function valueOfType(
  job: string,
  name: string,
  { type, choices }: JobOptionSpec,
  value: unknown,
): unknown {
  const parsed = typeof value === 'string' ? parse(type, value) : value
  const isNumber = type !== 'number' || Number.isFinite(parsed)
  if (typeof parsed !== type || !isNumber) {
    throw invalid(job, `option "${name}" must be a ${type}, not ${JSON.stringify(value)}`)
  }
  if (choices !== undefined && !choices.includes(String(parsed))) {
    throw invalid(
      job,
      `option "${name}" must be one of ${choices.join(', ')}, not ${JSON.stringify(value)}`,
    )
  }
  return parsed
}

function parse(type: JobOptionSpec['type'], text: string): unknown {
  switch (type) {
    case 'string':
      return text
    case 'number':
      return text.trim() === '' ? text : Number(text)
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
  }
}

function invalid(job: string, problem: string): WeirError {
  return new WeirError('INVALID_ARGUMENT', `job ${job}: ${problem}`)
}
