import { requireArgument } from '../errors.ts'
import { aFunction } from '../options/kinds.ts'
import { checkOptions, type OptionShape } from '../options/shape.ts'
import type { Serializer } from '../serializer.ts'
import { textFormat } from './text.ts'

/** Options of `jsonFormat`. */
export interface JsonFormatOptions<T> {
  /** Checks what was parsed, or makes a value of it; what it throws makes the record undecodable. */
  readonly check?: (parsed: unknown) => T
}

const JSON_FORMAT: OptionShape<JsonFormatOptions<unknown>> = { check: aFunction() }

/** JSON text, one value a record. Without `check` the type is what you say it is. */
export function jsonFormat<T>(options: JsonFormatOptions<T> = {}): Serializer<T> {
  checkOptions('jsonFormat', JSON_FORMAT, options)
  const { check = (parsed: unknown) => parsed as T } = options
  return textFormat<T>({
    id: 'json/1',
    parse: (text) => check(JSON.parse(text)),
    format: jsonText,
  })
}

/** The JSON text of a value. Throws INVALID_ARGUMENT for what has none. */
export function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  requireArgument(text !== undefined, 'undefined, functions and symbols have no JSON')
  return text
}
