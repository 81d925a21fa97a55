import { WeirError } from '../../core/errors.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import type { PatternCondition, RecordsByStage, StageTest } from './term.ts'

/** A stage with the conditions that a user gave it. */
interface TestedStage<T> {
  readonly name: string
  readonly tests: readonly StageTest<T>[]
}

/** The one condition of a stage: its tests from the first one to the last one, each joined with those before it. */
export function conditionOf<T>({ name, tests }: TestedStage<T>): PatternCondition<T> {
  if (tests.length === 0) return () => true
  const checked = tests.map(({ joins, condition }) => ({
    isOr: joins === 'or',
    condition: checkedCondition(condition, `a condition of stage "${name}"`),
  }))
  const [only] = checked
  if (checked.length === 1) return only!.condition
  return (record, match) => {
    let holds = only!.condition(record, match)
    for (const { isOr, condition } of checked.slice(1)) {
      if (isOr !== holds) holds = condition(record, match)
    }
    return holds
  }
}

/**
 * A condition that refuses what is no boolean: nothing means a forgotten `return` more often than `false`. Throws
 * INVALID_ARGUMENT, and UNSUPPORTED for a promise.
 */
export function checkedCondition<T>(
  condition: PatternCondition<T>,
  name: string,
): PatternCondition<T> {
  return (record: T, match: RecordsByStage<T>) => {
    const result: unknown = condition(record, match)
    if (typeof result === 'boolean') return result
    refusePromise(result, name)
    throw new WeirError(
      'INVALID_ARGUMENT',
      `${name} returned ${describeValue(result)}: return true or false, as in (record) => record.price > 10`,
    )
  }
}
