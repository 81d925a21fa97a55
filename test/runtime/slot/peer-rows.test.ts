import { expect, it } from 'vitest'
import { PeerRows, type PeerRowsMessage } from '../../../src/runtime/slot/peer-rows.ts'
import { SlotQueries } from '../../../src/runtime/slot/queries.ts'
import { finished } from '../../../src/state/port/scan-part.ts'
import type {
  QueriedState,
  SlotQueryAnswer,
  SlotQueryReply,
  SlotQueryRequest,
} from '../../../src/state/port/slot-query.ts'
import { encodeVectorRow } from '../../../src/state/rows/codec.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { until } from '../../run/until.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const ORIGIN = { source: 0, partition: 0, offset: 0, eventTime: -1 }
/** A row that tells its key. */
const rowOf = (key: Uint8Array): Float32Array => Float32Array.of(key[0]!, 1)

/** State that answers each key with its row, or as `kind` says. */
class EchoState implements QueriedState {
  kind: SlotQueryAnswer['kind'] = 'found'
  readonly asked: SlotQueryRequest[] = []
  error: Error | undefined

  answer(request: SlotQueryRequest): SlotQueryReply {
    return finished(this.answerInSteps(request))
  }

  *answerInSteps(request: SlotQueryRequest): Generator<void, SlotQueryReply> {
    this.asked.push(request)
    if (this.error !== undefined) throw this.error
    const keys = request.kind === 'scan' ? [] : request.keys
    const answers = keys.map(
      (key): SlotQueryAnswer =>
        this.kind === 'found'
          ? { kind: 'found', key, value: encodeVectorRow(rowOf(key), ORIGIN, 7) }
          : { kind: this.kind, key },
    )
    yield
    return { id: request.id, answers }
  }
}

/** Two slots whose messages are delivered at once. */
function twoSlots(): { clock: ManualClock; states: EchoState[]; slots: PeerRows[] } {
  const clock = new ManualClock(1000)
  const states = [new EchoState(), new EchoState()]
  const slots: PeerRows[] = states.map((state, slot) => {
    const queries = new SlotQueries(
      clock,
      () => [{ operatorUid: 'model', state }],
      () => queueMicrotask(() => queries.answer(Number.POSITIVE_INFINITY)),
    )
    const send = (to: number, message: PeerRowsMessage): void => slots[to]!.receive(slot, message)
    return new PeerRows({ clock, queries, send })
  })
  return { clock, states, slots }
}

const ROWS = {
  ...{ operatorUid: 'model', state: 'rows', version: 3, dimension: 2 },
  keys: [bytesOf('a'), bytesOf('b')],
}

it('a slot answers another one, and itself, in the order of the keys', async () => {
  const { states, slots } = twoSlots()
  for (const slot of [0, 1]) {
    const answers = await slots[0]!.read({ ...ROWS, slot })
    expect(answers.map((row) => row?.vector)).toEqual(ROWS.keys.map(rowOf))
    expect(answers.map((row) => row?.updateCount)).toEqual([7, 7])
    expect(states[slot]!.asked).toHaveLength(1)
    expect(states[slot]!.asked[0]).toMatchObject({ kind: 'rows', state: 'rows', version: 3 })
  }
})

it('answers reach who has asked, whichever comes first', async () => {
  const { slots } = twoSlots()
  const ask = (from: number, key: string) =>
    slots[from]!.read({ ...ROWS, slot: 1 - from, keys: [bytesOf(key)] })
  const answers = await Promise.all([ask(0, 'x'), ask(1, 'y'), ask(0, 'z')])
  const wanted = ['x', 'y', 'z'].map((key) => rowOf(bytesOf(key)))
  expect(answers.flat().map((row) => row?.vector)).toEqual(wanted)
})

it('a slot that restores its state is asked again', async () => {
  const { clock, states, slots } = twoSlots()
  const state = states[1]!
  state.kind = 'restoring'
  const answers = slots[0]!.read({ ...ROWS, slot: 1 })
  await until('it is asked again', () => {
    clock.advance(5)
    return state.asked.length > 2
  })
  state.kind = 'missing'
  await until('it is asked once more', () => {
    clock.advance(5)
    return state.asked.length > 3
  })
  expect(await answers).toEqual([undefined, undefined])
})

it('an error of the other slot is the error of who has asked', async () => {
  const { states, slots } = twoSlots()
  states[1]!.error = new Error('a file is damaged')
  await expect(slots[0]!.read({ ...ROWS, slot: 1 })).rejects.toMatchObject({ code: 'STORE_FAILED' })
})
