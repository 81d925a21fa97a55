import { FIELD_BYTES, NOT_FLAT, OBJECT_BYTES, STRING_BYTES } from './value-bytes.ts'

/** Objects of a shape that are looked at field by field before a function is made for it. */
const FIRST_LOOKS = 64
/** Most shapes that have a function. */
const MOST_SHAPES = 256
/** Most fields of a shape: an object with more is a dictionary. */
const MOST_FIELDS = 64

/** Bytes of an object whose fields have these names and hold numbers, texts, booleans or null; else `NOT_FLAT`. */
type BytesOfFlat = (value: object) => number

/** A shape that objects with its first name have had, and what counts its bytes once it was seen often enough. */
class FlatShape {
  readonly names: readonly string[]
  looks = 0
  bytesOf: BytesOfFlat | undefined

  constructor(names: readonly string[]) {
    this.names = names
  }
}

/**
 * Knows records, which have primitive fields of the same names, faster than by a look at each field through its name:
 * a function with the names of a shape reads them where the engine expects them. An object with as many fields as the
 * names, all of which it has, has no others.
 */
export class FlatShapes {
  /** The shape that came first with a first name; others of that name are not known. */
  private readonly byFirstName = new Map<string, FlatShape>()
  private last = new FlatShape([])

  /** About how many bytes of heap an object takes; `NOT_FLAT` for one of which this is not known here. */
  bytesOf(value: object): number {
    let count = 0
    let first = ''
    for (const name in value) {
      if (count === 0) first = name
      count += 1
    }
    const { last } = this
    const isLast = last.names.length === count && last.names[0] === first
    const shape = isLast ? last : this.find(value, first, count)
    if (shape === undefined) return NOT_FLAT
    if (shape.bytesOf !== undefined) return shape.bytesOf(value)
    shape.looks += 1
    if (shape.looks === FIRST_LOOKS) shape.bytesOf = bytesFunction(shape.names)
    return NOT_FLAT
  }

  private find(value: object, first: string, count: number): FlatShape | undefined {
    let shape = this.byFirstName.get(first)
    if (shape === undefined) {
      if (count === 0 || count > MOST_FIELDS || this.byFirstName.size === MOST_SHAPES)
        return undefined
      shape = new FlatShape(Object.keys(value))
      this.byFirstName.set(first, shape)
    }
    if (shape.names.length !== count) return undefined
    this.last = shape
    return shape
  }
}

const knowsNone: BytesOfFlat = () => NOT_FLAT

/** Makes the function of a shape; where the process forbids code from text, one that knows no object. */
function bytesFunction(names: readonly string[]): BytesOfFlat {
  // MessagePack reads this name back under another one.
  if (names.includes('__proto__')) return knowsNone
  const fields = names.map(
    (name) => `field = value[${JSON.stringify(name)}]
      if (typeof field === 'string') bytes += ${STRING_BYTES} + field.length
      else if (typeof field !== 'number' && typeof field !== 'boolean' && field !== null) return ${NOT_FLAT}`,
  )
  const base = OBJECT_BYTES + FIELD_BYTES * names.length
  try {
    return new Function(
      'value',
      `let field, bytes = ${base}\n${fields.join('\n')}\nreturn bytes`,
    ) as BytesOfFlat
  } catch {
    return knowsNone
  }
}
