import { createRequire } from 'node:module'
import type { Document } from 'yaml'
import { messageOf, WeirError } from '../../core/errors.ts'

/** Contents of a YAML or JSON file, with the places of its keys. */
export interface YamlFile {
  readonly value: unknown
  /** Line of a key, such as `batching.sizes`, from 1: of the deepest part of it that the file has; undefined for none. */
  lineOf(key: string): number | undefined
}

/** Reads YAML, or JSON, which is a part of it. The parser is loaded only if there is a file to parse. Throws MALFORMED_DATA. */
export function readYaml(text: string, path: string): YamlFile {
  const { isMap, LineCounter, parseDocument } = yamlPackage()
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { prettyErrors: true, stringKeys: true, lineCounter })
  const lineIn = (node: unknown, key: string): number | undefined => {
    if (!isMap(node)) return undefined
    for (const pair of node.items) {
      const found = pair.key as { readonly range?: readonly number[]; readonly value?: unknown }
      const name = String(found.value)
      if (key !== name && !key.startsWith(`${name}.`)) continue
      const line = found.range === undefined ? undefined : lineCounter.linePos(found.range[0]!).line
      return lineIn(pair.value, key.slice(name.length + 1)) ?? line
    }
    return undefined
  }
  return {
    value: contentOf(document, path),
    lineOf: (key) => lineIn(document.contents, key),
  }
}

function contentOf(document: Document, path: string): unknown {
  try {
    if (document.errors[0] !== undefined) throw document.errors[0]
    // It throws for an alias of nothing, and for more aliases than a file has by intent.
    return document.toJS() as unknown
  } catch (cause) {
    const why = messageOf(cause).split('\n')[0]!.replace('With stringKeys, ', '')
    const message = `${path}: ${why}`
    throw new WeirError('MALFORMED_DATA', message, { cause })
  }
}

const yamlPackage = () => createRequire(import.meta.url)('yaml') as typeof import('yaml')
