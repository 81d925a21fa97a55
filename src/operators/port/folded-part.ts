import { copierOf, type Serializer, type ValueCopier, withCopier } from '../../core/serializer.ts'

/*
 * A value of an edge on which records are folded before they are sent:
 *
 *   | 0: u8 | record, up to the end                       |   a record as it is
 *   | 1: u8 | records: varuint | sum, up to the end       |   a part of a slice
 *   | 2: u8 | records: varuint | span: int53, ms | sum    |   a part of a session
 */
const RECORD = 0
const PART = 1
const SESSION_PART = 2

/** About how many bytes of heap a part takes. */
const PART_BYTES = 96

/** Records of one key and one slice of time or one session, folded by their sender. */
export class FoldedPart<ACC = unknown> {
  /** Number of records in the sum. */
  records: number
  sum: ACC
  /** Whether nothing else refers to an object of the sum. */
  owned: boolean
  /** Length of the session of the records, which begins at the part's timestamp, ms; 0 for a part of a slice. */
  spanMs: number

  constructor(sum: ACC, records: number, owned: boolean, spanMs = 0) {
    this.records = records
    this.sum = sum
    this.owned = owned
    this.spanMs = spanMs
  }
}

/** Number of records for which a value of an edge stands. */
export function recordsOf(value: unknown): number {
  return value instanceof FoldedPart ? value.records : 1
}

/** Serializer of an edge that carries records, and parts with sums of them. */
export function foldedPartSerializer(
  records: Serializer<unknown>,
  sums: Serializer<unknown>,
): Serializer<unknown> {
  const serializer: Serializer<unknown> = {
    id: `folded-part/1(${records.id},${sums.id})`,
    write(value, writer) {
      if (!(value instanceof FoldedPart)) {
        writer.uint8(RECORD)
        records.write(value, writer)
        return
      }
      writer.uint8(value.spanMs === 0 ? PART : SESSION_PART)
      writer.varuint(value.records)
      if (value.spanMs > 0) writer.int53(value.spanMs)
      sums.write(value.sum, writer)
    },
    read(reader) {
      const kind = reader.uint8()
      if (kind === RECORD) return records.read(reader)
      const count = reader.varuint()
      const spanMs = kind === SESSION_PART ? reader.int53() : 0
      return new FoldedPart(sums.read(reader), count, true, spanMs)
    },
  }
  return withCopier(serializer, new PartCopier(copierOf(records)))
}

/** Copies records, and hands over parts as they are, because their sender forgets them. */
class PartCopier implements ValueCopier<unknown> {
  readonly shares = false
  bytes = 0
  private readonly records: ValueCopier<unknown> | undefined

  constructor(records: ValueCopier<unknown> | undefined) {
    this.records = records
  }

  copy(value: unknown): unknown {
    if (value instanceof FoldedPart) {
      this.bytes = PART_BYTES
      return value.owned ? value : undefined
    }
    const copy = this.records?.copy(value)
    this.bytes = this.records?.bytes ?? 0
    return copy
  }

  measure(value: unknown): number {
    return value instanceof FoldedPart ? PART_BYTES : (this.records?.measure(value) ?? 0)
  }
}
