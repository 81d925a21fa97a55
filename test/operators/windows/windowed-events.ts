import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import type { OutputTag } from '../../../src/operators/port/output-tag.ts'
import { AlignedWindowOperator } from '../../../src/operators/windows/aligned-operator.ts'
import type { AlignedWindows, SessionWindows } from '../../../src/operators/windows/assigner.ts'
import { ListedContents, type WindowContents } from '../../../src/operators/windows/contents.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { SessionWindowOperator } from '../../../src/operators/windows/session-operator.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

/** A record of the tests of windows. */
export interface Event {
  readonly key: string
  readonly time: number
  readonly amount: number
}

/** A window that fired, with the amounts of its records. */
export type Result = readonly [key: string, start: number, end: number, amounts: readonly number[]]

/** Options of an operator in a harness. */
export interface Options {
  readonly lateness?: number
  readonly late?: OutputTag<Event>
  readonly restore?: readonly HarnessSnapshot[]
  readonly subtask?: number
  readonly parallelism?: number
}

const listing: ProcessWindowFunction<string, Event, Result> = {
  process: (key, { window }, elements, out) =>
    out.collect([key, window.start, window.end, elements.map((event) => event.amount)]),
}

/** Opens the operator of an assigner in a harness, keyed by `Event.key`. */
export function open<OUT = Result>(
  assigner: AlignedWindows | SessionWindows,
  contents: WindowContents<Event>,
  windowFunction: ProcessWindowFunction<string, never, OUT> | undefined,
  { lateness = 0, late, ...rest }: Options = {},
): Promise<OperatorHarness<Event, OUT>> {
  const options = {
    keySerializer: plainKeySerializer<string>(),
    contents,
    windowFunction: windowFunction as ProcessWindowFunction<string, unknown, unknown> | undefined,
    allowedLatenessMs: lateness,
    lateDataTag: late,
  }
  const operator =
    assigner.kind === 'session'
      ? new SessionWindowOperator(assigner, options)
      : new AlignedWindowOperator(assigner, options)
  const keys = {
    selectors: [(event: Event) => event.key],
    serializer: plainKeySerializer(),
  }
  return OperatorHarness.open<Event, OUT>({ operator, keys, ...rest })
}

/** Opens an operator whose results list the records of each window. */
export const openListing = (
  assigner: AlignedWindows | SessionWindows,
  options: Options = {},
): Promise<OperatorHarness<Event, Result>> =>
  open<Result>(assigner, new ListedContents<Event>(msgpackSerializer()), listing, options)

/** A record. */
export const event = (time: number, amount = time, key = 'a'): Event => ({ key, time, amount })

/** Processes records at their own times. */
export function feed(harness: OperatorHarness<Event, unknown>, ...events: readonly Event[]): void {
  for (const each of events) harness.process(each, each.time)
}
