import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import type { SharedKafka } from '../../services/lending/kafka.ts'
import { drain, newTopic, openReader } from '../kafka/fixture.ts'
import { Load, OUTPUT_PARTITIONS } from '../kafka/fold/fixture.ts'
import type { ScaledJob } from './fixture.ts'

/** The fold of operations in several processes, with its topics and its load. */
export interface ScaledFold extends Disposable {
  readonly job: ScaledJob
  readonly load: Load
  readonly output: string
}

/** Makes topics, a load and a folder for the fold; the folder is deleted with the result. */
export async function scaledFold(broker: SharedKafka, partitions: number): Promise<ScaledFold> {
  const client = { brokers: broker.bootstrap }
  const folder = mkdtempSync(join(tmpdir(), 'weir-scale-out-'))
  const input = await newTopic(client, { partitions: 3 })
  const output = await newTopic(client, { partitions: OUTPUT_PARTITIONS })
  const job = {
    ...client,
    ...{ applicationId: `fold-${randomUUID()}`, partitions, folder },
    module: join(import.meta.dirname, 'fold-job.ts'),
    options: { ...client, input, output },
  }
  return {
    ...{ job, output, load: await Load.to(broker.bootstrap, input) },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The fold for a test; its folder is deleted when the test ends. */
export async function ownFold(broker: SharedKafka, partitions: number): Promise<ScaledFold> {
  const fold = await scaledFold(broker, partitions)
  onTestFinished(() => fold[Symbol.dispose]())
  return fold
}

/** Resolves when so many results are visible. */
export async function untilVisible({ job, output }: ScaledFold, count: number): Promise<void> {
  await drain(await openReader(KafkaSource.raw({ brokers: job.brokers, topic: output })), count)
}
