import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listKafkaTransactions } from '../../../../src/connectors/kafka/client/transactions.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { until } from '../../../run/until.ts'
import { KafkaBroker } from '../../../services/kafka/broker.ts'
import { newTopic, openCluster } from '../fixture.ts'
import { expectEachOnce, JobProcess, Load, OUTPUT_PARTITIONS } from '../fold/fixture.ts'

const TIMEOUT_MS = 3_000
const FREEZES = campaignSize(1, 2)
/** First part of the transactional ids of the job. */
const PREFIX = 'weir/kafka-fold/results/'

let broker: KafkaBroker
const client = (): { brokers: string } => ({ brokers: broker.bootstrap })

beforeAll(async () => {
  broker = await KafkaBroker.start({
    startsQuickly: true,
    properties: {
      'transactional.id.expiration.ms': '4000',
      'transaction.remove.expired.transaction.cleanup.interval.ms': '500',
      'transaction.abort.timed.out.transaction.cleanup.interval.ms': '200',
    },
  })
})

afterAll(() => broker?.stop())

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-kafka-aborted-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('an exactly-once job whose transactions the broker has aborted', () => {
  it('restarts by itself, and writes every result once, when it was frozen for longer than the timeout', async () => {
    const folder = temporaryFolder()
    const input = await newTopic(client(), { partitions: 3 })
    const output = await newTopic(client(), { partitions: OUTPUT_PARTITIONS })
    const load = await Load.to(broker.bootstrap, input)
    const job = { ...client(), input, output, transactionTimeoutMs: TIMEOUT_MS }
    const interval = { 'execution.checkpointing.interval': '1500 ms' }
    const running = new JobProcess(folder, 2, job, interval)
    onTestFinished(() => running.kill())
    await running.untilRunning(1)
    const cluster = openCluster(client())
    for (let freeze = 0; freeze < FREEZES; freeze++) {
      // A transaction with all records of the load, so that nothing but the next barrier can notice its end.
      await load.send(10)
      await until('a transaction has records', async () => {
        const all = await listKafkaTransactions(cluster, PREFIX)
        return all.some(({ state }) => state === 'Ongoing')
      })
      await running.freeze(2 * TIMEOUT_MS)
      // A checkpoint over the aborted transaction would end the job: its commit fails.
      await running.untilCompleted(2)
    }
    await load.stop()
    await running.kill()
    const last = new JobProcess(folder, 2, { ...job, bounded: true })
    expect(await last.exited).toBe(0)
    await expectEachOnce(broker, output, load)
  })

  it('goes on by itself, and writes every result once, when its transactional ids have expired', async () => {
    const folder = temporaryFolder()
    const input = await newTopic(client(), { partitions: 3 })
    const output = await newTopic(client(), { partitions: OUTPUT_PARTITIONS })
    const load = await Load.to(broker.bootstrap, input)
    const job = { ...client(), input, output }
    const running = new JobProcess(folder, 2, job)
    onTestFinished(() => running.kill())
    await running.untilRunning(1)
    await load.send(100)
    const cluster = openCluster(client())
    const ids = async (): Promise<number> => (await listKafkaTransactions(cluster, PREFIX)).length
    await until('the job has transactional ids', async () => (await ids()) > 0)
    await until('the broker has removed the ids', async () => (await ids()) === 0)
    await load.send(100)
    await until('the job has other ids', async () => (await ids()) > 0)
    await load.stop()
    await running.kill()
    const last = new JobProcess(folder, 2, { ...job, bounded: true })
    expect(await last.exited).toBe(0)
    await expectEachOnce(broker, output, load)
  })
})
