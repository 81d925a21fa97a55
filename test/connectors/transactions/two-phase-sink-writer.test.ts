import { describe, expect, it } from 'vitest'
import { encodeCommittable } from '../../../src/connectors/transactions/committable.ts'
import {
  type TransactionalProducer,
  type TransactionalTopic,
  TwoPhaseSinkWriter,
} from '../../../src/connectors/transactions/two-phase-sink-writer.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import type { SinkWriterContext } from '../../../src/operators/port/sink.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const RESTORED = encodeCommittable({
  identity: { transactionalId: 'job/op/0/1/1', producerId: 1, epoch: 0 },
  witness: undefined,
})

/** A topic that knows no prepared transaction, or that does not answer. */
function topic(error: WeirError): TransactionalTopic {
  return {
    transactions: {
      prefix: '',
      list: async () => [],
      takeOver: async (transactionalId) => ({ transactionalId, producerId: 2, epoch: 0 }),
      commit: () => Promise.reject(error),
    },
    openProducer: async () => ({}) as TransactionalProducer,
    close: async () => {},
  }
}

function open(error: WeirError, losses?: WeirError[]): Promise<void> {
  const writer = new TwoPhaseSinkWriter<string>(
    { serialize: () => ({ key: undefined, value: undefined }), guarantee: 'exactly-once' },
    async () => topic(error),
  )
  const context: SinkWriterContext = {
    jobName: 'job',
    operatorUid: 'op',
    subtask: 0,
    parallelism: 1,
    attempt: 1,
    clock: new ManualClock(0),
    metrics: new MetricGroup(),
    onLostTransaction: losses === undefined ? undefined : (loss) => losses.push(loss),
  }
  return writer.open(context, [RESTORED])
}

describe('TwoPhaseSinkWriter with a restored transaction that is lost', () => {
  const lost = new WeirError('INVALID_TRANSACTION', 'the transactional id is not known')

  it('fails unless the job accepts the loss', async () => {
    await expect(open(lost)).rejects.toBe(lost)
  })

  it('reports the loss and continues if the job accepts it', async () => {
    const losses: WeirError[] = []
    await open(lost, losses)
    expect(losses).toEqual([lost])
  })

  it('does not take another error for a loss', async () => {
    const down = new WeirError('CONNECTOR_FAILED', 'the broker is down')
    const losses: WeirError[] = []
    await expect(open(down, losses)).rejects.toBe(down)
    expect(losses).toEqual([])
  })
})
