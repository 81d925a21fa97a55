import { FIELD_BYTES, NOT_FLAT, OBJECT_BYTES, STRING_BYTES } from './value-bytes.ts'

/** Objects of a shape that are looked at field by field before a function is made for it. */
const FIRST_LOOKS = 64
/** Most shapes that have a function. */
const MOST_SHAPES = 256
/** Most fields of a shape: an object with more is a dictionary. */
const MOST_FIELDS = 64

/** Bytes of an object whose fields have these names and hold numbers, texts, booleans or null; else `NOT_FLAT`. */
type BytesOfFlat = (value: object) => number

/** Most shapes with the same first name. */
const MOST_OF_NAME = 8
/** Places for shapes that came last, by their number of fields. */
const PLACES = 16

/** The names of the fields that objects have had, and what counts their bytes once they were seen often enough. */
class FlatShape {
  readonly names: readonly string[]
  looks = 0
  bytesOf: BytesOfFlat | undefined

  constructor(names: readonly string[]) {
    this.names = names
  }

  /** Whether an object with so many names, this first and this last one, may be of the shape. */
  fits(count: number, first: string, last: string): boolean {
    const { names } = this
    return names.length === count && names[0] === first && names[count - 1] === last
  }
}

/**
 * Knows records, which have primitive fields of the same names, faster than by a look at each field through its name:
 * a function with the names of a shape reads them where the engine expects them. An object with as many fields as the
 * names, all of which it has, has no others.
 */
export class FlatShapes {
  private readonly byFirstName = new Map<string, FlatShape[]>()
  private size = 0
  /** The shape that came last of those with so many fields, modulo the places. */
  private readonly recent = new Array<FlatShape>(PLACES).fill(new FlatShape([]))

  /** About how many bytes of heap an object takes; `NOT_FLAT` for one of which this is not known here. */
  bytesOf(value: object): number {
    let count = 0
    let first = ''
    let last = ''
    for (const name in value) {
      if (count === 0) first = name
      last = name
      count += 1
    }
    const recent = this.recent[count % PLACES]!
    const isRecent = recent.fits(count, first, last)
    const shape = isRecent ? recent : this.find(value, count, first, last)
    if (shape === undefined) return NOT_FLAT
    if (shape.bytesOf !== undefined) return shape.bytesOf(value)
    shape.looks += 1
    if (shape.looks === FIRST_LOOKS) shape.bytesOf = bytesFunction(shape.names)
    return NOT_FLAT
  }

  private find(value: object, count: number, first: string, last: string): FlatShape | undefined {
    if (count === 0) return undefined
    const known = this.byFirstName.get(first)?.find((shape) => shape.fits(count, first, last))
    const shape = known ?? this.add(value, count, first)
    if (shape !== undefined) this.recent[count % PLACES] = shape
    return shape
  }

  private add(value: object, count: number, first: string): FlatShape | undefined {
    if (count > MOST_FIELDS || this.size === MOST_SHAPES) return undefined
    const ofName = this.byFirstName.get(first) ?? []
    if (ofName.length === MOST_OF_NAME) return undefined
    const shape = new FlatShape(Object.keys(value))
    this.byFirstName.set(first, [...ofName, shape])
    this.size += 1
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
