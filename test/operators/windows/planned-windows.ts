import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { createWindowOperator, type WindowPlan } from '../../../src/dataflow/windows/plan.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

/** A record of the tests of triggers. */
export type Event = readonly [key: string, time: number]
/** What a test says of a window operator. */
export type Plan = Partial<WindowPlan<string, Event>> & Pick<WindowPlan<string, Event>, 'assigner'>
/** Where an operator is opened. */
export interface Place {
  readonly restore?: readonly HarnessSnapshot[]
  readonly subtask?: number
  readonly parallelism?: number
}

const listing: ProcessWindowFunction<string, Event, string> = {
  process: (key, _context, elements, out) =>
    out.collect(`${key}: ${elements.map(([, time]) => time).join(' ')}`),
}

/** Opens the operator of a plan in a harness; its results list the times of each window's records. */
export function open(
  plan: Plan,
  place: Place = {},
  windowFunction: ProcessWindowFunction<string, Event, string> = listing,
): Promise<OperatorHarness<Event, string>> {
  const whole: WindowPlan<string, Event> = {
    keySerializer: plainKeySerializer<string>(),
    serializer: msgpackSerializer<Event>(),
    allowedLatenessMs: 0,
    lateDataTag: undefined,
    trigger: undefined,
    evictor: undefined,
    fold: undefined,
    ...plan,
  }
  const operator = createWindowOperator(whole, windowFunction, true)
  const keys = { selectors: [([key]: Event) => key], serializer: plainKeySerializer() }
  return OperatorHarness.open<Event, string>({ operator, keys, ...place })
}

/** Processes a record of a key at each time. */
export function feed(
  harness: OperatorHarness<Event, string>,
  key: string,
  ...times: number[]
): void {
  for (const time of times) harness.process([key, time], time)
}
