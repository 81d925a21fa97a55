import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { SharedKafka } from '../../services/lending/kafka.ts'
import { newTopic } from '../kafka/fixture.ts'
import { Load, OUTPUT_PARTITIONS } from '../kafka/fold/fixture.ts'
import type { ScaledJob } from './fixture.ts'

/** The fold of operations in several processes, with its topics and its load. */
export async function foldIn(
  broker: SharedKafka,
  partitions: number,
): Promise<{ job: ScaledJob; load: Load; output: string }> {
  const client = { brokers: broker.bootstrap }
  const folder = mkdtempSync(join(tmpdir(), 'weir-scale-out-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const input = await newTopic(client, { partitions: 3 })
  const output = await newTopic(client, { partitions: OUTPUT_PARTITIONS })
  const job = {
    ...client,
    applicationId: `fold-${randomUUID()}`,
    partitions,
    module: join(import.meta.dirname, 'fold-job.ts'),
    options: { ...client, input, output },
    folder,
  }
  return { job, load: await Load.to(broker.bootstrap, input), output }
}
