import { WeirError } from '../../../core/errors.ts'
import { describeValue } from '../../../core/text/describe-value.ts'
import { refusePromise } from '../../port/refuse-promise.ts'
import type { AssignedWindows, TimeWindow } from '../assigner.ts'

/**
 * The same windows with checks of what the function returns, which then come by descending end: where one takes no record
 * any more, those behind it take none either.
 */
export function checkedWindows(windows: AssignedWindows): AssignedWindows {
  return { ...windows, assign: (time, record) => inOrder(windows.assign(time, record), time) }
}

function inOrder(given: unknown, time: number): readonly TimeWindow[] {
  if (!Array.isArray(given)) {
    refusePromise(given, 'the function of assigned windows')
    refuse(describeValue(given), 'return a list of windows, which may be empty')
  }
  const windows = given.map((each: unknown) => windowAround(each, time))
  if (windows.length < 2) return windows
  windows.sort((a, b) => b.end - a.end || b.start - a.start)
  for (const [i, { start, end }] of windows.entries()) {
    const before = windows[i - 1]
    if (before?.start !== start || before.end !== end) continue
    refuse(`the window ${start} to ${end} twice`, 'return each window once')
  }
  return windows
}

/** A window of a record of that time; its fields only. */
function windowAround(given: unknown, time: number): TimeWindow {
  const { start, end } = (given ?? {}) as Partial<TimeWindow>
  const isWindow = Number.isSafeInteger(start) && Number.isSafeInteger(end) && start! < end!
  if (!isWindow) {
    const takes = '{ start, end } in whole numbers of ms since 1970, the end above the start'
    refuse(describeValue(given), `return windows ${takes}`)
  }
  if (start! > time || end! <= time) {
    refuse(
      `the window ${start} to ${end} for a record of ${time}`,
      'a window has its start, and not its end, among the times of its records',
    )
  }
  return { start: start!, end: end! }
}

function refuse(what: string, todo: string): never {
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the function of assigned windows returned ${what}: ${todo}`,
  )
}
