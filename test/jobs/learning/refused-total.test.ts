import { expect, it } from 'vitest'
import type { RefusedReport } from '../../../src/jobs/learning/refused.ts'
import {
  RefusedTotal,
  refusedCoordinator,
  refusedText,
} from '../../../src/jobs/learning/refused-total.ts'
import type { OperatorCoordinatorContext } from '../../../src/runtime/protocol/operator-coordinator.ts'

const report = (count: number): RefusedReport => {
  return { kind: 'refused', count, reason: 'unparsable', partition: 0, offset: 7 }
}

it('the total is of all subtasks, each with its latest count', () => {
  const total = new RefusedTotal()
  const counts = [
    total.with('a#0', report(1)),
    total.with('a#1', report(4)),
    total.with('a#0', report(2)),
  ]
  expect(counts.map(({ count }) => count)).toEqual([1, 5, 6])
  total.clear()
  expect(total.with('a#0', report(1))).toEqual(report(1))
})

it('a coordinator begins again with each attempt', () => {
  const seen: number[] = []
  const coordinator = refusedCoordinator(({ count }) => seen.push(count))
  const context = {} as OperatorCoordinatorContext
  coordinator.start(context)
  coordinator.handleEvent(0, report(2))
  coordinator.handleEvent(1, report(1))
  coordinator.start(context)
  coordinator.handleEvent(1, report(1))
  expect(seen).toEqual([2, 3, 1])
})

it('the line says how many, which, why, and where they are', () => {
  const topics = { observations: 'ratings', quarantine: undefined }
  expect(refusedText(report(1), topics)).toBe(
    'refused 1 record of topic ratings since the start, the latest at 0:7 (unparsable); --quarantine TOPIC keeps them',
  )
  expect(refusedText(report(2048), { ...topics, quarantine: 'bad' })).toBe(
    'refused 2,048 records of topic ratings since the start, the latest at 0:7 (unparsable); topic bad has them',
  )
})
