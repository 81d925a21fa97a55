import { expect, it } from 'vitest'
import { JobServing } from '../../../src/runtime/job/serving.ts'
import type { ServingPort } from '../../../src/runtime/protocol/serving-port.ts'
import { ModelWorld, SLOTS } from '../../contracts/model-reader-world.ts'

it('a job that ends says so to its readers before it takes its tables away', () => {
  const world = new ModelWorld()
  const { board } = world
  /** The states of the slots whenever a table is taken away. */
  const seen = new Set<string>()
  const port: ServingPort = {
    threads: 0,
    jobStarted() {},
    tableOpened() {},
    tableDropped: () => {
      for (let slot = 0; slot < SLOTS; slot++) seen.add(board.slotStatus(slot))
    },
    tablesComplete() {},
    typedStateDeclared() {},
    attachSlot() {},
    onThreadReplaced() {},
    tableReaders: () => [],
    slotStatus() {},
  }
  const serving = new JobServing(board, port)
  serving.begin('als')
  for (const share of world.shares()) {
    serving.onReport(share.slot, { kind: 'table-opened', attempt: 1, share })
  }
  for (let slot = 0; slot < SLOTS; slot++) {
    board.setSlotStatus(slot, 'running')
    serving.onReport(slot, { kind: 'running', attempt: 1 })
  }
  serving.close()
  // A reader that finds no row while all slots run says that the key does not exist.
  expect([...seen]).toEqual(['down'])
})
