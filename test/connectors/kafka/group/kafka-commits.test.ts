import { describe, expect, it } from 'vitest'
import type { TransactionalCommit } from '../../../../src/connectors/kafka/group/commits.ts'
import { KafkaGroupCommits } from '../../../../src/connectors/kafka/group/kafka-commits.ts'
import { isGroupError } from '../../../../src/connectors/kafka/group/membership-loss.ts'
import { ScriptedCoordinator } from './scripted-coordinator.ts'

const COORDINATOR_NOT_AVAILABLE = 15
const CONCURRENT = 51
const UNSTABLE = 88

const ok = { errorCode: 0 }

const commit: TransactionalCommit = {
  transaction: { transactionalId: 'weir/x', producerId: 7, epoch: 2 },
  member: { memberId: 'm-1', generationId: 5 },
  groupInstanceId: 'i',
  offsets: new Map([
    ['a', [{ partition: 0, nextOffset: 10, leaderEpoch: 3, metadata: 'p' }]],
    ['b', [{ partition: 4, nextOffset: 0, leaderEpoch: -1, metadata: '' }]],
  ]),
}

/** An answer to a commit with the error numbers of the two partitions. */
const answered = (a: number, b: number) => ({
  topics: [
    { name: 'a', partitions: [{ partitionIndex: 0, errorCode: a }] },
    { name: 'b', partitions: [{ partitionIndex: 4, errorCode: b }] },
  ],
})

const commitsOf = (coordinator: ScriptedCoordinator) =>
  new KafkaGroupCommits(coordinator.cluster({ deliveryTimeoutMs: 5_000 }), { groupId: 'g' })

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => 'no error',
    (error: unknown) => error,
  )
}

describe('a commit of a Kafka group inside a transaction', () => {
  it('names transaction, membership, offsets, epochs and texts', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('addOffsets', ok)
      .answers('commit', answered(0, 0))
    await commitsOf(coordinator).commit(commit)
    expect(coordinator.of('addOffsets')[0]!.arguments).toEqual(['weir/x', 7n, 2, 'g'])
    const offset = (partitionIndex: number, at: bigint, epoch: number, text: string) => ({
      partitionIndex,
      committedOffset: at,
      committedLeaderEpoch: epoch,
      committedMetadata: text,
    })
    expect(coordinator.of('commit')[0]!.arguments).toEqual([
      'weir/x',
      'g',
      7n,
      2,
      5,
      'm-1',
      'i',
      [
        { name: 'a', partitions: [offset(0, 10n, 3, 'p')] },
        { name: 'b', partitions: [offset(4, 0n, -1, '')] },
      ],
    ])
  })

  it('waits while the transaction before ends, and while the coordinator moves', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('addOffsets', { errorCode: CONCURRENT }, { errorCode: CONCURRENT }, ok)
      .answers('commit', answered(0, COORDINATOR_NOT_AVAILABLE), answered(0, 0))
    await commitsOf(coordinator).commit(commit)
    expect(coordinator.of('addOffsets')).toHaveLength(3)
    expect(coordinator.of('commit')).toHaveLength(2)
    expect(coordinator.of('find')).toHaveLength(3)
  })

  it.each([
    [22, 'illegal-generation'],
    [25, 'unknown-member'],
    [82, 'fenced'],
  ] as const)(
    'hears of error %i at any partition as %s, and does not try again',
    async (errorCode, loss) => {
      const coordinator = new ScriptedCoordinator()
        .answers('addOffsets', ok)
        .answers('commit', answered(COORDINATOR_NOT_AVAILABLE, errorCode))
      // The first partition of the answer may pass, but the commit as a whole does not.
      coordinator.answers('commit', answered(0, errorCode))
      const failure = await failureOf(commitsOf(coordinator).commit(commit))
      expect(isGroupError(failure, loss)).toBe(true)
      expect(coordinator.of('commit')).toHaveLength(1)
    },
  )

  it.each([
    ['addOffsets', 90, 'TRANSACTION_FENCED'],
    ['addOffsets', 47, 'TRANSACTION_FENCED'],
    ['addOffsets', 48, 'TRANSACTION_ABORTED'],
    ['commit', 90, 'TRANSACTION_FENCED'],
    ['commit', 47, 'TRANSACTION_FENCED'],
    ['commit', 48, 'TRANSACTION_ABORTED'],
  ])('hears in %s of error %i as %s', async (request, errorCode, code) => {
    const coordinator = new ScriptedCoordinator()
      .answers('addOffsets', request === 'addOffsets' ? { errorCode } : ok)
      .answers('commit', answered(0, errorCode))
    expect(await failureOf(commitsOf(coordinator).commit(commit))).toMatchObject({ code })
  })

  it('names the text that a broker with a lower limit does not store', async () => {
    const coordinator = new ScriptedCoordinator()
      .answers('addOffsets', ok)
      .answers('commit', answered(12, 0))
    expect(await failureOf(commitsOf(coordinator).commit(commit))).toMatchObject({
      code: 'FRAME_TOO_LARGE',
      details: { topic: 'a', bytes: 1 },
    })
  })

  it.each([
    ['addOffsets', 53, /WRITE on transactional id "weir\/x".*--transactional-id weir\/ /],
    ['addOffsets', 30, /READ on group "g".*--group g$/],
    ['commit', 30, /READ on group "g".*--group g$/],
    ['commit', 29, /READ on topic "b".*--topic b$/],
  ])('names in %s the right that error %i asks for', async (request, errorCode, sentence) => {
    const coordinator = new ScriptedCoordinator()
      .answers('addOffsets', request === 'addOffsets' ? { errorCode } : ok)
      .answers('commit', answered(0, errorCode))
    expect(await failureOf(commitsOf(coordinator).commit(commit))).toMatchObject({
      code: 'ACCESS_DENIED',
      message: expect.stringMatching(sentence),
    })
  })

  it.each([
    ['no member id', { memberId: '', generationId: 5 }],
    ['no generation', { memberId: 'm-1', generationId: -1 }],
  ])('with %s is not sent', async (_, member) => {
    const coordinator = new ScriptedCoordinator()
    const failure = await failureOf(commitsOf(coordinator).commit({ ...commit, member }))
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(coordinator.asked).toEqual([])
  })
})

describe('what a Kafka group has', () => {
  const partition = (partitionIndex: number, offset: number, errorCode = 0, metadata = '') => ({
    ...{ partitionIndex, committedOffset: BigInt(offset), metadata, errorCode },
  })
  const found = (...partitions: readonly ReturnType<typeof partition>[]) => ({
    groups: [{ errorCode: 0, topics: [{ name: 'a', partitions }] }],
  })
  const asked = new Map([['a', [0, 1, 2]]])

  it('is known for each partition, also beside unstable ones', async () => {
    const coordinator = new ScriptedCoordinator().answers(
      'fetch',
      found(partition(2, -1), partition(0, 9, 0, 'p'), partition(1, -1, UNSTABLE)),
    )
    expect(await commitsOf(coordinator).fetch(asked)).toEqual(
      new Map([
        [
          'a',
          new Map<number, unknown>([
            [0, { nextOffset: 9, metadata: 'p' }],
            [1, 'unstable'],
            [2, 'none'],
          ]),
        ],
      ]),
    )
    // The last argument asks for stable offsets.
    expect(coordinator.of('fetch')[0]!.arguments[1]).toBe(true)
  })

  it('is asked for again while the coordinator loads it', async () => {
    const loading = { groups: [{ errorCode: 14, topics: [] }] }
    const loadingPart = found(partition(0, -1, 14), partition(1, -1, UNSTABLE), partition(2, 1))
    const all = found(partition(0, 1), partition(1, 1), partition(2, 1))
    const coordinator = new ScriptedCoordinator().answers('fetch', loading, loadingPart, all)
    const offsets = (await commitsOf(coordinator).fetch(asked)).get('a')!
    expect([...offsets.values()]).toEqual(Array(3).fill({ nextOffset: 1, metadata: '' }))
  })

  it('is never taken for nothing when an answer leaves a partition out', async () => {
    const coordinator = new ScriptedCoordinator().answers('fetch', found(partition(0, 1)))
    expect(await failureOf(commitsOf(coordinator).fetch(asked))).toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringMatching(/the answer has not all of "a"/),
    })
  })

  it.each([
    [30, /READ on group "g"/],
    [29, /DESCRIBE on topic "a"/],
  ])('names the right that error %i asks for', async (errorCode, sentence) => {
    const answer =
      errorCode === 30
        ? { groups: [{ errorCode, topics: [] }] }
        : found(partition(0, -1, errorCode), partition(1, 1), partition(2, 1))
    const coordinator = new ScriptedCoordinator().answers('fetch', answer)
    expect(await failureOf(commitsOf(coordinator).fetch(asked))).toMatchObject({
      code: 'ACCESS_DENIED',
      message: expect.stringMatching(sentence),
    })
  })
})
