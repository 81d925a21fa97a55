import type { RecordHeader } from '../../batch/record-batch-format.ts'
import type { WeirError } from '../../core/errors.ts'
import type { SinkWriterContext } from '../../operators/port/sink.ts'
import { smallerDeadLetter } from '../records/dead-letters.ts'
import type { UnwritablePolicy } from '../records/topic-options.ts'
import type { RecordView } from '../records/topic-record.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { KafkaProducer } from './producer.ts'
import type { LeaveOut } from './record-refused.ts'

/** What a sink does with records that its topic refuses. */
export interface UnwritableRecords {
  /** Undefined: such a record ends the sending. */
  readonly leaveOut: LeaveOut | undefined
  close(): void
}

const encoder = new TextEncoder()

/**
 * Opens what a policy needs. Dead letters are durable before the batch of the refused record counts as written, so
 * a checkpoint waits for them. They are not part of a transaction: after a restart some may be there twice.
 */
export async function openUnwritable(
  cluster: KafkaCluster,
  {
    topic,
    unwritable = 'fail',
  }: { readonly topic: string; readonly unwritable?: UnwritablePolicy },
  { clock, metrics, warn }: Pick<SinkWriterContext, 'clock' | 'metrics' | 'warn'>,
): Promise<UnwritableRecords> {
  if (unwritable === 'fail') return { leaveOut: undefined, close: () => {} }
  const counter = metrics.counter('numRecordsUnwritable')
  const count = (refusal: WeirError): void => {
    // The first says what is wrong; the metric counts all.
    if (counter.value === 0) warn?.(refusal)
    counter.increment()
  }
  if (unwritable === 'skip') {
    return { leaveOut: async (_record, refusal) => count(refusal), close: () => {} }
  }
  const makeSmaller = smallerDeadLetter
  const producer = await KafkaProducer.open(cluster, unwritable.deadLetterTopic, { makeSmaller })
  return {
    leaveOut: async (record, refusal) => {
      count(refusal)
      const headers = [...record.headers(), ...headersOf(topic, record, refusal)]
      // Its own time may be what was refused.
      producer.sendRecord(record.key(), record.value(), clock.nowMs(), -1, headers)
      await producer.flush()
    },
    close: () => producer.close(),
  }
}

function headersOf(topic: string, { timestamp }: RecordView, refusal: WeirError): RecordHeader[] {
  const texts = {
    'weir-refused-by': topic,
    'weir-reason': refusal.message,
    'weir-code': refusal.code,
    'weir-timestamp': String(timestamp),
  }
  return Object.entries(texts).map(([key, value]) => ({ key, value: encoder.encode(value) }))
}
