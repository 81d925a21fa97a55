import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { HEADER, SLOT, STATE, stateOf } from '../../../src/inference/queue/layout.ts'
import { lock, tryLock, unlock } from '../../../src/inference/queue/lock.ts'
import { QueueMemory } from '../../../src/inference/queue/memory.ts'
import { ProducerSide } from '../../../src/inference/queue/producer-side.ts'
import {
  admitProducer,
  failSlot,
  failWaiting,
  forgetProducer,
  hasRequests,
  releaseLockOf,
  reportEnded,
  retrySlots,
  slotsOf,
} from '../../../src/inference/queue/repair.ts'
import { readTensors, writeTensors } from '../../../src/inference/queue/tensor-bytes.ts'
import { WorkerSide } from '../../../src/inference/queue/worker-side.ts'

const WORKER = 3

function queue(capacity = 40) {
  const memory = QueueMemory.create({ capacity, inputBytes: 64, outputBytes: 64 })
  const producer = new ProducerSide(memory, 1)
  const worker = new WorkerSide(memory, WORKER, capacity)
  const submit = (deadlineMs: number, more: { items?: number; bucket?: number } = {}): number => {
    const slot = producer.claim()
    const { items = 1, bucket = 0 } = more
    producer.submit(slot, { items, bucket, deadlineMs, keyMs: deadlineMs, arrivalMs: 0 })
    return slot
  }
  const waiting = (): number[] => {
    let slots: number[] = []
    worker.withWaiting((view) => {
      slots = [...view.slots.subarray(0, view.count)]
    })
    return slots
  }
  const collected = (): [number, number][] => {
    const ended: [number, number][] = []
    producer.collect((slot, state) => ended.push([slot, state]))
    return ended
  }
  const state = (slot: number): number => stateOf(memory.words[memory.slotAt(slot)]!)
  return { memory, producer, worker, submit, waiting, collected, state }
}

describe('the queue', () => {
  it('shows what waits with the earliest deadline first, whatever the order of arrival', () => {
    const { submit, waiting, memory, producer } = queue()
    const random = seededRandom(5)
    const deadlines = new Map<number, number>()
    for (let i = 0; i < 500; i++) {
      const roll = random.next()
      const [slot] = [...deadlines.keys()]
      if (roll < 0.4 && slot !== undefined && producer.withdraw(slot)) deadlines.delete(slot)
      else if (deadlines.size < 40) {
        const deadline = random.below(1000)
        deadlines.set(submit(deadline), deadline)
      }
      if (roll > 0.9) waiting()
    }
    const shown = waiting().map((slot) => deadlines.get(slot))
    expect(shown).toEqual([...deadlines.values()].sort((a, b) => a - b))
    expect(memory.words[HEADER.waiting]).toBe(deadlines.size)
  })

  it('shows only requests that may share a batch', () => {
    const { submit, waiting } = queue()
    const first = submit(1, { bucket: 7 })
    submit(2, { bucket: 8 })
    const third = submit(3, { bucket: 7 })
    expect(waiting()).toEqual([first, third])
  })

  it('gives a slot to one request at a time, and refuses when all are taken', () => {
    const { producer, memory } = queue(4)
    const other = new ProducerSide(memory, 2)
    const slots = [producer.claim(), other.claim(), producer.claim(), other.claim()]
    expect([...slots].sort()).toEqual([0, 1, 2, 3])
    expect(producer.claim()).toBe(-1)
    producer.free(slots[2]!)
    expect(other.claim()).toBe(slots[2])
  })

  it('gives a request to its worker or back to its producer, not to both', () => {
    const { submit, worker, producer, waiting } = queue()
    const [taken, withdrawn] = [submit(1), submit(2)]
    expect(producer.withdraw(withdrawn)).toBe(true)
    worker.withWaiting(() => {
      expect(worker.take(taken, 0)).toBe(true)
      expect(worker.take(withdrawn, 0)).toBe(false)
    })
    expect(producer.withdraw(taken)).toBe(false)
    expect(waiting()).toEqual([])
  })

  it('reports the end of a request once', () => {
    const { submit, worker, producer, collected } = queue()
    const slot = submit(1)
    worker.withWaiting(() => worker.take(slot, 0))
    expect(collected()).toEqual([])
    expect(worker.beginWrite(slot)).toBe(true)
    worker.endWrite(slot, STATE.done)
    expect(collected()).toEqual([[slot, STATE.done]])
    producer.free(slot)
    expect(collected()).toEqual([])
  })

  it('wakes a sleeping worker once for the requests of a burst', async () => {
    const { producer, memory, submit } = queue()
    const { words } = memory
    const seen = Atomics.load(words, HEADER.bell)
    // What a worker does before it sleeps; a thread of a test must not block.
    Atomics.add(words, HEADER.sleeping, 1)
    const slept = Atomics.waitAsync(words, HEADER.bell, seen)
    const facts = { items: 1, bucket: 0, deadlineMs: 5, keyMs: 5, arrivalMs: 0 }
    for (let i = 0; i < 3; i++) producer.put(producer.claim(), facts)
    expect(words[HEADER.sleeping]).toBe(1)
    producer.ring()
    expect(words[HEADER.sleeping]).toBe(0)
    submit(6)
    expect(words[HEADER.sleeping]).toBe(0)
    expect(slept.async && (await slept.value)).toBe('ok')
  })

  it('carries tensors of any shape, and refuses those that do not fit', () => {
    const { memory } = queue()
    const tensors = [
      { name: 'a', datatype: 'UINT8', shape: [3], data: Uint8Array.of(1, 2, 3) },
      { name: 'b', datatype: 'INT64', shape: [], data: new Uint8Array(8).fill(9) },
    ] as const
    expect(writeTensors(memory, memory.inputAt(2), memory.inputBytes, tensors)).toBe(40)
    const specs = tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape }))
    expect(readTensors(memory, memory.inputAt(2), specs)).toEqual(tensors)
    expect(writeTensors(memory, memory.inputAt(2), 39, tensors)).toBe(-1)
  })

  it.each([1, 127, 128, 129, 16_384, 16_385, 40_000])(
    'carries %d bytes from wherever they lie in a frame',
    (length) => {
      const memory = QueueMemory.create({ capacity: 1, inputBytes: 50_000, outputBytes: 8 })
      const frame = Uint8Array.from({ length: length + 8 }, (_, i) => i * 31)
      for (let at = 0; at < 8; at++) {
        const data = frame.subarray(at, at + length)
        const tensor = { name: 'a', datatype: 'UINT8', shape: [length], data } as const
        writeTensors(memory, memory.inputAt(0), memory.inputBytes, [tensor])
        const [read] = readTensors(memory, memory.inputAt(0), [tensor])
        expect(Buffer.compare(read!.data, data)).toBe(0)
      }
    },
  )
})

describe('a worker that ended', () => {
  it('while it held the lock, with the order half changed, stops nothing', () => {
    const { submit, memory, waiting } = queue()
    const slots = [submit(3), submit(1), submit(2)]
    waiting()
    lock(memory.words, WORKER)
    memory.words[HEADER.orderStart] = 2
    memory.words[HEADER.orderEnd] = 1
    memory.words[HEADER.waiting] = -7
    const late = submit(0)
    expect(tryLock(memory.words, 5)).toBe(false)
    releaseLockOf(memory, WORKER)
    expect(waiting()).toEqual([late, slots[1], slots[2], slots[0]])
    expect(memory.words[HEADER.waiting]).toBe(4)
  })

  it('while another holds the lock changes nothing', () => {
    const { memory } = queue()
    lock(memory.words, 5)
    releaseLockOf(memory, WORKER)
    expect(tryLock(memory.words, WORKER)).toBe(false)
    unlock(memory.words)
    expect(tryLock(memory.words, WORKER)).toBe(true)
  })

  it('gives back what it had taken, and what it was writing', () => {
    const { submit, worker, memory, waiting, collected, state } = queue()
    const [taken, writing, failed] = [submit(1), submit(2), submit(3)]
    worker.withWaiting(() => {
      for (const slot of [taken, writing, failed]) worker.take(slot, 0)
    })
    worker.beginWrite(writing)
    expect(slotsOf(memory, WORKER).sort()).toEqual([taken, writing, failed].sort())
    retrySlots(memory, [taken, writing], true)
    failSlot(memory, failed, 1)
    expect(waiting()).toEqual([taken, writing])
    expect(memory.words[memory.slotAt(taken) + SLOT.attempt]).toBe(1)
    expect(collected()).toEqual([[failed, STATE.failed]])
    // A worker that was written off, and goes on, changes nothing.
    expect(worker.beginWrite(taken)).toBe(false)
    worker.endWrite(writing, STATE.done)
    expect(state(writing)).toBe(STATE.ready)
  })

  it('after an answer that it had not reported is reported for it', () => {
    const { submit, worker, memory, collected } = queue()
    const slot = submit(1)
    worker.withWaiting(() => worker.take(slot, 0))
    worker.beginWrite(slot)
    const at = memory.slotAt(slot)
    memory.words[at] = (memory.words[at]! & ~15) | STATE.done
    expect(collected()).toEqual([])
    reportEnded(memory, WORKER)
    expect(collected()).toEqual([[slot, STATE.done]])
  })

  it('leaves groups that run apart from each other and from the rest', () => {
    const { submit, worker, memory, waiting } = queue()
    const slots = [submit(1), submit(2), submit(3), submit(4)]
    worker.withWaiting(() => {
      for (const slot of slots) worker.take(slot, 0)
    })
    retrySlots(memory, slots.slice(0, 2), true)
    retrySlots(memory, slots.slice(2), true)
    const other = submit(9)
    expect(waiting()).toEqual(slots.slice(0, 2))
    worker.withWaiting(() => {
      for (const slot of slots.slice(0, 2)) worker.take(slot, 0)
    })
    expect(waiting()).toEqual(slots.slice(2))
    worker.withWaiting(() => {
      for (const slot of slots.slice(2)) worker.take(slot, 0)
    })
    expect(waiting()).toEqual([other])
  })
})

describe('a producer that ended', () => {
  it('leaves no slot behind, whatever state it was in', () => {
    const { submit, worker, producer, memory, waiting, state } = queue(5)
    const [taken, done, ready] = [submit(1), submit(2), submit(3)]
    const filling = producer.claim()
    worker.withWaiting(() => {
      worker.take(taken, 0)
      worker.take(done, 0)
    })
    worker.beginWrite(done)
    worker.endWrite(done, STATE.done)
    forgetProducer(memory, 1)
    expect([done, ready, filling].map(state)).toEqual([STATE.free, STATE.free, STATE.free])
    expect(waiting()).toEqual([])
    expect(hasRequests(memory, 0)).toBe(true)
    worker.beginWrite(taken)
    worker.endWrite(taken, STATE.done)
    expect(hasRequests(memory, 0)).toBe(false)
    expect(memory.words[HEADER.waiting]).toBe(0)
    admitProducer(memory, 1)
    expect(submit(1)).toBeGreaterThanOrEqual(0)
  })
})

describe('a queue without workers', () => {
  it('fails what waits with a reason, and leaves what a worker has', () => {
    const { memory, worker, submit, state, collected, waiting } = queue()
    const [taken, first, second] = [submit(1), submit(2), submit(3, { items: 4 })]
    expect(worker.take(taken, 0)).toBe(true)
    expect(failWaiting(memory, { code: 7, message: 'the file is missing' })).toBe(2)
    expect([first, second].map(state)).toEqual([STATE.failed, STATE.failed])
    expect(state(taken)).toBe(STATE.taken)
    expect(memory.words[HEADER.waiting]).toBe(0)
    expect(memory.words[HEADER.waitingItems]).toBe(0)
    expect(collected().map(([slot]) => slot)).toEqual([first, second])
    expect(memory.words[memory.slotAt(first) + SLOT.code]).toBe(7)
    const length = memory.words[memory.slotAt(first) + SLOT.outputLength]!
    const text = memory.bytes.slice(memory.outputAt(first), memory.outputAt(first) + length)
    expect(Buffer.from(text).toString()).toBe('the file is missing')
    expect(waiting()).toEqual([])
  })
})
