import { beforeEach, describe, expect, it } from 'vitest'
import { SharedThread } from '../../../src/serving/catalog/shared-thread.ts'
import { LocalSlotAsker } from '../../../src/serving/catalog/slot-asker.ts'
import { RequestOwner } from '../../../src/serving/port/request-owner.ts'
import type { SlotQueryReplyMessage } from '../../../src/state/catalog/slot-query-message.ts'
import type { SlotQueryRequest } from '../../../src/state/port/slot-query.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

/** A slot that answers when a test says so. */
class HeldSlot {
  readonly asked: SlotQueryRequest[] = []
  /** The slots of `asked`. */
  readonly askedSlots: number[] = []
  readonly canceled: number[] = []
  private readonly answers: (() => void)[] = []

  ask(slot: number, request: SlotQueryRequest): Promise<SlotQueryReplyMessage> {
    this.asked.push(request)
    this.askedSlots.push(slot)
    return new Promise((resolve) => {
      this.answers.push(() => resolve({ id: request.id, packed: new Uint8Array(0) }))
    })
  }

  giveBack(): void {}

  cancel(_: number, id: number): void {
    this.canceled.push(id)
  }

  async answerNext(): Promise<void> {
    this.answers.shift()!()
    await new Promise(setImmediate)
  }
}

const TERMS = { deadline: Number.POSITIVE_INFINITY, owner: undefined }
const NO_KEY = new Uint8Array(0)

describe('LocalSlotAsker', () => {
  let clock: ManualClock
  let slot: HeldSlot
  let thread: SharedThread
  let asker: LocalSlotAsker

  beforeEach(() => {
    clock = new ManualClock()
    slot = new HeldSlot()
    thread = new SharedThread(clock)
    asker = new LocalSlotAsker({ slots: slot, clock, thread, mostScanning: 1 })
  })

  const scan = (
    terms: Parameters<LocalSlotAsker['ask']>[1] = TERMS,
    { stored = false, of = 0 } = {},
  ) =>
    asker.ask(of, terms, (id) => ({
      kind: 'scan',
      id,
      queryableName: 'rows',
      version: 1,
      from: NO_KEY,
      to: NO_KEY,
      limit: 10,
      ...(stored ? { stored: { operatorUid: 'model', state: 'rows' } } : {}),
    }))

  it('sends one scan at a time, each as soon as the one before is answered', async () => {
    const scans = [scan(), scan()]
    expect(slot.asked.length).toBe(1)
    clock.advance(2)
    await slot.answerNext()
    expect(slot.asked.length).toBe(2)
    await slot.answerNext()
    await Promise.all(scans)
  })

  it('lets the slot rest for three times a scan while the thread serves short requests', async () => {
    void scan()
    void scan()
    thread.served()
    clock.advance(2)
    await slot.answerNext()
    clock.advance(5.9)
    expect(slot.asked.length).toBe(1)
    clock.advance(0.2)
    expect(slot.asked.length).toBe(2)
  })

  it('sends the scan of another slot only after the rest, while the thread serves short requests', async () => {
    thread.served()
    void scan(TERMS, { of: 0 })
    void scan(TERMS, { of: 0 })
    void scan(TERMS, { of: 1 })
    void scan(TERMS, { of: 2 })
    expect(slot.askedSlots).toEqual([0])
    for (const slots of [
      [0, 1],
      [0, 1, 2],
      [0, 1, 2, 0],
    ]) {
      thread.served()
      clock.advance(2)
      await slot.answerNext()
      clock.advance(6)
      expect(slot.askedSlots).toEqual(slots)
    }
  })

  it('sends scans to every slot at once while the thread serves nothing else', () => {
    for (const at of [0, 1, 2]) void scan(TERMS, { of: at })
    expect(slot.askedSlots).toEqual([0, 1, 2])
  })

  it('sends other requests while a slot rests from scans', async () => {
    void scan()
    thread.served()
    clock.advance(2)
    await slot.answerNext()
    void asker.ask(0, TERMS, (id) => ({ kind: 'values', id, queryableName: 'texts', keys: [] }))
    expect(slot.asked.at(-1)?.kind).toBe('values')
  })

  it('lets no slot rest longer than 20 ms, however long it took', async () => {
    void scan()
    void scan()
    clock.advance(10_000)
    thread.served()
    await slot.answerNext()
    clock.advance(20)
    expect(slot.asked.length).toBe(2)
  })

  it('lets the slot rest after a scan that was taken back, too', async () => {
    const owner = new RequestOwner()
    const gone = scan({ deadline: Number.POSITIVE_INFINITY, owner }).catch((error) => error)
    void scan()
    thread.served()
    clock.advance(2)
    owner.leave()
    expect((await gone).code).toBe('UNAVAILABLE')
    expect(slot.canceled).toEqual([1])
    expect(slot.asked.length).toBe(1)
    clock.advance(6)
    expect(slot.asked.length).toBe(2)
  })

  it('asks for the stored rows of a top-k without a rest', async () => {
    void scan(TERMS, { stored: true })
    void scan(TERMS, { stored: true })
    thread.served()
    clock.advance(2)
    await slot.answerNext()
    expect(slot.asked.length).toBe(2)
  })
})
