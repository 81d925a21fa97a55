import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { TOPICS_PLACE } from '../../connectors/topics/place.ts'
import { objectWith } from '../../core/options/kinds.ts'
import { checkArgument, nested } from '../../core/options/shape.ts'
import type { DataStream } from '../../dataflow/data-stream.ts'
import { type RefusedObservation, refusedSerializer } from './refused.ts'
import { topicSink } from './topic-sink.ts'

/** A refused observation waits for others at most this long, ms. */
const LINGER_MS = 4

/** Writes refused observations, as they were read, to a topic. Without a topic they are only counted. */
export async function quarantine(
  refused: DataStream<RefusedObservation>,
  place: TopicsPlace,
  topic: string | undefined,
): Promise<void> {
  checkArgument(
    'quarantine',
    'refused',
    objectWith('a stream of refused observations', 'sinkTo'),
    refused,
  )
  checkArgument('quarantine', 'place', nested(TOPICS_PLACE), place)
  if (topic === undefined) return
  const sink = await topicSink(place, {
    topic,
    serialize: refusedSerializer(),
    guarantee: 'at-least-once',
    lingerMs: LINGER_MS,
  })
  refused.sinkTo(sink).uid('quarantine').name('Quarantine')
}
