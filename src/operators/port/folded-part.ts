import { copierOf, type Serializer, type ValueCopier, withCopier } from '../../core/serializer.ts'

/*
 * A value of an edge on which records are folded before they are sent:
 *
 *   | 0: u8 | record, up to the end                       |   a record as it is
 *   | 1: u8 | records: varuint | sum, up to the end       |   a part
 */
const RECORD = 0
const PART = 1

/** About how many bytes of heap a part takes. */
const PART_BYTES = 96

/** Records of one key and one slice of time, folded by their sender. */
export class FoldedPart<ACC = unknown> {
  /** Number of records in the sum. */
  records: number
  sum: ACC
  /** Whether nothing else refers to an object of the sum. */
  owned: boolean

  constructor(sum: ACC, records: number, owned: boolean) {
    this.records = records
    this.sum = sum
    this.owned = owned
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
      writer.uint8(PART)
      writer.varuint(value.records)
      sums.write(value.sum, writer)
    },
    read(reader) {
      if (reader.uint8() === RECORD) return records.read(reader)
      const count = reader.varuint()
      return new FoldedPart(sums.read(reader), count, true)
    },
  }
  return withCopier(serializer, new PartCopier(copierOf(records)))
}

/** Copies records, and hands over parts as they are, because their sender forgets them. */
class PartCopier implements ValueCopier<unknown> {
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
