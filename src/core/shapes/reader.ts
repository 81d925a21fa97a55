import type { ByteReader } from '../byte-reader.ts'
import { WeirError } from '../errors.ts'
import type { Serializer } from '../serializer.ts'
import { latin1Of } from '../text/latin1.ts'
import { MOST_TEXTS } from './frequent-texts.ts'
import { KINDS } from './shape.ts'

/** Reads the values of the fields of one shape, and makes the object. */
type ReadFields = (stream: ValueStream) => object

/** The values that follow in the bytes. */
interface ValueStream {
  next(): unknown
}

/** Reads a stream of values as `ShapeWriter` writes it, each once and in order. */
export class ShapeReader {
  readonly id: string
  private readonly serializer: Serializer<unknown>
  private readonly shapes: ReadFields[] = []
  private readonly texts: string[] = new Array<string>(MOST_TEXTS).fill('')
  private reader!: ByteReader

  constructor(serializer: Serializer<unknown>) {
    this.id = serializer.id
    this.serializer = serializer
  }

  /** Reads the value that the reader spans. Throws MALFORMED_DATA. */
  read(reader: ByteReader): unknown {
    if (reader.bytes[reader.position] === KINDS.encoded) {
      reader.position += 1
      return this.serializer.read(reader)
    }
    this.reader = reader
    return this.next()
  }

  /** Reads the next value within the one that `read` has begun. */
  next(): unknown {
    const { reader } = this
    const kind = reader.uint8()
    switch (kind) {
      case KINDS.int32:
        return reader.int32()
      case KINDS.knownLatin:
        return this.texts[reader.uint16() % MOST_TEXTS]
      case KINDS.latin:
        return this.latin(reader.uint8())
      case KINDS.float64:
        return reader.float64()
      case KINDS.object:
        return this.shape(reader.uint8())(this)
      case KINDS.undefined:
        return undefined
      case KINDS.null:
        return null
      case KINDS.false:
        return false
      case KINDS.true:
        return true
      case KINDS.text:
        return reader.text()
      case KINDS.date:
        return new Date(reader.float64())
      case KINDS.array:
        return this.array(reader.varuint())
      case KINDS.newObject:
        return this.newShape(reader.uint8())(this)
      case KINDS.keptLatin:
        return this.keptLatin(reader.uint16())
      default:
        throw new WeirError('MALFORMED_DATA', `a value of kind ${kind} between two slots`)
    }
  }

  private latin(length: number): string {
    const { reader } = this
    if (length > reader.remaining) throw new WeirError('MALFORMED_DATA', 'a text is cut off')
    const start = reader.position
    reader.position += length
    return latin1Of(reader.bytes, length, start)
  }

  private keptLatin(place: number): string {
    const text = this.latin(this.reader.uint8())
    this.texts[place % MOST_TEXTS] = text
    return text
  }

  private array(length: number): unknown[] {
    if (length > this.reader.remaining) throw new WeirError('MALFORMED_DATA', 'an array is cut off')
    const values: unknown[] = []
    for (let i = 0; i < length; i++) values.push(this.next())
    return values
  }

  private shape(id: number): ReadFields {
    const found = this.shapes[id]
    if (found === undefined) throw new WeirError('MALFORMED_DATA', `there is no shape ${id}`)
    return found
  }

  private newShape(fields: number): ReadFields {
    const names = Array.from({ length: fields }, () => this.reader.text())
    const read = readerOf(names)
    this.shapes.push(read)
    return read
  }
}

/**
 * A function that makes objects of one shape by one literal, so that the engine knows their class at once.
 * Where the process forbids code from text, a loop does the same.
 */
function readerOf(names: readonly string[]): ReadFields {
  const fields = names.map((name) => `${JSON.stringify(name)}: stream.next()`)
  try {
    return new Function('stream', `return { ${fields.join(', ')} }`) as ReadFields
  } catch {
    return (stream) => Object.fromEntries(names.map((name) => [name, stream.next()]))
  }
}
