import type { ByteReader } from '../core/byte-reader.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'
import { type ModelRow, ModelRowSerializer, type MutableModelRow } from '../models/model-row.ts'
import { ModelRowsOperator } from './model-rows-operator.ts'
import type { ModelTopicRecord } from './model-topic-record.ts'
import { ratingsIn } from './row-ratings.ts'

/** Splits the model topic as `ModelRowsOperator` does; rows know how many ratings they were trained on. */
export class LearnableRowsOperator extends ModelRowsOperator {
  protected override rowOf(record: ModelTopicRecord): MutableModelRow {
    const row = super.rowOf(record)
    row.ratings = ratingsIn(record.headers?.() ?? [])
    return row
  }
}

/** Stands for rows whose ratings nobody counted. */
const UNKNOWN = 2 ** 32 - 1

/** `| ratings u32 | a model row |` */
export class LearnableRowSerializer implements Serializer<ModelRow> {
  readonly id = 'learnable-row/1'
  private readonly rows = new ModelRowSerializer()

  write(row: ModelRow, writer: ByteWriter): void {
    writer.uint32(row.ratings ?? UNKNOWN)
    this.rows.write(row, writer)
  }

  read(reader: ByteReader): ModelRow {
    const ratings = reader.uint32()
    const row: MutableModelRow = this.rows.read(reader)
    row.ratings = ratings === UNKNOWN ? undefined : ratings
    return row
  }
}
