import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Node } from 'yaml'
import { UsageError } from './usage-error.ts'

/** The file that is read where a command starts, if it is there. */
export const CONFIGURATION_FILE = 'weir.yaml'

/** The parser, loaded where there is a file to parse: most commands have none and start without it. */
function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml') as typeof import('yaml')
}

/**
 * Reads `weir.yaml`: nested maps become keys joined by dots, so that
 *
 *   execution:
 *     checkpointing:
 *       interval: 5 s
 *
 * and `execution.checkpointing.interval: 5 s` say the same. Values are the text as written. Returns
 * undefined when the file is missing and need not be there. Throws UsageError with the line.
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

/** The keys and values of a configuration file's text; `path` is named in errors. */
export function parseConfigurationFile(text: string, path: string): ReadonlyMap<string, string> {
  // The failsafe schema reads every scalar as the text that was written: "1.0" stays "1.0".
  const document = loadYaml().parseDocument(text, { schema: 'failsafe', prettyErrors: true })
  const [error] = document.errors
  if (error !== undefined) throw new UsageError(`${path}: ${error.message.split('\n')[0]}`)
  const values = new Map<string, string>()
  if (document.contents !== null) collect(document.contents, '', path, values)
  return values
}

function collect(node: Node, prefix: string, path: string, values: Map<string, string>): void {
  const { isMap, isScalar } = loadYaml()
  if (!isMap(node)) throw new UsageError(`${path}: write "key: value" lines`)
  for (const { key, value } of node.items) {
    const name = `${prefix}${String(isScalar(key) ? key.value : key)}`
    if (isMap(value)) collect(value, `${name}.`, path, values)
    else if (isScalar(value) && typeof value.value === 'string' && value.value !== '') {
      if (values.has(name)) throw new UsageError(`${path}: ${name} is given twice`)
      values.set(name, value.value)
    } else throw new UsageError(`${path}: ${name} must have one value, a text or number`)
  }
}
