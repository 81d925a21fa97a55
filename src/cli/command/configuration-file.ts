import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Node } from 'yaml'
import { UsageError } from './usage-error.ts'

/** Name of the file that a command reads from the working directory if it exists. */
export const CONFIGURATION_FILE = 'weir.yaml'

/** Loads the parser, only if there is a file to parse: most commands start without it. */
function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml') as typeof import('yaml')
}

/**
 * Reads `weir.yaml`. Nested maps become keys joined by dots, so that
 *
 *   execution:
 *     checkpointing:
 *       interval: 5 s
 *
 * is the same as `execution.checkpointing.interval: 5 s`. Values are the text as written. Returns
 * undefined if the file is missing and not `required`. Throws UsageError with the line.
 */
export function readConfigurationFile(
  path: string,
  required: boolean,
): ReadonlyMap<string, string> | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new UsageError(`cannot read the configuration file ${path}: ${(error as Error).message}`)
  }
  return parseConfigurationFile(text, path)
}

/** Keys and values of a configuration file's text; errors name `path`. */
export function parseConfigurationFile(text: string, path: string): ReadonlyMap<string, string> {
  // The failsafe schema reads every scalar as the text that was written: "1.0" stays "1.0".
  const options = { schema: 'failsafe', prettyErrors: true, stringKeys: true } as const
  const document = loadYaml().parseDocument(text, options)
  const [error] = document.errors
  if (error !== undefined) {
    const why = error.message.split('\n')[0]!.replace('With stringKeys, ', '')
    throw new UsageError(`${path}: ${why}`)
  }
  const values = new Map<string, string>()
  if (document.contents !== null) collect(document.contents, '', { path, values })
  return values
}

/** Adds the values below `node` to `values`. */
function collect(
  node: Node,
  prefix: string,
  { path, values }: { readonly path: string; readonly values: Map<string, string> },
): void {
  const { isMap, isScalar } = loadYaml()
  if (!isMap(node)) throw new UsageError(`${path}: write "key: value" lines`)
  for (const { key, value } of node.items) {
    const name = `${prefix}${String(isScalar(key) ? key.value : key)}`
    if (isMap(value)) collect(value, `${name}.`, { path, values })
    else if (isScalar(value) && typeof value.value === 'string' && value.value !== '') {
      if (values.has(name)) throw new UsageError(`${path}: ${name} is given twice`)
      values.set(name, value.value)
    } else throw new UsageError(`${path}: ${name} must have one value, a text or a number`)
  }
}
