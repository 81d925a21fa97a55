import { MessageChannel } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { SlotPorts } from '../../../src/serving/catalog/slot-ports.ts'
import { packSlotQueryReply } from '../../../src/state/catalog/slot-query-message.ts'
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
})
