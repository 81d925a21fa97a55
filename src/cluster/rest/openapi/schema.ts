import { EXECUTION_STATES } from '../json/execution-state.ts'

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>

export const TEXT: Schema = { type: 'string' }
export const FLAG: Schema = { type: 'boolean' }
export const NUMBER: Schema = { type: 'number' }
export const WHOLE: Schema = { type: 'integer' }
/** Milliseconds since 1970; -1 for what has not happened. */
export const TIME: Schema = { type: 'integer', description: 'ms since 1970' }
/** Id of a job, a vertex or a trigger. */
export const ID: Schema = { type: 'string', pattern: '^[0-9a-f]{32}$' }
/** State of a task. */
export const TASK_STATE: Schema = { enum: EXECUTION_STATES }

/** An object with exactly these fields; those of `optional` may be missing. */
export function objectOf(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
    additionalProperties: false,
  }
}

/** An object with these names, whose values have one schema. */
export function recordOf(names: readonly string[], value: Schema): Schema {
  return objectOf(Object.fromEntries(names.map((name) => [name, value])))
}

/** An object with any names. */
export function mapOf(value: Schema): Schema {
  return { type: 'object', additionalProperties: value }
}

/** A list. */
export function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

/** What is always an empty list: Weir has no such things. */
export const EMPTY_LIST: Schema = { type: 'array', maxItems: 0 }

/** A value or null. */
export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] }
}
