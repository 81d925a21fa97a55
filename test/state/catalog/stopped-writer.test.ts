import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { SlotWeights } from '../../../src/serving/sparse/slot-weights.ts'
import { SlotRowReader } from '../../../src/state/catalog/slot-row-reader.ts'
import { StateCatalog } from '../../../src/state/catalog/state-catalog.ts'
import { bytesOf, hashOf, V1, VectorFixture } from '../vector/model.ts'

/** Begins to write a row, is stopped by the system for as long as `stopMs`, and ends the write. */
const WRITER = `
  const { parentPort, workerData: { memory, sequence, stopMs } } = require('node:worker_threads')
  const words = new Int32Array(memory.buffer)
  Atomics.add(words, sequence, 1)
  parentPort.postMessage('stopped')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stopMs)
  Atomics.add(words, sequence, 1)
`

/** Tables with the row 1, 2, 3, 4 under the key 7, whose writer is stopped in the middle of a write. */
async function stopped(stopMs: number) {
  const fixture = new VectorFixture()
  fixture.tables.openVersion(V1)
  fixture.put('7', 1, 2, 3, 4)
  const catalog = new StateCatalog()
  const share = fixture.shares.get(1)!
  catalog.add(share)
  const bytes = bytesOf('7')
  const reader = fixture.reader()
  const sequence = reader.headerOf(reader.find(bytes, 0, bytes.length, hashOf(bytes)))
  const writer = new Worker(WRITER, {
    eval: true,
    workerData: { memory: share.memory, sequence, stopMs },
  })
  await once(writer, 'message')
  return { catalog, writer, ended: once(writer, 'exit') }
}

test('a row whose slot is stopped in the middle of a write is waited for', async () => {
  const { catalog, ended } = await stopped(50)
  const target = new Float32Array(4)
  const bytes = bytesOf('7')
  const found = new SlotRowReader(catalog, 'model', 'rows').read(1, bytes, 0, bytes.length, target)
  expect(found).toBe('found')
  expect([...target]).toEqual([1, 2, 3, 4])
  await ended
})

test('weights whose slot is stopped in the middle of a write are waited for', async () => {
  const { catalog, ended } = await stopped(50)
  const weights = new SlotWeights({ rowTables: catalog, uid: 'model', state: 'rows', range: 4 })
  expect(weights.product(1, Uint32Array.of(28, 30), Float32Array.of(1, 10))).toBe(1 + 30)
  expect(weights.isOutOfReach).toBe(false)
  await ended
})

test('a row whose slot has ended in the middle of a write is out of reach', async () => {
  const { catalog, writer } = await stopped(60_000)
  await writer.terminate()
  const bytes = bytesOf('7')
  const reader = new SlotRowReader(catalog, 'model', 'rows')
  expect(reader.read(1, bytes, 0, bytes.length, new Float32Array(4))).toBe('out-of-reach')
  const weights = new SlotWeights({ rowTables: catalog, uid: 'model', state: 'rows', range: 4 })
  expect(weights.product(1, Uint32Array.of(28, 30), Float32Array.of(1, 10))).toBe(0)
  expect(weights.isOutOfReach).toBe(true)
})
