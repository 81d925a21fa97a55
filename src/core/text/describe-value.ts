/** Most fields that a description names. */
const MOST_FIELDS = 5
const LONGEST_TEXT = 40

/** What a value is, in words for messages: `the text "k"`, `an object with map1, map2`, `an async function`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return describeFunction(value)
  if (typeof value === 'object') return describeObject(value)
  return `the ${typeof value} ${textOf(value)}`
}

/** A text in quotes, and shortened. */
function textOf(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}...` : value)
}

type NamedFunction = { readonly name: string; readonly length: number }

function describeFunction(value: NamedFunction): string {
  if (isClass(value)) return value.name === '' ? 'a class' : `the class ${value.name}`
  const kind = FUNCTION_KINDS[Object.prototype.toString.call(value)] ?? 'a function'
  return value.length === 0 ? kind : `${kind} with ${count(value.length, 'parameter')}`
}

const FUNCTION_KINDS: Readonly<Record<string, string>> = {
  '[object AsyncFunction]': 'an async function',
  '[object GeneratorFunction]': 'a generator function',
  '[object AsyncGeneratorFunction]': 'an async generator function',
}

/** Whether a function can only be called with `new`. */
export function isClass(value: unknown): value is new () => unknown {
  return typeof value === 'function' && Function.prototype.toString.call(value).startsWith('class')
}

function describeObject(value: object): string {
  if (value instanceof Promise) return 'a promise'
  if (Array.isArray(value)) return `an array of ${value.length}`
  const { name = 'Object' } = (value.constructor as { readonly name?: string } | undefined) ?? {}
  if (name !== 'Object') return `an instance of ${name}`
  const fields = Object.keys(value)
  if (fields.length === 0) return 'an object without fields'
  const more = fields.length > MOST_FIELDS ? ', ...' : ''
  return `an object with ${fields.slice(0, MOST_FIELDS).join(', ')}${more}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
