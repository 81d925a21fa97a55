import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { DataStream } from '../../dataflow/data-stream.ts'
import { type RefusedObservation, refusedSerializer } from './refused.ts'
import { topicSink } from './topic-sink.ts'

/** Where refused observations go. */
export interface QuarantineOptions extends TopicsPlace {
  /** Topic of refused observations. @default they are counted and dropped */
  readonly quarantine?: string
}

/** A refused observation waits for others at most this long, ms. */
const LINGER_MS = 4

/** Writes refused observations, as they were read, to the topic of the option, where there is one. */
export async function quarantine(
  refused: DataStream<RefusedObservation>,
  options: QuarantineOptions,
): Promise<void> {
  if (options.quarantine === undefined) return
  const sink = await topicSink(options, {
    topic: options.quarantine,
    serialize: refusedSerializer(),
    guarantee: 'at-least-once',
    lingerMs: LINGER_MS,
  })
  refused.sinkTo(sink).uid('quarantine').name('Quarantine')
}
