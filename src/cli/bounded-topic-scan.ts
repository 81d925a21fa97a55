import { LogSource } from '../connectors/log/log-source.ts'
import { systemClock } from '../core/clock.ts'
import { MetricGroup } from '../core/metrics.ts'

/**
 * Shows every record of a topic up to its present end; `visit` returns false to stop early. The
 * bytes are valid during the call.
 */
export async function scanTopic(
  directory: string,
  topic: string,
  visit: (key: Uint8Array | null, value: Uint8Array | null) => boolean,
): Promise<void> {
  let goOn = true
  const source = new LogSource<never>({
    directory,
    topic,
    bounded: true,
    deserialize(record) {
      goOn = goOn && visit(record.key(), record.value())
      return undefined
    },
  })
  const reader = source.createReader()
  const metrics = new MetricGroup('scan')
  await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
  const partitions = await source.discover()
  await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
  while (goOn) {
    const found = reader.poll({ collect: () => {}, progress: () => {} }, 256)
    if (found === 'ended') break
    if (found === 'idle') await reader.available()
  }
  await reader.close()
}
