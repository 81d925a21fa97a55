import { describe, expect, it } from 'vitest'
import {
  decodeCommittable,
  encodeCommittable,
} from '../../../src/connectors/transactions/committable.ts'
import type { ProducerIdentity } from '../../../src/connectors/transactions/producer-identity.ts'
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
      timeoutMs: 1000,
      isOpen: async () => false,
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

/** Transactions of a broker, which aborts those that are open for longer than the timeout when it is told to. */
class FakeTransactions {
  readonly clock = new ManualClock(0)
  readonly committed: string[] = []
  readonly asked: string[] = []
  /** The identity of the records now. */
  current: ProducerIdentity | undefined
  /** Identities in their order of use. */
  readonly used: ProducerIdentity[] = []
  isAborted = false
  private readonly epochs = new Map<string, number>()

  readonly topic: TransactionalTopic = {
    transactions: {
      prefix: '',
      timeoutMs: 10_000,
      list: async () => [],
      takeOver: async (transactionalId) => {
        const epoch = (this.epochs.get(transactionalId) ?? -1) + 1
        this.epochs.set(transactionalId, epoch)
        return { transactionalId, producerId: 1, epoch }
      },
      isOpen: async ({ transactionalId }) => {
        this.asked.push(transactionalId)
        return !this.isAborted
      },
      commit: async ({ identity }) => void this.committed.push(identity.transactionalId),
    },
    openProducer: async (identity) => {
      this.current = identity
      return {
        ...{ ready: () => true, whenReady: async () => {} },
        ...{ dispatch: () => {}, flush: async () => {}, settled: async () => {} },
        sendRecord: () => void this.used.push(this.current!),
        continueWith: (next: ProducerIdentity) => {
          this.current = next
          return {}
        },
      }
    },
    close: async () => {},
  }

  async open(): Promise<TwoPhaseSinkWriter<string>> {
    const writer = new TwoPhaseSinkWriter<string>(
      { serialize: () => {}, guarantee: 'exactly-once' },
      async () => this.topic,
    )
    const place = { jobName: 'job', operatorUid: 'op', subtask: 0, parallelism: 1, attempt: 1 }
    await writer.open({ ...place, clock: this.clock, metrics: new MetricGroup() }, [])
    return writer
  }
}

describe('TwoPhaseSinkWriter whose transactions have a timeout', () => {
  it('prepares a young transaction without asking the coordinator', async () => {
    const broker = new FakeTransactions()
    const writer = await broker.open()
    broker.clock.advance(60_000)
    writer.write('a', 1)
    broker.clock.advance(5_000)
    expect(await writer.prepareCommit(1)).toHaveLength(1)
    expect(broker.asked).toEqual([])
    expect(writer.commitBy()).toEqual({
      began: { wallMs: 60_000, monotonicMs: 60_000 },
      limitMs: 9_500,
    })
  })

  it('asks the coordinator about an older one, and refuses the checkpoint when that has aborted it', async () => {
    const broker = new FakeTransactions()
    const writer = await broker.open()
    writer.write('a', 1)
    broker.clock.advance(6_000)
    expect(await writer.prepareCommit(1)).toHaveLength(1)
    expect(broker.asked).toEqual(['job/op/0/1/1'])
    broker.isAborted = true
    await expect(writer.prepareCommit(2)).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
  })

  it('refuses the checkpoint when the process was frozen for longer than the timeout', async () => {
    const broker = new FakeTransactions()
    const writer = await broker.open()
    writer.write('a', 1)
    broker.clock.advance(18_000)
    await expect(writer.prepareCommit(1)).rejects.toThrow(
      /"job\/op\/0\/1\/1" has been open for 18.0 s .* its timeout of 10000 ms/,
    )
    expect(broker.asked).toEqual([])
  })

  it('refuses a checkpoint that would hold an aborted transaction of an earlier one that did not complete', async () => {
    const broker = new FakeTransactions()
    const writer = await broker.open()
    writer.write('a', 1)
    await writer.prepareCommit(1)
    // Checkpoint storage is away: checkpoint 1 never completes.
    broker.clock.advance(9_000)
    writer.write('b', 1)
    broker.clock.advance(2_000)
    await expect(writer.prepareCommit(2)).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
  })

  it('forgets a transaction that is committed', async () => {
    const broker = new FakeTransactions()
    const writer = await broker.open()
    writer.write('a', 1)
    await writer.commit(await writer.prepareCommit(1))
    expect(writer.commitBy()).toBeUndefined()
    broker.clock.advance(60_000)
    expect(await writer.prepareCommit(2)).toEqual([])
  })

  it('replaces the ids that it holds in advance before a coordinator removes them as unused', async () => {
    const broker = new FakeTransactions()
    const writer = await broker.open()
    const first = broker.current
    broker.clock.advance(10_000)
    expect(await writer.prepareCommit(1)).toEqual([])
    expect(broker.current).toBe(first)
    // A quiet week with a checkpoint each minute.
    for (let minute = 0; minute < 7 * 24 * 60; minute++) {
      broker.clock.advance(60_000)
      expect(await writer.prepareCommit(minute)).toEqual([])
    }
    expect(broker.current!.epoch).toBeGreaterThan(1000)
    writer.write('a', 1)
    const committables = await writer.prepareCommit(20_000)
    expect(committables.map((bytes) => decodeCommittable(bytes).identity)).toEqual(broker.used)
    await writer.commit(committables)
    expect(broker.committed).toEqual([broker.used[0]!.transactionalId])
  })
})
