import { WeirError } from '../../errors.ts'
import { aFunction, objectWith } from '../../options/kinds.ts'
import { checkArgument } from '../../options/shape.ts'
import type { EvolvingSerializer } from '../../serializer.ts'
import { jsonFormat, jsonText } from '../json.ts'
import { textFormat } from '../text.ts'

/** A compiled JSON schema, as `compile` of the package `ajv` gives it. It may add the defaults of missing properties. */
export interface JsonSchemaCheck {
  (value: unknown): unknown
  /** What is wrong with the last value. */
  readonly errors?: readonly SchemaViolation[] | null | undefined
}

/** One thing that is wrong with a value. */
export interface SchemaViolation {
  /** JSON pointer to the part that is wrong; empty for the whole value. */
  readonly instancePath: string
  readonly message?: string | undefined
}

const SCHEMA = objectWith<object>('a JSON schema')
const CHECK = aFunction<JsonSchemaCheck>('a compiled schema')

/*
 * The id of the serializer is the schema: json-schema/1{"type":"object",...}. A value is its JSON text.
 */
const READABLE = /^json(-schema)?\/1/

/**
 * JSON text whose values fit a schema. A JSON schema says nothing of older ones, so each value that another schema, or
 * `jsonFormat`, has written is compared with the present one: `check` fills in defaults where it was compiled so (`useDefaults`
 * of Ajv), and a value that does not fit is STATE_CONFLICT at the start. Writing a value that does not fit throws
 * INVALID_ARGUMENT.
 */
export function jsonSchemaFormat<T>(schema: object, check: JsonSchemaCheck): EvolvingSerializer<T> {
  checkArgument('jsonSchemaFormat', 'schema', SCHEMA, schema)
  checkArgument('jsonSchemaFormat', 'check', CHECK, check)
  const stored = jsonFormat<unknown>()
  return {
    ...textFormat<T>({
      id: `json-schema/1${JSON.stringify(schema)}`,
      parse: (text) => fitting(JSON.parse(text), check, 'UNPARSABLE_RECORD') as T,
      format(value) {
        const text = jsonText(value)
        // The check may add defaults, and the value belongs to the program.
        fitting(JSON.parse(text), check, 'INVALID_ARGUMENT')
        return text
      },
    }),
    readerOf: (storedId) =>
      READABLE.test(storedId)
        ? (reader) => fitting(stored.read(reader), check, 'STATE_CONFLICT') as T
        : `jsonSchemaFormat does not read ${storedId}`,
  }
}

function fitting(
  value: unknown,
  check: JsonSchemaCheck,
  code: 'UNPARSABLE_RECORD' | 'INVALID_ARGUMENT' | 'STATE_CONFLICT',
): unknown {
  if (check(value) === true) return value
  const violations = (check.errors ?? []).map(
    ({ instancePath, message = 'does not fit' }) => `${instancePath || 'the value'} ${message}`,
  )
  throw new WeirError(code, `a value does not fit its JSON schema: ${violations.join(', ')}`)
}
