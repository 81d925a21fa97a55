import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadedCopies, WeirError } from '../../core/errors.ts'
import type { JobDefinition } from '../../dataflow/job/definition.ts'
import type { JobOptionSpec } from '../../dataflow/job/option-specs.ts'
import { loadProblem } from './load-problem.ts'

/** A job that the user wrote. */
export interface JobModule {
  readonly url: URL
  readonly definition: JobDefinition
}

/**
 * Imports the module of a job to check that it defines one. Throws UsageError if there is no such
 * file, and INVALID_ARGUMENT if the module fails to load or its default export is not a job.
 */
export async function loadJobModule(
  path: string,
  warn: (sentence: string) => void = () => {},
): Promise<JobModule> {
  const file = resolve(path)
  const url = pathToFileURL(file)
  let exported: { readonly default?: Partial<JobDefinition> }
  try {
    exported = (await import(url.href)) as typeof exported
  } catch (cause) {
    const source = readFileSync(file, 'utf8')
    const problem = loadProblem(cause, { source, nodeVersion: process.versions.node })
    throw new WeirError('INVALID_ARGUMENT', `${path} cannot be loaded: ${problem}`, { cause })
  }
  const warning = copiesWarning(loadedCopies())
  if (warning !== undefined) warn(warning)
  const definition = exported.default
  if (typeof definition?.name === 'string' && typeof definition.build === 'function') {
    return { url, definition: definition as JobDefinition }
  }
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${path} is not a job: end it with "export default defineJob({ name, build(env, options) { ... } })"`,
  )
}

/** What to do about several copies of Weir; undefined for one. */
export function copiesWarning(copies: readonly string[]): string | undefined {
  if (copies.length < 2) return undefined
  const places = copies.map((url) => url.replace(/\/(src|dist)\/core\/errors\.[jt]s$/, ''))
  return `this process has ${copies.length} copies of Weir: ${places.join(' and ')}; run the "weir" of the project (npx weir), so that both are the same version`
}

/** The lines of `--help` about the declared options of a job; undefined if it declares none. */
export function jobOptionsHelp({ name, options }: JobDefinition): string | undefined {
  if (options === undefined) return undefined
  const rows = Object.entries(options)
  const width = Math.max(0, ...rows.map(([option]) => option.length)) + 2
  const lines = rows.map(([option, spec]) => {
    const values = spec.choices === undefined ? spec.type : spec.choices.join(' | ')
    return `  ${option.padEnd(width)}${spec.help} (${values}, ${needOf(spec)})`
  })
  return `Options of the job ${name} (--option NAME=VALUE):\n${lines.join('\n')}`
}

function needOf({ default: value, isLogDirectory }: JobOptionSpec): string {
  if (isLogDirectory === true) return 'default: the embedded log of --data-dir'
  if (value === undefined) return 'required'
  return `default ${value === '' ? 'empty' : value}`
}

/** The options of a job that name the folder of the embedded log, with the value `log`. */
export function logOptions(
  { options = {} }: JobDefinition,
  log: string,
): Readonly<Record<string, string>> {
  const names = Object.keys(options).filter((name) => options[name]?.isLogDirectory === true)
  return Object.fromEntries(names.map((name) => [name, log]))
}
