import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { containsKeyGroup, keyGroupOf, keyGroupRangeOf } from '../../../src/core/key-group.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { int53Serializer } from '../../../src/core/serializer.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { KeyedProcessOperator } from '../../../src/operators/process/keyed-process.ts'
import type {
  LeftRow,
  SubscriptionAnswer,
  SubscriptionChange,
} from '../../../src/operators/tables/foreign-key.ts'
import { AnswersFunction } from '../../../src/operators/tables/foreign-key-answers.ts'
import { ForeignKeyResultsFunction } from '../../../src/operators/tables/foreign-key-results.ts'
import { SubscriptionsFunction } from '../../../src/operators/tables/foreign-key-subscriptions.ts'
import { mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { ProcessFunctionTestHarnesses } from '../../../src/testing/process-function-test-harnesses.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

interface Left {
  readonly foreignKey: string | null
  /** Counts the versions of the row. */
  readonly version: number
}

interface Right {
  readonly foreignKey: string
  readonly value: number
}

interface Result {
  readonly left: Left
  readonly right: Right | undefined
}

const CASES = campaignSize(1_500, 10_000)
const SUBTASKS = 3
const CHANGES = new OutputTag<SubscriptionChange<string, string>>('changes')

const subscriptionsOf = () =>
  new SubscriptionsFunction<string, Left, string>({
    foreignKeyOf: ({ foreignKey }) => foreignKey,
    isSame: (a, b) => a === b,
    current: valueState('subscription'),
    changes: CHANGES,
  })

/** The three operators, of which the one of the foreign keys has several subtasks, and the channels between them. */
class World {
  readonly subscriptions: OperatorHarness<RowChange<string, Left>, LeftRow<string, Left>>
  readonly answers: readonly OperatorHarness<unknown, SubscriptionAnswer<string, Right>>[]
  readonly results: OperatorHarness<unknown, RowChange<string, Result>>
  /** To the results: left rows first, then the answers of each subtask. */
  readonly toResults: unknown[][] = Array.from({ length: SUBTASKS + 1 }, () => [])
  readonly toAnswers: SubscriptionChange<string, string>[][] = Array.from(
    { length: SUBTASKS },
    () => [],
  )
  private seen = 0

  static async open(isLeft: boolean): Promise<World> {
    const world = new World(
      await ProcessFunctionTestHarnesses.forKeyedProcessFunction(
        subscriptionsOf(),
        ({ key }) => key,
      ),
      await Promise.all(
        Array.from({ length: SUBTASKS }, () =>
          ProcessFunctionTestHarnesses.forKeyedCoProcessFunction(
            new AnswersFunction<string, string, Right>({
              row: valueState('row'),
              subscribers: mapState('subscribers', { serializer: int53Serializer }),
            }),
            ({ foreignKey }) => foreignKey,
            ({ key }) => key,
          ),
        ),
      ),
      await ProcessFunctionTestHarnesses.forKeyedCoProcessFunction(
        new ForeignKeyResultsFunction<string, Left, Right, Result>({
          isLeft,
          join: (left, right) => ({ left, right }),
          row: valueState('joined'),
          early: valueState('early'),
        }),
        ({ key }) => key,
        ({ key }) => key,
      ),
    )
    return world
  }

  private constructor(
    subscriptions: World['subscriptions'],
    answers: readonly OperatorHarness<never, SubscriptionAnswer<string, Right>>[],
    results: OperatorHarness<never, RowChange<string, Result>>,
  ) {
    this.subscriptions = subscriptions
    this.answers = answers as World['answers']
    this.results = results as World['results']
  }

  left(key: string, value: Left | null): void {
    this.subscriptions.process({ key, value })
    this.toResults[0]!.push(...this.subscriptions.take())
    const changes = this.subscriptions.sideOutput(CHANGES)
    for (const { value: change } of changes.slice(this.seen)) {
      this.toAnswers[answeringSubtask(change.foreignKey)]!.push(change)
    }
    this.seen = changes.length
  }

  right(key: string, value: Right | null): void {
    this.answer(answeringSubtask(key), { key, value }, 1)
  }

  /** Moves the first record of one channel. */
  move(channel: number): void {
    if (channel < SUBTASKS) {
      const change = this.toAnswers[channel]!.shift()
      if (change !== undefined) this.answer(channel, change, 0)
      return
    }
    const from = channel - SUBTASKS
    const record = this.toResults[from]!.shift()
    if (record !== undefined) this.results.process(record, 0, { input: from === 0 ? 0 : 1 })
  }

  moveAll(): void {
    for (let subtask = 0; subtask < SUBTASKS; subtask++) {
      while (this.toAnswers[subtask]!.length > 0) this.move(subtask)
    }
    for (let channel = SUBTASKS; channel < CHANNELS; channel++) {
      while (this.toResults[channel - SUBTASKS]!.length > 0) this.move(channel)
    }
  }

  async close(): Promise<void> {
    for (const harness of [this.subscriptions, ...this.answers, this.results]) await harness.close()
  }

  private answer(subtask: number, record: unknown, input: number): void {
    const harness = this.answers[subtask]!
    harness.process(record, 0, { input })
    this.toResults[subtask + 1]!.push(...harness.take())
  }
}

const CHANNELS = SUBTASKS + SUBTASKS + 1

const answeringSubtask = (foreignKey: string): number => Number(foreignKey.at(-1)) % SUBTASKS

/** Random changes of two left rows and four right ones, with the records of the channels in any order between them. */
function runCase(world: World, number: number, isLeft: boolean): void {
  const random = seededRandom(commitSeed() * CASES + number)
  const lefts = new Map<string, Left>()
  const rights = new Map<string, Right>()
  const rightKey = () => `${number}-f${random.below(4)}`
  const shown = new Map<string, Result>()
  let version = 0
  const check = () => {
    for (const { key, value } of world.results.take()) {
      if (value === null) {
        // A tombstone comes only where there was a row.
        expect(shown.delete(key)).toBe(true)
        continue
      }
      // A right row is that of the foreign key, and no left row comes back that was replaced.
      if (value.right !== undefined) expect(value.right.foreignKey).toBe(value.left.foreignKey)
      expect(value.left.version).toBeGreaterThanOrEqual(shown.get(key)?.left.version ?? 0)
      shown.set(key, value)
    }
  }
  for (let step = 0; step < 12; step++) {
    const turn = random.below(10)
    const key = `${number}-k${random.below(2)}`
    if (turn < 2) {
      const foreignKey = rightKey()
      const value = random.below(4) === 0 ? null : { foreignKey, value: random.below(100) }
      if (value === null) rights.delete(foreignKey)
      else rights.set(foreignKey, value)
      world.right(foreignKey, value)
    } else if (turn < 6) {
      version += 1
      const foreignKey = random.below(8) === 0 ? null : rightKey()
      const value = random.below(5) === 0 ? null : { foreignKey, version }
      if (value === null) lefts.delete(key)
      else lefts.set(key, value)
      world.left(key, value)
    }
    for (let moves = random.below(4); moves > 0; moves--) world.move(random.below(CHANNELS))
    check()
  }
  world.moveAll()
  check()
  const expected = [...lefts].flatMap(([key, left]): [string, Result][] => {
    const right = left.foreignKey === null ? undefined : rights.get(left.foreignKey)
    return right === undefined && !isLeft ? [] : [[key, { left, right }]]
  })
  expect([...shown].sort(), `case ${number}`).toEqual(expected.sort())
  for (const key of lefts.keys()) world.left(key, null)
  for (const key of rights.keys()) world.right(key, null)
  world.moveAll()
  check()
  expect(shown.size).toBe(0)
}

describe.each([
  ['inner', false],
  ['left', true],
] as const)('a join by a foreign key over several subtasks: %s', (_, isLeft) => {
  it('has the rows of a plain join in any order of channels, and keeps nothing of rows that are gone', async () => {
    const world = await World.open(isLeft)
    for (let number = 0; number < CASES; number++) runCase(world, number, isLeft)
    const harnesses = [world.subscriptions, ...world.answers, world.results]
    expect(harnesses.map((harness) => harness.numKeyedStateEntries())).toEqual([0, 0, 0, 0, 0])
    await world.close()
  })
})

describe('the numbers of subscriptions', () => {
  /** One subtask, with the numbers that it gave to the rows that it owns. */
  async function subtaskOf(
    subtask: number,
    parallelism: number,
    rows: readonly RowChange<string, Left>[],
    restore: readonly HarnessSnapshot[] = [],
  ) {
    const harness = await OperatorHarness.open<RowChange<string, Left>, LeftRow<string, Left>>({
      operator: new KeyedProcessOperator(subscriptionsOf(), plainKeySerializer<string>(), true),
      keys: {
        selectors: [({ key }: RowChange<string, Left>) => key],
        serializer: plainKeySerializer(),
      },
      subtask,
      parallelism,
      restore,
    })
    const range = keyGroupRangeOf(subtask, parallelism, 128)
    for (const row of rows) {
      const writer = new ByteWriter(16)
      plainKeySerializer<string>().write(row.key, writer)
      if (containsKeyGroup(range, keyGroupOf(writer.toBytes(), 128))) harness.process(row)
    }
    const snapshot = await harness.snapshot()
    await harness.close()
    return { numbers: harness.values.map(({ subscription }) => subscription), snapshot }
  }

  const rowsTo = (foreignKey: string): RowChange<string, Left>[] =>
    Array.from({ length: 40 }, (_, n) => ({ key: `k${n}`, value: { foreignKey, version: n } }))

  it('grow where keys move to another subtask', async () => {
    // The second subtask has given more numbers than the first one.
    const first = await subtaskOf(0, 2, rowsTo('a'))
    const second = await subtaskOf(1, 2, [...rowsTo('a'), ...rowsTo('b'), ...rowsTo('c')])
    const most = Math.max(...first.numbers, ...second.numbers)
    expect(Math.max(...first.numbers)).toBeLessThan(most)
    const moved: number[] = []
    for (let subtask = 0; subtask < 3; subtask++) {
      const restore = [first.snapshot, second.snapshot]
      moved.push(...(await subtaskOf(subtask, 3, rowsTo('d'), restore)).numbers)
    }
    expect(moved).toHaveLength(40)
    expect(Math.min(...moved)).toBeGreaterThan(most)
  })
})
