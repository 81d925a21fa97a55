import { LogSource } from '../../../src/connectors/log/source.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { Folded } from './job.ts'

const decoder = new TextDecoder()

/** Every committed record of topic `results`, which the fold job has written to a log directory. */
export async function readResults(directory: string): Promise<Folded[]> {
  const source = LogSource.raw({ directory, topic: 'results', bounded: true })
  const reader = source.createReader()
  const metrics = new MetricGroup()
  await reader.open({ subtask: 0, parallelism: 1, clock: systemClock, metrics })
  const partitions = await source.discover()
  await reader.addSplits(partitions.map((partition) => ({ partition, nextOffset: -1 })))
  const results: Folded[] = []
  for (;;) {
    const found = reader.poll(
      {
        collect: ({ value }) => results.push(JSON.parse(decoder.decode(value!)) as Folded),
        progress: () => {},
      },
      1000,
    )
    if (found === 'ended') break
    if (found === 'idle') await reader.available()
  }
  await reader.close()
  return results
}
