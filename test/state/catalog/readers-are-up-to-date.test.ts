import { expect, it } from 'vitest'
import {
  readersAreUpToDate,
  type TableDelivery,
} from '../../../src/state/catalog/readers-are-up-to-date.ts'

const none = { opened: 0, reported: 0 }
const cases: readonly [string, boolean, TableDelivery][] = [
  ['nothing was opened', true, { slots: [none, none], readers: [] }],
  [
    'every table is reported and acknowledged',
    true,
    {
      slots: [{ opened: 2, reported: 2 }, none],
      readers: [{ sent: 2, acknowledged: 2 }],
    },
  ],
  [
    'a table is opened and not reported',
    false,
    { slots: [none, { opened: 1, reported: 0 }], readers: [] },
  ],
  [
    'a slot has begun again and the reports are of its earlier count',
    false,
    { slots: [{ opened: 0, reported: 3 }], readers: [] },
  ],
  [
    'one reader has not acknowledged the last table',
    false,
    {
      slots: [{ opened: 2, reported: 2 }],
      readers: [
        { sent: 2, acknowledged: 2 },
        { sent: 2, acknowledged: 1 },
      ],
    },
  ],
  [
    'a reader that was sent fewer tables has acknowledged those',
    true,
    {
      slots: [{ opened: 2, reported: 2 }],
      readers: [
        { sent: 2, acknowledged: 2 },
        { sent: 1, acknowledged: 1 },
      ],
    },
  ],
]

it.each(cases)('when %s, readers are up to date: %s', (_title, isUpToDate, delivery) => {
  expect(readersAreUpToDate(delivery)).toBe(isUpToDate)
})
