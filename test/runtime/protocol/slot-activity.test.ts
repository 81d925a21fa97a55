import { describe, expect, it } from 'vitest'
import { parseConfiguration } from '../../../src/runtime/configuration/keys.ts'
import { SlotPool } from '../../../src/runtime/job/slot-pool.ts'
import { SlotActivity } from '../../../src/runtime/protocol/slot-activity.ts'
import type { SlotListener } from '../../../src/runtime/protocol/slot-host.ts'
import type { SlotCommand } from '../../../src/runtime/protocol/slot-messages.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** A pool of one slot that answers pings while `answers` is set; a beat a second, lost after five. */
function setUp() {
  const clock = new ManualClock()
  const activity = SlotActivity.create(1)
  const events: string[] = []
  const slot = { answers: true }
  let listener: SlotListener | undefined
  const pool = new SlotPool({
    count: 1,
    configuration: parseConfiguration({ 'heartbeat.interval': '1 s', 'heartbeat.timeout': '5 s' }),
    clock,
    activity,
    startSlot: (_slot, its) => {
      listener = its
      return {
        remote: true,
        send: ({ kind }: SlotCommand) => {
          if (kind === 'ping' && slot.answers) listener!.report({ kind: 'pong', attempt: 0 })
        },
        kill: () => events.push('killed'),
        terminate: async () => {},
      }
    },
    listener: {
      report: () => {},
      started: () => {},
      lost: (_slot, error) => events.push(error.code),
      busy: (_slot, { node, done, total }) => events.push(`busy in ${node}: ${done} of ${total}`),
    },
  })
  pool.ensureStarted()
  const pass = (seconds: number, each: () => void = () => {}): void => {
    for (let second = 0; second < seconds; second++) {
      each()
      clock.advance(1000)
    }
  }
  return { activity, events, slot, pass }
}

describe('a long call', () => {
  it('ends at its next step once its attempt is over, and not before', () => {
    const activity = SlotActivity.create(2)
    const second = activity.begin({ slot: 1, attempt: 2 }, 4, 100)
    activity.end({ slot: 1, attempt: 1 })
    activity.end({ slot: 0, attempt: 2 })
    second.step()
    activity.end({ slot: 1, attempt: 2 })
    expect(() => second.step()).toThrow(expect.objectContaining({ code: 'JOB_CANCELED' }))
    activity.begin({ slot: 1, attempt: 3 }, 4, 100).step()
  })
})

describe('a slot that answers no ping', () => {
  it('is lost after the timeout', () => {
    const { events, slot, pass } = setUp()
    pass(20)
    expect(events).toEqual([])
    slot.answers = false
    pass(7)
    expect(events).toEqual(['killed', 'SLOT_LOST'])
  })

  it('is reported as busy, once, and not lost while a long call goes on', () => {
    const { activity, events, slot, pass } = setUp()
    pass(3)
    slot.answers = false
    let call = activity.begin({ slot: 0, attempt: 2 }, 4, 100)
    pass(60, () => call.step())
    expect(events).toHaveLength(1)
    expect(events[0]).toMatch(/^busy in 4: [67] of 100$/)
    call.end()
    slot.answers = true
    pass(4)
    slot.answers = false
    call = activity.begin({ slot: 0, attempt: 2 }, 4, 100)
    pass(20, () => call.step())
    expect(events).toHaveLength(2)
  })

  it('is lost when its long call does not go on', () => {
    const { activity, events, slot, pass } = setUp()
    slot.answers = false
    const call = activity.begin({ slot: 0, attempt: 2 }, 4, 100)
    pass(10, () => call.step())
    expect(events).toHaveLength(1)
    pass(7)
    expect(events.slice(1)).toEqual(['killed', 'SLOT_LOST'])
  })
})
