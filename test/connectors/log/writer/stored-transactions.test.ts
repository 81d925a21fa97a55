import { expect, it } from 'vitest'
import { LocalLogWriter } from '../../../../src/connectors/log/writer/local-log-writer.ts'
import type { ProducerIdentity } from '../../../../src/connectors/transactions/producer-identity.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { SimulatedDisk } from '../../../disk/simulated-disk.ts'
import { type DiskProcess, ProcessDied, SimulatedMount } from '../../../disk/simulated-mount.ts'

const DIRECTORY = '/log'

/** A process that dies at the next force of the internal topic, once `dies` is set. */
class DyingProcess implements DiskProcess {
  dies = false
  readonly died = Promise.withResolvers<void>()

  before(operation: string, path: string): void {
    if (!this.dies || operation !== 'datasync' || !path.includes('__transactions')) return
    this.died.resolve()
    throw new ProcessDied()
  }
}

function openLog(files: SimulatedMount): Promise<LocalLogWriter> {
  const options = { files, clock: new ManualClock(1000), fsync: { intervalMs: 3_600_000 } }
  return LocalLogWriter.open(DIRECTORY, options, { announce: () => {}, close: () => {} })
}

function batchOf({ producerId, epoch }: ProducerIdentity): Uint8Array<ArrayBuffer> {
  const batch = new RecordBatchWriter(256)
  batch.append(null, Buffer.from('x'), 1)
  return batch.take({ transactional: true, producerId, producerEpoch: epoch })
}

it('a decision that a killed process did not force is forced before anyone acts on it', async () => {
  const disk = new SimulatedDisk(1)
  const process = new DyingProcess()
  const killed = await openLog(new SimulatedMount(disk, process))
  await killed.createTopic('t', { partitions: 1 })
  const producer = await killed.initProducer('tx')
  await killed.append('t', 0, batchOf(producer), 'tx')
  await killed.sync('t')
  process.dies = true
  void killed.endTransaction(producer, true)
  await process.died.promise

  const next = await openLog(new SimulatedMount(disk))
  expect(await next.listTransactions('tx')).toMatchObject([{ state: 'committed' }])
  // The caller repeats the call and learns that the transaction is committed.
  await next.endTransaction(producer, true)
  disk.powerCut('none')

  const after = await openLog(new SimulatedMount(disk))
  expect(await after.listTransactions('tx')).toMatchObject([{ state: 'committed' }])
})
