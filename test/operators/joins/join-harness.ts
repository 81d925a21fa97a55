import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { IntervalJoinFunction } from '../../../src/operators/joins/interval-join.ts'
import type { KeyedCoProcessFunction } from '../../../src/operators/process/function.ts'
import { KeyedCoProcessOperator } from '../../../src/operators/process/keyed-co-process.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { FormerJoin } from './former-join.ts'

/** Bounds of an interval join, in ms. */
export type Bounds = readonly [lowerMs: number, upperMs: number]

/** An interval join of one key whose records are their times, and its operator. */
export interface JoinHarness {
  readonly operator: KeyedCoProcessOperator<string, number, number, string>
  readonly harness: OperatorHarness<number, string>
}

/** Opens a join, which emits both times of each pair. */
export function openJoin([lowerMs, upperMs]: Bounds, restore: readonly HarnessSnapshot[] = []) {
  const join = new IntervalJoinFunction<string, number, number, string>(
    { lowerMs, upperMs },
    { processElement: (left, right, _context, out) => out.collect(`${left} ${right}`) },
  )
  return openFunction(join, restore)
}

/** Opens the join of a former release. */
export function openFormerJoin([lowerMs, upperMs]: Bounds): Promise<JoinHarness> {
  const join = new FormerJoin<number>({ lowerMs, upperMs }, (left, right) => `${left} ${right}`)
  return openFunction(join, [])
}

async function openFunction(
  join: KeyedCoProcessFunction<string, number, number, string>,
  restore: readonly HarnessSnapshot[],
): Promise<JoinHarness> {
  const operator = new KeyedCoProcessOperator(join, plainKeySerializer<string>(), true)
  const key = () => 'key'
  const keys = { selectors: [key, key], serializer: plainKeySerializer() }
  const harness = await OperatorHarness.open<number, string>({ operator, keys, restore })
  return { operator, harness }
}

/** Gives the join a record of the left stream. */
export function left({ harness }: JoinHarness, time: number): void {
  harness.process(time, time, { input: 0 })
}

/** Gives the join a record of the right stream. */
export function right({ harness }: JoinHarness, time: number): void {
  harness.process(time, time, { input: 1 })
}
