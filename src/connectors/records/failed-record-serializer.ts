import { serializer } from '../../core/options/ports.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { FailedRecord } from '../../operators/port/failed-record.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import type { RecordSerializer } from './outgoing-record.ts'
import { serializeValue } from './value-serializer.ts'

const encoder = new TextEncoder()

/**
 * Serializer of records at which a function threw, for a topic of dead letters. A record of the topic has the value in
 * its format, the key as a text, and in its headers what a person needs: `weir-operator` (uid), `weir-origin`
 * (TOPIC/PARTITION/OFFSET; the number of the source where it reads no topic), `weir-reason`, `weir-code` and
 * `weir-stack`. Throws INVALID_ARGUMENT for what is no format.
 */
export function serializeFailedRecord<T>(format: Serializer<T>): RecordSerializer<FailedRecord<T>> {
  checkArgument('serializeFailedRecord', 'format', serializer<T>(), format)
  const ofValue = serializeValue(format)
  return (failed, record) => {
    ofValue(failed.value, record)
    if (failed.key !== undefined) record.key = encoder.encode(failed.key)
    record.headers = headersOf(failed)
  }
}

function headersOf({ operator, origin, error }: FailedRecord<unknown>): RecordHeader[] {
  const texts = {
    'weir-operator': operator,
    'weir-origin':
      origin && `${origin.topic ?? origin.source}/${origin.partition}/${origin.offset}`,
    'weir-reason': `${error.name}: ${error.message}`,
    'weir-code': error.code ?? 'OPERATOR_FAILED',
    'weir-stack': error.stack,
  }
  return Object.entries(texts).flatMap(([key, text]) =>
    text === undefined ? [] : [{ key, value: encoder.encode(text) }],
  )
}
