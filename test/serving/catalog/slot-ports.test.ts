import { MessageChannel } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { SlotPorts } from '../../../src/serving/catalog/slot-ports.ts'
import {
  packSlotQueryReply,
  type SlotQueryRequestMessage,
} from '../../../src/state/catalog/slot-query-message.ts'
import type { SlotQueryRequest } from '../../../src/state/port/slot-query.ts'

const request = (id: number): SlotQueryRequest => ({
  kind: 'values',
  id,
  queryableName: 'COUNTS',
  keys: [],
})

describe('SlotPorts', () => {
  it('gives each request the reply with its id', async () => {
    const ports = new SlotPorts()
    const { port1, port2 } = new MessageChannel()
    const held: { readonly id: number }[] = []
    port2.on('message', (asked: { readonly id: number }) => {
      held.push(asked)
      if (held.length < 2) return
      for (const { id } of held.reverse())
        port2.postMessage(packSlotQueryReply({ id, answers: [] }))
    })
    ports.attach(3, port1)
    const replies = await Promise.all([ports.ask(3, request(1)), ports.ask(3, request(2))])
    expect(replies.map(({ id }) => id)).toEqual([1, 2])
    ports.close()
  })

  it('fails requests that wait for a lost slot, and later requests to it', async () => {
    const ports = new SlotPorts()
    const { port1 } = new MessageChannel()
    ports.attach(0, port1)
    const waiting = ports.ask(0, request(1))
    ports.detach(0)
    await expect(waiting).rejects.toMatchObject({ code: 'SLOT_LOST', retryable: true })
    await expect(ports.ask(0, request(2))).rejects.toMatchObject({ code: 'SLOT_LOST' })
    expect(ports.outstanding).toBe(0)
  })

  it('notices that the other end was closed', async () => {
    const ports = new SlotPorts()
    const { port1, port2 } = new MessageChannel()
    ports.attach(0, port1)
    const waiting = ports.ask(0, request(1))
    port2.close()
    await expect(waiting).rejects.toMatchObject({ code: 'SLOT_LOST' })
  })

  it('sends buffers of replies back with the next request, a few of them', async () => {
    const ports = new SlotPorts()
    const { port1, port2 } = new MessageChannel()
    const spent: number[][] = []
    port2.on('message', ({ id, spent: given = [] }: SlotQueryRequestMessage) => {
      spent.push(given.map(({ length }) => length))
      const reply = packSlotQueryReply({ id, answers: [] }, { take: () => new Uint8Array(8192) })
      port2.postMessage(reply, [reply.packed.buffer])
    })
    ports.attach(0, port1)
    ports.giveBack(1, new Uint8Array(10))
    for (let i = 0; i < 20; i++) ports.giveBack(0, new Uint8Array(8192).subarray(0, 10))
    await ports.ask(0, request(1))
    await ports.ask(0, request(2))
    expect(spent).toEqual([new Array(8).fill(8192), []])
    ports.close()
  })
})
