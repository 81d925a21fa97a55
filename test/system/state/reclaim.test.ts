import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { reclaimTable } from '../../../src/state/catalog/reclaim.ts'

const MIB = 1024 * 1024
const PAGES = 16 * 16
const TABLES = 12

/** Memory of 16 MiB that is dropped at once; nothing is written to it. */
function dropTable(): WeakRef<WebAssembly.Memory> {
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true })
  expect(memory.buffer.byteLength).toBe(16 * MIB)
  reclaimTable(memory)
  return new WeakRef(memory)
}

it('the memory of dropped tables is collected in a thread that does nothing else', async () => {
  const dropped: WeakRef<WebAssembly.Memory>[] = []
  for (let i = 0; i < TABLES; i++) {
    dropped.push(dropTable())
    // A weak reference keeps its target until the end of the turn.
    await setTimeout(1)
  }
  const held = (): number => dropped.filter((memory) => memory.deref() !== undefined).length
  await expect.poll(held, { timeout: 60_000, interval: 50 }).toBeLessThan(5)
})
