import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SlotQueries } from '../../../src/runtime/slot/queries.ts'
import {
  packSlotQueryRequest,
  type SlotQueryReplyMessage,
  unpackSlotQueryReply,
} from '../../../src/state/catalog/slot-query-message.ts'
import { finished } from '../../../src/state/port/scan-part.ts'
import type {
  QueriedState,
  SlotQueryReply,
  SlotQueryRequest,
} from '../../../src/state/port/slot-query.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const key = new TextEncoder().encode('k')
const { port1, port2 } = new MessageChannel()

/** State whose answers take a number of steps of a millisecond each. */
class SlowState implements QueriedState {
  steps = 10
  begun = 0
  ended = 0
  error: Error | undefined
  private readonly clock: ManualClock

  constructor(clock: ManualClock) {
    this.clock = clock
  }

  answer(request: SlotQueryRequest): SlotQueryReply {
    return finished(this.answerInSteps(request))
  }

  *answerInSteps({ id }: SlotQueryRequest): Generator<void, SlotQueryReply> {
    this.begun += 1
    try {
      for (let i = 0; i < this.steps; i++) {
        this.clock.advance(1)
        yield
      }
      if (this.error !== undefined) throw this.error
      return { id, answers: [{ kind: 'found', key, value: key }] }
    } finally {
      this.ended += 1
    }
  }
}

let clock: ManualClock
let state: SlowState
let attempt: QueriedState | undefined
let queries: SlotQueries
let replies: SlotQueryReplyMessage[]

beforeEach(() => {
  clock = new ManualClock(1000)
  state = new SlowState(clock)
  attempt = state
  queries = new SlotQueries(
    clock,
    () => (attempt === undefined ? undefined : [{ operatorUid: 'op', state: attempt }]),
    () => {},
  )
  replies = []
  queries.attach(port2)
  port1.removeAllListeners('message')
  port1.on('message', (reply: SlotQueryReplyMessage) => replies.push(reply))
})

afterEach(() => queries.detach())

async function ask(...ids: number[]): Promise<void> {
  for (const id of ids) {
    const request = { kind: 'values', id, queryableName: 'counts', keys: [key] } as const
    port1.postMessage(packSlotQueryRequest(request))
  }
  await settle()
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('SlotQueries', () => {
  it('take their share of a turn and go on in the next one', async () => {
    await ask(1, 2)
    const before = clock.monotonicMs()
    queries.answer(3)
    expect(clock.monotonicMs() - before).toBe(3)
    expect(queries.isWaiting).toBe(true)
    for (let turn = 0; turn < 20; turn++) queries.answer(3)
    await settle()
    expect(replies.map(({ id }) => id)).toEqual([1, 2])
    expect(queries.isWaiting).toBe(false)
  })

  it('work for at least one step even when there is no time', async () => {
    await ask(1)
    for (let turn = 0; turn < 12; turn++) queries.answer(0)
    await settle()
    expect(replies.map(({ id }) => id)).toEqual([1])
  })

  it('answer an error of the store with its code, and the next request as well', async () => {
    state.error = new Error('the disk is gone')
    await ask(1)
    queries.answer(1000)
    state.error = undefined
    await ask(2)
    queries.answer(1000)
    await settle()
    expect(replies[0]).toMatchObject({ id: 1, error: { code: 'STORE_FAILED' } })
    expect(replies[0]!.error!.message).toContain('the disk is gone')
    expect(replies[1]).toMatchObject({ id: 2 })
    expect(replies[1]!.error).toBeUndefined()
  })

  it('write replies into the buffers that come back, and values into one arena', async () => {
    const value = new Uint8Array(9000).fill(7)
    const arenas = new Set<unknown>()
    attempt = {
      answer: (request) => finished(attempt!.answerInSteps(request)),
      *answerInSteps({ id, arena }: SlotQueryRequest): Generator<void, SlotQueryReply> {
        expect(arena!.length).toBe(0)
        arenas.add(arena!.bytes.buffer)
        arena!.raw(value)
        yield
        return { id, answers: [{ kind: 'found', key, value: arena!.bytes.subarray(0, 9000) }] }
      },
    }
    const request = { kind: 'values', id: 1, queryableName: 'counts', keys: [key] } as const
    for (let i = 0; i < 4; i++) {
      const last = replies.at(-1)
      const spent = last === undefined ? [] : [new Uint8Array(last.packed.buffer)]
      const message = { ...packSlotQueryRequest(request), spent }
      port1.postMessage(
        message,
        spent.map(({ buffer }) => buffer),
      )
      await settle()
      queries.answer(1000)
      await settle()
      const { packed } = replies.at(-1)!
      const { answers } = unpackSlotQueryReply(replies.at(-1)!)
      expect(answers).toEqual([{ kind: 'found', key, value }])
      // A buffer that is used again still has the last mark behind its reply.
      const end = new Uint8Array(packed.buffer)
      expect(end.at(-1)).toBe(i)
      end[end.length - 1] = i + 1
    }
    // The one that it had at first, and the one that it has grown to.
    expect(arenas.size).toBe(2)
  })

  it('drop canceled requests, the one that is being answered too', async () => {
    await ask(1, 2, 3)
    queries.answer(3)
    port1.postMessage({ kind: 'cancel', ids: [1, 2] })
    await settle()
    queries.answer(1000)
    await settle()
    expect(replies.map(({ id }) => id)).toEqual([3])
    expect(state).toMatchObject({ begun: 2, ended: 2 })
  })

  it('answer RESTORING when the attempt ends in the middle of a request', async () => {
    await ask(1)
    queries.answer(3)
    attempt = undefined
    queries.answer(1000)
    await settle()
    expect(replies.map(({ id, packed }) => [id, packed[0]])).toEqual([[1, 2]])
  })
})
